"""What the pages for maintainers name is there: modules, functions, files, and the version."""

from __future__ import annotations

import importlib
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import soloist

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "soloist"
DESIGN = ROOT / "docs" / "design.md"
PAGES = [
    DESIGN,
    ROOT / "docs" / "glossary.md",
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs" / "decisions").glob("*.md"),
]
ROOMS = {
    file.stem
    for file in SOURCE.iterdir()
    if not file.name.startswith("_") and (file.is_dir() or file.suffix == ".py")
}
NAME = re.compile(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`")
FILE = re.compile(r"`((?:tests|docs|src|\.ci|check)/[\w./-]+)`")
WALKS = ["Walk 1", "Walk 2", "Walk 3"]


def names(text: str) -> list[str]:
    """All that is named by its place below `soloist`: `room.module.Class.method`."""
    return [name for name in NAME.findall(text) if name.split(".")[0] in ROOMS]


def resolve(name: str) -> Any:
    """The module, class or function; `AttributeError` says what is not there."""
    found: Any = soloist
    path = "soloist"
    for part in name.split("."):
        path += f".{part}"
        # Modules first: a package may have a function of the same name.
        if hasattr(found, "__path__") and find_spec(path):
            found = importlib.import_module(path)
        else:
            found = getattr(found, part)
    return found


def section(title: str) -> str:
    (found,) = re.findall(rf"^## {title}.*?(?=^## |\Z)", DESIGN.read_text(), re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text()
    for name in names(text):
        resolve(name)
    for file in FILE.findall(text):
        assert (ROOT / file).exists() or (SOURCE / file).exists(), f"{page.name} names {file}"


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_goes_through_functions(walk: str) -> None:
    assert sum(callable(resolve(name)) for name in names(section(walk))) >= 10


def test_what_is_no_longer_there_is_noticed() -> None:
    assert names("`sim.engine.Engine.run` and `hold.fence` and `soloist check`") == ["sim.engine.Engine.run"]
    for gone in ("sim.engine.Engine.walk", "sim.motor", "net.nowhere.Node"):
        with pytest.raises(AttributeError):
            resolve(gone)


def test_every_room_is_on_the_map() -> None:
    shown = set(re.findall(r"`([a-z_]+)`", section("The house")))
    assert ROOMS - shown == set()


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (folder / "index.md").read_text()))
    assert listed == {file.name for file in folder.glob("*.md")} - {"index.md"}


def test_the_citation_is_of_this_version() -> None:
    said = (ROOT / "CITATION.cff").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"\nversion: {soloist.__version__}\n" in said
    assert f"\nlicense: {project['license']}\n" in said
