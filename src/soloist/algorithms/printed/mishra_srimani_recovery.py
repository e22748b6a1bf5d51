"""Mishra and Srimani's recovery in the survey's words: N-2 answers are enough, and tokens have no incarnation."""

from __future__ import annotations

import msgspec

from soloist.algorithms.mishra_srimani_recovery import (
    CARD,
    CreatePrivilege,
    MishraSrimaniRecovery,
    NoCrit,
    Privilege,
    Update,
)
from soloist.algorithms.printed._erratum import Erratum
from soloist.core import Site, on


class ActsOnTheLastButOne(MishraSrimaniRecovery):
    @on(NoCrit)
    def on_no_crit(self, j: Site, m: NoCrit) -> None:
        super().on_no_crit(j, m)
        if self.regenerating == "check" and self.enough():
            self.create()


class TakesAnyToken(MishraSrimaniRecovery):
    """No promise and no number: whatever token comes is taken, and a holder tells what it knows like anybody else."""

    @on(Privilege)
    def on_token(self, j: Site, m: Privilege) -> None:
        super().on_token(j, msgspec.structs.replace(m, inc=max(m.inc, self.inc)))

    @on(CreatePrivilege)
    def on_create(self, j: Site, m: CreatePrivilege) -> None:
        self.stop()
        self.other = j
        self.send(j, Update(m.inc, tuple(self.RN), self.served))


class AsPrinted(TakesAnyToken):
    @on(NoCrit)
    def on_no_crit(self, j: Site, m: NoCrit) -> None:
        super().on_no_crit(j, m)
        if self.regenerating == "check" and self.enough():
            self.create()


PRINTED = msgspec.structs.replace(CARD, process=AsPrinted)

SURVEY = "survey of 1993, section 4, Mishra-Srimani; the original was not at hand"

ERRATA = (
    Erratum(
        algorithm="mishra-srimani-recovery",
        code="F1",
        text=f"{SURVEY}: 'when it receives no REP_CRITICAL messages and N-2 NO_CRIT messages'",
        says="A site creates a token as soon as all but one have said that they do not have it. The one may be the holder, whose answer takes longer.",
        repair="It waits for all N-1 answers, or until Treply has run out: a site that is silent for so long has failed.",
        card=msgspec.structs.replace(CARD, process=ActsOnTheLastButOne),
        breaks="exclusion",
        nodes=3,
        rounds=(1, 1, 0),
        properties=("exclusion",),
        timeouts=1,
        run="other repairs",
    ),
    Erratum(
        algorithm="mishra-srimani-recovery",
        code="F2",
        text=f"{SURVEY}: it has no word for a token that is on its way",
        says="Everybody says NO_CRIT while the token is on its way to one of them, which then has it beside the new one.",
        repair="Tokens have an incarnation; an UPDATE is a promise to refuse older ones, and a holder refuses to give one.",
        card=msgspec.structs.replace(CARD, process=TakesAnyToken),
        breaks="error",
        nodes=2,
        properties=("exclusion", "error"),
        timeouts=1,
        run="other repairs",
    ),
)
