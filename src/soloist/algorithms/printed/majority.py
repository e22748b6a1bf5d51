"""Voting by all without tags. No text prints it: the survey has no more than the idea of a majority, and the rules here are
those of Agrawal and El Abbadi, which do without tags where links are FIFO. Voting by all does not."""

from __future__ import annotations

import msgspec

from soloist.algorithms._arbiter import Grant, Release
from soloist.algorithms.majority import CARD, Majority
from soloist.algorithms.printed._erratum import Erratum
from soloist.core import Site, on


class CountsLateVotes(Majority):
    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        super().on_grant(j, Grant(self.sn))


class ForgetsReleases(Majority):
    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        super().on_release(j, m)
        self.released[j] = 0


SURVEY = "survey of 1993, section 5, Thomas: an idea without rules; the original was not at hand"

NOTES = (
    Erratum(
        algorithm="majority",
        code="V1",
        text=SURVEY,
        says="If all are asked and a majority lets in, the other votes come late. Without the number of its request a late vote counts "
        "for the next one, though the voter has been told that it is free.",
        repair="A vote names its request, and counts for no other.",
        card=msgspec.structs.replace(CARD, process=CountsLateVotes),
        breaks="exclusion",
        nodes=3,
        rounds=(2, 1, 0),
        channels="fifo",
        options={"votes": "all"},
        run="not said",
    ),
    Erratum(
        algorithm="majority",
        code="V2",
        text=SURVEY,
        says="Where links do not keep order, a RELEASE may come before its REQUEST, which then holds the vote for ever.",
        repair="A voter remembers the highest number released by each site, and lets older requests pass.",
        card=msgspec.structs.replace(CARD, process=ForgetsReleases),
        breaks="deadlock",
        nodes=3,
        rounds=(2, 1, 0),
        channels="any",
        options={"votes": "all"},
        run="not said",
    ),
)
