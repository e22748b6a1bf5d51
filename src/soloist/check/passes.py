"""The searches beside the main one. They need nothing from it, so they can run at the same time."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import msgspec

from soloist.check import properties as props
from soloist.check.bypass import bypass
from soloist.check.counterexample import walk
from soloist.check.counters import counters
from soloist.check.declarations import has_counters
from soloist.check.declared import withheld
from soloist.check.explore import CutOff, Graph, Jobs, Limits, Watcher, alone, explore
from soloist.check.finding import PROVED, Finding, cut_off, show, summary
from soloist.check.history import History
from soloist.check.properties._property import Property
from soloist.check.reductions import Space
from soloist.check.setting import Setting
from soloist.check.trial import passes
from soloist.core import UsageError

MAIN, WITH_HISTORY, ENDLESS = "main search", "with history", "endless search"


LIVELY = 2


class Asking(NamedTuple):
    """Which of the runs without end are looked at: those where sites ask like this."""

    patient: bool = False
    lively: int = 0

    def __str__(self) -> str:
        how = (
            "sites asking again when their messages have arrived"
            if self.patient
            else "sites asking without end"
        )
        if self.lively:
            how += f", and before the others have asked {self.lively + 1} times"
        return how


class Assignment(msgspec.Struct, frozen=True):
    """What a pass has to know."""

    setting: Setting
    properties: frozenset[str]
    reductions: frozenset[str]
    limits: Limits
    endless_states: int
    since: float
    """When the check began: its seconds count from there."""

    @property
    def alarms(self) -> int:
        """The bits of states that must not be."""
        return reduce(or_, (each.alarm for each in props.among(self.properties)), 0)

    @property
    def stuck(self) -> bool:
        """Whether states must not be in which somebody waits and nothing is due."""
        return any(each.stuck for each in props.among(self.properties))

    @property
    def remembered(self) -> list[Property]:
        """Promises about the past of a run."""
        return [each for each in props.among(self.properties) if each.remembers]

    @property
    def judged_endlessly(self) -> list[Property]:
        return [each for each in props.among(self.properties) if each.endless]

    def main(self, watch: Watcher | None = None, jobs: Jobs = alone) -> Graph:
        space = Space(self.setting, self.reductions)
        return explore(space, self.limits, self.alarms, self.stuck, watch, MAIN, self.since, jobs)

    def remembering(self, watch: Watcher | None = None, jobs: Jobs = alone) -> Finding:
        """Promises about the past of a run: order and fence."""
        ghosts = tuple(each.ghost(self.setting.size.n) for each in self.remembered)
        space = Space(self.setting, self.reductions, History(ghosts))
        graph = explore(
            space,
            self.limits,
            alarms=0,
            stuck=False,
            watch=watch,
            name=WITH_HISTORY,
            since=self.since,
            jobs=jobs,
        )
        return found(graph, WITH_HISTORY, holds={each.name: PROVED for each in self.remembered})

    def endless(self, watch: Watcher | None = None, jobs: Jobs = alone) -> Finding:
        """Starvation, where sites never stop asking. If there are too many states, a part of these runs is
        looked at: first one that is usual enough to say what has been proved, then one that relies on declarations
        that nobody has proved. If they stand a trial they may show where something goes wrong, but nothing more."""
        first = self._endless(Asking(patient=self._is_numbered()), watch, jobs)
        if not first.cut or first.search.cut == "interrupted":
            return first
        orderly = self._endless(Asking(patient=True, lively=LIVELY), watch, jobs)
        if orderly.broken or orderly.search.cut == "interrupted":
            return orderly
        if withheld(self.setting.card.process, self.setting.repeats):
            return self._relying(watch, jobs) or first
        return first if orderly.cut else orderly

    def _relying(self, watch: Watcher | None, jobs: Jobs) -> Finding | None:
        """A run that goes wrong, found with declarations that have stood a trial."""
        if not passes(self.setting):
            return None
        try:
            finding = self._endless(Asking(patient=self._is_numbered(trust=True)), watch, jobs, trust=True)
        except (UsageError, CutOff):  # its run is no real one
            return None
        return finding if finding.broken else None

    def _is_numbered(self, trust: bool = False) -> bool:
        """Whether requests are numbered site by site, so that a third site may be told of them late: they pile up."""
        process = self.setting.card.process
        numbered = has_counters(process) and any(counter.per_site for counter in counters(process))
        return numbered and self.setting.size.n > 2 and (trust or not withheld(process, self.setting.repeats))

    def _endless(self, asking: Asking, watch: Watcher | None, jobs: Jobs, trust: bool = False) -> Finding:
        setting = msgspec.structs.replace(
            self.setting.unbounded(), patient=asking.patient, lively=asking.lively
        )
        most = self.endless_states // 2 if asking.lively else self.endless_states
        limits = msgspec.structs.replace(self.limits, states=min(max(most, 1), self.limits.states))
        space = Space(setting, self.reductions - {"receiver", "early"}, trust=trust)
        graph = explore(space, limits, self.alarms, self.stuck, watch, ENDLESS, self.since, jobs)
        finding = found(graph, ENDLESS, scope="requests without end")
        if finding.broken or graph.cut == "interrupted":
            return finding
        try:
            for each in self.judged_endlessly:
                each.judge_endless(graph, finding, str(asking))
            if not finding.broken and not graph.cut:
                finding.bypass = bypass(graph)
                finding.scope = str(asking) if asking.patient else finding.scope
        except CutOff as cut:
            finding.cut = f"judging was cut off at {cut}"
        return finding


def found(graph: Graph, name: str, **what: Any) -> Finding:
    """A finding about a graph; if the search was cut off or raised an alarm, that is the finding."""
    finding = Finding(summary(graph, name), **what)
    if not graph.complete:
        finding.holds = {}
    if graph.alarm is not None:
        path = graph.path(graph.alarm)
        show(finding, graph, path)
        finding.broken, finding.reason = props.forbidden(walk(graph.space, path))
    elif graph.cut:
        finding.cut = cut_off(graph)
    return finding
