"""The papers' worked examples: golden traces that come with the program. A file is a script with its answers; its first line says what it is."""

from __future__ import annotations

from pathlib import Path

import msgspec

from soloist.core import UsageError, unknown
from soloist.watch.runs import commands_of, of_script
from soloist.watch.trace import Trace

DIRECTORY = Path(__file__).parent / "examples"


class WorkedExample(msgspec.Struct, frozen=True):
    """One figure of one paper."""

    algorithm: str
    id: str
    about: str
    text: str

    def trace(self) -> Trace:
        return of_script(commands_of(self.text)[1:], notes=[self.about])


def examples() -> list[WorkedExample]:
    """All of them, in the order of their names."""
    found = []
    for path in sorted(DIRECTORY.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        algorithm, _, figure = path.stem.partition("-fig")
        found.append(WorkedExample(algorithm, f"fig{figure}", text.partition("\n")[0].lstrip("# "), text))
    return found


def find_example(algorithm: str, id: str) -> WorkedExample:
    known = {example.id: example for example in examples() if example.algorithm == algorithm}
    if not known:
        have = ", ".join(sorted({example.algorithm for example in examples()}))
        raise UsageError(f"no example of {algorithm!r} is known; there are some of {have}")
    if id not in known:
        raise unknown(f"example of {algorithm}", id, known)
    return known[id]
