"""Tables on a terminal: whatever its width, names and figures are whole."""

from __future__ import annotations

import re
import sys
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from soloist.algorithms import CATALOGUE
from soloist.cli.tables import rich_tables
from soloist.lab.reproduce import PAPERS
from soloist.net.cards import USUAL
from tests.cli.terminal import in_terminal

PLAN = """\
algorithms = ["naimi-trehel", { name = "raymond-tree", label = "raymond-tree-on-a-star", options = { topology = "star" } }]
seeds = 3
fixed = { entries = 40 }
vary = { rate = [0.1, 100], nodes = [5, 10] }
"""
COMPARED = [name for name, card in CATALOGUE.items() if card.light]
LOCKS = ["lamport", "helary-plouzeau-raynal", "naimi-trehel"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("algorithms", list(CATALOGUE)),
        ("algorithms naimi-trehel", ["token-based", "ICDCS", "Token_present"]),
        ("check naimi-trehel --nodes 2 --rounds 1", ["unbounded", "Request, Token"]),
        ("simulate makki --k 2 --nodes 3 --entries 20", ["Master", "2N/q+K"]),
        ("compare --nodes 5 --entries 60", COMPARED),
        ("compare --nodes 5 --saturate --entries 60 --replications 3", COMPARED),
        ("advise --nodes 5 --entries 30 --seeds 2 --jobs 1", LOCKS),
        ("sweep plan.toml --jobs 1", ["naimi-trehel", "raymond-tree-on-a-star"]),
        ("reproduce", list(PAPERS)),
        ("demo --nodes 3 --entries 5", [*USUAL, "1 of 1", "2 of 2", "holds", "kill -9"]),
        ("bench simulator --messages 2000 --rounds 1", ["exponential", "constant"]),
    ],
)
def test_nothing_is_cut_at_80_columns(line: str, names: list[str], tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    shown = in_terminal(line.split(), cwd=tmp_path)
    assert "…" not in shown
    wide = [each for each in shown.splitlines() if len(each) > 80]
    # A command is one line, wherever Python is.
    assert [each for each in wide if sys.prefix not in each] == []
    assert [name for name in names if name not in shown] == []
    if line.startswith("compare"):
        assert len(re.findall(r" \d+(?:\.\d+)? ± \d+(?:\.\d+)? ", shown)) == len(COMPARED)


words = st.text(st.sampled_from("abc-"), min_size=1, max_size=14)
figures = st.from_regex(r"\A[0-9]{1,5}(\.[0-9]{1,3} ± 0\.[0-9]{1,3})?\Z")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no finding
@given(
    st.lists(
        st.tuples(words, figures, figures, st.lists(words, max_size=9), figures), min_size=1, max_size=4
    ),
    st.integers(10, 120),
)
def test_every_name_and_figure_is_whole_at_any_width(
    drawn: list[tuple[str, str, str, list[str], str]], width: int
) -> None:
    rows = [(name, one, two, " ".join(text), three) for name, one, two, text, three in drawn]
    columns = ("name", ">one", ">two figures", "in words", ">?three")
    console = Console(width=width, file=StringIO(), force_terminal=False)
    for table in rich_tables("Title", columns, rows, width):
        console.print(table, crop=False)
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    gone = "(no room for: three)" in " ".join(shown.split())
    assert "…" not in shown
    for name, one, two, text, three in rows:
        for whole in (name, one, two, *text.split(), *([] if gone else [three])):
            assert whole in shown
    if width >= 40:
        assert max(map(len, shown.splitlines())) <= width


def test_what_is_optional_goes_before_a_table_is_divided() -> None:
    table, *more = rich_tables("Title", ("name", ">one", ">?three"), [("abc", "12345", "6.789")], width=16)
    assert more == []
    assert table.caption == "(no room for: three)"
