"""Mizuno, Neilsen and Rao's algorithm in the survey's words. The paper's own pseudo-code was not at hand."""

from __future__ import annotations

import msgspec

from soloist.algorithms.mizuno_neilsen_rao import CARD, Acquired, MizunoNeilsenRao
from soloist.algorithms.printed._erratum import Erratum
from soloist.core import Site


class ForwardsOnAnnouncement(MizunoNeilsenRao):
    def link(self, j: Site) -> None:
        """Only ACQUIRED makes a link forward."""


class BelievesOldNews(MizunoNeilsenRao):
    def is_old(self, m: Acquired) -> bool:
        return False


class AsPrinted(ForwardsOnAnnouncement, BelievesOldNews):
    """Both."""


PRINTED = msgspec.structs.replace(CARD, process=AsPrinted)

ERRATA = (
    Erratum(
        algorithm="mizuno-neilsen-rao",
        code="M1",
        text="survey of 1993, section 4, Mizuno-Neilsen-Rao; the original was not at hand",
        says="The nodes of A_j look for requests to forward when ACQUIRED(j) arrives. A request that "
        "reaches the link later is forwarded by nobody.",
        repair="A link that knows of a holder forwards a request when it arrives, and when it asks itself. "
        "Whichever of REQUEST and ACQUIRED is second, the link that gets both sends the holder what it "
        "knows.",
        card=msgspec.structs.replace(CARD, process=ForwardsOnAnnouncement),
        breaks="deadlock",
        nodes=3,
    ),
    Erratum(
        algorithm="mizuno-neilsen-rao",
        code="M2",
        text="survey of 1993, section 4, Mizuno-Neilsen-Rao; the original was not at hand",
        says="ACQUIRED(j, LN) says that j has the token. Announcements of two holders come from two nodes "
        "and may arrive in either order, FIFO or not; the link then forwards to the former one.",
        repair="An announcement whose LN has a smaller sum than the newest LN seen is dropped: LN only "
        "grows along the way of the token, by one with every request served.",
        card=msgspec.structs.replace(CARD, process=BelievesOldNews),
        breaks="deadlock",
        run="other repairs",
        nodes=3,
    ),
)
