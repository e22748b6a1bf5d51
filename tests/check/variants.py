"""Broken variants of the catalogue that inherit, or copy, what the right algorithm declares about itself.

Each reads what is said to be settled, counts otherwise than it says, or heeds what is said to do nothing. A search
that believes the declarations does not see what comes of it. Ten are subclasses; the others are made from the text
of the right algorithm with one place changed, as people do who start from a copy.
"""

from __future__ import annotations

from typing import NamedTuple

from soloist.algorithms import (
    agrawal_el_abbadi,
    lodha_kshemkalyani,
    maekawa,
    majority,
    ricart_agrawala,
    sanders,
    singhal_heuristic,
    suzuki_kasami,
)
from soloist.algorithms._arbiter import Inquire
from soloist.algorithms._arbiter import Request as QuorumRequest
from soloist.core import Process, Site, on

from .toys import ReadsWhatIsSettled

# Subclasses.


class OldNumberPlusOne(ricart_agrawala.RicartAgrawala):
    """Counts its own requests, whatever it has heard."""

    def acquire(self) -> None:
        self.sn += 1
        self.H = max(self.H, self.sn)
        self.outstanding = self.n - 1
        self.multicast(self.others, ricart_agrawala.Request(self.sn))


class NumbersModuloFour(ricart_agrawala.RicartAgrawala):
    def acquire(self) -> None:
        self.sn = self.H = (self.H + 1) % 4
        self.outstanding = self.n - 1
        self.multicast(self.others, ricart_agrawala.Request(self.sn))


class AnswersNotReset(lodha_kshemkalyani.Improved):
    """RV keeps those who have answered the request before."""

    def acquire(self) -> None:
        answered = set(self.RV)
        super().acquire()
        self.RV |= answered


class GrantsNotReset(maekawa.Maekawa):
    """`got` keeps the grants of the request before."""

    def acquire(self) -> None:
        self.failed = set()
        self.sn = self.H = self.H + 1
        self.inq = set()
        self.tell(self.S, QuorumRequest(self.sn))


class VotesNotReset(majority.Majority):
    def acquire(self) -> None:
        self.sn = self.H = self.H + 1
        self.inq = set()
        self.tell(self.S, QuorumRequest(self.sn))


class PermissionsNotReset(sanders.Sanders):
    def acquire(self) -> None:
        self.failed = set()
        self.sn = self.H = self.H + 1
        self.inq = set()
        self.tell(self.S, QuorumRequest(self.sn))


class StaleRequesters(singhal_heuristic.SinghalHeuristic):
    """TR keeps what this site knew when it last had the token."""

    @on(singhal_heuristic.Token)
    def on_token(self, i: Site, m: singhal_heuristic.Token) -> None:
        super().on_token(i, singhal_heuristic.Token(tuple(sorted({*self.TR, *m.TR})), m.TSN))


class StaleToken(suzuki_kasami.SuzukiKasami):
    """LN is not taken over from the token."""

    @on(suzuki_kasami.Privilege)
    def on_privilege(self, j: Site, m: suzuki_kasami.Privilege) -> None:
        self.have_privilege, self.Q = True, list(m.Q)
        self.enter()


class GrantsOfAllTimes(agrawal_el_abbadi.AgrawalElAbbadi):
    """What is asked back need not be about the request that waits now."""

    @on(Inquire)
    def on_inquire(self, j: Site, m: Inquire) -> None:
        self.inq.add(j)
        self.cede()


class Variant(NamedTuple):
    process: type[Process]
    nodes: int = 2
    rounds: int = 1


SUBCLASSES = [
    Variant(OldNumberPlusOne, 2, 2),
    Variant(NumbersModuloFour, 2, 2),
    Variant(AnswersNotReset, 2, 2),
    Variant(GrantsNotReset, 2, 2),
    Variant(VotesNotReset, 2, 2),
    Variant(PermissionsNotReset, 2, 2),
    Variant(StaleRequesters, 3, 1),
    Variant(StaleToken, 2, 2),
    Variant(ReadsWhatIsSettled, 3, 1),
    Variant(GrantsOfAllTimes, 3, 1),
]


class Copy(NamedTuple):
    """One place of a module (all that read so) changed."""

    module: str
    right: str
    wrong: str
    nodes: int = 2
    rounds: int = 1

    @property
    def name(self) -> str:
        return f"{self.module}: {self.wrong}"


COPIES = [
    Copy("ricart_agrawala", "self.sn = self.H = self.H + 1", "self.sn = self.sn + 1", 2, 2),
    Copy("ricart_agrawala", "self.sn = self.H = self.H + 1", "self.sn = self.H = (self.H + 1) % 4", 2, 2),
    Copy("ricart_agrawala", "self.H = m.sn\n", "self.H = min(m.sn, 3)\n", 2, 2),
    Copy("_lodha_kshemkalyani_fig_2", "[self.timestamp()], {self.me}", "[self.timestamp()], self.RV | {self.me}", 2, 2),
    Copy("_lodha_kshemkalyani_fig_2", "self.LRQ, self.RV = [self.timestamp()], {self.me}",
         "self.LRQ, self.RV = [*self.LRQ, self.timestamp()], {self.me}", 2, 2),
    Copy("_arbiter", "self.got, self.inq = set(), set()", "self.inq = set()", 2, 2),
    Copy("singhal_heuristic", "self.TR, self.TSN = True, set(m.TR), list(m.TSN)", "self.TSN = True, list(m.TSN)", 3, 2),
    Copy("suzuki_kasami", "self.LN = True, list(m.Q), list(m.LN)", "self.LN = True, list(m.Q), self.LN", 2, 2),
    Copy("_ring_order", "self.request_data[j] > self.token_data[j]", "self.request_data[j] % 3 > self.token_data[j] % 3", 2, 2),
    Copy("helary_plouzeau_raynal", "self.lud = True, list(m.lud)", "self.lud = True, self.lud", 2, 2),
    Copy("lamport", "self.C += 1\n        self.q", "self.C = (self.C + 1) % 6\n        self.q", 2, 2),
    Copy("carvalho_roucairol", "self.sn = self.H = self.H + 1", "self.sn = self.sn + 1", 2, 2),
    Copy("raymond_k", "self.sn = self.H = self.H + 1", "self.sn = self.sn + 1", 3, 1),
    Copy("makki", "self.c, self.rest, self.r, self.outside = True, m.c,", "self.rest, self.r, self.outside = True,", 3, 1),
    Copy("singhal_heuristic", "if m.sn <= self.SN[i]:", "if m.sn < self.SN[i]:", 3, 2),
    Copy("suzuki_kasami", "self.RN[j] == self.LN[j] + 1", "self.RN[j] % 3 == self.LN[j] % 3 + 1", 2, 2),
    Copy("naimi_thiare", "self.R[self.me] = max(self.R)", "self.R[self.me] = max(self.R) % 3", 2, 2),
]  # fmt: skip
