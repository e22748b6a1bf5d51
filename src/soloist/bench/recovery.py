"""How long a lock is out of reach when its holder is killed (kill -9): ours, and others, in one run.

One process holds the lock and another waits for it; the first is killed, and what counts is the time from then until the
second is in, on the clock that all processes of a machine share. When in the life of its lease the holder dies is drawn
evenly. All systems are up all the time, and take turns.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import quantiles
from typing import Any, Self

import msgspec

from soloist.bench.bars import Bar
from soloist.bench.lock_peers import PEERS, Peer
from soloist.bench.locks import Table
from soloist.bench.recovery_pause import HELD, NAMES, PauseStage
from soloist.bench.recovery_workers import (
    ASKING,
    CLIENTS,
    GIVE,
    SESSION_SECONDS,
    TAKE,
    TTL_SECONDS,
    be_client,
    be_node,
)
from soloist.core import SoloistError, unknown
from soloist.testing import Crew, ports
from soloist.testing.namespaces import Namespaces

ROUNDS, SLOW_ROUNDS = 20, 5
SETTLE_SECONDS = 0.2
"""Seconds until a caller that asks for the lock is waiting for it, for certain enough."""
SLACK_SECONDS = 1.0
"""Seconds beyond a lease."""
MEMBERS = "abc"
FAILURES = (SoloistError, RuntimeError, OSError, subprocess.SubprocessError)

PROVED, TOLD, UNPROVED = "soloist, one host", "soloist, sentinel", "soloist, no proof"
APART, OTHERS = "soloist, hosts apart", "soloist, another lock"
POSTGRES = "postgresql"


class System(msgspec.Struct, frozen=True):
    """What is measured: nodes of ours with these options, or a peer."""

    name: str
    setting: str
    options: dict[str, Any] = {}
    peer: Peer | None = None
    apart: bool = False
    """Each node is in a network namespace of its own, as on a host of its own."""
    other: bool = False
    """Not the holder's lock is waited for: how long one is kept that has nothing to do with it."""
    slow: bool = False
    """It takes a lease, a TTL or a session: then fewer rounds will do."""


# A further kind of proof is a further line here: options that switch it on, and the others off. Without the shortcut
# nodes of one host are to each other as if they were on different ones.
OURS = (
    System(PROVED, "the end of a process is seen", {"shortcut": True}),
    System(TOLD, "TCP on loopback, its sentinel tells", {"shortcut": False}),
    System(APART, "network namespaces, its sentinel tells", {"insecure": True}, apart=True),
    System(OTHERS, f"its pause; {NAMES:,} names, {HELD} of them held", other=True),
    System(UNPROVED, f"lease {TTL_SECONDS:g} s", {"shortcut": False, "sentinel": False}, slow=True),
)
SETTINGS = {
    POSTGRES: "advisory lock, connection ends",
    "redis-py": f"TTL {TTL_SECONDS:g} s, renewed; polls each 100 ms",
    "zookeeper": f"kazoo, session {SESSION_SECONDS:g} s",
}


def systems() -> list[System]:
    peers = {peer.name: peer for peer in PEERS}
    theirs = [System(name, SETTINGS[name], peer=peers[name], slow=name != POSTGRES) for name in CLIENTS]
    return [*OURS, *theirs]


def lacking(system: System) -> str | None:
    """What is needed to measure it, and is not here."""
    if system.peer:
        return system.peer.missing()
    return Namespaces.missing() if system.apart else None


class Measurement(msgspec.Struct, frozen=True):
    """One system: seconds from the kill until the next one was in."""

    system: str
    setting: str
    seconds: list[float] = []
    missing: str | None = None
    """How to install it, or why it failed."""

    def share(self, percent: int) -> float | None:
        """That percentile; the worst for 100."""
        if not self.seconds or percent == 100:
            return max(self.seconds, default=None)
        if len(self.seconds) == 1:
            return self.seconds[0]
        return quantiles(self.seconds, n=100, method="inclusive")[percent - 1]


