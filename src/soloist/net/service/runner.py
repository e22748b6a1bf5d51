"""Running a command while a lock is held, as `soloist run` does.

The command ends, the lock is released. The lock is lost, the command is told to stop, and killed if it does not. The
runner dies, the command is killed by its guardian, and the daemon releases the lock because the connection is gone.
"The command" is all of its process group: whatever it has started, except what has left the group (with setsid).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from soloist.net.arguments import OnHolderLoss
from soloist.net.client.client import Client
from soloist.net.client.operator import operate
from soloist.net.errors import NodeClosed
from soloist.net.hold import Hold
from soloist.net.lock import Lock
from soloist.net.service.command import Command, Ended
from soloist.net.service.guardian import NOT_EXECUTABLE

KILL_AFTER = 5.0
"""Seconds from the request to stop to the order."""
RELEASE_SECONDS = 5.0
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
NOT_FOUND = 127
"""As a shell has it."""


class LockedCommand(msgspec.Struct, frozen=True):
    """What to run, and what to hold meanwhile."""

    lock: str
    command: list[str]
    value: int | None = None
    timeout: float | None = None
    note: str | None = None
    kill_after: float = KILL_AFTER
    max_hold: float | None = None
    """Seconds after which the command is stopped, and the lock given back once nothing of it runs any more."""
    on_holder_loss: OnHolderLoss = "release"
    lock_delay: float | None = None


class CommandResult(msgspec.Struct, frozen=True):
    """How it went. `problem` is set if the command did not run to its end with the lock, or left something running."""

    lock: str
    exit_code: int
    fence: int | None = None
    waited: float = 0.0
    held: float = 0.0
    problem: str | None = None
    interrupted: int | None = None
    """The signal with which the keyboard ended the command."""


class _Signals:
    """Signals that reach us: to the command if there is one, otherwise the end of waiting."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.act: Callable[[signal.Signals], None] = lambda _: None

    @contextlib.contextmanager
    def caught(self, *numbers: signal.Signals) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        caught = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
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


async def run(control: Path, job: LockedCommand) -> CommandResult:
    """Acquire, run, release. Raises `LockError` if the lock could not be had."""
    if problem := unusable(job.command[0]):
        return problem_of(job, *problem)
    signals = _Signals()
    with signals.caught(*FORWARDED):
        async with operate(control, f"{job.command[0]} (process {os.getpid()})") as client:
            return await _with(client, job, signals)


async def _with(client: Client, job: LockedCommand, signals: _Signals) -> CommandResult:
    asked = time.monotonic()
    waiting = asyncio.ensure_future(_lock(client, job).acquire_or_raise(job.timeout))

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
    ended = await _execute(job, hold, signals)
    held = time.monotonic() - entered
    with contextlib.suppress(NodeClosed, TimeoutError):  # the end of the connection does it, too
        async with asyncio.timeout(RELEASE_SECONDS):
            await hold.release()
    return CommandResult(
        job.lock, ended.code, hold.fence, entered - asked, held, ended.problem, ended.interrupted
    )


def _lock(client: Client, job: LockedCommand) -> Lock:
    if job.value is None:
        return client.lock(
            job.lock,
            note=job.note,
            on_lost="flag",
            on_holder_loss=job.on_holder_loss,
            lock_delay=job.lock_delay,
        )
    return client.semaphore(
        job.lock,
        job.value,
        note=job.note,
        on_lost="flag",
        on_holder_loss=job.on_holder_loss,
        lock_delay=job.lock_delay,
    )


def _reason(hold: Hold) -> str:
    """Why it was lost, without its name."""
    return hold.why.partition(" is lost: ")[2] or hold.why


async def _execute(job: LockedCommand, hold: Hold, signals: _Signals) -> Ended:
    """Nothing of the command runs any more when this returns."""
    command = await Command.start(job.command, environment(hold), job.kill_after)
    signals.act = command.signal
    if signals.received:  # while the command was being started
        command.signal(signals.received)
    ended = asyncio.ensure_future(command.ended())
    lost = asyncio.ensure_future(hold.lost.wait())
    try:
        with signals.caught(signal.SIGTSTP):
            await asyncio.wait({ended, lost}, timeout=job.max_hold, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                why = (
                    f"{job.lock!r} was lost while {command.program} ran, and it was stopped: {_reason(hold)}"
                    if lost.done()
                    else f"{command.program} held {job.lock!r} for longer than {job.max_hold:g} s, and was stopped"
                )
                command.stop()
                await ended
                return Ended(1, why)
    finally:
        lost.cancel()
    return ended.result()


def environment(hold: Hold) -> dict[str, str]:
    slot = {} if hold.slot is None else {"SOLOIST_SLOT": str(hold.slot)}
    return {**os.environ, "SOLOIST_LOCK": hold.name, "SOLOIST_FENCE": str(hold.fence), **slot}


def unusable(program: str) -> tuple[int, str] | None:
    """Why a program cannot be run; asked before anybody waits for a lock."""
    if shutil.which(program):
        return None
    if os.path.sep in program and os.path.exists(program):
        return NOT_EXECUTABLE, f"{program} is not executable"
    return NOT_FOUND, f"{program}: no such command"


def problem_of(job: LockedCommand, code: int, problem: str) -> CommandResult:
    return CommandResult(job.lock, code, problem=problem)


def pass_on(number: int) -> None:
    """Let what the keyboard said to the command reach those who would have heard it without us, ourselves included."""
    signal.signal(number, signal.SIG_DFL)
    os.killpg(0, number)
