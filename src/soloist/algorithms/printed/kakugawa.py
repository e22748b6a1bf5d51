"""Kakugawa's algorithm in the survey's words. (The original was not at hand.)"""

from __future__ import annotations

from typing import Any

import msgspec

from soloist.algorithms._card import Option
from soloist.algorithms.kakugawa import CARD, Kakugawa
from soloist.algorithms.printed._erratum import Erratum
from soloist.algorithms.printed.maekawa import TellsTheNewcomerOnly, Untagged
from soloist.structures.coteries import coterie, singleton_homes
from soloist.structures.quorums import Quorums


class KakugawaTellsTheNewcomerOnly(TellsTheNewcomerOnly, Kakugawa):
    pass


class UntaggedKakugawa(Untagged, Kakugawa):
    pass


def misquoted(value: Any, n: int, k: int) -> Quorums:
    """By default the least that the survey's conditions allow: two of the k singletons already pass."""
    return Quorums(singleton_homes(n, min(k, 2)), "two singletons") if value == "" else coterie(value, n, k)


MISQUOTED = (Option("coterie", "", "by default, two singletons; else a k-coterie", misquoted),)

PRINTED = msgspec.structs.replace(
    CARD, process=KakugawaTellsTheNewcomerOnly, channels="fifo", options=MISQUOTED
)

SURVEY = "survey of 1993, section 6, Kakugawa et al."

ERRATA = (
    Erratum(
        algorithm="kakugawa",
        code="K1",
        text=f"{SURVEY}, 'When receiving a request from i'",
        says="A failed message goes to a newcomer that has to wait. The request that was the next in line, and is pushed back by "
        "an older newcomer, gets none; it never cedes a permission that others wait for.",
        repair="The arbiter also tells those that a newcomer pushes back (as Sanders 1987 does for Maekawa's algorithm).",
        card=msgspec.structs.replace(CARD, process=KakugawaTellsTheNewcomerOnly),
        breaks="deadlock",
        nodes=4,
        channels="fifo",
        options={"coterie": "0+1"},
    ),
    Erratum(
        algorithm="kakugawa",
        code="K2",
        text=f"{SURVEY}, condition a) of a k-coterie",
        says="For any h < k disjoint quorums there must be another one that is disjoint from one of them. For h = 2 the two are "
        "that for each other, so two disjoint quorums pass for every k, and let only two sites in.",
        repair="Disjoint from all of them: then whenever fewer than k quorums are taken there is a free one.",
        card=msgspec.structs.replace(CARD, options=MISQUOTED),
        breaks="capacity",
        k=3,
    ),
)

NOTES = (
    Erratum(
        algorithm="kakugawa",
        code="K3",
        text=f"{SURVEY}: it does not say that message order must be preserved, as it does for Maekawa's algorithm",
        says="An INQUIRE that comes when its permission is not held is ignored, since it has crossed the release. Where links do "
        "not keep order it may also have overtaken the permission, and is not sent again.",
        repair="FIFO links, or as here: every message names its request, and an INQUIRE is kept until its permission comes.",
        card=msgspec.structs.replace(CARD, process=UntaggedKakugawa),
        breaks="deadlock",
        nodes=4,
        rounds=(0, 0, 1, 1),
        channels="any",
        options={"coterie": "0+1"},
        run="not said",
    ),
)
