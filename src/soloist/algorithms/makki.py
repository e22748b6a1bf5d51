"""Makki et al. 1992, rebuilt: one token visits the sites round by round, with a semaphore, and stays nowhere.

Abstract's word       here             meaning
token                 token            it is here
general semaphore     c, free          c entries have been made; entry e is free once entry e-K has been left
queue of sites        rest             (valid with the token) sites to visit after this one in this round
                      master           the last site of round r, which collects the requests for the next one
                      pend             requests collected here
                      missing          sites that have not answered yet whether they have a request
                      turn, heir       the entry that becomes free when this site leaves, and whom to tell
                      late             entries that were promised before they were free: whom to tell

The original was not at hand: this follows its abstract and what Bulgannawar and Vaidya say of it. Two things are
ours. Entries are numbered, so that every release has an addressee (the site with entry e, or else the last
of the round) and none stays where the token has passed. And where the original waits for a round
trip by the clock, the master of a round waits for an answer from every site outside it: else a
request that always comes too late could follow the token for ever.
"""

from __future__ import annotations

from typing import Annotated

from soloist.algorithms._card import Card, Formula
from soloist.core import WAITING, Counter, Message, Process, Site, on

Entry = Annotated[int, Counter(kind="entry")]
Round = Annotated[int, Counter(kind="round")]


class Request(Message, frozen=True):
    """REQUEST(r): the sender asks the master of round r."""

    r: Round


class Token(Message, frozen=True):
    """TOKEN: the sites that follow in round r, entries made, entries free, sites outside the round."""

    rest: tuple[Site, ...]
    c: Entry
    free: tuple[Entry, ...]
    r: Round
    outside: int


class Release(Message, frozen=True):
    """RELEASE(e): entry e is free."""

    e: Entry


class Master(Message, frozen=True):
    """MASTER(i, r): site i is the last of round r, and you are not in it; do you want to be in the next?"""

    i: Site
    r: Round


class Answer(Message, frozen=True):
    """ANSWER(wants): the sender does, or does not."""

    wants: bool


class Makki(Process):
    k: int
    token: bool
    c: Entry
    free: set[Entry]
    rest: list[Site]
    outside: int
    master: Site
    r: Round
    pend: list[Site]
    missing: int
    turn: Entry
    heir: Site
    late: dict[Entry, Site]

    @classmethod
    def start(cls, me: Site, n: int, k: int) -> Makki:
        free = set(range(1, k + 1)) if me == 0 else set()
        return cls(me=me, n=n, k=k, token=me == 0, c=0, free=free, rest=[], outside=0, master=0, r=0,
                   pend=[], missing=0, turn=0, heir=me, late={})  # fmt: skip

    def acquire(self) -> None:
        if self.token:
            self.go_on()
        else:
            self.send(self.master, Request(self.r))

    def release(self) -> None:
        if self.heir == self.me:
            self.on_release(self.me, Release(self.turn))
        else:
            self.send(self.heir, Release(self.turn))

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        """One that comes too late is void: its sender will be asked again, or is in the next round."""
        if m.r >= self.r:
            self.pend.append(j)
            self.go_on()

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        self.token, self.c, self.rest, self.r, self.outside = True, m.c, list(m.rest), m.r, m.outside
        self.free |= set(m.free)
        self.master = (self.me, *m.rest)[-1]
        if self.master == self.me:
            self.missing += m.outside
        self.late = {e: to for e, to in self.late.items() if e > m.c}
        self.go_on()

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        if m.e in self.late:
            self.send(self.late.pop(m.e), m)
        else:
            self.free.add(m.e)
            self.go_on()

    @on(Master)
    def on_master(self, j: Site, m: Master) -> None:
        self.master, self.r = m.i, m.r
        self.send(m.i, Answer(self.phase is WAITING))

    @on(Answer)
    def on_answer(self, j: Site, m: Answer) -> None:
        self.missing -= 1
        if m.wants:
            self.pend.append(j)
        self.go_on()

    def go_on(self) -> None:
        """With the token: enter if this site wants to, and then let it go to the next one."""
        if not self.token or (self.phase is WAITING and not self.take_turn()):
            return
        if self.rest:
            self.pass_token(self.rest)
        elif self.pend and not self.missing:
            self.new_round(self.pend)

    def take_turn(self) -> bool:
        if self.c + 1 not in self.free:
            return False
        self.c += 1
        self.free.remove(self.c)
        self.turn, self.heir = self.c + self.k, addressee(self.k, self.rest or [self.me])
        self.enter()
        return True

    def new_round(self, queue: list[Site]) -> None:
        for ahead in range(1, self.k + 1):
            if self.c + ahead not in self.free:
                self.late[self.c + ahead] = addressee(ahead, queue)
        outside = [j for j in self.others if j not in queue]
        self.master, self.r, self.pend, self.outside = queue[-1], self.r + 1, [], len(outside)
        self.pass_token(queue)
        self.multicast(outside, Master(self.master, self.r))

    def pass_token(self, queue: list[Site]) -> None:
        free = tuple(sorted(self.free))
        self.send(queue[0], Token(tuple(queue[1:]), self.c, free, self.r, self.outside))
        self.token, self.free, self.rest, self.outside = False, set(), [], 0


def addressee(ahead: int, queue: list[Site]) -> Site:
    """Who has the entry so many ahead, or, if it belongs to a later round, the last site of this one."""
    return queue[min(ahead, len(queue)) - 1]


CARD = Card(
    name="makki",
    title="Makki et al.",
    paper="K. Makki, P. Banta, K. Been, N. Pissinou and E. Park, A token based distributed k mutual exclusion algorithm, "
    "Proc. 4th IEEE Symposium on Parallel and Distributed Processing, 1992",
    section="rebuilt from its abstract and from Bulgannawar and Vaidya 1995, section 4; the original was not at hand",
    process=Makki,
    family="token",
    capacity="K",
    channels="any",
    bound=Formula("2N+K-1; 2N/q+K for rounds of q sites", lambda s: 2 * s.n + s.k - 1),
    light=Formula("2(N-1)²/N", lambda s: 2 * (s.n - 1) ** 2 / s.n),
    fairness="no-starvation",
    structure="rounds",
)
