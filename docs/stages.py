"""Draws the stage of every algorithm for its page: a moment of a short run that shows the structure it works on.

    make stages                      all of them
    python docs/stages.py lamport    one

A picture is what the page of a run draws, taken out of it as SVG by Chromium, with the part of its style sheet that it needs. The run is a
simulation with a fixed seed, and the moment is found by what can be seen in it; so a test can draw them again and compare.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, Card, find_any
from soloist.sim import Experiment, Thinking
from soloist.sim.faults import faults
from soloist.sim.links import Network, Uniform
from soloist.testing.browser import browser, missing
from soloist.watch import Trace, of_simulation
from soloist.watch.export import html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STAGES = Path(__file__).parent / "stages"
SITES = {"circle": 5, "ring": 6, "star": 6, "tree": 7, "grid": 9}
"""By layout: as many as show it."""
CRASH = {"nishio-recovery": "crash=3@0.02+0.05", "raymond-tree-recovery": "crash-new=3@0.02+0.05"}
"""What befalls an algorithm with recovery, where that is not the usual crash."""
WIDTH, HEIGHT = 460, 320
"""Pixels of a picture."""
TAKE_OUT = (Path(__file__).parent / "stages.js").read_text()


class Moment(NamedTuple):
    """A run, and where in it the picture is taken."""

    trace: Trace
    n: int
    inside: list[int]
    waiting: list[int]
    down: list[int]
    asks: int | None
    """The site whose quorum is drawn."""


@cache
def moment(name: str) -> Moment:
    """The first step at which most of what an algorithm has can be seen, and not too much of it."""
    card = find_any(name)
    stage = _run(card, SITES["circle"]).head.stage
    trace = _run(card, SITES["grid" if stage.quorums else stage.layout])
    phases: dict[int, str] = {}
    flying: dict[int | None, str] = {}
    best, found = -1000, None
    for step, state in zip(trace.steps, trace.states(), strict=True):
        phases[step.site] = "down" if step.what == "crash" else step.phase or phases.get(step.site, "idle")
        flying.pop(step.message, None)
        flying |= {sent.id: sent.kind for sent in step.sent}
        inside, waiting = (sorted(s for s in phases if phases[s] == doing) for doing in ("inside", "waiting"))
        aims = {
            str(fields.get(pointer.field))
            for pointer in trace.head.stage.pointers
            for fields in state.values()
        }
        worth = _worth(card, len(inside), len(waiting), list(flying.values()), len(aims))
        queue = trace.head.stage.queue
        worth += 2 * any(_filled(fields.get(queue)) for fields in state.values() if queue)
        worth += 5 * ("down" in phases.values())
        if worth > best:
            asks = next(iter(waiting or inside), None) if trace.head.stage.quorums else None
            best, found = (
                worth,
                Moment(trace, step.n, inside, waiting, [s for s in phases if phases[s] == "down"], asks),
            )
    assert found
    return found


def _run(card: Card, sites: int) -> Trace:
    """Messages take about as long as a stay inside, so that some are always on their way."""
    texts = [CRASH.get(card.name, "crash=3@0.02")] if card.name in RECOVERY else []
    experiment = Experiment(
        card.name,
        sites,
        2 if card.capacity == "K" else 1,
        network=Network(Uniform(0.0005, 0.0015), fifo=card.channels == "fifo"),
        workload=Thinking(200.0),
        inside=0.002,
        entries=40,
        warmup=0,
        seed=3,
        faults=faults(texts),
    )
    return of_simulation(experiment, most=2000)


def _worth(card: Card, inside: int, waiting: int, flying: list[str], aims: int) -> int:
    """Who is inside and who waits, two to four messages of as many kinds as possible, and pointers to several sites."""
    k = 2 if card.capacity == "K" else 1
    busy = 6 * (inside == k) + 4 * (1 <= waiting <= 3)
    mail = {0: 0, 1: 2, 2: 4, 3: 5, 4: 4}.get(len(flying), 0)
    crowd = 2 * max(0, len(flying) - 4)
    return busy + mail + 2 * min(len(set(flying)), 3) + min(aims, 3) - crowd


def _filled(queue: Any) -> bool:
    """As the page has it: a list of zeros is an empty queue."""
    return any(each != 0 for each in queue) if isinstance(queue, list | dict) else False


def caption(name: str) -> str:
    """What is to be seen, in words: also for those who cannot see it."""
    at = moment(name)
    stage = at.trace.head.stage
    parts = [f"{at.trace.head.nodes} sites"]
    if at.inside:
        parts.append(f"{_listed(at.inside)} {'is' if len(at.inside) == 1 else 'are'} inside")
    if at.waiting:
        parts.append(f"{_listed(at.waiting)} {'waits' if len(at.waiting) == 1 else 'wait'}")
    if down := at.down:
        parts.append(f"{_listed(down)} has crashed")
    if stage.token:
        parts.append("a star is " + ("the token" if at.trace.head.k == 1 else "a token"))
    if stage.pointers:
        parts.append(f"arrows: {', '.join(each.label for each in stage.pointers)}")
    if at.asks is not None:
        parts.append(f"rings: whom {at.asks} asks")
    if stage.queue:
        parts.append(f"below a site: its {stage.queue}")
    return "; ".join(parts)


def _listed(sites: Iterable[int]) -> str:
    *first, last = map(str, sites)
    return f"{', '.join(first)} and {last}" if first else last


def drawn(page: Page, name: str) -> str:
    """The picture, by a page that is open."""
    at = moment(name)
    data = msgspec.to_builtins({"head": at.trace.head, "steps": at.trace.steps})
    asked = {"data": data, "n": at.n, "site": at.asks, "width": WIDTH, "height": HEIGHT, "title": f"{at.trace.head.title}: {caption(name)}"}  # fmt: skip
    return str(page.evaluate(TAKE_OUT, asked))


def opened(started: Browser) -> Page:
    """A page of a run, into which others are put; in light and without motion."""
    page = started.new_page(reduced_motion="reduce", color_scheme="light")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "run.html")
        path.write_text(html(moment("central").trace), encoding="utf-8")
        page.goto(f"file://{path}")
        page.wait_for_function("() => performance.getEntriesByName('soloist-drawn').length")
    return page


def draw(names: Iterable[str]) -> None:
    STAGES.mkdir(exist_ok=True)
    with browser() as started:
        page = opened(started)
        for name in names:
            (STAGES / f"{name}.svg").write_text(text := drawn(page, name))
            print(f"docs/stages/{name}.svg: {len(text):,} bytes")


if __name__ == "__main__":
    if lacking := missing():
        sys.exit(f"pictures are taken by a browser, driven by Playwright: {lacking}")
    draw(sys.argv[1:] or (*CATALOGUE, *RECOVERY, *VARIANTS))
