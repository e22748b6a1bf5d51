"""What is loaded, and when: a program that wants a lock should not wait for a laboratory."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest
import typer

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS
from soloist.bench import start
from soloist.cli import COMMANDS, catalogue, load, main

LOADED = """
import json, sys
{before}
before = set(sys.modules)
{code}
print(json.dumps(sorted(set(sys.modules) - before)))
"""
ALLOWED = {
    "soloist",
    "msgspec",
    "typing_extensions",
}  # msgspec looks for the last one, and takes it if it is there
HEAVY = {"matplotlib", "numpy", "scipy", "pyarrow", "distributed", "simpy"}


def loaded(code: str, before: str = "pass") -> set[str]:
    """The modules that some code loads in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(before=before, code=code)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code", ["import soloist", "from soloist import *", "from soloist import Node, SyncNode"]
)
def test_the_library_needs_msgspec_and_the_standard_library_only(code: str) -> None:
    packages = {name.split(".")[0] for name in loaded(code)}
    assert {each for each in packages if each not in sys.stdlib_module_names} <= ALLOWED


@pytest.mark.parametrize("module", ["core", "structures", "algorithms", "views"])
def test_what_is_pure_loads_nothing_that_talks(module: str) -> None:
    """An algorithm is to be stepped where there is no event loop, no socket and no TLS."""
    found = loaded(f"import soloist.{module}")
    assert not {name.split(".")[0] for name in found} & {"asyncio", "ssl", "socket", "selectors"}
    assert not {name for name in found if name.startswith("soloist.net")}


def test_no_algorithm_is_loaded_before_it_is_wanted() -> None:
    def algorithms(modules: set[str]) -> set[str]:
        return {m.split(".")[2] for m in modules if m.startswith("soloist.algorithms.") and "._" not in m}

    assert algorithms(loaded("from soloist import Node")) == set()
    assert algorithms(loaded("from soloist.algorithms import find; find('naimi-trehel')")) == {"naimi_trehel"}


def test_what_a_node_needs_later_is_loaded_later() -> None:
    """What decides on membership, when a node with a lease starts; what carries holds over, when a view changes."""
    late = {"soloist.net.member.membership", "soloist.net.member.parcel", "soloist.views.carry"}
    assert loaded("from soloist import Node, SyncNode") & late == set()


def command(line: str) -> set[str]:
    return loaded(
        "import contextlib, io; from soloist.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()): assert main({line.split()!r}) == 0"
    )


@pytest.mark.parametrize(
    ("line", "other"),
    [
        (
            "algorithms",
            {"soloist.net", "soloist.sim", "soloist.lab", "soloist.check", "soloist.bench", "asyncio"},
        ),
        ("simulate central --entries 20", {"soloist.net", "soloist.lab", "soloist.check", "soloist.bench"}),
        ("compare central lamport --entries 20", {"soloist.net", "soloist.check", "soloist.bench"}),
        (
            "check central --nodes 2 --rounds 1",
            {"soloist.net", "soloist.lab", "soloist.sim.engine", "soloist.bench"},
        ),
    ],
)
def test_a_command_loads_what_it_needs(line: str, other: set[str]) -> None:
    modules = command(line)
    assert modules & other == set()
    assert {m.split(".")[0] for m in modules} & (HEAVY) == set()
    if not line.startswith("check"):
        assert "rich" not in {m.split(".")[0] for m in modules}


def test_the_benchmark_measures_pairs() -> None:
    rows = start.measure(rounds=1)
    assert [row.what for row in rows] == [*start.BASES, *start.BEGINNINGS]
    assert {row.what for row in rows if row.base == row.what and row.ratio == 1} == set(start.BASES)
    assert all(row.seconds > 0 and row.ratio > 0 for row in rows)
    assert [bar.ours for bar in start.bars(rows)] == list(start.AIMS)


def test_a_list_of_commands_loads_none_of_them() -> None:
    found = loaded("from soloist.cli import main; main(['--help'])")
    ours = {name for name in found if name.startswith("soloist.")}
    assert ours == {"soloist.cli", "soloist.cli.help", "soloist.cli.program"}
    assert not {name.split(".")[0] for name in found} & {"msgspec", "pydantic"}
    assert "rich.console" not in found


def test_the_catalogue_is_listed_without_a_parser_and_without_the_algorithms() -> None:
    found = command("algorithms")
    assert not {name.split(".")[0] for name in found} & {"typer", "rich", "pydantic"}
    assert "importlib.metadata" not in found  # what no package here has registered need not be read
    assert "soloist.algorithms.lamport" not in found


def test_the_list_of_the_catalogue_is_what_the_cards_say() -> None:
    cards = [card for room in (CATALOGUE, RECOVERY, VARIANTS) for card in room.values()]
    assert catalogue.read() == {card.name: catalogue.record(card) for card in cards}, (
        "out of date: make pages"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_help_of_a_command_begins_with(name: str) -> None:
    command = load(name)
    text = command.info.help if isinstance(command, typer.Typer) else inspect.getdoc(command)
    assert " ".join(text.split("\n\n")[0].split()) == COMMANDS[name][1]


def test_without_a_command_there_is_help_and_no_complaint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    said = capsys.readouterr()
    assert "algorithms" in said.out
    assert said.err == ""
