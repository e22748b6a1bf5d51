"""Which lines of an algorithm's source a step runs through. Only while somebody records: nothing else pays for it."""

from __future__ import annotations

import sys
from linecache import getlines
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import soloist.algorithms
from soloist.core import Message, Outbox, Port, Process, Send, Site
from soloist.watch.trace import Source

ALGORITHMS = str(Path(soloist.algorithms.__file__).parent)


class Lines:
    """A context in which lines are noted: those of the algorithm's own files, and of what they share."""

    def __init__(self, kind: type[Process]) -> None:
        own = [sys.modules[each.__module__].__file__ for each in kind.__mro__ if issubclass(each, Process)]
        self._own = {file for file in own if file} - {sys.modules[Process.__module__].__file__}
        first = sys.modules[kind.__module__].__file__
        self.files: list[str] = [first] if first else []
        """By number: the first is the algorithm's own."""
        self._known: dict[str, int | None] = {}
        self.ran: dict[tuple[int, int], None] = {}
        """In the order in which they were first run through."""
        self._before: Any = None

    def __enter__(self) -> None:
        self.ran = {}
        self._before = sys.gettrace()
        sys.settrace(self._call)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(self._before)

    def take(self) -> list[tuple[int, int]]:
        ran, self.ran = list(self.ran), {}
        return ran

    def sources(self) -> list[Source]:
        return [Source(Path(file).name, 1, "".join(getlines(file))) for file in self.files]

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if self._number(frame.f_code.co_filename) is not None else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            number = self._known[frame.f_code.co_filename]
            if number is not None:
                self.ran[number, frame.f_lineno] = None
        return self._line

    def _number(self, file: str) -> int | None:
        """Of a file of the algorithm; None for all others."""
        if file not in self._known:
            wanted = file in self._own or str(Path(file).parent) == ALGORITHMS
            if wanted and file not in self.files:
                self.files.append(file)
            self._known[file] = self.files.index(file) if wanted else None
        return self._known[file]


class RecordingPort(Port):
    """A port whose steps leave their lines behind."""

    __slots__ = ("lines",)

    def __init__(self, process: Process, out: Outbox, lines: Lines) -> None:
        super().__init__(process, out)
        self.lines = lines

    def begin(self) -> list[Send]:
        with self.lines:
            return super().begin()

    def acquire(self) -> list[Send]:
        with self.lines:
            return super().acquire()

    def release(self) -> list[Send]:
        with self.lines:
            return super().release()

    def deliver(self, sender: Site, message: Message) -> list[Send]:
        with self.lines:
            return super().deliver(sender, message)

    def timeout(self, name: str) -> list[Send]:
        with self.lines:
            return super().timeout(name)
