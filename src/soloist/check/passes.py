"""The searches beside the main one. They need nothing from it, so they can run at the same time."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection

import msgspec

from soloist.check import properties as props
from soloist.check.declared import withheld
from soloist.check.explore import CutOff, Limits, Watcher, explore
from soloist.check.finding import PROVED, Finding, found, starves
from soloist.check.history import History
from soloist.check.liveness import bypass, starvation
from soloist.check.parts import TOO_MANY
from soloist.check.reductions import Space
from soloist.check.setting import Setting
from soloist.check.trial import passes
from soloist.core import UsageError

WITH_HISTORY, ENDLESS = "with history", "endless search"


class Job(msgspec.Struct, frozen=True):
    """What a pass has to know."""

    setting: Setting
    properties: frozenset[str]
    reductions: frozenset[str]
    limits: Limits
    endless_states: int
    since: float
    """When the check began: its seconds count from there."""

    def remembering(self, watch: Watcher | None = None) -> Finding:
        """Promises about the past of a run: order and fence."""
        wanted = {name: name in self.properties for name in props.HISTORY}
        space = Space(self.setting, self.reductions, History(sites=self.setting.size.n, **wanted))
        graph = explore(
            space, self.limits, alarms=0, deadlock=False, watch=watch, name=WITH_HISTORY, since=self.since
        )
        return found(graph, WITH_HISTORY, holds={name: PROVED for name in props.HISTORY if wanted[name]})

    def endless(self, watch: Watcher | None = None) -> Finding:
        """Starvation, where whoever asks never stops asking. Declarations that are not proved show nothing to be
        right; but if they stand a trial they may show where something goes wrong."""
        finding = self._endless(watch, trust=False)
        if not finding.cut or finding.search.cut == "interrupted" or not withheld(self.setting.card.process):
            return finding
        if not passes(self.setting):
            return finding
        try:
            relying = self._endless(watch, trust=True)
        except (UsageError, CutOff):  # its run is no real one
            return finding
        return relying if relying.broken else finding

    def _endless(self, watch: Watcher | None, trust: bool) -> Finding:
        """If requests are numbered site by site, a third site may be told of them late, and they pile up: there
        sites ask again only when what they sent has arrived."""
        process = self.setting.card.process
        numbered = any(counter.per_site for counter in process.counters.values())
        patient = numbered and self.setting.size.n > 2 and (trust or not withheld(process))
        setting = msgspec.structs.replace(self.setting.unbounded(), patient=patient)
        limits = msgspec.structs.replace(self.limits, states=min(self.endless_states, self.limits.states))
        alarms = TOO_MANY if "exclusion" in self.properties else 0
        space = Space(setting, self.reductions, trust=trust)
        graph = explore(
            space, limits, alarms, "deadlock" in self.properties, watch, ENDLESS, since=self.since
        )
        finding = found(graph, ENDLESS)
        if finding.broken or graph.cut == "interrupted":
            return finding
        asking = (
            "sites asking again when their messages have arrived" if patient else "sites asking without end"
        )
        try:
            lasso = starvation(graph)
            if lasso is not None:
                starves(finding, graph, lasso)
            elif not graph.cut:
                finding.bypass = bypass(graph)
                finding.holds["starvation"], finding.how["starvation"] = PROVED, asking
        except CutOff as cut:
            finding.cut = f"judging was cut off at {cut}"
        return finding


class Companion:
    """A pass in a process of its own, on another core."""

    def __init__(self, work: Callable[[], Finding]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(work, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def finding(self) -> Finding | None:
        """Wait for the outcome; None if the process came to grief."""
        try:
            outcome: Finding | None = self.connection.recv()
        except EOFError:
            outcome = None
        self.process.join()
        return outcome

    def dismiss(self) -> None:
        self.process.terminate()
        self.process.join()


def _work(work: Callable[[], Finding], connection: Connection) -> None:
    connection.send(work())
    connection.close()


def can_run_beside() -> bool:
    """Whether there is a second core, and a way to start on it from where we are."""
    return (os.cpu_count() or 1) > 1 and "fork" in multiprocessing.get_all_start_methods()
