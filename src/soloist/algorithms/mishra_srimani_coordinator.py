"""Mishra and Srimani 1990, the second algorithm: a central coordinator that moves; if it is lost, another takes its place.

**Our reconstruction.** The survey says no more than that "a central coordination control for mutual exclusion is moved among the nodes in the system",
and that "at any given time, there exists only one central coordinator". When it moves and what happens if it fails are ours: it moves to
whoever is let in, and it is searched for as a token would be (`_search`), with the time-outs that the first algorithm has.

Survey's words         here           meaning
central coordinator    coordinator    who that is, as far as this site knows
coordination control   have_token     it is here
                       turn           how often it has moved since the search `inc`, so that old news is told from new
                       queue          who is to be let in; valid at the coordinator, and kept by those who are about to be it

A request goes to the coordinator. If control has moved on meanwhile it is passed on, each time to a later coordinator; a site that waits keeps
it, since control will come there. The new coordinator tells all but the old one, who knows. Crashes are for ever, and no message may be lost.
"""

from __future__ import annotations

from soloist.algorithms._card import Card
from soloist.algorithms._recovery import while_calm
from soloist.algorithms._search import Found, TokenSearch, options
from soloist.algorithms.mishra_srimani import CARD as FIRST
from soloist.algorithms.suzuki_kasami import CARD as BASE
from soloist.core import IDLE, Message, Number, Site, on


class Request(Message, frozen=True):
    """Site i asks to be let in."""

    i: Site
    inc: int


class Control(Message, frozen=True):
    """You are let in, and the coordinator from now on; after you come those of the queue."""

    queue: tuple[Site, ...]
    turn: Number
    inc: int


class Coordinator(Message, frozen=True):
    """The sender is the coordinator."""

    turn: Number
    inc: int


class MishraSrimaniCoordinator(TokenSearch, kw_only=True):
    coordinator: Site
    turn: Number
    queue: list[Site]

    @classmethod
    def start(cls, me: Site, n: int, T: float = 0.02, Treply: float = 0.003) -> MishraSrimaniCoordinator:
        return cls(me=me, n=n, have_token=me == 0, coordinator=0, turn=0, queue=[], T=T, Treply=Treply)

    def ask(self) -> None:
        self.send(self.coordinator, Request(self.me, self.inc))

    def forget(self) -> None:
        self.queue = []

    def release(self) -> None:
        if self.queue:
            self.move(self.queue.pop(0))

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if not self.is_of_now(m.inc):
            return
        if self.phase is not IDLE:
            self.queue.append(m.i)
        elif self.have_token:
            self.move(m.i)
        else:
            self.send(self.coordinator, m)

    def move(self, to: Site) -> None:
        self.have_token, self.coordinator, self.turn = False, to, self.turn + 1
        self.send(to, Control(tuple(self.queue), self.turn, self.inc))
        self.queue = []

    @on(Control)
    def on_control(self, j: Site, m: Control) -> None:
        if not self.is_of_now(m.inc):
            return
        self.coordinator, self.turn, self.queue = self.me, m.turn, [*m.queue, *self.queue]
        self.multicast((i for i in self.others if i != j), Coordinator(self.turn, self.inc))
        self.take()

    @on(Coordinator)
    def on_coordinator(self, j: Site, m: Coordinator) -> None:
        self.learn(j, m.inc, m.turn)

    @on(Found)
    def on_found(self, j: Site, m: Found) -> None:
        self.learn(j, m.inc, 0)

    def learn(self, coordinator: Site, inc: int, turn: Number) -> None:
        if (inc, not self.found, turn) > (self.inc, False, self.turn):
            self.coordinator, self.turn = coordinator, turn
        self.is_of_now(inc)

    def say_found(self) -> None:
        self.coordinator, self.turn = self.me, 0
        super().say_found()


CARD = Card(
    name="mishra-srimani-coordinator",
    title="Mishra-Srimani, moving coordinator",
    paper=FIRST.paper,
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, which has two sentences on it: nearly all of it is our reconstruction; the original was not at hand",
    process=MishraSrimaniCoordinator,
    family="token",
    capacity="1",
    channels="any",
    bound=while_calm("N, and one for each time that a request is passed on"),
    light=BASE.light,
    fairness="no-starvation",
    tolerates="crashes of sites that stay down, if no message takes longer than half of Treply",
    options=options(),
)
