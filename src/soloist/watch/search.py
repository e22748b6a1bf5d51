"""The checker as a partner: from where a played run stands, can it still go wrong?

The search begins with the sites as they are, and with what is on its way. It is bounded, and looks at what may follow without further
faults; each idle site may ask as often as it is told to. A pause is a delay and no more, so paused sites go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic

import msgspec

from soloist.algorithms import Card, Size
from soloist.check import REDUCTIONS, Limits, Report, promised
from soloist.check.explore import Watcher
from soloist.check.judge import HOLDS, VIOLATED, Judge
from soloist.check.passes import Assignment
from soloist.check.properties.deadlock import Deadlock
from soloist.check.properties.error import Error
from soloist.check.properties.exclusion import Exclusion
from soloist.check.properties.livelock import Livelock
from soloist.check.setting import Setting
from soloist.core import INSIDE, UsageError
from soloist.views.prefix import Flight, Prefix
from soloist.watch.runs import RecordedScript
from soloist.watch.words import plainly

JUDGED = frozenset(each.name for each in (Exclusion, Error, Deadlock, Livelock))
"""What may be judged from the middle of a run; the order of entries hangs on its past."""
MOST_STATES = 200_000
MOST_SECONDS = 20.0
MEMORY_MIB = 2048
FAULTS = ("lose", "duplicate", "crash", "restart")


class Found(msgspec.Struct, frozen=True):
    """What a search has shown."""

    bad: bool
    text: str
    """In words, with how far it was looked."""
    property: str | None = None
    commands: tuple[str, ...] = ()
    """What leads there from here."""


def search(
    system: RecordedScript,
    card: Card,
    size: Size,
    commands: Sequence[str],
    rounds: Sequence[int],
    properties: Iterable[str] = JUDGED,
    states: int = MOST_STATES,
    watch: Watcher | None = None,
) -> Found:
    """Look for a shortest bad run from here. `commands` have led here; `rounds` is how often each site may still ask."""
    if system.down:
        names = ", ".join(map(str, sorted(system.down)))
        raise UsageError(
            f"the checker starts where all sites are up, and {names} has crashed: restart it, or go back"
        )
    channels = "fifo" if system.fifo else "any"
    what = Setting(card, size, tuple(rounds), channels, start=_here(system))  # type: ignore[arg-type]
    # What is declared of an algorithm was proved for runs without faults.
    faulty = any(command.split()[0] in FAULTS for command in commands)
    judged = promised(what) & frozenset(properties)
    report = Judge(
        Assignment(
            what,
            judged,
            frozenset() if faulty else frozenset(REDUCTIONS),
            Limits(states=min(max(states, 1), MOST_STATES), memory=MEMORY_MIB, seconds=MOST_SECONDS),
            endless_states=0,
            since=monotonic(),
        ),
        watch,
    ).run(None)
    going_on = tuple(f"resume {site}" for site in sorted(system.paused))
    return _told(report, judged, rounds, going_on)


def _here(system: RecordedScript) -> Prefix:
    processes = [port.process for port in system.ports]
    return Prefix(
        holders=tuple(process.me for process in processes if process.phase is INSIDE),
        kind=type(processes[0]),
        snapshots=tuple(process.snapshot() for process in processes),
        mail=tuple(Flight(each.sender, each.to, each.message) for each in system.flights),
        timers=tuple((site, name, 0.0) for site, name in sorted(system.timers)),
        steps=(),
    )


def _told(report: Report, judged: frozenset[str], rounds: Sequence[int], going_on: tuple[str, ...]) -> Found:
    asked = f"{max(rounds)} more request{'' if max(rounds) == 1 else 's'} per site at most, no further faults"
    names = ", ".join(sorted(judged))
    if report.verdict == VIOLATED:
        commands = (*going_on, *(step.command for step in report.trace))
        steps = f"in {len(commands)} more step{'' if len(commands) == 1 else 's'}"
        why = plainly(report.reason, {})
        text = f"It can go wrong {steps}: {report.property}. {why[:1].upper()}{why[1:]}."
        if report.loop is not None:
            text += " From there on it repeats itself."
        return Found(True, text, report.property, commands)
    if report.verdict == HOLDS:
        text = f"Still safe: nothing bad follows from here in any of {report.states} states ({asked}; judged: {names})."
    else:
        text = f"Not known: {report.reason} ({asked}; judged: {names})."
    return Found(False, text)
