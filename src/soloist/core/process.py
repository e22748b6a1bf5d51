"""A process: one site of one algorithm, as a state machine that does no I/O.

A driver (simulator, checker, network) feeds it events through a `Port`; whatever the process
wants done it puts into its `Outbox`. Between two steps the outbox is empty, so a process is
nothing but its fields, and their msgpack bytes are its snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any, ClassVar, Self, TypeVar

import msgspec

from soloist.core.errors import ProtocolError
from soloist.core.message import Message, Site


class Phase(IntEnum):
    """Where a site is in its cycle. Only the port and `enter` move it."""

    IDLE = 0
    WAITING = 1
    INSIDE = 2


IDLE, WAITING, INSIDE = Phase

Send = tuple[Site, tuple[Site, ...], Message, int]
"""Sender, addressees, message, and the driver's mark of the step in which it was sent."""


def first(options: Sequence[Any]) -> Any:
    """The answer of a driver that has no opinion."""
    return options[0]


class Outbox:
    """What processes ask of their driver. One outbox may serve many processes, one step at a time.

    `mark` belongs to the driver: it is copied onto everything sent during a step, and lets the
    simulator charge a message to the request that caused it.
    """

    __slots__ = ("choose", "entered", "mark", "sends", "timers")

    def __init__(self, choose: Callable[[Sequence[Any]], Any] = first) -> None:
        self.sends: list[Send] = []
        self.entered: list[Site] = []
        self.timers: list[tuple[Site, str, float | None]] = []
        self.mark = -1
        self.choose = choose


class Process(msgspec.Struct, kw_only=True, array_like=True):
    """Base of all algorithms: the events a driver may cause, and the effects a step may have."""

    me: Site
    n: int
    phase: Phase = IDLE
    out: Outbox = msgspec.field(default_factory=Outbox)

    handlers: ClassVar[dict[type[Message], Callable[[Any, Site, Any], None]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.handlers = dict(cls.handlers)
        for attribute in vars(cls).values():
            if kind := getattr(attribute, "handles", None):
                cls.handlers[kind] = attribute

    # Events: what an algorithm defines, besides its `@on(Message)` handlers.

    def begin(self) -> None:
        """The system starts. Only algorithms that send something before anybody asks define this."""

    def acquire(self) -> None:
        """The site wants to enter. It does so now or in a later step, by `enter`."""
        raise NotImplementedError

    def release(self) -> None:
        """The site has left."""
        raise NotImplementedError

    def timeout(self, name: str) -> None:
        """A timer of this name has run out. Algorithms that set none need not define this."""
        raise ProtocolError(f"{type(self).__name__} sets no timer, so {name!r} cannot run out")

    def timestamp(self) -> tuple[int, Site] | None:
        """The priority of the current request, for algorithms that promise to serve in its order."""
        return None

    def slot(self) -> int | None:
        """Which of the K places this site has while inside, for algorithms that tell them apart."""
        return None

    # Effects: what an algorithm may do.

    def send(self, to: Site, message: Message) -> None:
        """Send a message to one site."""
        out = self.out
        out.sends.append((self.me, (to,), message, out.mark))

    def multicast(self, sites: Iterable[Site], message: Message) -> None:
        """Send one message to several sites, in the order given (sort your sets)."""
        if to := tuple(sites):
            out = self.out
            out.sends.append((self.me, to, message, out.mark))

    def enter(self) -> None:
        """Be inside from now on: once for each request, while this site waits."""
        if self.phase is not WAITING:
            raise ProtocolError(f"site {self.me} was let in while {self.phase.name.lower()}")
        self.phase = INSIDE
        self.out.entered.append(self.me)

    def set_timer(self, name: str, delay: float) -> None:
        """Have `timeout` called with this name after so long; a timer of that name is set anew."""
        self.out.timers.append((self.me, name, delay))

    def cancel_timer(self, name: str) -> None:
        """Forget the timer of that name, if there is one."""
        self.out.timers.append((self.me, name, None))

    def choose(self, options: Sequence[Any]) -> Any:
        """A free choice: seeded in the simulator, every branch in the checker."""
        return self.out.choose(options)

    # What every algorithm needs to know.

    @property
    def others(self) -> tuple[Site, ...]:
        return (*range(self.me), *range(self.me + 1, self.n))

    # Snapshots.

    def snapshot(self) -> bytes:
        """The state of the process between two steps, the same bytes for the same state."""
        return _encoder.encode([_ordered(getattr(self, name)) for name in self.__struct_fields__])

    @classmethod
    def restore(cls, snapshot: bytes) -> Self:
        return msgspec.msgpack.decode(snapshot, type=cls, dec_hook=lambda _, __: Outbox())

    def fields(self) -> dict[str, Any]:
        """The algorithm's own variables, by name, for people to look at."""
        own = (f for f in self.__struct_fields__ if f not in Process.__struct_fields__)
        return {name: getattr(self, name) for name in own}


_encoder = msgspec.msgpack.Encoder(enc_hook=lambda _: None)


def _ordered(value: Any) -> Any:
    """The same value with sets and dicts in order (msgspec orders only dicts whose keys are text)."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_ordered(each) for each in value]
    return value


M = TypeVar("M", bound=Message)
P = TypeVar("P", bound=Process)


def on(kind: type[M]) -> Callable[[Callable[[P, Site, M], None]], Callable[[P, Site, M], None]]:
    """Mark a method as the handler of one kind of message."""

    def mark(handler: Callable[[P, Site, M], None]) -> Callable[[P, Site, M], None]:
        handler.handles = kind  # type: ignore[attr-defined]
        return handler

    return mark
