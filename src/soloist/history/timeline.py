"""A report for people, and the holds that prove it as bars beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from soloist.history.holds import Hold
from soloist.history.judges import Finding, count
from soloist.history.review import Review

WIDTH = 80
"""Columns."""
NAME_WIDTH = 16
"""Columns for a process and its fence."""


def text(report: Review, width: int = WIDTH) -> str:
    """All of it, no line longer than `width`."""
    return "\n".join(_lines(report, width))


def _lines(report: Review, width: int) -> Iterator[str]:
    yield (
        f"{count(report.lines, 'line')}, {report.processes} process{'es' * (report.processes != 1)}, "
        f"{count(report.locks, 'lock')}, {count(report.holds, 'hold')}"
    )
    for finding in report.properties:
        said = f"{finding.property}: {finding.verdict} ({finding.judged})"
        yield from wrap(said, width, subsequent_indent="  ")
        if finding.reason:
            yield from wrap(finding.reason, width, initial_indent="  ", subsequent_indent="  ")
        if more := _more(finding):
            yield f"  {more}"
        if finding.example:
            yield from bars(finding.example.holds, width)
    for note in report.notes:
        yield from wrap(note, width)


def _more(finding: Finding) -> str:
    parts = [
        f"{count} {word} in all"
        for count, word in ((finding.violations, "violations"), (finding.undecided, "undecided"))
        if count > 1
    ]
    return ", ".join(parts)


def bars(holds: Sequence[Hold], width: int = WIDTH) -> Iterator[str]:
    """Each hold as a bar over one axis of time; what is not known of its end is dotted."""
    first, last = min(hold.since for hold in holds), max(hold.until for hold in holds)
    room = width - NAME_WIDTH - 3
    span = (last - first) or 1.0
    sure_from, sure_to = max(hold.since for hold in holds), min(hold.until for hold in holds)
    yield ""
    for hold in holds:
        start, end = (round((at - first) / span * (room - 1)) for at in (hold.since, hold.until))
        common = [round((at - first) / span * (room - 1)) for at in (sure_from, sure_to)]
        bar = "".join(_sign(at, start, end, common, hold.over > hold.until) for at in range(room)).rstrip()
        name = hold.process if hold.fence is None else f"{hold.process} #{hold.fence}"
        yield f"  {_cut(name, NAME_WIDTH):<{NAME_WIDTH}} {bar}"
    left, right = f"{first:.15g}", f"{last:.15g}"
    yield f"  {'':<{NAME_WIDTH}} {left}{right:>{max(room - len(left), len(right) + 1)}}"
    yield ""


def _sign(at: int, start: int, end: int, common: list[int], endless: bool) -> str:
    if start <= at <= end:
        return "#" if common[0] <= at <= common[1] else "="
    return "." if endless and at > end else " "


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"
