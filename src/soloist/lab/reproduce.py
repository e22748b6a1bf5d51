"""The papers that can be done again, by name."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from soloist.core import unknown
from soloist.lab.papers import (
    bulgannawar_vaidya,
    lodha_kshemkalyani,
    naimi_thiare,
    recovery,
    scale,
    survey,
    suzuki_kasami,
)
from soloist.lab.report import Findings
from soloist.lab.workbench import Workbench


class Paper(msgspec.Struct, frozen=True):
    """What can be reproduced, and how."""

    name: str
    about: str
    """In one line."""
    reproduce: Callable[[Workbench], Findings]


PAPERS = {
    paper.name: paper
    for paper in (
        Paper("bulgannawar-vaidya", bulgannawar_vaidya.ABOUT, bulgannawar_vaidya.reproduce),
        Paper("lodha-kshemkalyani", lodha_kshemkalyani.ABOUT, lodha_kshemkalyani.reproduce),
        Paper("naimi-thiare", naimi_thiare.ABOUT, naimi_thiare.reproduce),
        Paper("suzuki-kasami", suzuki_kasami.ABOUT, suzuki_kasami.reproduce),
        Paper("recovery", recovery.ABOUT, recovery.reproduce),
        Paper("scale", scale.ABOUT, scale.reproduce),
        Paper("survey", survey.ABOUT, survey.reproduce),
    )
}


def find_paper(name: str) -> Paper:
    try:
        return PAPERS[name]
    except KeyError:
        raise unknown("paper", name, PAPERS) from None
