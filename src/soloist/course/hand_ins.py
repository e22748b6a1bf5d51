"""A folder of hand-ins, graded one beside the other; a line of a table for each."""

from __future__ import annotations

import csv
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TextIO

import msgspec

from soloist.core import SoloistError, UsageError
from soloist.course.exercise import Exercise, exercise, hidden, number_of
from soloist.course.grade import Settings, grade
from soloist.course.verdict import Verdict

NOT_GRADED = "not graded"


class Line(msgspec.Struct, frozen=True):
    """What the table has about one hand-in."""

    hand_in: str
    exercise: int | None
    verdict: str
    passed: int = 0
    checks: int = 0
    property: str = ""
    said: str = ""


def wanted(number: int, checks: Path | None) -> Exercise:
    """An exercise with the teacher's own checks, if there are any."""
    found = exercise(number)
    return found.with_hidden(hidden(checks, number)) if checks else found


def hand_ins(folder: Path) -> list[Path]:
    """All Python files below a folder, but for hidden ones."""
    found = [
        path
        for path in sorted(folder.rglob("*.py"))
        if path.is_file() and not any(part.startswith((".", "__")) for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise UsageError(f"{folder} has no hand-ins: no file ends in .py")
    return found


def grade_all(
    folder: Path,
    number: int | None = None,
    checks: Path | None = None,
    settings: Settings | None = None,
    jobs: int = 1,
    keep: Callable[[Path, Verdict], None] = lambda path, verdict: None,
) -> Iterator[Line]:
    """A line for each hand-in, in the order of their names, as soon as it and those before it are graded.

    What is wrong with the call itself is said before anything is graded.
    """
    stop = threading.Event()
    known = lru_cache(lambda which: wanted(which, checks))
    if checks or number is not None:
        known(1 if number is None else number)  # what is wrong with these is said once, not for each hand-in

    def line(path: Path) -> Line:
        name = path.relative_to(folder).as_posix()
        which = None
        try:
            which = number_of(path) if number is None else number
            if not path.resolve().is_relative_to(folder.resolve()):
                raise UsageError(f"{name} is a link that leads out of the folder; a hand-in is a file")
            verdict = grade(path, known(which), settings, name=name, stopped=stop.is_set)
        except SoloistError as error:
            return Line(name, which, NOT_GRADED, said=str(error))
        keep(path, verdict)
        worst = verdict.worst
        return Line(
            name,
            which,
            verdict.verdict,
            verdict.passed,
            len(verdict.outcomes),
            worst.property if worst else "",
            worst.said if worst else "",
        )

    paths = hand_ins(folder)

    def graded() -> Iterator[Line]:
        with ThreadPoolExecutor(jobs) as pool:
            try:
                yield from pool.map(line, paths)
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    return graded()


class Table:
    """CSV, for a spreadsheet: no cell of it is a formula, whatever a hand-in is called. What is graded is in it at once."""

    def __init__(self, sink: TextIO) -> None:
        self.sink = sink
        self.writer = csv.writer(sink, lineterminator="\n")
        self._write(Line.__struct_fields__)

    def add(self, line: Line) -> None:
        self._write([_plain(value) for value in msgspec.structs.astuple(line)])

    def _write(self, cells: Sequence[object]) -> None:
        self.writer.writerow(cells)
        self.sink.flush()


def _plain(value: object) -> object:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value
