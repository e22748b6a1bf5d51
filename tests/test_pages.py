"""The pages that come from the code are up to date; `make pages` writes them. (The errata: test_conformance.)"""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, find, find_any
from soloist.testing import browser as browsers
from tests.pages import DOCS, generate, stages
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


def test_every_algorithm_has_its_picture_and_no_other_is_there() -> None:
    """Also where there is no browser: what its alternative text says is what is to be seen there today."""
    written = {path.stem: path.read_text() for path in (DOCS / "stages").glob("*.svg")}
    assert written.keys() == {*CATALOGUE, *RECOVERY, *VARIANTS}, "out of date: make stages"
    for name, picture in written.items():
        told = ElementTree.fromstring(picture).get("aria-label") or ""
        assert told.endswith(f": {stages.caption(name)}"), f"out of date: python docs/stages.py {name}"


def test_the_pictures_are_what_the_page_draws() -> None:
    if lacking := browsers.missing():
        pytest.skip(f"NOT RUN: needs a browser ({lacking})")
    with browsers.browser() as started:
        page = stages.opened(started)
        for name in (*CATALOGUE, *RECOVERY, *VARIANTS):
            picture = (DOCS / "stages" / f"{name}.svg").read_text()
            assert picture == stages.drawn(page, name), f"out of date: python docs/stages.py {name}"


def test_the_tables_of_views_say_what_the_tests_know() -> None:
    """The exploration takes minutes: that the counts are right is shown by the tests of the settings, some of them in the soak."""
    page = (DOCS / "views.md").read_text()
    assert page == generate.with_table(page, "mistakes", generate.teeth_table())
    counts = dict(re.findall(r"^\| `([\w-]+)` \| [^|]+ \| ([\d,]+) \| \d+ \| [\d,]+ \|$", page, re.MULTILINE))
    assert counts == {name: f"{states:,}" for name, states in STATES.items()}
    assert f"**{sum(STATES.values()):,}**" in page


def carried(page: str) -> Any:
    """The run in a page: its head without the source, and its steps without the lines of that."""
    packed = re.search(r'window\.SOLOIST = {"gzip":"([^"]+)"}', page)
    assert packed
    run = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    head = {name: value for name, value in run["head"].items() if name not in ("source", "files")}
    return head, [{name: value for name, value in step.items() if name != "lines"} for step in run["steps"]]


def test_the_pages_of_errata_show_what_the_code_does() -> None:
    """Each run that the errata tell of has its page. A comment that was changed in an algorithm's source makes none out of date."""
    written = {path.name: path.read_text() for path in (DOCS / "watch").iterdir()}
    made = generate.watch_pages()
    assert written.keys() == made.keys(), "out of date: python docs/generate.py watch"
    for name in made:
        if name.endswith(".html"):
            head, steps = carried(made[name])
            assert carried(written[name]) == (head, steps), f"{name}: python docs/generate.py watch"
            assert len(steps) > 1, f"{name} has nothing to look at"
            assert "waits with" not in head["finding"]["text"], f"{name}: variables are no reason"
    links = "".join(path.read_text() for path in (DOCS / "errata.md", *(DOCS / "recovery").glob("*.md")))
    assert set(re.findall(r"watch/([\w-]+\.html)", links)) == {
        name for name in made if name.endswith(".html")
    }
    assert sum(map(len, written.values())) < 3_000_000


def test_the_page_that_the_errata_share_is_the_one_of_the_program() -> None:
    for name, text in generate.shared_files().items():
        assert (DOCS / "watch" / name).read_text() == text, "out of date: python docs/generate.py watch"
