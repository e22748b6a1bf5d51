"""What goes wrong in a run: who is down or paused, which links are cut, and when that changes.

A site that is down hears nothing, and what was on its way to it when it crashed is lost, too; its timers are gone. One that comes
back as it was is where it was: waiting, or inside. One that comes back as it began has forgotten its request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from soloist.core import IDLE, INSIDE, Message, Process, Site
from soloist.core.trace import Step
from soloist.sim.faults import Fault
from soloist.sim.observers import Occupancy

if TYPE_CHECKING:
    from soloist.sim.faulty import FaultyEngine

RATES = ("crash-rate", "crash-new-rate", "pause-rate")


class Mishaps:
    """The faults of one run."""

    def __init__(
        self,
        engine: FaultyEngine,
        faults: Sequence[Fault],
        anew: Callable[[Site], Process],
        seed: int,
        nodes: int,
    ) -> None:
        self.engine = engine
        self.faults = faults
        self.anew = anew
        self.random = Random(f"{seed}/fault")
        self.chance = {fault.kind: fault for fault in faults}
        self.down: set[Site] = set()
        self.lives = [0] * nodes
        """Crashes of each site so far: events of an earlier life are void."""
        self.paused = [0.0] * nodes
        self.overdue: set[Site] = set()
        """Sites whose time to ask came while they were down."""
        self.cuts: Counter[tuple[Site, Site]] = Counter()
        self.happened: Counter[str] = Counter()
        self.last = "no fault so far"

    def plan(self) -> None:
        """Put on the heap what comes at given times and at rates; all that is drawn comes from one stream."""
        draw, sites = self.random, range(len(self.lives))
        planned: dict[str, Callable[[Site, Any], None]] = {
            "crash": self.crash,
            "crash-new": self.crash,
            "restart": self.restart,
            "restart-new": self.restart_new,
            "pause": self.pause,
            "partition": self.cut,
        }
        for fault in self.faults:
            if fault.kind in RATES and fault.amount:
                for site in sites:
                    self.engine.at(draw.expovariate(fault.amount), self.again, site, fault)
            elif fault.kind in planned:
                site = draw.choice(sites) if fault.site is None else fault.site
                time = fault.earliest + (fault.latest - fault.earliest) * draw.random()
                self.engine.at(time, planned[fault.kind], site, fault)

    def by_chance(self, kind: str) -> bool:
        return kind in self.chance and self.random.random() < self.chance[kind].amount

    def again(self, site: Site, fault: Fault) -> None:
        """A fault that comes at a rate; the next one is counted from the end of this one."""
        if site not in self.down and self.paused[site] <= self.engine.now:
            (self.pause if fault.kind == "pause-rate" else self.crash)(site, fault)
        if fault.lasting is not None:
            wait = fault.lasting + self.random.expovariate(fault.amount)
            self.engine.at(self.engine.now + wait, self.again, site, fault)

    def crash(self, site: Site, fault: Fault) -> None:
        if site in self.down:
            return
        engine = self.engine
        phase = engine.processes[site].phase
        for occupancy in self._occupancies():
            occupancy.on_crash(site, phase)
        self.down.add(site)
        self.lives[site] += 1
        self.paused[site] = 0.0
        engine.timers = {key: setting for key, setting in engine.timers.items() if key[0] != site}
        self.note("crash", site)
        if fault.lasting is not None:
            back = self.restart_new if "new" in fault.kind else self.restart
            engine.at(engine.now + fault.lasting, back, site)
        if phase is not IDLE and not self._returns(site):
            engine.abandon(site)

    def _returns(self, site: Site) -> bool:
        """Whether it is to come back as it was."""
        return any(entry[4] == self.restart and entry[3] == site for entry in self.engine.heap)

    def restart(self, site: Site, _: Any = None) -> None:
        if site not in self.down:
            return
        self.down.remove(site)
        self.note("restart", site)
        engine = self.engine
        phase = engine.processes[site].phase
        for occupancy in self._occupancies():
            occupancy.on_return(engine.now, site, phase)
        if phase is INSIDE:
            engine.leave_later(site)
        self._come_back(site)

    def restart_new(self, site: Site, _: Any = None) -> None:
        if site not in self.down:
            return
        self.down.remove(site)
        self.note("restart", site, name="as new")
        engine = self.engine
        if engine.processes[site].phase is not IDLE:
            engine.abandon(site)
            engine.ask_again(site)
        engine.replace(site, self.anew(site))
        self._come_back(site)

    def _come_back(self, site: Site) -> None:
        """Algorithms that know how to come back do so; a request whose time has come meanwhile is made."""
        engine = self.engine
        if come_back := getattr(engine.processes[site], "come_back", None):
            engine.out.mark = engine.request_of[site]
            come_back()
        if site in self.overdue:
            self.overdue.remove(site)
            engine.ask_now(site)

    def pause(self, site: Site, fault: Fault) -> None:
        if site not in self.down:
            self.paused[site] = max(self.paused[site], self.engine.now + (fault.lasting or 0.0))
            self.note("pause", site, name=f"until {self.paused[site]!r}")

    def cut(self, _: Site, fault: Fault) -> None:
        self.cuts.update(links(fault))
        self.note("partition", fault.sides[0][0], name=described(fault))
        if fault.lasting is not None:
            self.engine.at(self.engine.now + fault.lasting, self.heal, fault.sides[0][0], fault)

    def heal(self, _: Site, fault: Fault) -> None:
        self.cuts.subtract(links(fault))
        self.note("heal", fault.sides[0][0], name=described(fault))

    def lose(self, site: Site, sender: Site, message: Message) -> None:
        """What a crash or a partition costs; that is the fault to blame, then."""
        blamed = self.last
        self.note("lose", sender, site, message)
        self.last = blamed

    def note(
        self,
        kind: Any,
        site: Site,
        peer: Site | None = None,
        message: Message | None = None,
        name: str | None = None,
    ) -> None:
        """Write a fault down: for the trace, for the figures, and for what may go wrong after it."""
        self.happened[kind] += 1
        step = Step(kind, site, peer=peer, message=message, name=name)
        self.last = f"{step} at time {self.engine.now:g}".replace("  ", " ")
        if tracer := self.engine.tracer:
            tracer.add(Step(kind, site, self.engine.now, peer, message, name))

    def _occupancies(self) -> list[Occupancy]:
        return [o for o in self.engine.observers if isinstance(o, Occupancy)]


def links(fault: Fault) -> list[tuple[Site, Site]]:
    """The links that a partition cuts."""
    return [
        (i, j)
        for here, side in enumerate(fault.sides)
        for there, other in enumerate(fault.sides)
        if here < there or (here > there and not fault.one_way)
        for i in side
        for j in other
    ]


def described(fault: Fault) -> str:
    return (">" if fault.one_way else "|").join(",".join(map(str, side)) for side in fault.sides)
