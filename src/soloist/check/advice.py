"""What to look for when a check of one's own algorithm fails."""

from __future__ import annotations

from soloist.check.properties import PROPERTIES
from soloist.check.report import Report


def advice(report: Report) -> str:
    """For the author of the algorithm; empty where nothing is wrong, or nothing more is to be said."""
    return PROPERTIES[report.property].advice(report.reason, report.trace) if report.property else ""
