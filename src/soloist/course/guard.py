"""What a hand-in may not do to the process that judges it: take for ever, take all memory, or reach outside.

This is against mistakes, and says what the mistake is. It is no prison: code that means harm is graded in a container.
"""

from __future__ import annotations

import linecache
import os
import signal
import sys
from types import FrameType
from typing import Any

MIB = 1024 * 1024
FILES = 64 * MIB
"""Bytes of the largest file that may be written."""
AGAIN = 1.0
"""Seconds from the first alarm to the second: a step that is the same at both does not end."""
OUTSIDE = {
    "ctypes.dlsym": "calls a function of C",
    "os.exec": "starts another program",
    "os.fork": "starts another process",
    "os.forkpty": "starts another process",
    "os.kill": "sends a signal",
    "os.killpg": "sends a signal",
    "os.posix_spawn": "starts another process",
    "os.remove": "removes a file",
    "os.rename": "renames a file",
    "os.rmdir": "removes a directory",
    "os.spawn": "starts another process",
    "os.system": "starts another program",
    "shutil.rmtree": "removes a directory",
    "signal.pthread_kill": "sends a signal",
    "socket.bind": "opens a network socket",
    "socket.connect": "connects to the network",
    "subprocess.Popen": "starts another program",
}
"""By Python's audit events: what is not for an algorithm."""
PYTHONS_OWN = ("<frozen importlib", linecache.__file__)
"""Where Python itself reads files: to import a module, and to show a line of one."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Forbidden(Exception):
    """Raised where a hand-in reaches outside."""


class TimeUp(BaseException):
    """The time is over. `line`: the line of a step that does not end, or 0 where there is only too much to do."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class Guard:
    """The limits of this process, from now on."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.forbidden = ""
        """The first thing that was forbidden, in words."""
        self.pid = os.getpid()
        self.step: FrameType | None = None

    def begin(self, seconds: float, memory: int) -> None:
        sys.dont_write_bytecode = True
        sys.addaudithook(self._audit)
        _limit(seconds, memory)
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self._alarm)
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def end(self) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        what = OUTSIDE.get(event, "")
        if event == "open" and isinstance(arguments[2], int):
            what = "writes a file" if arguments[2] & WRITING else self._reading()
        if (
            what
        ):  # judging does nothing of the kind, so a line that is not found is one of the hand-in's threads
            line = _line(sys._getframe(), self.place)
            where = f"line {line}" if line else "a thread of it"
            self.forbidden = self.forbidden or (
                f"{where}: {what} ({event}); an algorithm changes its variables and sends messages, and nothing else"
            )
            raise Forbidden(self.forbidden)

    def _reading(self) -> str:
        """Somebody else's answer might be in it; what Python itself reads is not the hand-in's doing."""
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self.place:
            if frame.f_code.co_filename.startswith(PYTHONS_OWN):
                return ""
            frame = frame.f_back
        return "reads a file" if frame else ""

    def _alarm(self, number: int, frame: FrameType | None) -> None:
        step = _outermost(frame, self.place)
        if self.step is None:
            self.step = step
            if step is not None:
                signal.setitimer(signal.ITIMER_REAL, AGAIN)
                return
            raise TimeUp(0)
        raise TimeUp(_line(frame, self.place) if step is self.step else 0)


def _line(frame: FrameType | None, place: str) -> int:
    """The line of the hand-in that is at work, or 0."""
    while frame is not None:
        if frame.f_code.co_filename == place:
            return frame.f_lineno
        frame = frame.f_back
    return 0


def _outermost(frame: FrameType | None, place: str) -> FrameType | None:
    """The call of a step, which calls all the others."""
    found = None
    while frame is not None:
        if frame.f_code.co_filename == place:
            found = frame
        frame = frame.f_back
    return found


def _limit(seconds: float, memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows: the process that started us limits the time
        return
    hard = int(seconds + AGAIN) + 5
    for what, most in (
        (resource.RLIMIT_AS, memory * MIB),
        (resource.RLIMIT_FSIZE, FILES),
        (resource.RLIMIT_CPU, hard),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):  # not every system has each
            continue
