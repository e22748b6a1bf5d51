"""Every example in the README and the docs is run.

`console` blocks: each line after `$ ` must succeed, in the order of the page. `python` blocks: run as they are; a block marked
`python continue` goes on where the one before it ended.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from soloist.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    return [(mark.strip(), body) for kind, mark, body in BLOCK.findall(page.read_text()) if kind == language]


COMMANDS = {
    page.relative_to(ROOT).as_posix(): [
        line.removeprefix("$ ")
        for _, body in blocks(page, "console")
        for line in body.splitlines()
        if line.startswith("$ ")
    ]
    for page in PAGES
}


def test_there_are_examples() -> None:
    assert sum(map(len, COMMANDS.values())) > 10
    assert sum(len(blocks(page, "python")) for page in PAGES) > 3


@pytest.mark.parametrize("page", [name for name, commands in COMMANDS.items() if commands])
def test_commands(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, as a reader would type them, in a directory of their own."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS[page]:
        program, *arguments = shlex.split(command)
        assert program == "soloist"
        assert main(arguments) == 0, f"{command}: {capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python(page: Path) -> None:
    names: dict[str, Any] = {}
    for mark, body in blocks(page, "python"):
        if mark != "continue":
            names = {"__name__": f"example_{page.stem}"}
        exec(compile(body, f"{page.name} example", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
