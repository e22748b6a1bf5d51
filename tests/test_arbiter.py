"""The head of the shared arbiter says who overrides which of its rules; so they do."""

from __future__ import annotations

from soloist.algorithms import _arbiter, find
from soloist.core import Process

COLUMNS = {
    "Maekawa": "maekawa",
    "Sanders": "sanders",
    "Kakugawa": "kakugawa",
    "Agrawal-El Abbadi": "agrawal-el-abbadi",
    "Majority": "majority",
}


def told() -> dict[str, set[str]]:
    """The table: by column, the rules with a `yes` below its head."""
    assert _arbiter.__doc__
    lines = _arbiter.__doc__.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("rule "))
    head, rows = lines[start], lines[start + 1 : lines.index("", start)]
    places = {head.index(column): column for column in COLUMNS}
    said: dict[str, set[str]] = {column: set() for column in COLUMNS}
    for row in rows:
        for place in [i for i in range(len(row)) if row.startswith("yes", i)]:
            said[places[place]].add(row.split()[0])
    return said


def rules(kind: type[Process]) -> set[str]:
    """Its own methods that are rules of the arbiter."""
    arbiter = {name for name, value in vars(_arbiter.Arbiter).items() if callable(value)}
    return {name for name in vars(kind) if name in arbiter and not name.startswith("_")}


def test_the_table_is_so() -> None:
    assert told() == {column: rules(find(name).process) for column, name in COLUMNS.items()}


def test_all_rules_are_in_it() -> None:
    assert _arbiter.__doc__
    listed = {line.split()[0] for line in _arbiter.__doc__.splitlines() if line[:1].islower()}
    own = {name for name, value in vars(_arbiter.Arbiter).items() if callable(value) and name[0] != "_"}
    assert own - {"tell"} <= listed
