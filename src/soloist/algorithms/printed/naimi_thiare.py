"""Naimi and Thiare's rules as printed, as far as they can be carried out.

What could not be carried out (E5, E7) is taken as repaired; on the false lemma (E6) nothing rests.
"""

from __future__ import annotations

import msgspec

from soloist.algorithms.naimi_thiare import CARD, Entry, NaimiThiare
from soloist.algorithms.printed._erratum import Erratum, Example, Slip, steps


class KeepsIdleToken(NaimiThiare):
    def serve_if_idle(self) -> None:
        """Rule 2 ends with the update of R."""


class LocalNewsFirst(NaimiThiare):
    def merged(self, queue: list[Entry], local: list[Entry]) -> list[Entry]:
        return local + queue


class ForgetsQueue(NaimiThiare):
    def note_queue(self, queue: list[Entry]) -> None:
        """Rule 3 raises R by T only."""


class DropsWhatItKnows(NaimiThiare):
    def still_queued(self) -> list[Entry]:
        return [(k, h) for k, h in self.unserved(self.Q) if h > self.R[k]]


class AsPrinted(KeepsIdleToken, LocalNewsFirst, ForgetsQueue, DropsWhatItKnows):
    """All four."""


PRINTED = msgspec.structs.replace(CARD, process=AsPrinted)

ERRATA = (
    Erratum(
        algorithm="naimi-thiare",
        code="E1",
        text="Naimi and Thiare 2009, rule 2",
        says="A node that receives a request merges its queue and updates R; a node that holds the idle "
        "token does no more than that, though the text before the rules has it send the token.",
        repair="The holder of an idle token hands it over as soon as its queue is not empty.",
        card=msgspec.structs.replace(CARD, process=KeepsIdleToken),
        breaks="deadlock",
        nodes=2,
    ),
    Erratum(
        algorithm="naimi-thiare",
        code="E2",
        text="Naimi and Thiare 2009, rule 3 and step T10 of the example",
        says="On arrival of the token local news come before the token's queue. A node that asked in "
        "knowledge of a request in that queue can then overtake it, against the theorem.",
        repair="The token's queue comes first. A request brings along those that its node knew of, so "
        "whoever is in the token's queue stands behind all that it knew; what is missing there was not "
        "known to any of them.",
        card=msgspec.structs.replace(CARD, process=LocalNewsFirst),
        breaks="causal",
        run="other repairs",
        nodes=3,
        channels="any",
    ),
    Erratum(
        algorithm="naimi-thiare",
        code="E3",
        text="Naimi and Thiare 2009, rule 3",
        says="R is raised by T, but not by the entries of the token's queue. The same entry counts as news "
        "when it comes in a request later, is queued twice, and its node sends the token to itself.",
        repair="R is raised by the token's queue too: an entry is news once.",
        card=msgspec.structs.replace(CARD, process=ForgetsQueue),
        breaks="error",
        run="other repairs",
        nodes=3,
    ),
    Erratum(
        algorithm="naimi-thiare",
        code="E4",
        text="Naimi and Thiare 2009, definition of obsolete, and its use in rule 2",
        says="A request (i, h) is obsolete if h <= R_k[i] for all k, which no node can know. Read locally, "
        "h <= R[i], and applied to the local queue as well, it deletes every request that was accepted "
        "before.",
        repair="h <= R[k] is asked of entries that arrive, h <= T[k] of all: the first is true of every "
        "entry that is queued here, the second only of those that have been served.",
        card=msgspec.structs.replace(CARD, process=DropsWhatItKnows),
        breaks="deadlock",
        nodes=3,
    ),
)

EXAMPLES = (
    Example(
        algorithm="naimi-thiare",
        code="E6",
        text="Naimi and Thiare 2009, first lemma: 'R_i[i] <= T[i] + 1 is an invariant'",
        says="R_i[i] is also the clock, and rises with what others ask. Site 2 has never been served, T[2] is 0, and it asks with 2; "
        "so does P2 in the paper's own example, at T5.",
        repair="None: nothing rests on it.",
        script=steps("start naimi-thiare nodes=3; acquire 1; deliver 1>2; acquire 2; show 2"),
    ),
)

SLIPS = (
    Slip(
        algorithm="naimi-thiare",
        code="E5",
        text="Naimi and Thiare 2009, rule 2: 'R_i[k] <- max(R_i[k], R[k])'",
        says="The message carries no R.",
        repair="The h of the entry for k is meant.",
    ),
    Slip(
        algorithm="naimi-thiare",
        code="E7",
        text="Naimi and Thiare 2009, rule 1, and the example at T6 and T8",
        says="Rule 1 does not say that a node with the token enters, and has a node send its request to itself ('For all k'). The "
        "example calls the queue of P3 Q4.",
        repair="It enters; it sends to all others; the queue is Q3.",
    ),
)
