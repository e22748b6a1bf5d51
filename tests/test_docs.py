"""Every example in the README and the docs is run.

`console` blocks: each line after `$ ` must succeed, in the order of the page, or end with the code that the block is marked with
(`console exit 1`). What stands below a command is what it prints, line by line; `…` stands for anything, and alone on a line for any lines. `python` blocks: run as they are; a block marked
`python continue` goes on where the one before it ended.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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


class Command(NamedTuple):
    line: str
    code: int
    shown: list[str]
    """What it is said to print."""


def commands(page: Path) -> Iterator[Command]:
    for mark, body in blocks(page, "console"):
        assert mark == "" or re.fullmatch(r"exit \d", mark), f"{page.name}: console {mark}"
        for part in f"\n{body}".split("\n$ ")[1:]:
            line, *shown = part.splitlines()
            yield Command(
                line, int(mark.removeprefix("exit ") or 0), [each for each in shown if each.strip()]
            )


COMMANDS = {page.relative_to(ROOT).as_posix(): list(commands(page)) for page in PAGES}


def missing(shown: list[str], printed: str) -> list[str]:
    """The lines of a page that a command did not print in this order."""
    rest = iter(printed.splitlines())
    return [line for line in shown if line.strip() != "…" and not any(fits(line, each) for each in rest)]


def fits(shown: str, printed: str) -> bool:
    parts = [re.escape(" ".join(part.split())) for part in shown.split("…")]
    return re.fullmatch(".*".join(parts), " ".join(printed.split())) is not None


def test_output_that_is_not_printed_is_noticed() -> None:
    printed = "one 1\ntwo  2.5 s\nthree\n"
    assert missing(["one 1", "…", "two … s"], printed) == []
    assert missing(["two … s", "one 1"], printed) == ["one 1"]
    assert missing(["one"], printed) == ["one"]


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
    monkeypatch.setenv("COLUMNS", "80")
    for command in COMMANDS[page]:
        program, *arguments = shlex.split(command.line)
        assert program == "soloist"
        code = main(arguments)
        said = capsys.readouterr()
        assert code == command.code, f"{command.line}: {said.err}"
        assert missing(command.shown, said.out) == [], f"{command.line}: {said.out}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python(page: Path) -> None:
    names: dict[str, Any] = {}
    for mark, body in blocks(page, "python"):
        if mark != "continue":
            names = {"__name__": f"example_{page.stem}"}
        exec(compile(body, f"{page.name} example", "exec"), names)


def places(page: Path) -> set[str]:
    """What a link can lead to in a page: its headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def astray(page: Path) -> Iterator[str]:
    """The links of a page that lead to no file, or to no heading of it."""
    for target, place in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text()):
        if target.startswith("http"):
            continue
        file = page.parent / target if target else page
        if not file.exists() or (place and file.suffix == ".md" and place not in places(file)):
            yield f"{target}#{place}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert list(astray(page)) == []


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        f"# At three, in the *morning*\n[1](#at-three-in-the-morning) [2]({page.name}#noon) [3](gone.svg)"
    )
    assert list(astray(page)) == [f"{page.name}#noon", "gone.svg#"]
