"""What our locks are like without each of their special cases, in one run: see `soloist.bench.ablation`.

In each round the whole is measured, and then the whole without each part; each gives a ratio to the whole of its own
round. Of the rounds the median counts; the least and the largest ratio say how far it is to be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from statistics import median
from tempfile import TemporaryDirectory

import msgspec

from soloist.bench.ablation import LEASED, PARTS, check
from soloist.bench.locks import Measurement, System, Table, sample
from soloist.core import SoloistError
from soloist.net.cards import USUAL
from soloist.net.member.company import USUAL_LEASE

SYSTEM = USUAL[0]
PROCESSES = 4
NOTHING = "nothing"
"""The whole, a second time: how far apart two measurements of the same are."""


class Ratio(msgspec.Struct, frozen=True):
    """Without the part, as a multiple of the whole: the median of the rounds, the least and the largest."""

    median: float
    least: float
    largest: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.least:.2f}-{self.largest:.2f})"


class Worth(msgspec.Struct, frozen=True):
    """What a node is like without one part."""

    part: str
    pair: Ratio
    entries: Ratio
    hand_off: Ratio
    longest_run: float
    """Entries of one process in a row while the others wanted in, too: the median of the rounds, not a multiple."""


def measure(
    parts: Sequence[str] = (),
    seconds: float = 1.0,
    rounds: int = 10,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Worth]:
    """Of each part, or of those named, in this order; and first of nothing at all."""
    chosen = check(parts) or list(PARTS)
    with TemporaryDirectory(prefix="soloist-bench-") as folder:
        systems = {NOTHING: System(SYSTEM, NOTHING)}
        systems |= {part: System(SYSTEM, f"without {part}", without=(part,)) for part in chosen}
        for part in LEASED.intersection(chosen):
            systems[part] = msgspec.structs.replace(systems[part], lease=USUAL_LEASE, folder=folder)
        leases = dict.fromkeys(system.lease for system in systems.values())
        wholes = {lease: System(SYSTEM, "whole", lease=lease, folder=folder) for lease in leases}
        return _in_turn(systems, wholes, seconds, rounds, progress)


def _in_turn(
    systems: Mapping[str, System],
    wholes: Mapping[float | None, System],
    seconds: float,
    rounds: int,
    progress: Callable[[int, int], None],
) -> list[Worth]:
    """Each beside the whole that has a lease, or none, as it has."""
    found: dict[str, list[tuple[Measurement, Measurement]]] = {name: [] for name in systems}
    steps, total = count(1), rounds * (len(systems) + len(wholes))

    def measured(system: System) -> Measurement:
        row = sample(system, [PROCESSES], seconds)
        progress(next(steps), total)
        return row

    for _ in range(rounds):
        whole = {lease: measured(system) for lease, system in wholes.items()}
        for name, system in systems.items():
            found[name].append((whole[system.lease], measured(system)))
    return [_worth(name, pairs) for name, pairs in found.items()]


def _worth(part: str, pairs: Sequence[tuple[Measurement, Measurement]]) -> Worth:
    return Worth(
        part,
        _ratio(pairs, lambda row: row.pair_us),
        _ratio(pairs, lambda row: row.contended[0].entries_per_second if row.contended else None),
        _ratio(pairs, lambda row: row.hand_off_p50_us),
        median(row.contended[0].longest_run for _, row in pairs if row.contended),
    )


def _ratio(
    pairs: Sequence[tuple[Measurement, Measurement]], figure: Callable[[Measurement], float | None]
) -> Ratio:
    ratios = [b / a for whole, part in pairs if (a := figure(whole)) and (b := figure(part))]
    if not ratios:
        why = next((row.missing for pair in pairs for row in pair if row.missing), None)
        raise SoloistError(why or "nothing was measured in that time; give more --seconds")
    return Ratio(median(ratios), min(ratios), max(ratios))


def table(worths: Sequence[Worth]) -> Table:
    columns = ("without", ">re-entry", f">entries/s, {PROCESSES} processes", ">hand-off", ">longest run")
    return columns, [
        (w.part, str(w.pair), str(w.entries), str(w.hand_off), f"{w.longest_run:g}") for w in worths
    ]
