"""Imports go one way: each layer knows only those below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "soloist"

MAY_IMPORT = {
    "core": set(),
    "children": set(),
    "structures": {"core"},
    "algorithms": {"core", "structures"},
    "network": {"core", "structures", "algorithms"},
    "sim": {"core", "children", "structures", "algorithms", "network"},
    "views": {"core", "algorithms"},
    "check": {"core", "structures", "algorithms", "network", "views"},
    "net": {"core", "structures", "algorithms", "views"},
    "testing": {"core", "children", "net"},
    "demo": {"algorithms", "testing"},
    "lab": {"core", "children", "structures", "algorithms", "network", "sim", "check"},
    "bench": {"core", "structures", "algorithms", "network", "sim", "check", "net", "testing"},
    "cli": {
        "core",
        "structures",
        "algorithms",
        "network",
        "sim",
        "check",
        "net",
        "testing",
        "demo",
        "bench",
        "lab",
    },
}
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
    allowed = MAY_IMPORT[here] | {here, "__version__"}
    assert own_layers(imported(path)) <= allowed


@pytest.mark.parametrize(
    "path", [p for p in FILES if layer(p) in PURE], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_algorithms_and_what_they_stand_on_do_no_io(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path)} & IMPURE_MODULES


def test_an_import_upwards_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("from soloist.sim.engine import Engine\nimport random\n")
    assert own_layers(imported(file)) == {"sim"}
    assert "random" in imported(file)
