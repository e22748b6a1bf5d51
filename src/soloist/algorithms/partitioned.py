"""Partitioning: K groups of sites, and in each an algorithm for one entry.

Paper's word     here               meaning
cluster          me % K             the group of this site
algorithm A_1    inner              this site's process of the inner algorithm, which numbers the sites of its group
                                    from 0: its site j is our site j * K + group

Bulgannawar and Vaidya 1995 found that this beats three of the algorithms made for K entries. At most K
sites are inside, one of each group; but a group may queue while another is idle. Messages, links and fairness are
those of the inner algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from soloist.algorithms._card import Card, Formula, Option, Size
from soloist.algorithms._nested import Handlers, Nested, algorithm
from soloist.core import Message, Port, Site, UsageError

INNER = "naimi-trehel"


class Partitioned(Nested):
    k: int

    @classmethod
    def start(cls, me: Site, n: int, k: int, inner: str) -> Partitioned:
        card = algorithm(inner)
        processes = card.start(card.size(len(range(me % k, n, k))))
        return cls(me=me, n=n, k=k, algorithm=inner, inner=processes[me // k])

    def acquire(self) -> None:
        self.step(Port.acquire)

    def release(self) -> None:
        self.step(Port.release)

    def on_message(self, j: Site, m: Message) -> None:
        self.step(Port.deliver, j // self.k, m)

    def slot(self) -> int:
        return self.me % self.k

    def send_for_inner(self, to: Iterable[Site], message: Message) -> None:
        self.multicast((j * self.k + self.me % self.k for j in to), message)

    def inner_enters(self) -> None:
        self.enter()

    def fields(self) -> dict[str, Any]:
        own: dict[str, Any] = self.inner.fields()
        return own


@cache
def forwards(name: str) -> dict[type[Message], Any]:
    return dict.fromkeys(algorithm(name).process.handlers, Partitioned.on_message)


Partitioned.handlers = Handlers(INNER, forwards)  # type: ignore[assignment]


def inner(value: Any, n: int, k: int) -> str:
    """The name of an algorithm that can run in every group."""
    name = value.name if isinstance(value, Card) else str(value)
    if name == CARD.name:
        raise UsageError("inner must be an algorithm that is not itself partitioned, such as naimi-trehel")
    for size in {len(range(g, n, k)) for g in range(k)}:
        algorithm(name).size(size)
    return name


def groups(s: Size) -> list[Size]:
    """The sizes of the groups, as the inner algorithm sees them."""
    card = algorithm(s.options["inner"])
    return [card.size(len(range(g, s.n, s.k))) for g in range(s.k)]


def bound(s: Size) -> float:
    return max(map(algorithm(s.options["inner"]).bound, groups(s)))


def mean(formula: Formula | None, s: Size) -> float:
    """Over sites that ask alike; an inner algorithm that never rests has no limit."""
    return sum(formula(g) * g.n / s.n for g in groups(s)) if formula else float("inf")


CARD = Card(
    name="partitioned",
    title="Partitioned",
    paper="S. Bulgannawar and N. H. Vaidya, A distributed K-mutual exclusion algorithm, Proc. 15th ICDCS, 1995",
    section="section 5",
    process=Partitioned,
    family="token",
    capacity="K",
    channels="any",
    bound=Formula("that of the inner algorithm, N/K sites", bound),
    light=Formula(
        "that of the inner algorithm, N/K sites", lambda s: mean(algorithm(s.options["inner"]).light, s)
    ),
    fairness="no-starvation",
    structure="K groups",
    options=(Option("inner", INNER, "the algorithm of each group; links as it needs them", inner),),
)
