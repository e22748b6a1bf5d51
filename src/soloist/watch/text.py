"""A timeline for the terminal: a line for each step, with a lane for each site as long as there is room.

·  idle   ○  waits   █  inside   z  paused   x  crashed
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from soloist.watch.lanes import Lanes
from soloist.watch.trace import Trace
from soloist.watch.words import sentence, title, waiting

WIDTH = 80
MOST_LANES = 16
SIGNS = {"idle": "·", "waiting": "○", "inside": "█", "paused": "z", "down": "x"}
LEGEND = "· idle  ○ waits  █ inside  z paused  x crashed"


def text(trace: Trace, width: int = WIDTH) -> str:
    """The whole timeline. Of each site that waits at the end it is told why."""
    return "\n".join(_lines(trace, width)) + "\n"


def _lines(trace: Trace, width: int) -> Iterator[str]:
    head, messages, lanes = trace.head, trace.messages(), Lanes(trace.head.nodes)
    yield from _wrapped(title(trace), width)
    if head.finding:
        yield from _wrapped(f"{head.finding.property}: {head.finding.text}", width)
    for note in head.notes:
        yield from _wrapped(note, width)
    timed = head.unit != "steps"
    drawn = head.nodes <= MOST_LANES
    names = "".join(f"{trace.name(site)[:1]:<2}" for site in range(head.nodes)) if drawn else ""
    yield ""
    yield f"{'step':>5} {'time':>9}  {names}".rstrip() if timed else f"{'step':>5}  {names}".rstrip()
    for step in trace.steps:
        lanes.step(step.site, step.what, step.phase)
        if step.text and step.what not in ("cut", "heal"):
            yield from (f"       # {line}" for line in _wrapped(step.text, width - 9))
        if step.what == "note":
            continue
        row = "".join(_sign(lanes, site, site == step.site) for site in range(head.nodes)) if drawn else ""
        time = f" {step.t or 0.0:>9.7g}" if timed else ""
        start = f"{step.n:>5}{time}  {row} {trace.name(step.site)} "
        line = start + sentence(trace, step, messages)
        yield line if len(line) <= width else _cut(start + sentence(trace, step, messages, brief=True), width)
    yield from _those_who_wait(trace, width)
    if drawn:
        yield ""
        yield LEGEND


def _sign(lanes: Lanes, site: int, acts: bool) -> str:
    doing = lanes.doing(site)
    return SIGNS[doing[-1] if doing else "idle"] + ("<" if acts else " ")


def _those_who_wait(trace: Trace, width: int) -> Iterator[str]:
    if why := waiting(trace):
        yield ""
        yield "At the end:"
        for line in (f"{trace.name(site)} {reason}" for site, reason in why.items()):
            yield from (f"  {part}" for part in _wrapped(line, width - 2))


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"


def _wrapped(words: str, width: int) -> list[str]:
    return wrap(words, width) or [""]
