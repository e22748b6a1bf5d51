"""Golden traces: scripts with the answers that a reviewer has read.

A file is a sequence of blocks: commands, a line `----`, the answers, an empty line. Lines that
start with `#` are comments. `pytest tests/traces --rewrite` writes the answers anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from soloist.algorithms import CATALOGUE
from soloist.core import SoloistError
from soloist.sim.script import Script
from soloist.watch.examples import DIRECTORY

EXAMPLES = sorted(DIRECTORY.glob("*.txt"))
TRACES = [*sorted(Path(__file__).parent.glob("*.txt")), *EXAMPLES]


def replay(text: str) -> str:
    """The file as it should be: every block with the answers that the commands get now."""
    script = Script()
    blocks = []
    for block in text.strip().split("\n\n"):
        commands = block.split("\n----", 1)[0]
        answers = [line for command in commands.splitlines() for line in answer(script, command)]
        blocks.append("\n".join([commands, "----", *answers]) if answers else commands)
    return "\n\n".join(blocks) + "\n"


def answer(script: Script, command: str) -> list[str]:
    if not command or command.startswith("#"):
        return []
    try:
        return script.run(command)
    except SoloistError as error:
        return [f"error: {error}"]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_trace(path: Path, request: pytest.FixtureRequest) -> None:
    expected = path.read_text()
    actual = replay(expected)
    if request.config.getoption("--rewrite"):
        path.write_text(actual)
    else:
        assert actual == expected


def test_every_algorithm_has_a_trace() -> None:
    assert set(CATALOGUE) <= {path.stem for path in TRACES}


def test_a_changed_answer_is_noticed() -> None:
    text = TRACES[0].read_text()
    assert replay(text.replace("  enter", "  leave")) == text != text.replace("  enter", "  leave")
