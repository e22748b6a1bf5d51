"""Views, explored: every order of events of small settings, over the state machines of `soloist.views`."""

from soloist.check.views.report import PROPERTIES, Report, check_views, exit_code, text
from soloist.check.views.setting import Kit, Setting
from soloist.check.views.settings import ALL, find_setting

__all__ = [
    "ALL",
    "PROPERTIES",
    "Kit",
    "Report",
    "Setting",
    "check_views",
    "exit_code",
    "find_setting",
    "text",
]
