"""Naimi and Trehel 1987, with recovery: who waits too long asks after its request, then after the token, then stands for election.

Survey's name                 here                     meaning
Twait                         Twait                    how long a site waits before it presumes a failure
Telec                         Telec                    how long it waits for answers, in each of three states
waiting, consulting, query,   state                    where a site is in that; idle besides, when it wants nothing
candidate, observer
queries are recorded          queries                  who asked after the token while it was under way
candidate_elected             Elected(epoch)           the sender has the token, and is the root of a new tree

The rest is `naimi-trehel`. **Safety rests on time**: with d the longest delay, Telec must be at least 3d (question, token under way, answer).
Sites that come back are out of scope, as in the survey.

Where the survey says less. A token that is asked after and is not lost: to go back to waiting helps nobody whose request has died
in a crashed site; so the holder itself makes a new tree around the token, as if elected. Trees are numbered (`epoch`), and what belongs to
an old one is dropped. An observer waits only for so long (Tobs): the candidate may have died.
"""

from __future__ import annotations

from soloist.algorithms._card import Card
from soloist.algorithms._recovery import time, while_calm
from soloist.algorithms.naimi_trehel import CARD as CALM
from soloist.core import IDLE, WAITING, Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(i): site i asks; passed on from owner to probable owner."""

    i: Site
    epoch: int


class Token(Message, frozen=True):
    """TOKEN: enter."""

    epoch: int


class Consult(Message, frozen=True):
    """Is my request recorded: am I your NEXT?"""


class Recorded(Message, frozen=True):
    """You are."""


class Query(Message, frozen=True):
    """Is the token with you?"""


class Election(Message, frozen=True):
    """The sender is a candidate for a new token."""


class Elected(Message, frozen=True):
    """The sender has the token of this epoch; whoever wants it asks the sender, again if need be."""

    epoch: int


class NaimiTrehelRecovery(Process):
    last: Site
    next: Site | None
    token: bool
    Twait: float
    Telec: float
    state: str = "idle"
    epoch: int = 0
    queries: set[Site] = set()

    @classmethod
    def start(cls, me: Site, n: int, Twait: float = 0.02, Telec: float = 0.004) -> NaimiTrehelRecovery:
        return cls(me=me, n=n, last=0, next=None, token=me == 0, Twait=Twait, Telec=Telec)

    def acquire(self) -> None:
        if self.token:
            self.enter()
        elif self.state != "observer":
            self.ask()

    def ask(self) -> None:
        self.send(self.last, Request(self.me, self.epoch))
        self.last = self.me
        self.go("waiting")

    def release(self) -> None:
        if self.next is not None:
            self.pass_token(self.next)
            self.next = None

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if m.epoch != self.epoch:
            return
        if self.last != self.me:
            self.send(self.last, m)
        elif self.token and self.phase is IDLE:
            self.pass_token(m.i)
        else:
            self.next = m.i
        self.last = m.i

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        if m.epoch == self.epoch:
            self.token = True
            self.go("idle")
            self.enter()
            if self.queries:
                self.answer()

    def pass_token(self, to: Site) -> None:
        self.token = False
        self.send(to, Token(self.epoch))

    # Failures.

    def timeout(self, name: str) -> None:
        if self.state == "waiting":
            self.go("consulting")
            self.multicast(self.others, Consult())
        elif self.state == "consulting":
            self.go("query")
            self.multicast(self.others, Query())
        elif self.state == "query":
            self.go("candidate")
            self.multicast(self.others, Election())
        elif self.state == "candidate":
            self.token = True
            self.proclaim()
            self.enter()
        else:
            self.stop_observing()

    def stop_observing(self) -> None:
        """Whoever was to be elected has not been heard of since."""
        self.go("waiting" if self.phase is WAITING else "idle")

    @on(Consult)
    def on_consult(self, j: Site, m: Consult) -> None:
        if self.next == j:
            self.send(j, Recorded())

    @on(Recorded)
    def on_recorded(self, j: Site, m: Recorded) -> None:
        if self.state == "consulting":
            self.go("waiting")

    @on(Query)
    def on_query(self, j: Site, m: Query) -> None:
        self.queries.add(j)
        if self.token:
            self.answer()

    @on(Election)
    def on_election(self, j: Site, m: Election) -> None:
        self.queries.add(j)
        if self.token:
            self.answer()
        elif self.state != "candidate" or j < self.me:
            self.go("observer")

    def answer(self) -> None:
        """The token is here: all start anew around it."""
        self.proclaim()

    def proclaim(self) -> None:
        self.begin_epoch(self.epoch + 1, self.me)
        self.multicast(self.others, Elected(self.epoch))

    @on(Elected)
    def on_elected(self, j: Site, m: Elected) -> None:
        if m.epoch > self.epoch:
            self.token = False
            self.begin_epoch(m.epoch, j)
            if self.phase is WAITING:
                self.ask()

    def begin_epoch(self, epoch: int, root: Site) -> None:
        self.epoch, self.last, self.next, self.queries = epoch, root, None, set()
        self.go("idle")

    def go(self, state: str) -> None:
        """Twait ends waiting, and Telec all that follows, unless something else does."""
        self.state = state
        self.cancel_timer("Twait")
        self.cancel_timer("Telec")
        if state == "waiting":
            self.set_timer("Twait", self.Twait)
        elif state != "idle":
            self.set_timer("Telec", 4 * self.Telec if state == "observer" else self.Telec)


CARD = Card(
    name="naimi-trehel-recovery",
    title="Naimi-Trehel with recovery",
    paper=CALM.paper,
    section=CALM.section,
    process=NaimiTrehelRecovery,
    family="token",
    capacity="1",
    channels="any",
    bound=while_calm("N"),
    light=CALM.light,
    fairness="no-starvation",
    tolerates="crashes of sites that stay down, if no message takes longer than a third of Telec",
    structure="dynamic tree",
    options=(
        time("Twait", 0.02, "wait so long before a failure is presumed"),
        time("Telec", 0.004, "wait so long for answers: more than 3 times the longest delay, for safety"),
    ),
)
