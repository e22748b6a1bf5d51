"""The pages that come from the code are up to date; `make pages` writes them. (The errata: test_conformance.)"""

from __future__ import annotations

import re

import pytest

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, find, find_any
from tests.pages import DOCS, generate
from tests.views.test_settings import STATES


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_the_page_of_an_algorithm_is_what_the_code_says(name: str) -> None:
    page = (DOCS / "algorithms" / f"{name}.md").read_text()
    assert page == generate.page(find(name)), f"out of date: python docs/generate.py {name}"


@pytest.mark.parametrize("name", sorted(RECOVERY))
def test_the_page_of_an_algorithm_with_recovery_is_what_the_code_says(name: str) -> None:
    page = (DOCS / "recovery" / f"{name}.md").read_text()
    assert page == generate.recovery_page(find_any(name)), f"out of date: python docs/generate.py {name}"


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_the_page_of_a_variant_is_what_the_code_says(name: str) -> None:
    page = (DOCS / "variants" / f"{name}.md").read_text()
    assert page == generate.page(find_any(name)), f"out of date: python docs/generate.py {name}"


def test_there_is_no_page_too_many() -> None:
    assert {path.stem for path in (DOCS / "variants").glob("*.md")} == set(VARIANTS)
    assert {path.stem for path in (DOCS / "recovery").glob("*.md")} == set(RECOVERY)
    assert {path.stem for path in (DOCS / "algorithms").glob("*.md")} == set(CATALOGUE)


def test_the_tables_of_views_say_what_the_tests_know() -> None:
    """The exploration takes minutes: that the counts are right is shown by the tests of the settings, some of them in the soak."""
    page = (DOCS / "views.md").read_text()
    assert page == generate.with_table(page, "mistakes", generate.teeth_table())
    counts = dict(re.findall(r"^\| `([\w-]+)` \| [^|]+ \| ([\d,]+) \| \d+ \| [\d,]+ \|$", page, re.MULTILINE))
    assert counts == {name: f"{states:,}" for name, states in STATES.items()}
    assert f"**{sum(STATES.values()):,}**" in page
