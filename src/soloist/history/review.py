"""The answer to a check of a history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from soloist.core import UsageError
from soloist.core.checked import a_path, real, whole
from soloist.history.holds import Books, Hold
from soloist.history.judges import Finding, Verdict, exclusion, fairness, fence

Place = str | Path


class Review(msgspec.Struct, frozen=True):
    """What a history shows, property by property."""

    verdict: Verdict
    property: str | None
    """The first one that is violated, or else undecided."""
    lines: int
    processes: int
    locks: int
    holds: int
    k: int | None
    """None: what each file says of its locks."""
    skew: float
    properties: list[Finding]
    notes: list[str]

    def exit_code(self) -> int:
        """As `soloist history check` ends: 0, 1 if a property is violated, 3 if one is undecided."""
        return {"violated": 1, "undecided": 3}.get(self.verdict, 0)

    def record(self) -> dict[str, Any]:
        """As plain values, for JSON. What has no known end has none here, either."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        for finding, record in zip(self.properties, found["properties"], strict=True):
            if finding.example:
                files = finding.example.files
                record["example"] = {
                    "lock": finding.example.lock,
                    "holds": [{**_hold(each), "file": files[each.file]} for each in finding.example.holds],
                }
        return found


def _hold(hold: Hold) -> dict[str, Any]:
    return {
        "process": hold.process,
        "since": hold.since,
        "until": None if hold.over > hold.until else hold.until,
        "fence": hold.fence,
        "line": hold.where,
    }


def check(
    paths: Place | Sequence[Place], *, k: int | None = None, skew: float = 0.0, bypass: int | None = None
) -> Review:
    """Judge the history that these files are, together: one for each process will do, if their clocks agree within `skew`."""
    if k is not None and whole("k", k) < 1:
        raise UsageError(f"k must be at least 1, not {k}")
    if bypass is not None and whole("bypass", bypass) < 0:
        raise UsageError(f"bypass must not be negative, but is {bypass}")
    skew = real("skew", skew)
    books = Books()
    several = paths if isinstance(paths, Sequence) and not isinstance(paths, str) else [paths]
    books.read([a_path("a history", each) for each in several])
    found = list(books.books.values())
    for book in found:
        book.k = k or book.k
    findings = [exclusion(found, skew), fence(found, skew), fairness(found, skew, bypass)]
    worst = next(
        (each for verdict in ("violated", "undecided") for each in findings if each.verdict == verdict), None
    )
    return Review(
        verdict=worst.verdict if worst else findings[0].verdict,
        property=worst.property if worst else None,
        lines=books.lines,
        processes=books.processes,
        locks=len(found),
        holds=sum(len(book.holds) for book in found),
        k=k,
        skew=skew,
        properties=findings,
        notes=[*books.notes, *_notes(books)],
    )


def _notes(books: Books) -> list[str]:
    holds = [hold for book in books.books.values() for hold in book.holds]
    endless = sum(hold.over > hold.until for hold in holds)
    pending = sum(len(book.unanswered) for book in books.books.values())
    notes = []
    if endless:
        notes.append(f"Holds without a release: {endless}. Each counts for the moment of its acquire only.")
    if books.unmatched:
        notes.append(f"Releases without an acquire: {books.unmatched}. Each counts for that moment only.")
    if pending:
        notes.append(f"Requests without an answer: {pending}. They are not taken for holds.")
    return notes
