"""Some words had many meanings, and have one each: what bears them is listed here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from io import StringIO
from itertools import pairwise
from pathlib import Path
from tokenize import COMMENT, generate_tokens

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "soloist"

BEARERS = {
    "Control": {"algorithms/mishra_srimani_coordinator.py"},
    "ControlServer": {"net/service/control.py"},
    "Job": {"bench/lock_workers.py"},
    "Outcome": {"check/local.py"},
    "Row": {"lab/table.py"},
    "Report": {"check/report.py", "views/messages.py"},
    "Review": {"history/review.py"},
    "Exploration": {"check/views/exploration.py"},
    "_ask": {"net/engine/instance.py"},
    "_let_in": {"net/engine/instance.py"},
    "settle": {"lab/view_change.py"},
    "Door": {"net/engine/ticket.py", "net/service/door.py", "watch/server.py"},
    "Session": {"net/link/session.py", "net/client/session.py", "net/service/session.py", "watch/session.py"},
    "_settle": {"net/engine/instance.py", "net/member/assembly.py", "net/member/council.py", "sim/script.py"},
}
"""What a report, a session, a door and to settle are is in `docs/glossary.md`."""


def defining(name: str) -> set[str]:
    """The files in which a class or a function of that name is defined."""
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if f" {name}" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, kinds) and node.name == name
    }


@pytest.mark.parametrize("word", BEARERS)
def test_a_word_has_one_meaning(word: str) -> None:
    assert defining(word) == BEARERS[word]


ELSEWHERE = {"algorithms", "course", "cli"}
"""Rooms whose docstrings users read: heads of papers, exercises, and help."""


def comments(path: Path) -> Iterator[str]:
    """All comments and docstrings of a file."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    for token in generate_tokens(StringIO(text).readline):
        if token.type == COMMENT:
            yield token.string


def test_comments_name_the_role_that_acts() -> None:
    """A caller, a holder, a node or a driver: not whoever it is."""
    found = {
        f"{path.relative_to(SOURCE)}: {said}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in ELSEWHERE
        for said in comments(path)
        if re.search(r"\bwhoever\b", said, re.IGNORECASE)
    }
    assert found == set()


def test_a_comment_that_names_nobody_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text('"""Whoever."""\nA = "whoever"  # whoever else\nB = 1\n"""Of B."""\n')
    assert list(comments(file)) == ["Whoever.", "Of B.", "# whoever else"]


UNITS = {
    *(
        "Batches",
        "Beats",
        "Bits",
        "Bytes",
        "Characters",
        "Columns",
        "Connections",
        "Delays",
        "Entries",
        "Envelopes",
    ),
    *(
        "Events",
        "Files",
        "Fraction",
        "Frames",
        "Incarnations",
        "Leases",
        "Levels",
        "Lines",
        "Locks",
        "Looks",
        "Mean",
    ),
    *(
        "Members",
        "Messages",
        "Milliseconds",
        "Minutes",
        "Names",
        "Nanoseconds",
        "Nodes",
        "Numbers",
        "Peers",
        "Permits",
    ),
    *(
        "Pixels",
        "Ports",
        "Ratio",
        "Renewals",
        "Requests",
        "Rounds",
        "Runs",
        "Seconds",
        "Share",
        "Sites",
        "States",
    ),
    *("Steps", "Ticks", "Time", "Times", "Tries", "Turns", "Voters", "Warnings"),
}
MEASURES = (
    "SECONDS",
    "NANOSECONDS",
    "BYTES",
    "LEAST",
    "MOST",
    "LONGEST",
    "PAUSE",
    "PATIENCE",
    "RETRY",
)
"""What a name has in it if it measures something; the others may be marks, numbers of Linux, or sizes that a paper has."""


def constants(path: Path) -> list[tuple[str, str]]:
    """The numbers of a module that say what they are, and the first word of that."""
    found = []
    for each, after in pairwise(ast.parse(path.read_text()).body):
        match each, after:
            case ast.Assign(
                targets=[target],
                value=ast.Constant() | ast.Tuple() | ast.BinOp(left=ast.Constant() | ast.BinOp()),
            ), ast.Expr(value=ast.Constant(value=str(doc))):
                name = ast.unparse(target)
                if not set(MEASURES).isdisjoint(re.findall("[A-Z]+", name)):
                    found.append((name, doc.split()[0].rstrip(":;,.")))
    return found


def test_a_number_begins_with_its_unit() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {name}: {word}"
        for path in SOURCE.rglob("*.py")
        for name, word in constants(path)
        if word not in UNITS
    }
    assert found == set()


def test_a_number_without_a_unit_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(
        'A_SECONDS = 1\n"""How long."""\nMOST_B, C = 1, 2\n"""Bytes; and so on."""\nD = 3\n"""Like that."""\n'
    )
    assert constants(file) == [("A_SECONDS", "How"), ("(MOST_B, C)", "Bytes")]
    assert "How" not in UNITS
