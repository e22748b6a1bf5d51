"""An algorithm that runs another one inside: what a process and its snapshot need for that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from soloist.algorithms._card import Card
from soloist.core import Message, Outbox, Port, Process, Site


class Nested(Process):
    algorithm: str
    inner: Any
    """A process; as bytes, its snapshot."""

    def __post_init__(self) -> None:
        if isinstance(self.inner, bytes):
            self.inner = algorithm(self.algorithm).process.restore(self.inner)

    def begin(self) -> None:
        self.step(Port.begin)

    def timeout(self, name: str) -> None:
        self.step(Port.timeout, name)

    def step(self, event: Callable[..., Any], *details: Any) -> None:
        """Let the inner process take a step, and do what it wants done."""
        out = Outbox(self.out.choose)
        for _, to, message, _ in event(Port(self.inner, out), *details):
            self.send_for_inner(to, message)
        for _, name, delay in out.timers:
            self.cancel_timer(name) if delay is None else self.set_timer(name, delay)
        for _ in out.entered:
            self.inner_enters()

    def send_for_inner(self, to: Iterable[Site], message: Message) -> None:
        raise NotImplementedError

    def inner_enters(self) -> None:
        raise NotImplementedError

    def snapshot(self) -> bytes:
        inner, self.inner = self.inner, self.inner.snapshot()
        try:
            return super().snapshot()
        finally:
            self.inner = inner


class Handlers:
    """A process handles whatever its inner process handles; the class, what it does by default."""

    def __init__(self, default: str, of: Callable[[str], dict[type[Message], Any]]) -> None:
        self.default = default
        self.of = of

    def __get__(self, process: Nested | None, kind: type[Nested]) -> dict[type[Message], Any]:
        return self.of(process.algorithm if process else self.default)


@cache
def algorithm(name: str) -> Card:
    from soloist.algorithms import find  # the catalogue that these modules are themselves a part of

    return find(name)
