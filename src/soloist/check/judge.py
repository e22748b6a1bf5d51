"""The check itself: a few searches, and the promises judged on what they found.

1. The main search: exclusion, errors and deadlock on the way; capacity, livelock and the bypass
   bound on the whole graph.
2. The search with a memory (`history`), for promises about the past: order and fence.
3. The endless search, for starvation: sites never stop asking. If its space turns out too
   large, starvation is judged on the bounded requests of the main search only. That shows little, so
   the check is incomplete then, and says why.

Once the main search has grown large, the other two are started beside it on other cores (`beside`). What is found does
not depend on where it was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

import msgspec

from soloist.algorithms import Card
from soloist.check import properties as props
from soloist.check.beside import Beside, Errand, wanted
from soloist.check.bypass import UNBOUNDED_BYPASS, bypass
from soloist.check.counterexample import script, walk
from soloist.check.declared import withheld
from soloist.check.explore import CutOff, Graph, Limits, Progress, Watcher, memory_used
from soloist.check.finding import NOT_JUDGED, PROVED, Finding
from soloist.check.graphs import is_acyclic
from soloist.check.passes import ENDLESS, MAIN, WITH_HISTORY, Assignment, found
from soloist.check.properties.error import Error
from soloist.check.reductions import REDUCTIONS, chosen
from soloist.check.report import Report, Vacuity, WorstCase
from soloist.check.setting import ALL, UNBOUNDED, setting
from soloist.check.start import WrongStart
from soloist.check.worst import MEASURES, worst
from soloist.core import Phase, UsageError, shown, unknown, whole

ENDLESS_STATES = 150_000
"""States after which the endless search gives way to bounded requests."""
LARGE = 100_000
"""States from which a second process pays."""

HOLDS, VIOLATED, INCOMPLETE = "holds", "violated", "incomplete"


def check(
    card: Card,
    nodes: int = 3,
    rounds: int | Sequence[int] = 2,
    k: int = 1,
    channels: str | None = None,
    options: Mapping[str, Any] | None = None,
    properties: Iterable[str] | None = None,
    reductions: Iterable[str] = REDUCTIONS,
    limits: Limits | None = None,
    worst: str | None = None,
    endless_states: int = ENDLESS_STATES,
    watch: Watcher | None = None,
    jobs: int = 0,
    **network: Any,
) -> Report:
    """Prove an algorithm for a small system, or find the shortest way in which it fails.

    `jobs` is how many cores a large search may use; 0: all. What is found does not depend on it. `network` may say loss, duplicate, faults, crashes, restart, timeouts, slow and last: see `Setting`.
    """
    if worst is not None and worst not in MEASURES:
        raise unknown("measure", worst, MEASURES)
    jobs, endless_states = wanted(jobs), whole("endless_states", endless_states)
    if endless_states < 0:
        raise UsageError(f"endless_states must not be negative, but is {endless_states}")
    if limits is not None and not isinstance(limits, Limits):
        raise UsageError(f"limits must be Limits, not {shown(limits)}")
    what = setting(card, nodes, rounds, k, channels, options, **network)
    assignment = Assignment(
        what,
        props.chosen(properties, what),
        chosen(reductions),
        limits or Limits(),
        endless_states,
        since=monotonic(),
    )
    return Judge(assignment, watch, jobs).run(worst)


class Judge:
    """One check under way: the report as it is filled in."""

    def __init__(self, assignment: Assignment, watch: Watcher | None, jobs: int = 1) -> None:
        self.assignment = assignment
        self.setting = assignment.setting
        self.properties = assignment.properties
        self.reductions = assignment.reductions
        self.watch = watch
        self.beside = Beside(jobs)
        self.report = blank(assignment)

    def run(self, measure: str | None) -> Report:
        try:
            graph = self._main()
            if self._goes_on():
                self._judge(graph)
            kept = graph if measure else None
            del graph  # it takes much of the memory
            others = self._others()
            here = self._help(others)
            for name, work in others.items():
                if self._goes_on():
                    finding = here.get(name) or self._found_beside(name)
                    self._take(finding or work(self.watch, self.beside.threads), name == ENDLESS)
            if self._goes_on() and kept and measure:
                self._worst(kept, measure)
            if self._goes_on():
                self._own_up()
        except KeyboardInterrupt:
            self._give_up("interrupted while the graph was judged")
        except WrongStart as wrong:
            self.report.verdict, self.report.property = VIOLATED, Error.name
            self.report.properties[Error.name], self.report.reason = VIOLATED, f"at the start: {wrong}"
        except CutOff as cut:
            self._give_up(
                f"all states were visited, but judging them was cut off at {cut}: this proves nothing"
            )
        finally:
            self.beside.dismiss()
        self.report.seconds = monotonic() - self.assignment.since
        self.report.memory_mib = memory_used()
        return self.report

    def _goes_on(self) -> bool:
        return self.report.verdict == HOLDS

    def _give_up(self, reason: str) -> None:
        self.report.verdict, self.report.reason = INCOMPLETE, reason

    def _own_up(self) -> None:
        """Whatever was not judged as far as it is promised makes a check incomplete."""
        left = [name for name, how_far in self.report.properties.items() if how_far != PROVED]
        if left:
            names, why = " and ".join(left), self.report.how.get(left[-1], "")
            self._give_up(
                f"{names} judged for these requests only; {why}. The rest is proved: --property NAME judges what you name"
            )

    # Searches.

    def _main(self) -> Graph:
        graph = self.assignment.main(self._look_up, self._threads)
        check_timers(graph)
        reordered = graph.space.receiver or graph.space.early
        if graph.complete and reordered and not is_acyclic(graph):
            # A run that never ends might put off for ever what these reductions take later.
            self.reductions -= {"receiver", "early"}
            self.assignment = msgspec.structs.replace(self.assignment, reductions=self.reductions)
            self.beside.dismiss()
            graph = self.assignment.main(self._look_up, self.beside.threads)
        report = self.report
        report.states, report.transitions, report.growth = len(graph.states), graph.transitions, graph.growth
        report.max_inside = graph.most_inside
        report.vacuity = vacuity(graph)
        judged = {each.name: PROVED for each in props.among(self.properties) if each.on_the_way}
        self._take(found(graph, MAIN, holds=judged))
        return graph

    def _others(self) -> dict[str, Errand]:
        """The searches that need nothing from the main one, in the order in which their findings are taken."""
        works: dict[str, Errand] = {}
        if self.assignment.remembered:
            works[WITH_HISTORY] = self.assignment.remembering
        if self.assignment.judged_endlessly and self.assignment.endless_states:
            works[ENDLESS] = self.assignment.endless
        return works

    def _threads(self) -> int:
        """One until the others have been started: a process should have no threads when it is doubled."""
        return self.beside.threads() if self.beside.started else 1

    def _look_up(self, progress: Progress) -> None:
        if self.watch:
            self.watch(progress)
        if not self.beside.started and progress.states >= LARGE:
            self.beside.start(self._others())
        self._limit_memory()

    def _limit_memory(self) -> None:
        """Rather than too much at the same time, one search after the other."""
        if self.beside.companions and memory_used() + self.beside.memory() >= self.assignment.limits.memory:
            self.beside.dismiss()

    def _help(self, works: dict[str, Errand]) -> dict[str, Finding]:
        """While others are at work, do what nobody has begun. It is taken in its turn, as if it had been made beside."""
        found: dict[str, Finding] = {}
        while self._goes_on() and (name := self.beside.begin()):
            with suppress(Exception):  # it fails again in its turn, if it comes to that
                found[name] = works[name](self._look_up, self.beside.threads)
                if found[name].search.cut == "interrupted":
                    self._take(found[name])
        return found

    def _found_beside(self, name: str) -> Finding | None:
        """Wait for what a search beside this one has found; None if there was none, or if it came to grief."""
        for progress in self.beside.said(name):
            if progress and self.watch:
                self.watch(progress)
            self._limit_memory()
        found = self.beside.found.get(name)
        if isinstance(found, Finding):
            return found
        if found:
            self.report.notes.append(
                f"the process of the search {name!r} {found}; it was made again in this one"
            )
        return None

    # Judgements.

    def _judge(self, graph: Graph) -> None:
        """What only the whole graph can tell."""
        finding = found(graph, MAIN)
        for each in props.among(self.properties):
            if each.on_graph:
                each.judge(graph, finding)
            if finding.broken:
                finding.holds = {}
                break
        else:
            finding.bypass = bypass(graph)
        self._take(finding, repeated=True)

    def _take(self, finding: Finding, optional: bool = False, repeated: bool = False) -> None:
        """Enter a finding into the report. An optional search may be cut off, as long as none interrupts it."""
        report = self.report
        if not repeated:
            report.searches.append(finding.search)
        report.properties.update(
            {name: how for name, how in finding.holds.items() if name in report.properties}
        )
        report.how.update({name: how for name, how in finding.how.items() if name in report.properties})
        if optional and finding.cut and not finding.broken:
            at = finding.search.cut or finding.cut
            said = f"where sites never stop asking the search was cut off at {at} (it has no end if numbers grow without end)"
            report.how.update({each.name: said for each in self.assignment.judged_endlessly})
        if finding.broken:
            report.verdict, report.property, report.reason = VIOLATED, finding.broken, finding.reason
            report.properties[finding.broken] = VIOLATED
            report.how.pop(finding.broken, None)
            report.trace, report.loop, report.script = finding.trace, finding.loop, finding.script
        elif finding.cut and not (optional and finding.search.cut != "interrupted"):
            report.verdict, report.reason = INCOMPLETE, finding.cut
        if finding.bypass is not None:
            report.bypass_bound = "unbounded" if finding.bypass == UNBOUNDED_BYPASS else finding.bypass
            report.bypass_scope = finding.scope

    def _worst(self, graph: Graph, measure: str) -> None:
        case = worst(graph, measure)
        report = self.report
        report.worst = WorstCase(measure, case.cost, case.site)
        report.trace, report.loop = walk(graph.space, case.states).steps, case.loop
        report.script = script(report.trace, graph.space)


def blank(assignment: Assignment) -> Report:
    """A report that nothing has been found for yet."""
    what = assignment.setting
    left_out = withheld(what.card.process, what.repeats)
    faults = {name: getattr(what, name) for name in ("loss", "duplicate", "crashes") if getattr(what, name)}
    if what.faults != UNBOUNDED:
        faults["faults"] = what.faults
    if what.timeouts != UNBOUNDED:
        faults["timeouts"] = what.timeouts
    for name in ("slow", "last"):
        if timers := getattr(what, name):
            faults[name] = ",".join(timers)
    if what.crashes:
        faults["restart"] = what.restart
    return Report(
        algorithm=what.card.name,
        nodes=what.size.n,
        rounds=what.rounds,
        k=what.size.k,
        channels=what.channels,
        verdict=HOLDS,
        property=None,
        states=0,
        transitions=0,
        max_inside=0,
        bypass_bound=None,
        seconds=0.0,
        properties={name: NOT_JUDGED for name in props.PROPERTIES if name in assignment.properties},
        reductions=tuple(name for name in REDUCTIONS if name in assignment.reductions - left_out),
        withheld=tuple(name for name in REDUCTIONS if name in assignment.reductions & left_out),
        network=faults,
        options={name: str(value) for name, value in what.size.options.items()},
    )


def check_timers(graph: Graph) -> None:
    """A name that is given for a timer must be one that somebody sets, or could: options have the names of their timers."""
    model = graph.space.model
    named = {*model.setting.slow, *model.setting.last} - {ALL}
    known = model.library.timers() | set(model.setting.size.options) if named else named
    if strange := sorted(named - known):
        raise unknown("timer", strange[0], known)


def vacuity(graph: Graph) -> Vacuity:
    """Which phases, messages and handlers the search came by."""
    model = graph.space.model
    library = model.library
    reached = {library.phases[local.process] for part in model.parts[:-1] for local in part.things}
    arrived = {kind.__name__ for kind in library.kinds_delivered()}
    known = {kind.__name__ for kind in model.setting.card.process.handlers}
    return Vacuity(
        phases=tuple(phase.name.lower() for phase in Phase if phase in reached),
        phases_unreached=tuple(phase.name.lower() for phase in Phase if phase not in reached),
        messages=tuple(sorted(arrived)),
        messages_unreached=tuple(sorted(known - arrived)),
        handler_runs=library.runs,
    )
