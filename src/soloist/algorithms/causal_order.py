"""Naimi and Thiare 2009, their transformation: any algorithm with a token, and entries in causal order.

Paper name    here            meaning
R_i[k]        R[k]            time of the newest request of site k that this site knows of
T[k]          T[k]            time of the request of site k that was served last
Q_i           before          requests (h, k) that were known to wait when this site asked, in the order of their times
              known, served   R and T of the sender, on every message
(token)       inner           this site's process of the algorithm that moves the token

"Other algorithms can be transformed, according to the same principle", says the paper, and leaves it at that. The principle: every message
carries which requests its sender knows of, and which it knows to be served; so whoever asks knows all requests that came before its own, and
whoever has the token knows which of these still wait. How the inner algorithm would pass the token on is its own affair (it may have no queue
that one could sort), so the site that has got it lends it to them, one after the other, and enters when it has it back. A site that was
served by a loan keeps its inner request: if it has not asked again when the token comes, the token moves on.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from soloist.algorithms._card import Card, Formula, Option, Size
from soloist.algorithms._nested import Handlers, Nested, algorithm
from soloist.core import IDLE, WAITING, Message, Port, Site, Stamp, UsageError, on

INNER = "suzuki-kasami"


class Lend(Message, frozen=True):
    """The token, for one entry."""

    known: tuple[Stamp, ...]
    served: tuple[Stamp, ...]


class Back(Message, frozen=True):
    """The token, back to the site that lent it."""

    known: tuple[Stamp, ...]
    served: tuple[Stamp, ...]


class CausalOrder(Nested):
    R: list[Stamp]
    T: list[Stamp]
    before: list[tuple[Stamp, Site]]
    lender: Site | None

    @classmethod
    def start(cls, me: Site, n: int, inner: str) -> CausalOrder:
        card = algorithm(inner)
        process = card.start_one(card.size(n), me)
        return cls(me=me, n=n, algorithm=inner, inner=process, R=[0] * n, T=[0] * n, before=[], lender=None)

    def acquire(self) -> None:
        self.before = self.waiting()
        self.R[self.me] = max(self.R) + 1
        if self.inner.phase is IDLE:
            self.step(Port.acquire)

    def release(self) -> None:
        self.T[self.me] = self.R[self.me]
        if self.lender is None:
            self.step(Port.release)
        else:
            self.send(self.lender, Back(tuple(self.R), tuple(self.T)))
            self.lender = None

    def on_message(self, j: Site, m: Any) -> None:
        self.learn(m)
        self.step(Port.deliver, j, plain(m))

    @on(Lend)
    def on_lend(self, j: Site, m: Lend) -> None:
        self.learn(m)
        self.lender = j
        self.enter()

    @on(Back)
    def on_back(self, j: Site, m: Back) -> None:
        self.learn(m)
        self.inner_enters()

    def inner_enters(self) -> None:
        """The token is here. Those go first that were known to wait when this site asked."""
        if self.phase is not WAITING:
            self.step(Port.release)
        elif first := self.to_go_first():
            self.send(first[0][1], Lend(tuple(self.R), tuple(self.T)))
        else:
            self.enter()

    def to_go_first(self) -> list[tuple[Stamp, Site]]:
        return [(h, k) for h, k in self.before if h > self.T[k]]

    def waiting(self) -> list[tuple[Stamp, Site]]:
        return sorted((h, k) for k, h in enumerate(self.R) if h > self.T[k])

    def learn(self, m: Any) -> None:
        self.R, self.T = list(map(max, self.R, m.known)), list(map(max, self.T, m.served))

    def fields(self) -> dict[str, Any]:
        own = super().fields()
        return {**own.pop("inner").fields(), **own}

    def send_for_inner(self, to: Iterable[Site], message: Message) -> None:
        told = telling(type(message))
        self.multicast(to, told(*values(message), tuple(self.R), tuple(self.T)))


def values(message: Message) -> tuple[Any, ...]:
    return tuple(getattr(message, name) for name in message.__struct_fields__)


@cache
def telling(kind: type[Message]) -> type[Message]:
    """A kind of message of the inner algorithm, with what every message carries."""
    fields = [("known", tuple[Stamp, ...]), ("served", tuple[Stamp, ...])]
    made: Any = msgspec.defstruct(kind.__name__, fields, bases=(kind,), module=__name__, frozen=True)
    told: type[Message] = made
    return told


def plain(m: Message) -> Message:
    """The message of the inner algorithm in it."""
    kind: type[Message] = type(m).__bases__[0]
    return kind(*values(m)[:-2])


@cache
def handlers(inner: str) -> dict[type[Message], Any]:
    told = map(telling, algorithm(inner).process.handlers)
    return {
        Lend: CausalOrder.on_lend,
        Back: CausalOrder.on_back,
        **dict.fromkeys(told, CausalOrder.on_message),
    }


CausalOrder.handlers = Handlers(INNER, handlers)  # type: ignore[assignment]


def inner(value: Any, n: int, k: int) -> str:
    """The name of an algorithm with one token that rests when nobody asks."""
    card = value if isinstance(value, Card) else algorithm(str(value))
    if (card.family, card.capacity) != ("token", "1") or card.light is None:
        raise UsageError(
            f"inner must be an algorithm with one token that rests when nobody asks, such as {INNER}, not {card.name}"
        )
    card.size(n)
    return card.name


def of_inner(s: Size) -> tuple[Card, Size]:
    card = algorithm(s.options["inner"])
    return card, card.size(s.n)


def bound(s: Size) -> float:
    """What the inner algorithm takes for a request, and a loan."""
    card, size = of_inner(s)
    return card.bound(size) + 2


def light(s: Size) -> float:
    card, size = of_inner(s)
    assert card.light
    return card.light(size)


CARD = Card(
    name="causal-order",
    title="Any token, in causal order",
    paper="M. Naimi and O. Thiare, Distributed mutual exclusion based on causal ordering, "
    "Journal of Computer Science 5(5), 2009",
    section='Discussion: "Other algorithms can be transformed, according to the same principle"; how is not said, so these rules are ours',
    process=CausalOrder,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("that of the inner algorithm, and 2 for a loan", bound),
    light=Formula("that of the inner algorithm", light),
    fairness="causal",
    options=(Option("inner", INNER, "the algorithm that moves the token", inner),),
)
