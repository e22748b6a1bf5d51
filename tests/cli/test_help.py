"""What `--help` says of every command, at 80 columns; and what a shell completes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soloist.cli import COMMANDS, main
from soloist.cli.help import broken
from soloist.cli.program import program


def lines(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Each command that does something, as one calls it."""
    if not hasattr(command, "list_commands"):
        yield path
        return
    for name in command.list_commands(None):
        yield from lines(command.get_command(None, name), (*path, name))


LINES = [" ".join(line) for line in lines(program())]


def test_all_commands_are_known() -> None:
    assert {line.split()[0] for line in LINES} == set(COMMANDS)
    assert {"bench start", "history check"} <= set(LINES)


@pytest.mark.parametrize("line", ["", *LINES])
def test_help_has_an_example_and_no_noise(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*line.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    called = " ".join(["soloist", *line.split()])
    assert re.search(rf"^ +{called}( |$)", text, re.MULTILINE), "no example"
    assert not re.search(r"<(bool|int|float|str|list|path)", text, re.IGNORECASE)
    assert "..." not in text.partition("Commands:")[2].partition("Options:")[0], "a sentence is cut"


@pytest.mark.smoke
def test_a_long_example_goes_on_as_in_a_shell() -> None:
    line = "    soloist check naimi-trehel --nodes 4 --rounds 2,1,1,0 --worst wait"
    found = list(broken([line], 40))
    assert max(map(len, found)) <= 40
    assert " ".join(" ".join(found).replace("\\", "").split()) == line.strip()


@pytest.mark.parametrize("group", ["bench", "history"])
def test_a_group_without_a_command_is_helped(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([group]) == 2
    said = capsys.readouterr()
    assert f"Usage: soloist {group}" in said.out
    assert said.err == ""


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("chekc", "unknown command 'chekc'; did you mean check?"),
        ("bench lokcs", "did you mean locks"),
        ("hlep", "did you mean help"),
        ("help chekc", "did you mean check?"),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest(
    line: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("line", ["", "check", "history check"])
def test_help_is_a_word_too(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for words in (["help", *line.split()], [*line.split(), "--help"]):
        assert main(words) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert f"Usage: soloist {line}" in said[0]


COMPLETE = """
source ~/.bashrc
function=$(complete -p soloist | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=(soloist {words}) COMP_CWORD={place}
$function soloist
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def bash(script: str, home: Path) -> str:
    environment = {**os.environ, "HOME": str(home)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="NOT RUN: bash is not installed")
def test_bash_completes_commands_and_options_once_it_is_installed(tmp_path: Path) -> None:
    # `true` keeps the shell: it would become the program otherwise, and not be there to be recognised.
    assert "completion installed" in bash("soloist --install-completion && true", tmp_path)
    assert bash(COMPLETE.format(words="che", place=1), tmp_path).split() == ["check"]
    assert bash(COMPLETE.format(words="check --no", place=2), tmp_path).split() == [
        "--nodes",
        "--no-reduction",
    ]
    assert bash(COMPLETE.format(words="bench st", place=2), tmp_path).split() == ["start"]
