"""A report: what was measured, claim by claim, as Markdown with figures beside it.

It holds no times and nothing about the machine, so the same seeds give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from soloist import __version__
from soloist.lab.files import write_file

Verdict = Literal["reproduced", "partly", "not reproduced", "undecided"]
Test = bool | None
"""Whether a test passed; None where there were too few entries to tell."""


class Claim(msgspec.Struct, frozen=True):
    """Something that a paper says, and what we measured of it."""

    text: str
    quote: str
    """The paper's own words; empty where the claim is ours."""
    where: str
    verdict: Verdict
    evidence: str
    against: str
    """The nearest wrong claim, for which the verdict would have been another."""


def claim(
    text: str, quote: str, where: str, holds: Test | Sequence[Test], evidence: str, against: str
) -> Claim:
    """Several tests make one claim: all of them passed, some, or none."""
    tests = list(holds) if isinstance(holds, Sequence) else [holds]
    verdict: Verdict = "reproduced" if all(tests) else "partly" if any(tests) else "not reproduced"
    return Claim(text, quote, where, "undecided" if None in tests else verdict, evidence, against)


class Measured(Protocol):
    """An estimate, or a point of a table."""

    @property
    def mean(self) -> float | None: ...

    @property
    def ci95(self) -> tuple[float, float] | None: ...


def tells(found: Measured, right: float, *wrong: float) -> Test:
    """Whether what was measured is `right` and none of `wrong`: all of its 95 % interval lies nearer to it.

    None where the interval reaches from the one to the other.
    """
    if found.mean is None:
        return False

    def near(value: float) -> bool:
        return all(abs(value - right) < abs(value - other) for other in wrong)

    low, high = found.ci95 or (found.mean, found.mean)
    if near(low) and near(high):
        return True
    return None if near(low) or near(high) or low < right < high else False


def below(found: Measured, limit: float) -> Test:
    """Whether what was measured is less than a limit; None where its interval holds it."""
    if found.mean is None:
        return False
    low, high = found.ci95 or (found.mean, found.mean)
    return True if high < limit else False if low >= limit else None


class Findings(msgspec.Struct):
    """Grows part by part while an experiment is evaluated."""

    title: str
    paper: str
    basis: str
    """What was measured in place of the printed text: what was repaired, rebuilt or assumed."""
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
            f"**What was measured**: {' '.join(self.basis.split())}",
            f"Made by `{command}` with soloist {__version__}. Of {len(self.claims)} claims: {summary}.",
            "## Claim by claim",
            markdown_table(
                ("claim", "where, in its words", "verdict", "measured", "told apart from"),
                [(c.text, source(c), f"**{c.verdict}**", c.evidence, c.against) for c in self.claims],
            ),
            *self.parts,
        ]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path, command: str) -> Path:
        path = folder / "report.md"
        write_file(path, self.markdown(command).encode())
        return path


VERDICTS: tuple[Verdict, ...] = ("reproduced", "partly", "not reproduced", "undecided")


def source(claim: Claim) -> str:
    return f"{claim.where}: “{claim.quote}”" if claim.quote else f"ours: {claim.where}"


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
