"""A nemesis: it kills, stops and cuts off the nodes of a real cluster, by a seed, while they contend for locks.

Afterwards the journals are judged (`soloist.testing.journal`), and how long each lock was out of reach.
"""

from __future__ import annotations

import itertools
import random
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from soloist.core import SoloistError
from soloist.testing.crew import Crew
from soloist.testing.haunted import Tally, haunt
from soloist.testing.journal import Entry, problems, read
from soloist.testing.proxies import Proxies
from soloist.testing.waiting import until

Kind = Literal["kill", "pause", "split", "one-way", "ring"]
KINDS: tuple[Kind, ...] = ("kill", "pause", "split", "one-way", "ring")
UNCUT: tuple[Kind, ...] = ("kill", "pause")
"""Those that need no proxies."""
SLACK_SECONDS = 1.0
"""Beyond a lease, until a lock that a fault has touched is entered again."""

ENTRIES_AFTER = 50
"""Of each task, after all faults."""


class Fault(msgspec.Struct, frozen=True):
    """Something was done to the cluster, or ended."""

    at: float
    what: str
    kind: Kind | None = None
    """None: it has ended."""


class Judgement(msgspec.Struct):
    """What came of it all."""

    seed: int
    seconds: float
    entries: int
    losses: int
    errors: dict[str, int]
    faults: list[Fault]
    epochs: int
    """Views that were begun, the first not counted."""
    worst: float
    """Seconds, at most, from the last fault that touched a lock until it was entered again."""
    late: list[str]
    """Where that was more than a lease and a second."""
    problems: list[str]
    """Two inside, or a fence that did not grow."""


