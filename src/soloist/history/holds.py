"""From events to holds: who was surely inside from when until when, and how long it may have been.

A hold is known to last from the line that says so until the line that says the process leaves. Where that line is missing it is
known for the moment of its acquire only, and may have lasted for ever: until the process asked again, or is known to have ended.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import BinaryIO

import msgspec

from soloist.core import UsageError
from soloist.history.events import BadLine, Event, Format
from soloist.history.formats import Recordings, recognise

LONGEST = 1 << 24
"""Bytes of a line."""


class Hold(msgspec.Struct, gc=False):
    """A process was inside."""

    process: str
    since: float
    until: float
    """Surely, from `since` on."""
    over: float
    """When it was over at the latest."""
    asked: float | None
    fence: int | None
    where: int
    file: int = 0


class Request(msgspec.Struct, gc=False):
    """A process asked, and no answer is known."""

    process: str
    asked: float
    given_up: float
    where: int
    file: int = 0


class Book(msgspec.Struct):
    """All that is known of one lock."""

    lock: str
    files: list[str]
    """Names of what was read, by number."""
    k: int = 1
    holds: list[Hold] = []
    unanswered: list[Request] = []


class Books:
    """Reads files, line by line, and keeps a hold for each acquire: no line stays in memory."""

    def __init__(self) -> None:
        self.books: dict[str, Book] = {}
        self.files: list[str] = []
        self.lines = 0
        self.notes: list[str] = []
        self.unmatched = 0
        """Releases without an acquire."""
        self._names: dict[str, str] = {}
        self._inside: dict[tuple[str, str], Hold] = {}
        self._asking: dict[tuple[str, str], Request] = {}
        self._last: dict[tuple[str, str], Hold] = {}
        """The hold that a process released last, by lock: its release may turn out to be doubtful."""
        self._file = 0
        self._clock: dict[tuple[str, str], float] = {}
        """The newest time of a process, by lock: what it does with several at once may be told in any order."""
        self._of: dict[str, set[str]] = {}
        """The locks that a process holds or asks for: an `end` is about all of them."""

    @property
    def processes(self) -> int:
        return len(self._names)

    # Reading.

    def read(self, paths: Iterable[Path]) -> None:
        for self._file, path in enumerate(paths):
            self.files.append(path.name)
            try:
                if str(path) == "-":
                    self._read(sys.stdin.buffer, "standard input")
                else:
                    with path.open("rb") as file:
                        self._read(file, str(path))
            except OSError as error:
                raise UsageError(f"cannot read the history {path}: {error.strerror}") from None
        self._close()

    def _read(self, file: BinaryIO, name: str) -> None:
        format_: Format | None = None
        for where, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), 1):
            if len(line) > LONGEST:
                raise UsageError(f"{name}, line {where}: longer than {LONGEST} bytes, so this is no history")
            if not line.strip():
                continue
            self.lines += 1
            try:
                format_ = format_ or recognise(line)
                for event in format_.events(line, where):
                    self._take(event)
            except BadLine as error:
                if not line.endswith(b"\n") and where > 1:
                    self.notes.append(f"The last line of {name} was cut off.")
                    break
                raise UsageError(f"{name}, line {where}: {error}") from None
            except RecursionError:
                raise UsageError(f"{name}, line {where}: it is nested too deeply") from None
        if format_ is None:
            raise UsageError(f"{name} is empty: there is no history to check")
        if isinstance(format_, Recordings):
            for event in format_.rest():
                self._take(event)
        for lock, k in format_.capacity.items():
            if book := self.books.get(lock):
                book.k = max(book.k, k)

    def _close(self) -> None:
        for (lock, _), request in self._asking.items():
            self._book(lock).unanswered.append(request)
        for book in self.books.values():
            book.holds.sort(key=lambda hold: (hold.since, hold.file, hold.where))

    # Taking events.

    def _take(self, event: Event) -> None:
        time, name, kind, lock, fence, where = event
        process = self._names.setdefault(name, name)
        key = lock, process
        newest = self._clock.get(key, time)
        if time < newest:
            raise BadLine(f"the times of process {name} go back, from {newest:.15g} to {time:.15g}")
        self._clock[key] = time
        if kind == "acquire":
            self._acquire(key, time, fence, where)
        elif kind == "release":
            self._release(key, time, fence, where)
        elif kind == "request":
            self._leave_open(key, time)
            self._give_up(key, time)
            self._asking[key] = Request(process, time, inf, where, self._file)
            self._of.setdefault(process, set()).add(lock)
        elif kind == "cancel":
            self._give_up(key, time)
        elif kind == "doubt":
            if hold := self._last.pop(key, None):
                hold.over = inf
                self._inside[key] = hold
        else:
            for each in self._of.pop(process, set()):
                self._leave_open((each, process), time)
                self._give_up((each, process), time)

    def _acquire(self, key: tuple[str, str], time: float, fence: int | None, where: int) -> None:
        self._leave_open(key, time)
        request = self._asking.pop(key, None)
        asked = request.asked if request else None
        hold = Hold(key[1], time, time, inf, asked, fence, where, self._file)
        self._inside[key] = hold
        self._book(key[0]).holds.append(hold)
        self._of.setdefault(key[1], set()).add(key[0])

    def _release(self, key: tuple[str, str], time: float, fence: int | None, where: int) -> None:
        hold = self._inside.pop(key, None)
        if hold is None:  # its acquire is not in the history: at this moment it was inside all the same
            self.unmatched += 1
            hold = Hold(key[1], time, time, time, None, fence, where, self._file)
            self._book(key[0]).holds.append(hold)
        hold.until = hold.over = time
        self._last[key] = hold

    def _leave_open(self, key: tuple[str, str], time: float) -> None:
        """The process does something else now: a hold that it has not released was over by then."""
        if hold := self._inside.pop(key, None):
            hold.over = time

    def _give_up(self, key: tuple[str, str], time: float) -> None:
        if request := self._asking.pop(key, None):
            request.given_up = time
            self._book(key[0]).unanswered.append(request)

    def _book(self, lock: str) -> Book:
        book = self.books.get(lock)
        if book is None:
            book = self.books[lock] = Book(lock, self.files)
        return book
