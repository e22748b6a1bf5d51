"""The journal of a sweep, or of other runs: each that is finished, at once, as a line of JSON.

    {"soloist": "0.1.0", "plan": "3f…", "sweep": "tokens", "runs": 200}
    {"cell": "a0…", "row": {…}}

A process that is killed leaves at most one torn line, the last, which the next one cuts off.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from soloist import __version__
from soloist.core import UsageError
from soloist.lab.files import cannot_write, make_directory
from soloist.lab.sweep import digest
from soloist.lab.table import Row

try:
    import fcntl
except ImportError:  # not on Windows; there nobody keeps two sweeps apart
    fcntl = None  # type: ignore[assignment]

NAME = "journal.jsonl"


class Heading(msgspec.Struct, frozen=True):
    soloist: str
    plan: str
    sweep: str
    runs: int


class Line(msgspec.Struct, frozen=True):
    cell: str
    row: msgspec.Raw


class Journal:
    """An open journal: `done` has the rows of earlier calls and of this one, by the digests of their cells (`keys`).

    Rows are of the type `kind`: whatever JSON can hold.
    """

    def __init__(
        self, directory: Path, sweep: str, keys: Sequence[str], fresh: bool = False, kind: Any = Row
    ) -> None:
        make_directory(directory)
        self.path = directory / NAME
        self.done: dict[str, Any] = {}
        self.kind = kind
        heading = Heading(__version__, digest(keys), sweep, len(keys))
        try:
            self.file = os.open(
                self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666
            )
        except OSError as error:
            raise cannot_write(self.path, error) from None
        try:
            self._lock()
            if fresh:
                os.ftruncate(self.file, 0)
            self._read(heading)
        except BaseException:
            os.close(self.file)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.file)

    def add(self, cell: str, row: Any) -> None:
        self._append(Line(cell, msgspec.Raw(msgspec.json.encode(row))))
        self.done[cell] = row

    def kept(self) -> int:
        """How many runs are in the file: counted there, for an interrupt comes at any moment."""
        return max(0, len(self._whole_lines()) - 1)

    def _lock(self) -> None:
        """One sweep at a time. A record lock goes with its process, and no child inherits it."""
        if fcntl is None:
            return
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise UsageError(f"another sweep is writing to {self.path.parent}; give another --out") from None
        except OSError:
            pass  # a file system without locks

    def _read(self, heading: Heading) -> None:
        lines = self._whole_lines()
        if not lines:
            self._append(heading)
            return
        try:
            found = msgspec.json.decode(lines[0], type=Heading)
        except msgspec.MsgspecError:
            raise UsageError(f"{self.path} is no journal of a sweep; {self._way_out()}") from None
        if found.soloist != heading.soloist:
            raise UsageError(
                f"{self.path} was written by soloist {found.soloist}, and this is {heading.soloist}; {self._way_out()}"
            )
        if found.plan != heading.plan:
            raise UsageError(
                f"{self.path} has runs of another plan ({found.sweep!r}, {found.runs} runs); {self._way_out()}"
            )
        for number, line in enumerate(lines[1:], start=2):
            try:
                entry = msgspec.json.decode(line, type=Line)
                self.done[entry.cell] = msgspec.json.decode(entry.row, type=self.kind)
            except msgspec.MsgspecError:
                raise UsageError(f"{self.path}:{number}: the line is damaged; {self._way_out()}") from None

    def _way_out(self) -> str:
        return "give another --out, or --fresh to start anew"

    def _whole_lines(self) -> list[bytes]:
        """The lines that were written to their end. What follows them is cut off, for the next one to start well."""
        with open(self.file, "rb", closefd=False) as file:
            file.seek(0)
            content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self.file, whole)
        return content[:whole].splitlines()

    def _append(self, value: Heading | Line) -> None:
        """Straight to the system: nothing waits in a buffer that a killed process would take along."""
        rest = msgspec.json.encode(value) + b"\n"
        try:
            while rest:
                rest = rest[os.write(self.file, rest) :]
        except OSError as error:
            raise cannot_write(self.path, error) from None
