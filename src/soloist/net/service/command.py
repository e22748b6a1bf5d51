"""A command and all that it starts, as the runner sees it: the other end of a guardian."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

from soloist.net.service import guardian

KILLED_SECONDS = 5.0


class Ended(NamedTuple):
    """How it went."""

    code: int
    """The exit code, as shells have it: 128 + N if signal N ended the command."""
    problem: str | None = None
    interrupted: int | None = None
    """The signal that ended the command, if it is one of the keyboard's: without us, others would have got it, too."""


class Command:
    """Made by `start`. When `ended` returns, nothing in the command's process group is alive."""

    def __init__(
        self,
        program: str,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.program, self.process = program, process
        self.reader, self.writer = reader, writer
        self.group = 0

    @classmethod
    async def start(cls, words: list[str], environment: Mapping[str, str], kill_after: float) -> Command:
        ours, theirs = socket.socketpair()
        with theirs:
            told = [theirs.fileno(), kill_after, os.getpgrp(), os.getpid(), *words]
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", guardian.__file__, *map(str, told)],
                env=environment,
                pass_fds=[theirs.fileno()],
                process_group=0,
            )
        return cls(words[0], process, *await asyncio.open_connection(sock=ours))

    def signal(self, number: int) -> None:
        """For all of the group."""
        self._order(f"signal {number}")

    def stop(self) -> None:
        """SIGTERM, and SIGKILL for processes that do not heed it."""
        self._order("stop")

    async def ended(self) -> Ended:
        """Wait until nothing of the command is left."""
        try:
            while line := await self._news():
                match line:
                    case ["started", group]:
                        self.group = int(group)
                    case ["stopped", number]:
                        self._pause(int(number))
                    case ["failed", number]:
                        why = os.strerror(int(number))
                        return Ended(guardian.NOT_EXECUTABLE, f"cannot run {self.program}: {why}")
                    case ["ended", status, keyboard, left]:
                        return self._result(int(status), keyboard == "1", left == "1")
            await self._kill()
            return Ended(1, f"the guardian of {self.program} was killed, and so was {self.program}")
        finally:
            self.writer.close()
            with contextlib.suppress(ConnectionError):
                await self.writer.wait_closed()
            self.process.wait()  # without us, it has nothing more to do

    async def _news(self) -> list[str]:
        try:
            return (await self.reader.readline()).decode().split()
        except ConnectionError:
            return []

    def _result(self, status: int, keyboard: bool, left: bool) -> Ended:
        code = status if status >= 0 else 128 - status
        problem = f"{self.program} left processes running without the lock; they were stopped"
        by_keyboard = keyboard and -status in (signal.SIGINT, signal.SIGQUIT)
        return Ended(code, problem if left else None, -status if by_keyboard else None)

    def _pause(self, number: int) -> None:
        """Stop as the command was stopped, with all who share the terminal with us; then both go on."""
        handler = signal.signal(number, signal.SIG_DFL)
        os.killpg(0, number)
        signal.signal(number, handler)
        self._order("resume")

    async def _kill(self) -> None:
        """What the guardian would have done."""
        with contextlib.suppress(ProcessLookupError, PermissionError, TimeoutError):
            async with asyncio.timeout(KILLED_SECONDS):
                while self.group:
                    os.killpg(self.group, signal.SIGKILL)
                    await asyncio.sleep(0.01)

    def _order(self, order: str) -> None:
        self.writer.write(order.encode() + b"\n")
