"""Runs that show the errors of a printed text: the shortest by search, and those that are replayed."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from soloist.algorithms import Card, Size
from soloist.algorithms.printed import PRINTED, Erratum
from soloist.check import UNBOUNDED, Limits, Report, check
from soloist.core import INSIDE, WAITING, ProtocolError, UsageError
from soloist.sim.script import Script

LIMITS = Limits(states=3_000_000, seconds=600)


def refute(erratum: Erratum) -> Report:
    return check(
        erratum.card,
        nodes=erratum.nodes,
        rounds=erratum.rounds,
        k=erratum.k,
        channels=erratum.channels,
        options=erratum.options,
        properties=erratum.properties,
        limits=LIMITS,
        timeouts=UNBOUNDED if erratum.timeouts is None else erratum.timeouts,
    )


def in_words(report: Report) -> str:
    """`a deadlock after 13 steps (N = 3)`: what the checker found, or that it found nothing."""
    if report.property is None:
        return f"no violation found (N = {report.nodes})"
    what = {
        "deadlock": "a deadlock",
        "exclusion": "two sites inside",
        "error": "a site that enters, or gets a token, unasked",
        "causal": "an entry out of causal order",
    }.get(report.property, f"{report.property} violated")
    return f"{what} after {len(report.trace)} steps (N = {report.nodes})"


def replay(card: Card, size: Size, fifo: bool, commands: Iterable[str]) -> tuple[list[str], str | None]:
    """What happens, line by line, if an algorithm is given the steps of a run, and the property that is violated at
    its end, as far as that can be seen there. A step that it cannot take ends the run."""
    script, lines = Script(), []
    script.start(card, size, fifo)
    for command in commands:
        try:
            lines += [line.strip() for line in script.run(command)]
        except ProtocolError:
            return lines, "error"
        except UsageError:
            return lines, None
        except Exception:  # a handler that fails on an unexpected message is looked for
            return lines, "error"
    phases = [port.process.phase for port in script.ports]
    if phases.count(INSIDE) > size.k:
        return lines, "exclusion"
    stuck = WAITING in phases and INSIDE not in phases and not script.flights and not script.timers
    return lines, "deadlock" if stuck else None


def replay_erratum(erratum: Erratum, card: Card, commands: Iterable[str]) -> tuple[list[str], str | None]:
    size = card.size(erratum.nodes, erratum.k, erratum.options)
    return replay(card, size, (erratum.channels or card.links(erratum.k)) == "fifo", commands)


def is_printed(erratum: Erratum, report: Report) -> bool:
    """Whether its run is one of the text as printed, with all its errors, too."""
    printed = PRINTED.get(erratum.algorithm, erratum.card)
    if printed.process is erratum.card.process:
        return True
    commands = [step.command for step in report.trace]
    if not commands:
        return refute(msgspec.structs.replace(erratum, card=printed)).property == report.property
    lines, violated = replay_erratum(erratum, printed, commands)
    told = [str(event) for step in report.trace for event in step.events]
    return violated == report.property or lines == told