class Nemesis:
    """A cluster and what is done to it. Use it with `with`, then `haunt` it."""

    def __init__(
        self,
        names: Iterable[str] = "abcde",
        *,
        seed: int,
        lease: float = 2.0,
        locks: int = 8,
        tasks: int = 4,
        kinds: Sequence[Kind] = KINDS,
        every: tuple[float, float] = (3.0, 5.0),
        direct: bool = False,
        quiet: bool = False,
        **options: Any,
    ) -> None:
        """`direct`: without proxies, so that nodes of one host know at once of each other's end; nothing can be cut.

        `quiet`: the nodes warn nobody of what befalls them.
        """
        self.names, self.seed, self.lease = list(names), seed, lease
        self.locks, self.tasks, self.every = locks, tasks, every
        self.kinds = [kind for kind in kinds if not direct or kind in UNCUT]
        self.quiet = quiet
        self.draw = random.Random(seed)
        self.faults: list[Fault] = []
        self.dead: list[Tally] = []
        """What those had done who were killed."""
        self._options = {"cluster": "nemesis", "lease": lease, "shortcut": direct, **options}
        self._direct = direct
        self._held = ExitStack()
        self._starts = 0

    def __enter__(self) -> Nemesis:
        with ExitStack() as held:  # whatever fails, nothing of it is left
            self.folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="nemesis-")))
            self.proxies = held.enter_context(Proxies(self.names, self.seed))
            self.crew = held.enter_context(Crew(self.quiet))
            for name in self.names:
                self._start(name)
            for name in self.names:
                self.crew.hear(name)
            until(lambda: all(self._tally(name).epoch for name in self.names), "the cluster has begun")
            self._held = held.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._held.__exit__(*error)

    def _start(self, name: str) -> None:
        self._starts += 1
        direct = self.proxies.direct if self._direct else self.proxies.peers(name)
        journal = str(self.folder / f"{name}-{self._starts}.journal")
        options = {**self._options, "data_dir": str(self.folder / name)}
        self.crew.start(name, haunt, name, direct, options, self.locks, self.tasks, journal)

    # What is done.

    def haunt(
        self, seconds: float, progress: Callable[[float], None] = lambda share: None, least: int = 1
    ) -> Judgement:
        """For so long, and at least so many faults; then a lease of peace, and the judgement. A node that is not let in again is an error."""
        began = time.monotonic()
        for number in itertools.count():
            if (passed := time.monotonic() - began) >= seconds and number >= least:
                break
            progress(min(1.0, passed / seconds))
            if number % len(self.kinds) == 0:  # each kind in turn, but in another order each time
                self.draw.shuffle(self.kinds)
            getattr(self, "_" + self.kinds[number % len(self.kinds)].replace("-", "_"))()
            time.sleep(self.draw.uniform(*self.every))
        time.sleep(self.lease + SLACK_SECONDS)
        ended = time.monotonic()
        self._all_go_on()
        tallies = [*self.dead, *(self._tally(name) for name in self.names)]
        return self._judge(began, ended, tallies)

    def _all_go_on(self) -> None:
        """One lock that is out of reach for ever would soon keep all tasks of a node."""
        wanted = {name: self._tally(name).entries + ENTRIES_AFTER * self.tasks for name in self.names}
        for name in self.names:
            goes_on = partial(self._has_entered, name, wanted[name])
            until(goes_on, f"{name} goes on (seed {self.seed})")

    def _has_entered(self, name: str, times: int) -> bool:
        return self._tally(name).entries >= times

    def _tally(self, name: str) -> Tally:
        found: Tally = self.crew.ask(name, "tally")
        return found

    def _note(self, what: str, kind: Kind | None = None) -> None:
        self.faults.append(Fault(time.monotonic(), what, kind))

    def _kill(self) -> None:
        name = self.draw.choice(self.names)
        self.dead.append(self._tally(name))
        time.sleep(self.draw.uniform(0, 0.02))  # or it would always die just after it was asked
        self._note(f"kill {name}", "kill")
        self.crew.kill(name)
        time.sleep(self.draw.choice((0.1, 0.5, 1.5 * self.lease)))
        self._start(name)
        self.crew.hear(name)
        self._note(f"{name} is started again")

    def _pause(self) -> None:
        name = self.draw.choice(self.names)
        leases = self.draw.choice((0.5, 1, 1.5, 3))
        self._note(f"pause {name} for {leases:g} leases", "pause")
        self.crew.pause(name)
        time.sleep(leases * self.lease)
        self.crew.resume(name)
        self._note(f"{name} goes on")

    def _split(self) -> None:
        few = self.draw.sample(self.names, self.draw.randint(1, (len(self.names) - 1) // 2))
        self._cut(
            "split", f"{', '.join(few)} alone", lambda: self.proxies.split(few, set(self.names) - set(few))
        )

    def _one_way(self) -> None:
        a, b = self.draw.sample(self.names, 2)
        self._cut("one-way", f"{a} is not heard by {b}", lambda: self.proxies.cut_one_way(a, b))

    def _ring(self) -> None:
        self._cut("ring", "a ring", self.proxies.ring)

    def _cut(self, kind: Kind, what: str, cut: Callable[[], None]) -> None:
        self._note(what, kind)
        cut()
        time.sleep(self.draw.choice((0.5, 1.5, 3)) * self.lease)
        self.proxies.heal()
        self._note("healed")

    # What came of it.

    def _judge(self, began: float, ended: float, tallies: list[Tally]) -> Judgement:
        entries = [entry for path in sorted(self.folder.glob("*.journal")) for entry in read(path)]
        if not entries:
            raise SoloistError(f"nobody was ever let in (seed {self.seed})")
        errors: dict[str, int] = {}
        for tally in tallies:
            for kind, count in tally.errors.items():
                errors[kind] = errors.get(kind, 0) + count
        worst, late = self._waits(entries, began, ended)
        epochs = {entry.fence >> 40 for entry in entries}
        return Judgement(
            seed=self.seed,
            seconds=ended - began,
            entries=len(entries),
            losses=sum(tally.losses for tally in tallies),
            errors=errors,
            faults=self.faults,
            epochs=max(epochs) - min(epochs),
            worst=worst,
            late=late,
            problems=problems(entries),
        )

    def _waits(self, entries: Sequence[Entry], began: float, ended: float) -> tuple[float, list[str]]:
        """How long each lock was out of reach, from the last fault before it was entered again."""
        worst, late = 0.0, []
        for lock in range(self.locks):
            mine = [entry for entry in entries if entry.lock == lock]
            times = sorted([began, *(e.since for e in mine), *(e.until for e in mine), ended])
            for before, after in itertools.pairwise(times):
                last = bisect_right(self.faults, after, key=lambda fault: fault.at) - 1
                touched = last >= 0 and self.faults[last].at >= before
                since = self.faults[last].at if touched else before
                if touched:
                    worst = max(worst, after - since)
                if after - since > self.lease + SLACK_SECONDS:
                    why = self.faults[last].what if touched else "nothing"
                    late.append(f"lock {lock}: not entered for {after - since:.2f} s after: {why}")
        return worst, late
