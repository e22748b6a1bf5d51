"""Raynal's prime numbers, as the survey of 1993 changes them: the turn is announced, not asked for.

Survey         here       meaning
A_i, X_i, Q    see `_primes`
X_j            r[j]       how often site j has passed the turn on, modulo 3, which determines X_j
INFORM(i,X_i)  Inform(r)  the same, to everybody

Every site keeps all X. One whose turn it is enters if it wants to, and else passes the turn on at once. So
nobody who does not ask is in the way, but the turn goes round for ever, also when nobody wants it.

The first holder gets no message that would tell it to pass on: it must do so when the system starts.
The survey's bound of (N-1)² is not one: a site that asks again alone has to wait for N announcements, and in
an idle system their number has no limit.
"""

from __future__ import annotations

from math import inf

from soloist.algorithms._card import Card, Formula
from soloist.algorithms._primes import is_privileged
from soloist.core import INSIDE, WAITING, Message, Process, Site, on


class Inform(Message, frozen=True):
    """INFORM(X_i), as the number of times that the sender has passed the turn on, modulo 3."""

    r: int


class RaynalInform(Process):
    r: list[int]

    @classmethod
    def start(cls, me: Site, n: int) -> RaynalInform:
        return cls(me=me, n=n, r=[0] * n)

    def begin(self) -> None:
        self.check_turn()

    def acquire(self) -> None:
        self.check_turn()

    def release(self) -> None:
        self.pass_on()

    @on(Inform)
    def on_inform(self, j: Site, m: Inform) -> None:
        self.r[j] = m.r
        self.check_turn()

    def check_turn(self) -> None:
        if self.phase is INSIDE or not is_privileged(self.me, self.n, dict(enumerate(self.r)), modulo=3):
            return
        if self.phase is WAITING:
            self.enter()
        else:
            self.pass_on()

    def pass_on(self) -> None:
        self.r[self.me] = (self.r[self.me] + 1) % 3
        self.multicast(self.others, Inform(self.r[self.me]))


CARD = Card(
    name="raynal-inform",
    title="Raynal's prime numbers, announced",
    paper="survey of 21 distributed mutual exclusion algorithms, 1993, after M. Raynal, Prime numbers as a tool to design "
    "distributed algorithms, Information Processing Letters 33(1), 1989",
    section="section 5, permission-based algorithms, the modification of Raynal's algorithm",
    process=RaynalInform,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("none: the turn goes round in an idle system (published: (N-1)²)", lambda s: inf),
    light=None,
    heavy=Formula("N-1", lambda s: s.n - 1),
    fairness="no-starvation",
    structure="ring",
)
