"""Running a command while a lock is held, as `soloist run` does.

The command ends, the lock is released. The lock is lost, the command is told to stop, and killed if it does not. The
runner dies, the command dies with it (on Linux), and the daemon releases the lock because the connection is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from soloist.net.client import ControlClient, RemoteHold
from soloist.net.errors import NodeClosed

KILL_AFTER = 5.0
"""Seconds from the request to stop to the order."""
RELEASE_SECONDS = 5.0
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""As a shell has it."""
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class Job(msgspec.Struct, frozen=True):
    """What to run, and what to hold meanwhile."""

    lock: str
    command: list[str]
    value: int | None = None
    timeout: float | None = None
    note: str | None = None
    kill_after: float = KILL_AFTER


class Outcome(msgspec.Struct, frozen=True):
    """How it went. `problem` is set if the command did not run to its end with the lock."""

    lock: str
    exit_code: int
    fence: int | None = None
    waited: float = 0.0
    held: float = 0.0
    problem: str | None = None


class _Signals:
    """Signals that reach us: to the command if there is one, otherwise the end of waiting."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.act: Callable[[signal.Signals], None] = lambda _: None

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        caught = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
        for number in caught:
            loop.add_signal_handler(number, self._on, number)
        try:
            yield
        finally:
            for number in caught:
                loop.remove_signal_handler(number)

    def _on(self, number: signal.Signals) -> None:
        self.received = number
        self.act(number)


async def run(control: Path, job: Job) -> Outcome:
    """Acquire, run, release. Raises `LockError` if the lock could not be had."""
    if problem := unusable(job.command[0]):
        return problem_of(job, *problem)
    signals = _Signals()
    with signals.caught():
        async with ControlClient(control, f"{job.command[0]} (process {os.getpid()})") as client:
            return await _with(client, job, signals)


async def _with(client: ControlClient, job: Job, signals: _Signals) -> Outcome:
    asked = time.monotonic()
    waiting = asyncio.ensure_future(
        client.acquire(job.lock, value=job.value, timeout=job.timeout, note=job.note)
    )

    def give_up(_: signal.Signals) -> None:
        waiting.cancel()

    signals.act = give_up
    if signals.received:
        give_up(signals.received)
    try:
        hold = await waiting
    except asyncio.CancelledError:
        if signals.received is None:
            raise
        return problem_of(job, 128 + signals.received, f"interrupted while waiting for {job.lock!r}")
    entered = time.monotonic()
    code, problem = await _execute(job, hold, signals)
    held = time.monotonic() - entered
    with contextlib.suppress(NodeClosed, TimeoutError):  # the end of the connection does it, too
        async with asyncio.timeout(RELEASE_SECONDS):
            await client.release(hold)
    return Outcome(job.lock, code, hold.fence, entered - asked, held, problem)


async def _execute(job: Job, hold: RemoteHold, signals: _Signals) -> tuple[int, str | None]:
    """The command's exit code, or 1 and what went wrong."""
    try:
        child = await asyncio.create_subprocess_exec(
            *job.command, env=environment(hold), preexec_fn=_die_with_parent()
        )
    except OSError as error:
        return NOT_EXECUTABLE, f"cannot run {job.command[0]}: {error.strerror}"

    def forward(number: signal.Signals) -> None:
        _forward(child, number)

    signals.act = forward
    if signals.received:  # while the command was being started
        forward(signals.received)
    ended = asyncio.ensure_future(child.wait())
    lost = asyncio.ensure_future(hold.lost.wait())
    try:
        await asyncio.wait({ended, lost}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            await _stop(child, job.kill_after)
            return 1, f"{job.lock!r} was lost while {job.command[0]} ran, and it was stopped: {hold.why}"
        return exit_code(ended.result()), None
    finally:
        lost.cancel()
        await ended


async def _stop(child: asyncio.subprocess.Process, kill_after: float) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.terminate()
        try:
            async with asyncio.timeout(kill_after):
                await child.wait()
        except TimeoutError:
            child.kill()


def _forward(child: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """What the keyboard sends has reached the command already: it is in our process group."""
    if number in (signal.SIGINT, signal.SIGQUIT) and in_foreground():
        return
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(number)


def in_foreground() -> bool:
    """Whether we are in the process group that the keyboard of our terminal talks to."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _die_with_parent() -> Callable[[], None] | None:
    """Called in the child before the command starts: should we be killed, the kernel kills the command.

    A lock that is released because its holder was killed must not leave the holder's command running.
    """
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it was too late to ask
            os._exit(NOT_EXECUTABLE)

    return prepare


def environment(hold: RemoteHold) -> dict[str, str]:
    slot = {} if hold.slot is None else {"SOLOIST_SLOT": str(hold.slot)}
    return {**os.environ, "SOLOIST_LOCK": hold.name, "SOLOIST_FENCE": str(hold.fence), **slot}


def unusable(program: str) -> tuple[int, str] | None:
    """Why a program cannot be run; asked before anybody waits for a lock."""
    if shutil.which(program):
        return None
    if os.path.sep in program and os.path.exists(program):
        return NOT_EXECUTABLE, f"{program} is not executable"
    return NOT_FOUND, f"{program}: no such command"


def exit_code(returned: int) -> int:
    """A killed command is reported as shells do."""
    return returned if returned >= 0 else 128 - returned


def problem_of(job: Job, code: int, problem: str) -> Outcome:
    return Outcome(job.lock, code, problem=problem)
