"""Suzuki and Kasami's algorithm B as printed. (That its exit can be interrupted is left to algorithm A.)"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from soloist.algorithms.printed._erratum import Erratum
from soloist.algorithms.suzuki_kasami_bounded import CARD, SuzukiKasamiBounded


class EndsRoundTwice(SuzukiKasamiBounded):
    def ends_round(self) -> bool:
        return self.RN[self.me] >= 0 and self.RN[self.me] % self.L == self.L - 1


class ModuloL(SuzukiKasamiBounded):
    kinds_of_round: ClassVar = 1


class AsPrinted(ModuloL, EndsRoundTwice):
    """Both."""


PRINTED = msgspec.structs.replace(CARD, process=AsPrinted)

ERRATA = (
    Erratum(
        algorithm="suzuki-kasami-bounded",
        code="B1",
        text="Suzuki and Kasami 1985, Fig. 2, P1, end of a round",
        says="The exit waits for N-1 REPLYs whenever RN[I] = L-1. A node that keeps the token after its "
        "L-th request and enters again has sent no request: RN[I] is L-1 still, and the REPLYs have been "
        "used up.",
        repair="Only an entry for which a REQUEST was sent ends a round. Then everybody has got, or will "
        "get, L requests of this round, and answers once.",
        card=msgspec.structs.replace(CARD, process=EndsRoundTwice),
        breaks="deadlock",
        nodes=2,
        rounds=(2, 3),
        channels="fifo",
    ),
    Erratum(
        algorithm="suzuki-kasami-bounded",
        code="B2",
        text="Suzuki and Kasami 1985, section 3 and Fig. 2, numbers modulo L",
        says="Node j is taken to be requesting if RN[j] = LN[j]+1 mod L. A node that has heard nothing yet "
        "of j's new round has RN[j] = L-1 from the old one; when j has been served L-1 times in the new "
        "round, through others, that looks like its L-th request.",
        repair="Numbers run modulo 2L, rounds are of L as before. The numbers of a round and of the next "
        "one then differ, and nobody can be two rounds behind: a round is over only when everybody has "
        "received all of it.",
        card=msgspec.structs.replace(CARD, process=ModuloL),
        breaks="error",
        nodes=3,
        rounds=(2, 3, 1),
        channels="any",
    ),
)