class Stage:
    """A system that is up. Use it with `with`, then `kill_holder`."""

    def __init__(self, system: System, seed: int) -> None:
        self.system = system
        self.draw = random.Random(seed)
        self.names = list(MEMBERS if system.peer is None else MEMBERS[:2])
        self.rounds = 0
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with self._held:  # if one of these fails, those opened before it are closed
            if self.system.peer:
                self.where = self._held.enter_context(self.system.peer.serving())
            else:
                self.peers = self._addresses()
                self.folder = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="recovery-")))
            self.crew = self._held.enter_context(Crew(quiet=True))  # and ended before what it uses
            for name in self.names:
                self._start(name)
            for name in self.names:
                self.crew.hear(name)
            self._held = self._held.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._held.__exit__(*error)

    def _addresses(self) -> dict[str, str]:
        if not self.system.apart:
            return self._held.enter_context(ports(*self.names))
        self.hosts = self._held.enter_context(Namespaces(self.names))
        return self.hosts.addresses

    def _start(self, name: str) -> None:
        if self.system.peer:
            self.crew.start(name, be_client, self.system.name, self.where)
            return
        options = {
            "cluster": "recovery",
            "lease": TTL_SECONDS,
            "data_dir": str(self.folder / name),
            **self.system.options,
        }
        namespace = self.hosts.of(name) if self.system.apart else None
        self.crew.start(name, be_node, name, self.peers, options, namespace)

    def kill_holder(self) -> float:
        """Seconds until the next one was in. Each is the holder, and each waits, when it is its turn."""
        holder, waiter, *_ = self.names[self.rounds % len(self.names) :] + self.names
        self.rounds += 1
        self._let_ask(holder)
        self.crew.hear(holder)
        self._let_ask(waiter)
        time.sleep(SETTLE_SECONDS + self.draw.uniform(0, TTL_SECONDS / 3))
        if self.crew.says(waiter):
            raise SoloistError(f"{waiter} was let in while {holder} held the lock")
        killed = time.monotonic()
        self.crew.kill(holder)
        entered: float = self.crew.hear(waiter)
        self.crew.ask(waiter, GIVE)
        self._start(holder)
        self.crew.hear(holder)
        return entered - killed

    def _let_ask(self, name: str) -> None:
        said = self.crew.ask(name, TAKE)
        assert said == ASKING


def measure(
    rounds: int = ROUNDS,
    slow_rounds: int = SLOW_ROUNDS,
    only: Sequence[str] = (),
    seed: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Measurement]:
    """One row for each system, or for those named. In each round every system has its turn, while it has rounds left."""
    names = [system.name for system in systems()]
    for name in only:
        if name not in names:
            raise unknown("system", name, names)
    chosen = [system for system in systems() if not only or system.name in only]
    wanted = {system.name: slow_rounds if system.slow else rounds for system in chosen}
    found: dict[str, list[float]] = {system.name: [] for system in chosen}
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        stages: dict[str, Stage | PauseStage] = {}
        for system in chosen:
            if hint := lacking(system):
                missing[system.name] = hint
                continue
            try:
                if system.other:
                    stages[system.name] = stack.enter_context(PauseStage())
                else:
                    stages[system.name] = stack.enter_context(Stage(system, seed))
            except FAILURES as error:
                missing[system.name] = f"failed: {error}"
        done = 0
        for number in range(max(rounds, slow_rounds)):
            for name, stage in stages.items():
                if number < wanted[name] and name not in missing:
                    try:
                        found[name].append(stage.kill_holder())
                    except FAILURES as error:
                        missing[name] = f"failed in round {number + 1}: {error}"
                    done += 1
                    progress(done, sum(wanted[each] for each in stages))
    return [
        Measurement(system.name, system.setting, found[system.name], missing.get(system.name))
        for system in chosen
    ]


def table(rows: Sequence[Measurement]) -> Table:
    columns = ("system", "setting", ">kills", ">p50", ">p95", ">worst")
    return columns, [
        (row.system, row.setting, str(len(row.seconds)), *(_seconds(row.share(p)) for p in (50, 95, 100)))
        for row in rows
        if not row.missing
    ]


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"


def bars(rows: Sequence[Measurement]) -> list[Bar]:
    """What we want to reach, as far as it was measured."""
    known = {row.system: row for row in rows if not row.missing and row.seconds}
    found = []
    if (ours := known.get(PROVED)) and (p50 := ours.share(50)):
        found.append(Bar("p50, ms", ours.system, ours.setting, p50 * 1000, 60, True))
        if (postgres := known.get(POSTGRES)) and (theirs := postgres.share(50)):
            found.append(Bar("p50 / postgresql", ours.system, ours.setting, p50 / theirs, 5, True))
    for told in (TOLD, APART):
        if (ours := known.get(told)) and (p50 := ours.share(50)):
            found.append(Bar("p50, ms", ours.system, ours.setting, p50 * 1000, 150, True))
    if (ours := known.get(OTHERS)) and (p50 := ours.share(50)):
        found.append(Bar("p50, ms", ours.system, ours.setting, p50 * 1000, 50, True))
    if (ours := known.get(UNPROVED)) and (worst := ours.share(100)):
        found.append(Bar("worst, s", ours.system, ours.setting, worst, TTL_SECONDS + SLACK_SECONDS, True))
    return found
