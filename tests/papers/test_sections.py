"""Cards name the sections in which their rules are printed."""

from __future__ import annotations

import pytest

from soloist.algorithms import CATALOGUE, find

SURVEYED = sorted(
    name for name, card in CATALOGUE.items() if "survey of 21" in card.section and name != "token-ring"
)


@pytest.mark.parametrize("name", SURVEYED)
def test_the_survey_has_tokens_in_section_4_permissions_in_5_and_several_entries_in_6(name: str) -> None:
    card = find(name)
    section = "6" if card.capacity == "K" else {"token": "4", "permission": "5"}[card.family]
    assert f"survey of 21 algorithms (1993), section {section}" in card.section


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("suzuki-kasami", "section 2 and Fig. 1, algorithm A"),
        ("suzuki-kasami-bounded", "section 3 and Fig. 2, algorithm B"),
        ("lodha-kshemkalyani", "section 3.3.2, Fig. 2"),
        ("ricart-agrawala", "Lodha and Kshemkalyani 2000, sections 2.1 and 2.2.2, Fig. 1"),
        ("bulgannawar-vaidya", "section 2, the pseudo-code"),
        ("partitioned", "section 5"),
        ("makki", "Bulgannawar and Vaidya 1995, section 4"),
        ("raynal-inform", "section 5, permission-based algorithms"),
        ("token-ring", "section 3.1"),
    ],
)
def test_the_others_name_the_section_of_their_paper(name: str, where: str) -> None:
    assert where in find(name).section
