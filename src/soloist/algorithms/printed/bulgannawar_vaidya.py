"""Bulgannawar and Vaidya's algorithm as printed: INFORM, and two sentences in which the explanation differs from the code."""

from __future__ import annotations

import msgspec

from soloist.algorithms._card import choice, number
from soloist.algorithms.bulgannawar_vaidya import CARD, BulgannawarVaidya, Inform, Request, Token
from soloist.algorithms.printed._erratum import Erratum
from soloist.core import Site, on


class InformSetsPointer(BulgannawarVaidya):
    @on(Inform)
    def on_inform(self, j: Site, m: Inform) -> None:
        super().on_inform(j, m)
        self.pointer[m.t] = m.X


class PointsForTheTokenAskedFor(BulgannawarVaidya):
    """On giving token u to a site that asked for t: pointer[t], not pointer[u]."""

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        u, before = self.token, list(self.pointer)
        super().on_request(j, m)
        if u is not None and self.token is None:
            self.pointer[u] = before[u]
            self.pointer[m.t] = m.Y


class PointsForTheTokenReceived(BulgannawarVaidya):
    """On receiving token t in place of u: pointer[t], which is overwritten at once, not pointer[u]."""

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        u, before = self.wait, list(self.pointer)
        super().on_token(j, m)
        if u is not None and u != m.t:
            self.pointer[u] = before[u]


class KeepsItsNodeQueue(BulgannawarVaidya):
    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        nq = list(self.nq)
        super().on_token(j, m)
        self.nq = nq


class AsExplained(PointsForTheTokenReceived, PointsForTheTokenAskedFor, InformSetsPointer):
    """The first three together; the fourth is a reading by the letter. (Handlers are those of the first base, unless named.)"""

    on_request = PointsForTheTokenAskedFor.on_request
    on_inform = InformSetsPointer.on_inform


PRINTED = msgspec.structs.replace(
    CARD,
    process=AsExplained,
    options=(
        choice("token", ("random", "last-seen"), "which token to ask for"),
        number("inform", 2, 0, "how many sites to tell of an idle token; 2 in the paper's simulation"),
        CARD.options[2],
    ),
)

PAPER = "Bulgannawar and Vaidya 1995, section 2"

ERRATA = (
    Erratum(
        algorithm="bulgannawar-vaidya",
        code="B1",
        text=f"{PAPER}, procedure Handle_INFORM, and its explanation",
        says="An INFORM makes its receiver point at the sender. When it arrives the token may long have moved on, and the sender "
        "may point at the receiver: a request then goes round, and its own author puts it into its own node-queue.",
        repair="An INFORM only suggests which token to ask for next; pointers change by requests and tokens alone, as in the "
        "algorithm without INFORM, which is correct.",
        card=msgspec.structs.replace(CARD, process=InformSetsPointer),
        breaks="deadlock",
        rounds=2,
        channels="fifo",
        options={"inform": 1},
    ),
    Erratum(
        algorithm="bulgannawar-vaidya",
        code="B2",
        text=f"{PAPER}, explanation of Handle_REQUEST, case 1 (the pseudo-code is right)",
        says="A site that gives token u to one that asked for t changes its pointer for t. Its pointer for u still says that "
        "the token is here.",
        repair="As in the pseudo-code: the pointer for the token that leaves.",
        card=msgspec.structs.replace(CARD, process=PointsForTheTokenAskedFor),
        breaks="deadlock",
        run="other repairs",
        rounds=2,
        k=2,
    ),
    Erratum(
        algorithm="bulgannawar-vaidya",
        code="B3",
        text=f"{PAPER}, explanation of Handle_TOKEN, case 1 (the pseudo-code and the example are right)",
        says="A site that asked for token u and receives t points for t at the site that turned its request, and leaves its pointer "
        "for u alone. The sites that passed its request on now point at it, and its own pointer leads back to them.",
        repair="As in the pseudo-code: the pointer for the token that was asked for.",
        card=msgspec.structs.replace(CARD, process=PointsForTheTokenReceived),
        breaks="deadlock",
        run="other repairs",
        rounds=(4, 1, 3),
        k=2,
    ),
    Erratum(
        algorithm="bulgannawar-vaidya",
        code="B4",
        text=f"{PAPER}, procedure Handle_TOKEN: 'Append node-queue to token-queue of token t'",
        says="Nothing empties the node-queue afterwards. Read by the letter its sites stay there, are appended again with the next "
        "token, and get a token that they have not asked for.",
        repair="The node-queue is emptied when it has gone into the token-queue.",
        card=msgspec.structs.replace(CARD, process=KeepsItsNodeQueue),
        breaks="error",
        channels="fifo",
        run="by the letter",
    ),
)
