"""The other end of a control socket: a program that uses the locks of a daemon on its host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from soloist.core import ProtocolError, UsageError
from soloist.net import errors
from soloist.net.arguments import OnHolderLoss
from soloist.net.errors import AcquireTimeout, LockError, NodeClosed
from soloist.net.link.wire import Frames, LockState, encode, frame
from soloist.net.member.breaks import Broken
from soloist.net.service.config import Config, Member
from soloist.net.service.dialogue import (
    CONTROL_VERSION,
    Acquire,
    AskBreak,
    AskHolders,
    AskStatus,
    Broke,
    ChangeVoters,
    Done,
    Granted,
    Hello,
    Holders,
    Leave,
    Lost,
    Refused,
    Release,
    Released,
    Reply,
    Request,
    Status,
    Welcome,
    decode_reply,
)

WELCOME_SECONDS = 5.0
ANSWER_FRAME = 64 * 1024 * 1024
"""Bytes. A daemon is trusted; a list of all holders may be long."""


class RemoteHold:
    """What the daemon has granted to this connection."""

    def __init__(self, number: int, name: str, fence: int, slot: int | None) -> None:
        self.number, self.name, self.fence, self.slot = number, name, fence, slot
        self.lost = asyncio.Event()
        self.why = ""

    def lose(self, why: str) -> None:
        self.why = self.why or why  # the first reason is the cause of others
        self.lost.set()


class ControlClient:
    """A connection to a daemon: `async with ControlClient(path) as client:`."""

    def __init__(self, path: Path, program: str | None = None) -> None:
        self.path = path
        self.program = program or f"process {os.getpid()}"
        self.welcome: Welcome | None = None
        self._number = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._holds: dict[int, RemoteHold] = {}
        self._names: dict[int, str] = {}
        self._reading: asyncio.Task[None] | None = None
        self._welcomed = asyncio.Event()
        self._gone = False

    async def __aenter__(self) -> Self:
        try:
            self._reader, self._writer = await asyncio.open_unix_connection(str(self.path))
        except OSError as error:
            raise NodeClosed(
                f"no daemon answers at {self.path} ({error.strerror}); start it with `soloist node`"
            ) from None
        self._reading = asyncio.create_task(self._read())
        self._say(Hello(CONTROL_VERSION, self.program))
        try:
            async with asyncio.timeout(WELCOME_SECONDS):
                await self._welcomed.wait()
            self._check_welcome()
        except TimeoutError:
            await self.close()
            raise NodeClosed(f"the daemon at {self.path} does not answer") from None
        except BaseException:
            await self.close()
            raise
        return self

    def _check_welcome(self) -> None:
        if self.welcome is None:
            raise NodeClosed(f"the daemon at {self.path} hung up")
        if self.welcome.version != CONTROL_VERSION:
            raise NodeClosed(
                f"the daemon at {self.path} speaks version {self.welcome.version} of the control protocol, "
                f"this program speaks {CONTROL_VERSION}"
            )

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._reading:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def acquire(
        self,
        name: str,
        *,
        value: int | None = None,
        permits: int = 1,
        timeout: float | None = None,
        note: str | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> RemoteHold:
        """Wait for a lock, or for a semaphore of `value`. Cancelled, the request is withdrawn."""
        number = self._next()
        self._names[number] = name
        try:
            asked = Acquire(number, name, value, permits, timeout, note, on_holder_loss, lock_delay)
            hold: RemoteHold = await self._call(number, asked)
            return hold
        except asyncio.CancelledError:
            self._holds.pop(number, None)  # it may have been granted just now
            self._say(Release(number))
            raise
        finally:
            self._names.pop(number, None)

    async def release(self, hold: RemoteHold) -> None:
        if self._holds.pop(hold.number, None):
            await self._call(hold.number, Release(hold.number))

    async def status(self) -> Status:
        number = self._next()
        found: Status = await self._call(number, AskStatus(number))
        return found

    async def holders(self) -> Holders:
        number = self._next()
        found: Holders = await self._call(number, AskHolders(number))
        return found

    async def change(self, what: Literal["add", "remove", "leave"], name: str = "") -> int:
        """Let a node vote or not, or let the daemon leave for good, and end: it still has to when this returns.

        Returns once it is done for good; gives the epoch from which on it is so.
        """
        number = self._next()
        asked = Leave(number) if what == "leave" else ChangeVoters(number, what, name)
        done: Done = await self._call(number, asked)
        return done.epoch

    def _next(self) -> int:
        self._number += 1
        return self._number

    async def _call(self, number: int, request: Request) -> Any:
        if self._gone:
            raise NodeClosed(f"the daemon at {self.path} is gone")
        try:
            asked = frame(encode(request))
        except (OverflowError, TypeError, UnicodeEncodeError) as error:
            raise UsageError(f"this cannot be asked of a daemon: {error}") from None
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._write(asked)
        try:
            return await answer
        finally:
            del self._answers[number]

    def _say(self, request: Request) -> None:
        self._write(frame(encode(request)))

    def _write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    async def _read(self) -> None:
        frames = Frames(ANSWER_FRAME)
        try:
            while data := await self._reader.read(65536):
                for body in frames.feed(data):
                    self._heard(decode_reply(body))
        except (OSError, ProtocolError, msgspec.MsgspecError):
            pass  # not a daemon, or one that is no more: the same for whoever holds a lock
        finally:
            self._end(f"the daemon at {self.path} is gone")

    def _heard(self, reply: Reply) -> None:
        match reply:
            case Welcome():
                self.welcome = reply
                self._welcomed.set()
            case Lost(number, why):
                if hold := self._holds.get(number):
                    hold.lose(why)
            case Granted(number, fence, slot):
                self._answer(number, self._granted(number, fence, slot))
            case Refused(number):
                self._answer(number, _error(reply))
            case Released(number) | Status(number) | Holders(number) | Broke(number) | Done(number):
                self._answer(number, reply)

    def _granted(self, number: int, fence: int, slot: int | None) -> RemoteHold:
        hold = RemoteHold(number, self._names.get(number, ""), fence, slot)
        if number in self._answers:  # otherwise the caller has gone, and has withdrawn it
            self._holds[number] = hold
        return hold

    def _answer(self, number: int, answer: object) -> None:
        waiting = self._answers.get(number)
        if waiting is None or waiting.done():
            return
        if isinstance(answer, Exception):
            waiting.set_exception(answer)
        else:
            waiting.set_result(answer)

    def _end(self, why: str) -> None:
        self._gone = True
        self._welcomed.set()
        for number in list(self._answers):
            self._answer(number, NodeClosed(why))
        for hold in self._holds.values():
            hold.lose(why)


async def break_lock(client: ControlClient, name: str, timeout: float | None = None) -> Broken:
    """Have the daemon's cluster take a lock from whoever holds it."""
    number = client._next()
    found: Broke = await client._call(number, AskBreak(number, name, timeout))
    return found.broken


