"""A report: what was measured, claim by claim, as Markdown with figures beside it.

It holds no times and nothing about the machine, so the same seeds give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from soloist import __version__
from soloist.lab.files import write_file

Verdict = Literal["reproduced", "partly", "not reproduced"]


class Claim(msgspec.Struct, frozen=True):
    """Something that a paper says, and what we measured of it."""

    text: str
    where: str
    verdict: Verdict
    evidence: str


def claim(text: str, where: str, holds: bool | Sequence[bool], evidence: str) -> Claim:
    """Several tests make one claim: all of them passed, some, or none."""
    tests = [holds] if isinstance(holds, bool) else list(holds)
    verdict: Verdict = "reproduced" if all(tests) else "partly" if any(tests) else "not reproduced"
    return Claim(text, where, verdict, evidence)


class Report(msgspec.Struct):
    """Grows part by part while an experiment is evaluated."""

    title: str
    paper: str
    claims: list[Claim] = []
    parts: list[str] = []
    """Paragraphs, tables and figures, in order."""

    def heading(self, text: str) -> None:
        self.parts.append(f"## {text}")

    def text(self, text: str) -> None:
        self.parts.append(" ".join(text.split()))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.parts.append(markdown_table(columns, rows))

    def figure(self, caption: str, file: str) -> None:
        self.parts.append(f"![{caption}]({file})\n\n*{caption}*")

    def markdown(self, command: str) -> str:
        count = {verdict: sum(c.verdict == verdict for c in self.claims) for verdict in VERDICTS}
        summary = ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number)
        parts = [
            f"# {self.title}",
            f"*{self.paper}*",
            f"Made by `{command}` with soloist {__version__}. Of {len(self.claims)} claims: {summary}.",
            "## Claim by claim",
            markdown_table(
                ("claim", "where", "verdict", "measured"),
                [(c.text, c.where, f"**{c.verdict}**", c.evidence) for c in self.claims],
            ),
            *self.parts,
        ]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path, command: str) -> Path:
        path = folder / "report.md"
        write_file(path, self.markdown(command).encode())
        return path


VERDICTS: tuple[Verdict, ...] = ("reproduced", "partly", "not reproduced")


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """`>name` aligns a column to the right, as in the tables of the command line."""
    names = [name.lstrip(">") for name in columns]
    rule = ["---:" if name.startswith(">") else "---" for name in columns]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in (names, rule, *rows))


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value).replace("|", "\\|")


def number(value: float | None, digits: int = 3) -> str:
    """A figure for people; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
