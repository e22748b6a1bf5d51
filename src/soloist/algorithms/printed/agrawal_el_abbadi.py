"""Agrawal and El Abbadi's algorithm in the survey's words. (The original was not at hand.)"""

from __future__ import annotations

from bisect import insort

import msgspec

from soloist.algorithms._arbiter import Grant, Inquire, Yield
from soloist.algorithms.agrawal_el_abbadi import CARD, AgrawalElAbbadi
from soloist.algorithms.printed._erratum import Erratum, Example, Slip, steps
from soloist.core import WAITING, Site, on


class CedesWhatItDoesNotHold(AgrawalElAbbadi):
    """Without tags: every INQUIRE is taken to mean the request under way, and every YIELD the lock."""

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        if self.phase is WAITING:
            super().on_grant(j, m)

    @on(Inquire)
    def on_inquire(self, j: Site, m: Inquire) -> None:
        if self.phase is WAITING:
            self.got.discard(j)
            self.tell((j,), Yield(self.sn))

    @on(Yield)
    def on_yield(self, j: Site, m: Yield) -> None:
        if self.lock:
            insort(self.queue, self.lock)
            self.lock = None
        self.decide()


class IgnoresEarlyInquiries(AgrawalElAbbadi):
    @on(Inquire)
    def on_inquire(self, j: Site, m: Inquire) -> None:
        if j in self.got:
            super().on_inquire(j, m)


PRINTED = msgspec.structs.replace(CARD, process=CedesWhatItDoesNotHold, channels="fifo")

SURVEY = "survey of 1993, section 5, Agrawal-El Abbadi"

ERRATA = (
    Erratum(
        algorithm="agrawal-el-abbadi",
        code="A1",
        text=f"{SURVEY}: 'if it has not, it cedes its permission'",
        says="A site that is asked for its permission back gives it back unless it has succeeded. The question may be about its "
        "request before, and the permission for this one on its way: then the arbiter gives it twice.",
        repair="It gives back only what it holds, for the request that is asked about.",
        card=msgspec.structs.replace(CARD, process=CedesWhatItDoesNotHold),
        breaks="exclusion",
        rounds=2,
        channels="fifo",
    ),
)

NOTES = (
    Erratum(
        algorithm="agrawal-el-abbadi",
        code="A2",
        text=f"{SURVEY}: it does not say that message order must be preserved",
        says="With the repair of A1, an INQUIRE that overtakes its permission is ignored, and is not sent again.",
        repair="Every message names its request. An INQUIRE for the request under way is kept until its permission comes.",
        card=msgspec.structs.replace(CARD, process=IgnoresEarlyInquiries),
        breaks="deadlock",
        nodes=7,
        rounds=(0, 0, 0, 1, 1, 1, 0),
        channels="any",
        run="not said",
    ),
)

EXAMPLES = (
    Example(
        algorithm="agrawal-el-abbadi",
        code="A3",
        text=f"{SURVEY}: 'it requires (N+1)/2 messages when some failures occur'",
        says="(N+1)/2 is how many sites a quorum may have then: 4 of 7 where the root is down. Each of them but the site itself costs "
        "three messages, a REQUEST, a GRANT and a RELEASE.",
        repair="None: the card counts the sites of the quorums that are in use.",
        script=steps("start agrawal-el-abbadi nodes=7 failed=0; acquire 3; settle; release 3; settle"),
        published=4,
    ),
)

SLIPS_IN_NOTES = (
    Slip(
        algorithm="agrawal-el-abbadi",
        code="A4",
        text=f"{SURVEY}: 'If a yield message is received, node j sends its permission to i'",
        says="Since j asked, for the request of i, an older one may have come; what becomes of that is not said.",
        repair="The permission goes to whichever request is the oldest then.",
    ),
)
