"""Srimani and Reddy's algorithm with bounded numbers: what the survey leaves open. (The original was not at hand.)"""

from __future__ import annotations

from soloist.algorithms.printed._erratum import Slip

SLIPS_IN_NOTES = (
    Slip(
        algorithm="srimani-reddy",
        code="S1",
        text="survey of 1993, section 6, Srimani-Reddy: 'it waits for the acknowledgement from all other N-1 nodes'",
        says="The acknowledgements say how far nodes have come, not how far a token in transit has: one that was under way for many "
        "rounds of a site is taken for a newer one, and its old entries then mark a request as served that is not.",
        repair="Rounds have numbers, modulo a large M, and a token is older or newer by them. It must not be in transit for M/2 rounds of "
        "one site. Tokens are conserved in any case, so that never more than K are inside.",
    ),
    Slip(
        algorithm="srimani-reddy",
        code="S2",
        text="survey of 1993, section 6, Srimani-Reddy, last note: 'should be equal to 2 rather than to 1'",
        says="The note is about a line of the original, which was not at hand. Nothing here corresponds to it: a round begins with its first "
        "REQUEST, not at a value of RN.",
        repair="None.",
    ),
)
