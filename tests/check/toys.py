"""Tiny algorithms, each made to show one thing that the checker must see."""

from __future__ import annotations

from typing import Annotated

import msgspec

from soloist.algorithms import (
    CATALOGUE,
    Card,
    carvalho_roucairol,
    helary_plouzeau_raynal,
    lamport,
    maekawa,
    makki,
    naimi_trehel,
    ricart_agrawala,
    singhal_heuristic,
)
from soloist.check.declarations import Declaration, always, declaration, declare
from soloist.check.declarations import lamport as lamport_declared
from soloist.core import IDLE, INSIDE, WAITING, Clock, Counter, Message, Process, Site, Stamp, on


def changed(kind: type[Process], **what: object) -> None:
    """Declare about a class what is declared about its base, but for this."""
    declare(kind, msgspec.structs.replace(declaration(kind), **what))


class Ask(Message, frozen=True):
    """May I?"""


class Grant(Message, frozen=True):
    """You may."""


class Done(Message, frozen=True):
    """I have left."""


class Open(Process):
    """Everybody walks in."""

    @classmethod
    def start(cls, me: Site, n: int, k: int = 1) -> Open:
        return cls(me=me, n=n)

    def acquire(self) -> None:
        self.enter()

    def release(self) -> None: ...


class Timed(Open):
    """Enters when its timer runs out; another timer is set and cancelled in one step."""

    def acquire(self) -> None:
        self.set_timer("patience", 1.0)
        self.set_timer("never", 1.0)
        self.cancel_timer("never")

    def timeout(self, name: str) -> None:
        assert name == "patience"
        self.enter()


class Begun(Open):
    """A ring: the token starts on its way before anybody asks, and never rests."""

    def begin(self) -> None:
        if self.me == 0:
            self.send(1 % self.n, Grant())

    def acquire(self) -> None: ...

    def release(self) -> None:
        self.send((self.me + 1) % self.n, Grant())

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        if self.phase is IDLE:
            self.release()
        else:
            self.enter()


class Central(Process):
    """Site 0 decides (docs/algorithms/central.md); `k` may be inside together."""

    k: int
    inside: int
    queue: list[Site]

    @classmethod
    def start(cls, me: Site, n: int, k: int = 1) -> Central:
        return cls(me=me, n=n, k=k, inside=0, queue=[])

    def acquire(self) -> None:
        self.send(0, Ask())

    def release(self) -> None:
        self.send(0, Done())

    @on(Ask)
    def on_ask(self, j: Site, m: Ask) -> None:
        self.queue.append(j)
        self.grant()

    @on(Done)
    def on_done(self, j: Site, m: Done) -> None:
        self.inside -= 1
        self.grant()

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        self.enter()

    def grant(self) -> None:
        while self.queue and self.inside < self.k:
            self.inside += 1
            self.send(self.pick(), Grant())

    def pick(self) -> Site:
        return self.queue.pop(0)


class Narrow(Central):
    """Lets one in where K may be."""

    @classmethod
    def start(cls, me: Site, n: int, k: int = 1) -> Narrow:
        return cls(me=me, n=n, k=1, inside=0, queue=[])


class Lucky(Central):
    """Site 0 serves whom it likes: safe, but whoever is out of luck waits for ever."""

    def pick(self) -> Site:
        chosen = self.choose(sorted(self.queue))
        self.queue.remove(chosen)
        return int(chosen)


class Again(Message, frozen=True):
    """A site still asks: sent by site 0 to itself."""

    site: Site


class Babbling(Central):
    """While somebody is inside, site 0 sends itself each question again and again instead of queueing it."""

    @on(Ask)
    def on_ask(self, j: Site, m: Ask) -> None:
        if self.inside:
            self.send(0, Again(j))
        else:
            self.queue.append(j)
            self.grant()

    @on(Again)
    def on_again(self, j: Site, m: Again) -> None:
        self.on_ask(m.site, Ask())


class AsInPromela(ricart_agrawala.RicartAgrawala):
    """The deferred sites are a set; nothing else is settled. So it is in the model for SPIN."""


declare(AsInPromela, Declaration(settled={"deferred": lambda p: sorted(p.deferred)}))


class Forgetful(ricart_agrawala.RicartAgrawala):
    """Declared as settled: a value that later steps do read."""


declare(Forgetful, Declaration(settled={"H": lambda p: 0 if p.phase is IDLE else p.H}))


class ReadsWhatIsSettled(carvalho_roucairol.CarvalhoRoucairol):
    """Reads its number inside, where it is declared settled."""

    @on(carvalho_roucairol.Request)
    def on_request(self, j: Site, m: carvalho_roucairol.Request) -> None:
        if self.phase is INSIDE and (m.sn, j) < (self.sn, self.me):
            self.A.discard(j)
            self.send(j, carvalho_roucairol.Reply())
        else:
            super().on_request(j, m)


class ForgetfulOfMail(lamport.Lamport):
    """Declared as settled: a time stamp under way that still moves the clock."""


changed(ForgetfulOfMail, settled_mail={"t": lambda p, j, m: lamport_declared.told(p, j, m.t)})


class HastyClock(lamport.Lamport):
    """Called early: messages that move a clock which the next message shows."""


def early_clock(p: HastyClock, j: Site, m: Message, quiet: bool) -> bool:
    return isinstance(m, lamport.Ack | lamport.Release) and p.phase is not WAITING


changed(HastyClock, early=early_clock)


class HastyWhenQuiet(lamport.Lamport):
    """Called early: a message that the site could do without: it could leave, and show its clock, before."""


def early_when_quiet(p: HastyWhenQuiet, j: Site, m: Message, quiet: bool) -> bool:
    return lamport_declared.early(p, j, m, quiet) or (quiet and p.phase is WAITING)


changed(HastyWhenQuiet, early=early_when_quiet)


HASTY = (HastyClock, HastyWhenQuiet)


class CountsByItself(singhal_heuristic.SinghalHeuristic):
    """Declared so that each site's requests are numbered by themselves, although it compares those of two."""


changed(CountsByItself, counts=always)


class CountsOnFromAny(helary_plouzeau_raynal.HelaryPlouzeauRaynal):
    """Says that its clock is only compared."""

    h: Stamp


class CountsAsOne(makki.Makki):
    """Says that entries are only compared, although it looks for the next one."""

    free: set[Annotated[int, Counter(kind="entry", counted="none")]]
    late: dict[int, Clock]


class ReadsWhatIsVoid(maekawa.Maekawa):
    """Called void: what tells it to give grants back."""


changed(ReadsWhatIsVoid, void=lambda p, j, m: isinstance(m, maekawa.Failed))


MISCOUNTING = (CountsByItself, CountsOnFromAny, CountsAsOne, ReadsWhatIsVoid)


class Broken(Open):
    """Raises where it should not."""

    def release(self) -> None:
        raise RuntimeError("out of paper")


def recast(process: type[Process]) -> Card:
    """The card of the algorithm that this is a variant of."""
    card = next(card for card in CATALOGUE.values() if issubclass(process, card.process))
    return msgspec.structs.replace(card, process=process)


def card(process: type[Process], many: bool = False, **claims: object) -> Card:
    facts = {"name": process.__name__.lower(), "process": process, "capacity": "K" if many else "1"}
    return msgspec.structs.replace(naimi_trehel.CARD, **facts, **claims)
