"""Some words had many meanings, and have one each: what bears them is listed here."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "soloist"

BEARERS = {
    "Job": {"bench/lock_workers.py"},
    "Outcome": {"check/local.py"},
    "Row": {"lab/table.py"},
    "Report": {"check/report.py", "check/views/report.py", "history/report.py", "views/messages.py"},
    "_ask": {"net/engine/instance.py"},
    "_let_in": {"net/engine/instance.py"},
    "settle": {"lab/view_change.py", "net/maelstrom/node.py"},
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
