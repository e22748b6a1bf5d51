"""Suzuki and Kasami 1985, algorithm B: algorithm A with request numbers that start again.

Paper name         here        meaning
L                  L           a site's requests come in rounds of L
RequestCount[j]    rc[j]       requests of this round that have arrived from site j
ReplyCount         replies     sites that have received all of this site's round
(waiting, in P1)   closing     the site has left, but its exit waits for REPLYs

Everything else is algorithm A. At the end of a round the token is kept until everybody has received all of
the round. Two repairs. A site that enters again with an idle token has sent no request, so that entry
(`asked` is false) ends no round. And numbers run modulo 2L, not L: a site that has heard nothing of j's new
round yet must not take the last number of the old round for a request of the new one.
"""

from __future__ import annotations

from typing import ClassVar

from soloist.algorithms._card import Card, Formula, number
from soloist.algorithms.suzuki_kasami import Request, SuzukiKasami
from soloist.core import WAITING, Message, Site, on


class Reply(Message, frozen=True):
    """REPLY: the sender has received all L requests of the addressee's round."""


class SuzukiKasamiBounded(SuzukiKasami):
    L: int
    rc: list[int]
    replies: int
    closing: bool
    asked: bool

    kinds_of_round: ClassVar = 2
    """Numbers run modulo this many rounds."""

    @classmethod
    def start(cls, me: Site, n: int, L: int = 2) -> SuzukiKasamiBounded:
        return cls(
            me=me, n=n, have_privilege=me == 0, RN=[-1] * n, LN=[-1] * n, Q=[],
            L=L, rc=[0] * n, replies=0, closing=False, asked=False,
        )  # fmt: skip

    def acquire(self) -> None:
        if self.closing:
            return
        self.asked = not self.have_privilege
        if self.have_privilege:
            self.enter()
            return
        self.RN[self.me] = self.after(self.RN[self.me])
        self.multicast(self.others, Request(self.RN[self.me]))

    def release(self) -> None:
        self.LN[self.me] = self.RN[self.me]
        self.closing = True
        self.close_if_complete()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        first = self.rc[j] == 0
        self.RN[j] = m.n if first else max(self.RN[j], m.n)
        self.rc[j] += 1
        if self.rc[j] == self.L:
            self.rc[j] = 0
            self.send(j, Reply())
        if not self.closing:
            self.serve_if_idle(j)

    @on(Reply)
    def on_reply(self, j: Site, m: Reply) -> None:
        self.replies += 1
        if self.closing:
            self.close_if_complete()

    def close_if_complete(self) -> None:
        """The second half of the exit, with the request that may have come in meanwhile."""
        if self.ends_round():
            if self.replies < self.n - 1:
                return
            self.replies = 0
        self.closing = False
        self.serve_next()
        if self.phase is WAITING:
            self.acquire()

    def ends_round(self) -> bool:
        return self.asked and self.RN[self.me] % self.L == self.L - 1

    def after(self, number: int) -> int:
        return (number + 1) % (self.kinds_of_round * self.L)

    def is_waiting(self, j: Site) -> bool:
        return self.RN[j] == self.after(self.LN[j])


L_OPTION = number("L", 2, 2, "requests of a site before its numbers start again")
BOUND = Formula("2N-1 (LN+N-1 for L entries of a site)", lambda s: 2 * s.n - 1)
LIGHT = Formula("(N+(N-1)/L)(1-1/N)", lambda s: (s.n + (s.n - 1) / s.options["L"]) * (1 - 1 / s.n))
HEAVY = Formula("N+(N-1)/L", lambda s: s.n + (s.n - 1) / s.options["L"] if s.n > 1 else 0)

CARD = Card(
    name="suzuki-kasami-bounded",
    title="Suzuki-Kasami with bounded numbers",
    paper="I. Suzuki and T. Kasami, A distributed mutual exclusion algorithm, ACM TOCS 3(4), 1985",
    section="section 3 and Fig. 2, algorithm B, repaired",
    process=SuzukiKasamiBounded,
    family="token",
    capacity="1",
    channels="any",
    bound=BOUND,
    light=LIGHT,
    heavy=HEAVY,
    fairness="no-starvation",
    options=(L_OPTION,),
)
