"""What each site is doing meanwhile: stretches of waiting, being inside, paused and down. All timelines draw them."""

from __future__ import annotations

from typing import Literal

import msgspec

from soloist.watch.trace import Trace

Doing = Literal["waiting", "inside", "paused", "down"]


class Stretch(msgspec.Struct, frozen=True):
    """From one step of a site to another; the end of the run ends all that is still going on."""

    site: int
    doing: Doing
    first: int
    last: int
    open: bool = False


class Lanes:
    """Who does what after each step."""

    def __init__(self, nodes: int) -> None:
        self.phases: list[str] = ["idle"] * nodes
        self.paused: set[int] = set()
        self.down: set[int] = set()

    def step(self, site: int, what: str, phase: str | None) -> None:
        if phase:
            self.phases[site] = phase
        if what == "crash":
            self.down.add(site)
            self.paused.discard(site)
        elif what == "restart":
            self.down.discard(site)
        elif what == "pause":
            self.paused.add(site)
        elif what == "resume":
            self.paused.discard(site)

    def doing(self, site: int) -> list[str]:
        if site in self.down:
            return ["down"]
        phase = [self.phases[site]] if self.phases[site] != "idle" else []
        return [*phase, "paused"] if site in self.paused else phase


def stretches(trace: Trace) -> list[Stretch]:
    """In the order in which they end."""
    lanes, found = Lanes(trace.head.nodes), list[Stretch]()
    begun: dict[tuple[int, str], int] = {}
    for step in trace.steps:
        before = lanes.doing(step.site)
        lanes.step(step.site, step.what, step.phase)
        after = lanes.doing(step.site)
        for doing in before:
            if doing not in after:
                found.append(Stretch(step.site, doing, begun.pop((step.site, doing)), step.n))  # type: ignore[arg-type]
        for doing in after:
            if doing not in before:
                begun[step.site, doing] = step.n
    last = len(trace.steps) - 1
    found += [Stretch(site, doing, first, last, open=True) for (site, doing), first in begun.items()]  # type: ignore[arg-type]
    return found
