"""Naimi and Trehel's algorithm in the survey's words: who has no token forwards."""

from __future__ import annotations

import msgspec

from soloist.algorithms.naimi_trehel import CARD, NaimiTrehel, Request
from soloist.algorithms.printed._erratum import Erratum
from soloist.core import Site, on


class ForwardsToItself(NaimiTrehel):
    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if not self.token and self.last == self.me:
            self.send(self.last, m)
            self.last = m.i
        else:
            super().on_request(j, m)


PRINTED = msgspec.structs.replace(CARD, process=ForwardsToItself)

ERRATA = (
    Erratum(
        algorithm="naimi-trehel",
        code="S1",
        text="survey of 1993, section 4, Naimi-Trehel; the original was not at hand",
        says="A node that is not privileged forwards a request to its LAST. A node that waits is not "
        "privileged, and its LAST is itself if nobody has asked since.",
        repair="A waiting root notes the request in NEXT, like a root inside. Every chain of LAST ends at a "
        "root that has the token or will get it, so every request ends up as somebody's NEXT.",
        card=PRINTED,
        breaks="livelock",
        nodes=2,
    ),
)