def _error(refused: Refused) -> Exception:
    """The daemon's error, as the same class here; after a timeout it says who has the lock."""
    if refused.kind == "UsageError":
        return UsageError(refused.why)
    if refused.kind == "AcquireTimeout":
        holder = ", ".join(view.node for view in refused.holders) or None
        return AcquireTimeout(f"{refused.why}; {describe(refused.holders)}", holder=holder)
    kind = getattr(errors, refused.kind, LockError)
    return kind(refused.why) if issubclass(kind, LockError) else LockError(refused.why)


def describe(holders: list[LockState]) -> str:
    """Who holds it, for how long and why, in half a sentence."""
    if not holders:
        return "nobody that answers holds it"
    return "held by " + " and ".join(
        view.node
        + (f" for {view.held_for:.1f} s" if view.held_for is not None else "")
        + (f" ({view.lost or view.note})" if view.lost or view.note else "")
        for view in holders
    )


def choose(config: Config, name: str | None) -> Member:
    """The node to talk to: the one that was named, or the one that runs here."""
    if name and name not in config.members and answers((guest := config.guest(name)).control):
        return guest
    if name:
        return config.member(name)
    running = [member for member in config.members.values() if answers(member.control)]
    if len(running) == 1:
        return running[0]
    if not running:
        raise NodeClosed(
            f"no node of {config.path} runs here; start one with: "
            f"soloist node --config {config.path} --name {next(iter(config.members))}"
        )
    names = ", ".join(member.name for member in running)
    raise UsageError(f"several nodes of {config.path} run here ({names}); choose one with --name")


def answers(path: Path) -> bool:
    """Whether a daemon listens at that socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
