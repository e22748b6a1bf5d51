"""Naimi and Thiare 2009: the example of Fig. 3, step by step, with the queues that the text gives.

P3 has the token at the start. Here that is site 0; P1, P2 and P4 are the sites 1, 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterable

from soloist.algorithms import Card, find
from soloist.algorithms.printed import ERRATA
from soloist.core import Port
from soloist.sim.script import Script

SITE = {1: 1, 2: 2, 3: 0, 4: 3}
NAME = {site: p for p, site in SITE.items()}


class Figure:
    """The system of Fig. 3, spoken to in the paper's names."""

    def __init__(self, card: Card) -> None:
        self.script = Script()
        self.script.run("start naimi-thiare nodes=4")
        self.script.ports = [Port(process, self.script.out) for process in card.start(card.size(4))]

    def request(self, p: int) -> None:
        self.script.run(f"acquire {SITE[p]}")

    def release(self, p: int) -> None:
        self.script.run(f"release {SITE[p]}")

    def receive(self, p: int, sender: int) -> None:
        self.script.run(f"deliver {SITE[sender]}>{SITE[p]}")

    def queue(self, p: int) -> list[tuple[int, int]]:
        return named(self.script.ports[SITE[p]].process.Q)  # type: ignore[attr-defined]

    def times(self, p: int) -> list[int]:
        R = self.script.ports[SITE[p]].process.R  # type: ignore[attr-defined]
        return [R[SITE[k]] for k in (1, 2, 3, 4)]

    def sent(self, sender: int, p: int) -> tuple[str, list[tuple[int, int]]]:
        """The newest message from one to the other."""
        link = (SITE[sender], SITE[p])
        message = [f.message for f in self.script.flights if (f.sender, f.to) == link][-1]
        return type(message).__name__, named(message.Q)  # type: ignore[attr-defined]


def named(entries: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(NAME[k], h) for k, h in entries]


def local_news_first() -> Card:
    return next(e.card for e in ERRATA if (e.algorithm, e.code) == ("naimi-thiare", "E2"))


def until_t9(fig: Figure) -> None:
    """T0 to T9, which the repairs leave as they are printed."""
    fig.request(3)  # T0
    assert fig.script.ports[SITE[3]].inside
    fig.request(1)  # T1
    assert fig.sent(1, 3) == ("Request", [(1, 1)])
    assert fig.queue(1) == []
    fig.receive(2, sender=1)  # T2
    fig.receive(4, sender=1)  # T3
    assert (fig.times(1), fig.times(2), fig.times(4)) == ([1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0, 1])
    fig.request(4)  # T4
    assert fig.sent(4, 1) == ("Request", [(1, 1), (4, 2)])
    fig.request(2)  # T5
    assert fig.sent(2, 3) == ("Request", [(1, 1), (2, 2)])
    fig.receive(3, sender=2)  # T6; the text calls this queue Q4, but it is P3's
    assert fig.queue(3) == [(1, 1), (2, 2)]
    fig.receive(1, sender=4)  # T7
    assert fig.queue(1) == [(4, 2)]
    fig.release(3)  # T8
    assert fig.sent(3, 1) == ("Token", [(2, 2)])
    assert fig.queue(3) == []
    fig.receive(1, sender=2)  # T9
    assert fig.queue(1) == [(4, 2), (2, 2)]


def test_figure_3_as_printed() -> None:
    """T10: local news before the token's queue, so P4 is next."""
    fig = Figure(local_news_first())
    until_t9(fig)
    fig.receive(1, sender=3)
    assert fig.script.ports[SITE[1]].inside
    assert fig.queue(1) == [(4, 2), (2, 2)]
    fig.release(1)
    assert fig.sent(1, 4) == ("Token", [(2, 2)])


def test_figure_3_repaired() -> None:
    """T10: the token's queue comes first, so P2 is next. Neither P2 nor P4 knew of the other's request: here
    both orders are causal, but in other runs the printed one is not (erratum E2)."""
    fig = Figure(find("naimi-thiare"))
    until_t9(fig)
    fig.receive(1, sender=3)
    assert fig.queue(1) == [(2, 2), (4, 2)]
    fig.release(1)
    assert fig.sent(1, 2) == ("Token", [(4, 2)])


def test_the_lemma_on_r_and_t_is_false() -> None:
    """The paper's R_i[i] <= T[i]+1: at T5 P2 asks with time 2, and it has never been served."""
    fig = Figure(find("naimi-thiare"))
    until_t9(fig)
    assert fig.times(2)[1] == 2
    assert fig.script.ports[SITE[2]].process.T[SITE[2]] == 0  # type: ignore[attr-defined]


def test_figure_2_the_request_that_was_made_first_is_served_first() -> None:
    """Fig. 2: P2 asks after hearing of P1's request. P3 hears of P2 only, and sends the token to P1."""
    fig = Figure(find("naimi-thiare"))
    fig.request(1)
    fig.receive(2, sender=1)
    fig.request(2)
    fig.receive(3, sender=2)
    assert fig.sent(3, 1) == ("Token", [(2, 2)])
