"""Imports go one way: each layer knows only those below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from soloist.check import PROPERTIES

SOURCE = Path(__file__).parents[1] / "src" / "soloist"

IMPORTS = {
    "core": set(),
    "children": set(),
    "own": {"core"},
    "structures": {"core"},
    "algorithms": {"core", "structures", "own"},
    "durations": {"core"},
    "history": {"core"},
    "sim": {"core", "children", "algorithms", "durations"},
    "views": {"core", "algorithms"},
    "check": {"core", "children", "algorithms", "views"},
    "net": {"core", "algorithms", "own", "views"},
    "testing": {"core", "children", "net", "views"},
    "demo": {"core", "algorithms", "testing"},
    "lab": {"core", "children", "structures", "algorithms", "durations", "sim", "check", "views"},
    "watch": {"core", "algorithms", "sim", "check", "views", "net"},
    "course": {"core", "children", "own", "algorithms", "check", "sim", "watch"},
    "bench": {"core", "children", "algorithms", "sim", "check", "net", "testing", "watch"},
    "doctor": {"core", "net", "testing", "bench"},
    "cli": {
        "core",
        "children",
        "algorithms",
        "durations",
        "history",
        "sim",
        "check",
        "net",
        "testing",
        "demo",
        "doctor",
        "bench",
        "lab",
        "watch",
        "course",
        "own",
    },
}
"""What each layer imports: no more, and no less."""
PURE = ("core", "structures", "algorithms", "views")
IMPURE_MODULES = {"asyncio", "random", "time", "socket", "logging", "threading", "os", "subprocess"}
FILES = sorted(SOURCE.rglob("*.py"))


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The full names of all modules that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def own_layers(names: set[str]) -> set[str]:
    return {parts[1] for name in names if (parts := name.split("."))[0] == "soloist" and len(parts) > 1}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    here = layer(path)
    if here in ("__init__", "__main__"):
        return
    assert own_layers(imported(path)) <= IMPORTS[here] | {here, "__version__"}


@pytest.mark.parametrize("here", IMPORTS)
def test_every_edge_is_used(here: str) -> None:
    used = {to for path in FILES if layer(path) == here for to in own_layers(imported(path))}
    assert used - {here, "__version__"} == IMPORTS[here]


def modules(room: str) -> set[str]:
    """The modules of the checker that one of its rooms imports, other than its own."""
    files = (SOURCE / "check" / room).glob("*.py")
    names = {tuple(name.split(".")) for path in files for name in imported(path)}
    return {name[2] for name in names if name[:2] == ("soloist", "check") and name[2] != room}


def test_what_is_declared_knows_no_search() -> None:
    assert modules("declarations") == {"counters"}


def test_a_property_does_not_know_who_judges_by_it() -> None:
    assert not modules("properties") & {"judge", "passes", "declared", "declarations", "trial"}


@pytest.mark.parametrize("name", sorted(PROPERTIES))
def test_a_property_is_known_by_name_in_one_file_only(name: str) -> None:
    """What it says, how it is judged and what is told are together; the searches and the report name none of them."""
    check = SOURCE / "check"
    naming = {
        str(path.relative_to(check))
        for path in check.rglob("*.py")
        if "views" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == name
    }
    assert naming == {f"properties/{name}.py"}


@pytest.mark.parametrize(
    "path", [p for p in FILES if layer(p) in PURE], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_algorithms_and_what_they_stand_on_do_no_io(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path)} & IMPURE_MODULES


ROOMS_OF_NET = {
    "link": set(),
    "engine": {"link", "telemetry"},
    "member": {"link", "engine", "telemetry"},
    "telemetry": {"link"},
    "client": {"link", "engine", "member", "service"},
    "service": {"link", "engine", "member", "telemetry", "client"},
    "maelstrom": {"link", "engine"},
}
"""What each room of `net` imports of the others. What clients and daemons say to each other lies in `service`."""


@pytest.mark.parametrize("room", ROOMS_OF_NET)
def test_the_rooms_of_net_know_those_below_them(room: str) -> None:
    names = {name for path in (SOURCE / "net" / room).rglob("*.py") for name in imported(path)}
    found = {name.split(".")[2] for name in names if name.startswith("soloist.net.")}
    assert found & ROOMS_OF_NET.keys() - {room} == ROOMS_OF_NET[room]


def test_algorithms_are_run_without_sockets() -> None:
    names = {
        name.split(".")[0] for path in (SOURCE / "net" / "engine").glob("*.py") for name in imported(path)
    }
    assert not names & {"socket", "ssl", "select", "selectors"}


def writers(attribute: str) -> set[str]:
    """The files in which an attribute of that name is assigned to."""
    return {
        str(path.relative_to(SOURCE))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Store)
    }


def test_only_the_port_and_enter_move_a_phase() -> None:
    assert writers("phase") == {"core/port.py", "core/process.py"}


def test_an_import_upwards_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("from soloist.sim.engine import Engine\nimport random\n")
    assert own_layers(imported(file)) == {"sim"}
    assert "random" in imported(file)
