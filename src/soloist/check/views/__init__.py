"""Views, explored: every order of events of small settings, over the state machines of `soloist.views`."""

from soloist.check.views.exploration import PROPERTIES, Exploration, check_views, exit_code, text
from soloist.check.views.setting import Kit, Setting
from soloist.check.views.settings import ALL, find_setting

__all__ = [
    "ALL",
    "PROPERTIES",
    "Exploration",
    "Kit",
    "Setting",
    "check_views",
    "exit_code",
    "find_setting",
    "text",
]
