"""Some words had many meanings, and have one each: what bears them is listed here."""

from __future__ import annotations

import ast
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
    "_settle": {"net/engine/instance.py", "net/member/assembly.py", "net/member/council.py", "sim/script.py"},
}
"""What a report and to settle are is in `docs/glossary.md`."""


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
