"""Singhal's dynamic information structure: its published cost under load."""

from __future__ import annotations

from soloist.algorithms.printed._erratum import Example, Slip, steps

EXAMPLES = (
    Example(
        algorithm="singhal-dynamic",
        code="D1",
        text="survey of 1993, section 5, Singhal: 'Under heavy load, it requires 3 * (N - 1)/2'; the original was not at hand",
        says="Where everybody waits, whoever leaves gives all its permissions away and has to fetch each of them back, with a REQUEST "
        "and a REPLY: 2(N-1) messages, here 2 for every entry but the first.",
        repair="None: the card has 2(N-1) for heavy load.",
        script=steps(
            """start singhal-dynamic nodes=2; acquire 0; acquire 1; settle; release 0; settle; acquire 0; settle; release 1; settle;
            acquire 1; settle; release 0; settle; acquire 0; settle; release 1; settle; release 0"""
        ),
        published=1.5,
    ),
)

SLIPS_IN_NOTES = (
    Slip(
        algorithm="singhal-dynamic",
        code="D2",
        text="survey of 1993, section 5, Singhal: 'if node i was not in its Rj set, it is added and a request is sent to it'",
        says="Which timestamp this late request has is not said.",
        repair="That of the request under way: others have deferred it, or given way to it, by that one.",
    ),
)
