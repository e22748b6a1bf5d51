"""Grading: each hand-in is run in a process of its own, with limits on time and memory, and what it did is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import msgspec

from soloist.children import deaf
from soloist.core import SoloistError, UsageError
from soloist.core.checked import a, a_path
from soloist.course.child import READY
from soloist.course.exercise import Exercise
from soloist.course.judging import Brief
from soloist.course.verdict import FAILED, UNDECIDED, Judged, Verdict, complete

LARGEST = 1_000_000
"""Bytes of a hand-in."""
GRACE = 10.0
"""Seconds beyond its own limit until the process is killed: it may be deaf to its alarm."""
LOOK = 0.01
"""Seconds between two looks at whether it has ended."""
PASSED_ON = ("PATH", "PYTHONPATH", "HOME", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV")
"""What the process sees of our environment: no tokens, no keys."""


class Settings(msgspec.Struct, frozen=True):
    """What a hand-in is granted, and what is wanted of it."""

    seconds: float = 60.0
    memory: int = 1024
    """MiB."""
    page: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 86_400:
            raise UsageError(f"--seconds must be above 0 and at most 86400 (a day), not {self.seconds:g}")
        if not 256 <= self.memory <= 1_000_000:
            raise UsageError(f"--memory must be from 256 to 1000000 (MiB), not {self.memory}")


def grade(
    path: Path | str,
    exercise: Exercise,
    settings: Settings | None = None,
    *,
    name: str = "",
    stopped: Callable[[], bool] = lambda: False,
) -> Verdict:
    """What is to be said of a file. It is foreign code by its nature, so that it does not matter who may write it."""
    path, exercise = a_path("a hand-in", path), a(Exercise, "the exercise", exercise)
    name = name or path.name
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise UsageError(f"{name} has more than {LARGEST} bytes; a hand-in is a Python file")
        text = data.decode()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no Python file: it is not text in UTF-8") from None
    return complete(
        name, exercise, _judged(path.resolve(), name, text, exercise, settings or Settings(), stopped)
    )


def _judged(
    path: Path,
    name: str,
    text: str,
    exercise: Exercise,
    settings: Settings,
    stopped: Callable[[], bool],
) -> list[Judged]:
    with TemporaryDirectory(prefix="soloist-grade-") as folder:
        answer, errors = Path(folder) / "answer", Path(folder) / "errors"
        answer.touch()
        brief = Brief(
            exercise, name, str(path), text, settings.seconds, settings.memory, settings.page, str(answer)
        )
        with errors.open("wb") as sink:
            code = _run(msgspec.json.encode(brief), folder, sink.fileno(), settings.seconds, stopped)
        told = answer.read_bytes()
        if not told.startswith(READY):
            last = errors.read_text(errors="replace").strip().splitlines()[-1:]
            raise SoloistError(f"{name} could not be graded: {' '.join(last) or 'its process did not start'}")
    try:
        return msgspec.json.decode(told.removeprefix(READY), type=list[Judged])
    except msgspec.DecodeError:
        return [_without_answer(code, settings)]


def _run(brief: bytes, folder: str, errors: int, seconds: float, stopped: Callable[[], bool]) -> int | None:
    """The exit code; None where it had to be killed."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    process: subprocess.Popen[bytes] | None = None
    try:
        with deaf():  # otherwise Ctrl-C might come when it is there, and we do not know it yet
            process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-m", "soloist.course.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=folder,
                env={**environment, "PYTHONHASHSEED": "0"},
                start_new_session=True,
            )
        assert process.stdin
        with suppress(BrokenPipeError):  # it has ended already; its answer tells
            process.stdin.write(brief)
            process.stdin.close()
        until = monotonic() + seconds + GRACE
        while monotonic() < until and not stopped():
            if _has_ended(process):
                _kill_all(process)
                return process.wait()
            sleep(LOOK)
        return None
    finally:
        if process:
            _kill_all(process)
            process.wait()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Without letting go of its number, which is that of its group: others of it may be there still."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    """The process and whatever it has started."""
    if process.returncode is not None:
        return
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _without_answer(code: int | None, settings: Settings) -> Judged:
    if code is None:
        said = f"did not end after {settings.seconds:g} s, and had to be killed; is there a loop that catches every error?"
        return Judged("", FAILED, "time", said)
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        if name in ("SIGXCPU", "SIGKILL"):
            said = f"was killed ({name}) without an answer: by a limit of this machine, or by itself"
            return Judged("", UNDECIDED, "killed", said)
        return Judged("", FAILED, "killed", f"its process died ({name}); is there more than plain Python?")
    return Judged(
        "", FAILED, "exit", f"its process ended (exit code {code}) before it was judged; leave out os._exit"
    )
