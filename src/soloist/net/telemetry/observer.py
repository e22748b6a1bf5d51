"""Watching a node: what callers wait for and hold, and, for those who ask, every step of every algorithm.

Nothing here costs anything while nobody watches: callers are looked at only if a node has observers, and steps
pass through a `WatchedPort` only where an observer wants them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.algorithms import Card
from soloist.core import INSIDE, Message, Outbox, Port, Process, Send, Site
from soloist.core.trace import Step, StepKind

if TYPE_CHECKING:
    from soloist.net.lock import Hold, Lock


class Wait:
    """One caller that waits for one lock."""

    __slots__ = ("lock", "started")

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self.started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


class Change(msgspec.Struct, frozen=True):
    """A view has begun at a node."""

    epoch: int
    reasons: tuple[str, ...]
    """What was different, as far as this node knows: birth, join, leave, crash, restart, silence, cut, voters, …"""
    recovery: float | None = None
    """Seconds since the first reason for it was seen here, or since nobody was let in; None for the first view of a node."""
    pause: float | None = None
    """Seconds for which nobody was let in here."""


class Beginning(msgspec.Struct, frozen=True):
    """Our part of a lock begins, or wakes up again: in which epoch, where its sites are, and how ours begin."""

    lock: str
    epoch: int
    algorithm: str
    capacity: int
    hosts: tuple[str, ...]
    """The node of each site."""
    snapshots: dict[Site, bytes]
    mail: tuple[Send, ...] = ()
    """What our sites had under way when the epoch began."""


class Observer:
    """Watches a node: add it to `node.observers` before the node's first lock is used.

    Every method runs in the node's loop, in the task that caused it: be quick, and do not raise.
    """

    wants_steps = False
    """Whether `on_step` should be called: it is the one that costs."""

    def on_request(self, wait: Wait) -> None:
        """A caller begins to wait."""

    def on_enter(self, wait: Wait, hold: Hold) -> None:
        """It holds the lock."""

    def on_give_up(self, wait: Wait, error: BaseException) -> None:
        """It waits no longer: its time is over, or it was cancelled."""

    def on_exit(self, hold: Hold) -> None:
        """The lock was released or lost; once for each hold."""

    def on_view(self, change: Change) -> None:
        """The next view has begun here."""

    def on_store(self, seconds: float) -> None:
        """The vote file was written and synced; it took that long."""

    def on_lock(self, beginning: Beginning) -> None:
        """Steps of this lock will follow."""

    def on_step(self, lock: str, step: Step) -> None:
        """A site of ours asked, sent, received, entered or left. Local callers that share an entry are one."""


def tell(observers: Sequence[Observer], what: str, fact: object) -> None:
    """Call that method of all of them."""
    for observer in observers:
        getattr(observer, what)(fact)


async def watched(observers: Sequence[Observer], lock: Lock, acquire: Coroutine[Any, Any, Hold]) -> Hold:
    """The same wait, with observers told how it begins and ends."""
    wait = Wait(lock)
    for observer in observers:
        observer.on_request(wait)
    try:
        hold = await acquire
    except BaseException as error:
        for observer in observers:
            observer.on_give_up(wait, error)
        raise
    try:
        for observer in observers:
            observer.on_enter(wait, hold)
    except BaseException:  # the caller never hears of it
        hold.release_now()
        raise
    return hold


def port_for(observers: Sequence[Observer], lock: str) -> Callable[[Process, Outbox], Port]:
    """What an instance should reach its processes through."""
    curious = [observer for observer in observers if observer.wants_steps]
    if not curious:
        return Port

    def tell(step: Step) -> None:
        for observer in curious:
            observer.on_step(lock, step)

    return lambda process, out: WatchedPort(process, out, tell)


def tell_of_lock(
    observers: Sequence[Observer],
    lock: str,
    epoch: int,
    card: Card,
    capacity: int,
    hosts: Sequence[str],
    processes: Sequence[Process],
    mail: Sequence[Send],
) -> None:
    """Tell those who want every step how it begins."""
    curious = [observer for observer in observers if observer.wants_steps]
    if curious:
        snapshots = {process.me: process.snapshot() for process in processes}
        beginning = Beginning(lock, epoch, card.name, capacity, tuple(hosts), snapshots, tuple(mail))
        for observer in curious:
            observer.on_lock(beginning)


class Choices:
    """How an outbox chooses, and what was chosen."""

    def __init__(self, choose: Callable[[Sequence[Any]], Any]) -> None:
        self.choose, self.made = choose, list[Any]()

    def __call__(self, options: Sequence[Any]) -> Any:
        self.made.append(choice := self.choose(options))
        return choice

    def take(self) -> list[Any]:
        made, self.made = self.made, []
        return made


class WatchedPort(Port):
    """A port that tells of every step, in the order of the trace format: cause first, then effects."""

    __slots__ = ("choices", "tell")

    def __init__(self, process: Process, out: Outbox, tell: Callable[[Step], None]) -> None:
        super().__init__(process, out)
        self.tell = tell
        if not isinstance(out.choose, Choices):  # the sites of a lock share an outbox
            out.choose = Choices(out.choose)
        self.choices = out.choose

    def begin(self) -> list[Send]:
        return self._effects(super().begin())

    def acquire(self) -> list[Send]:
        self._step("request")
        return self._effects(super().acquire())

    def release(self) -> list[Send]:
        self._step("exit")
        return self._effects(super().release())

    def deliver(self, sender: Site, message: Message) -> list[Send]:
        self.tell(Step("deliver", self.process.me, time.time(), sender, message))
        was_inside = self.inside
        return self._effects(super().deliver(sender, message), was_inside)

    def timeout(self, name: str) -> list[Send]:
        self.tell(Step("timeout", self.process.me, time.time(), name=name))
        was_inside = self.inside
        return self._effects(super().timeout(name), was_inside)

    def _effects(self, sends: list[Send], was_inside: bool = False) -> list[Send]:
        now = time.time()
        for choice in self.choices.take():
            self.tell(Step("choose", self.process.me, now, name=str(choice)))
        for sender, addressees, message, _ in sends:
            for to in addressees:
                self.tell(Step("send", sender, now, to, message))
        if self.process.phase is INSIDE and not was_inside:
            self._step("enter")
        return sends

    def _step(self, kind: StepKind) -> None:
        self.tell(Step(kind, self.process.me, time.time()))
