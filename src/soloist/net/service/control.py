"""How programs on the same host talk to a daemon: over a Unix socket that only its user may open.

Whatever a client holds belongs to its connection: when that ends, for whatever reason, its locks are released and its
requests withdrawn. What is said is in `soloist.net.service.dialogue`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Literal

import msgspec

from soloist.core import ProtocolError, SoloistError, UsageError
from soloist.net.errors import AcquireTimeout, NodeClosed
from soloist.net.link.wire import Frames, LockState, encode, frame
from soloist.net.lock import OWNER, Hold, Lock
from soloist.net.losses import abandon
from soloist.net.member.electing import change_voters
from soloist.net.node import Node
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
    MemberStatus,
    Refused,
    Release,
    Released,
    Reply,
    Request,
    Status,
    Welcome,
    decode_request,
)

log = logging.getLogger("soloist.net")

CONTROL_FRAME = 1024 * 1024
SLOW_CLIENT = 4 * 1024 * 1024
"""Bytes that a client may leave unread before it is dropped."""
WAITS_KEPT = 200
WORDS = {"add": "added", "remove": "removed"}
CLOSE_SECONDS = 1.0
LET_GO_SECONDS = 6.0
"""The most that clients get who were told to let go: a little more than `soloist run` gives its command."""


class ControlServer:
    """The daemon's side."""

    def __init__(self, node: Node, cluster: str, addresses: dict[str, str]) -> None:
        self.node, self.cluster, self.addresses = node, cluster, addresses
        self.clients: dict[Client, asyncio.Task[None]] = {}
        self.server: asyncio.Server | None = None
        self.waits: deque[float] = deque(maxlen=WAITS_KEPT)
        self.stopping: str | None = None
        """Why nothing is granted any more."""
        self.started = time.monotonic()
        self.told_to_leave: Callable[[], None] = lambda: None
        """Called when a client wants this node to end."""

    async def start(self, path: Path) -> None:
        """Listen. Whoever calls this is the only daemon of that path: what lies there is left from a dead one."""
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(str(path))
            os.chmod(path, 0o600)  # before it listens: nobody else ever gets in
            self.server = await asyncio.start_unix_server(self._accept, sock=listening)
        except OSError as error:
            listening.close()
            raise UsageError(f"cannot open the control socket {path}: {error.strerror}") from None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(self, reader, writer)
        task = asyncio.current_task()
        assert task
        self.clients[client] = task
        try:
            await client.serve()
        finally:
            del self.clients[client]

    async def drain(self, grace: float) -> None:
        """No more grants. Whoever holds something may finish in that time, or else is told to stop and let go.

        That gets as long again, at most: who wants it done quickly gets it quickly.
        """
        self.stopping = f"node {self.node.name!r} is being stopped"
        for client in self.clients:
            client.withdraw(self.stopping)
        if not await self._released(grace):
            for client in self.clients:
                client.evict(self.stopping)
            await self._released(min(grace, LET_GO_SECONDS))

    def holders(self) -> int:
        return sum(1 for client in self.clients if client.holds)

    async def _released(self, seconds: float) -> bool:
        """Whether all have let go within that time: only then may others have what they held."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.holders():
                    await asyncio.sleep(0.01)
        return not self.holders()

    async def close(self) -> None:
        if self.server:
            self.server.close()
        clients = dict(self.clients)
        for client in clients:
            client.writer.close()  # then its reader comes to an end, and so does its task
        if clients:
            await asyncio.wait(clients.values(), timeout=CLOSE_SECONDS)
        for client, task in clients.items():
            if not task.done():  # it does not read what was said last
                client.writer.transport.abort()
                await asyncio.wait({task})

    def _members(self) -> list[MemberStatus]:
        node, roster = self.node, self.node.beginning.roster
        connected = node.transport.connected() | {node.name}
        known = (roster and roster.roll()) or {
            name: (where, "member") for name, where in sorted(self.addresses.items())
        }
        return [
            MemberStatus(
                name,
                where,
                name in connected,
                0 if name == node.name else node.transport.backlog(name),
                role,
            )
            for name, (where, role) in known.items()
        ]

    def status(self, number: int) -> Status:
        node, instances = self.node, self.node.instances.values()
        return Status(
            number=number,
            cluster=self.cluster,
            node=node.name,
            pid=os.getpid(),
            algorithm=node.table.cards[0].name,
            semaphore_algorithm=node.table.cards[1].name,
            uptime=time.monotonic() - self.started,
            members=self._members(),
            entries=node.stats.entries,
            messages_sent=node.stats.messages_sent,
            messages_received=node.stats.messages_received,
            reconnects=getattr(node.transport, "reconnects", 0),
            locks=len(instances) + len(node.asleep),
            held=sum(len(instance.inside) for instance in instances),
            waiting=sum(instance.waiting for instance in instances),
            clients=len(self.clients),
            leaving=self.stopping,
            trouble=node.trouble(),
            epoch=node.epoch,
            protocol=node.table.view.protocol if node.epoch else 0,
            lease=node.lease,
            voters=node.beginning.voters(),
            withheld=node.withheld(),
            waits=list(self.waits),
        )


class Client:
    """One connection of one client, and all that it has."""

    def __init__(
        self, server: ControlServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server, self.node = server, server.node
        self.reader, self.writer = reader, writer
        self.holds: dict[int, Hold] = {}
        self.tasks: dict[int, asyncio.Task[Any]] = {}
        """Questions that are not answered yet."""
        self.acquiring: set[int] = set()
        """Those of them that ask for a lock."""
        self.greeted = False
        self.program = "a client"

    async def serve(self) -> None:
        frames = Frames(CONTROL_FRAME)
        try:
            while data := await self.reader.read(65536):
                for body in frames.feed(data):
                    self._handle(decode_request(body))
        except (ProtocolError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            log.warning("%s: dropped %s on the control socket: %s", self.node.name, self.program, error)
        except ConnectionError:
            pass
        finally:
            self._gone()

    def _gone(self) -> None:
        """The client is no more: nothing of it stays behind."""
        for task in self.tasks.values():
            task.cancel()
        for hold in list(self.holds.values()):
            self._log("%s: %s left while it held %r", hold, level=logging.WARNING)
            abandon(hold, "its client has ended")
        self.holds.clear()
        self.writer.close()

    def withdraw(self, why: str) -> None:
        """The client waits no longer for any lock."""
        for number in self.acquiring:
            self.tasks[number].cancel(why)

    def evict(self, why: str) -> None:
        """Ask the client to let go of everything."""
        for number in self.holds:
            self._say(Lost(number, why))

    def _handle(self, request: Request) -> None:
        if not self.greeted and not isinstance(request, Hello):
            raise ProtocolError("it did not say hello")
        match request:
            case Hello():
                self._hello(request)
            case Acquire():
                self._begin(request.number, self._acquire(request))
            case Release():
                self._release(request.number)
            case AskStatus():
                self._say(self.server.status(request.number))
            case AskHolders():
                self._begin(request.number, self._holders(request.number))
            case AskBreak():
                self._begin(request.number, self._break(request))
            case ChangeVoters():
                self._begin(request.number, self._change(request.number, request.kind, request.name))
            case Leave():
                self._begin(request.number, self._leave(request.number))

    def _hello(self, hello: Hello) -> None:
        self.program = hello.program or self.program
        self._say(Welcome(CONTROL_VERSION, self.server.cluster, self.node.name, os.getpid()))
        if hello.version != CONTROL_VERSION:
            raise ProtocolError(f"it speaks version {hello.version}, we speak {CONTROL_VERSION}")
        self.greeted = True

    def _begin(self, number: int, work: Coroutine[Any, Any, object]) -> None:
        if number in self.tasks or number in self.holds:
            work.close()
            raise ProtocolError(f"number {number} is in use")
        task = asyncio.create_task(work)
        self.tasks[number] = task
        task.add_done_callback(lambda _: self.tasks.pop(number, None))

    async def _acquire(self, asked: Acquire) -> None:
        # The connection is who waits and holds, not this task. But it may have several permits of a semaphore.
        OWNER.set(self if asked.value in (None, 1) else object())
        self.acquiring.add(asked.number)
        since = time.monotonic()
        try:
            if self.server.stopping:
                raise NodeClosed(self.server.stopping)
            lock = self._lock(asked)
            hold = await lock.acquire_or_raise(asked.timeout)
        except AcquireTimeout as error:
            self._say(Refused(asked.number, "AcquireTimeout", str(error), await self._holders_of(asked)))
        except SoloistError as error:
            self._say(Refused(asked.number, type(error).__name__, str(error)))
        except asyncio.CancelledError:
            if self.server.stopping:
                self._say(Refused(asked.number, "NodeClosed", self.server.stopping))
            raise
        else:
            self.server.waits.append(time.monotonic() - since)
            self._granted(asked.number, hold)
        finally:
            self.acquiring.discard(asked.number)

    def _lock(self, asked: Acquire) -> Lock:
        if asked.value is None:
            return self.node.lock(
                asked.name,
                timeout=asked.timeout,
                note=asked.note,
                on_lost="flag",
                on_holder_loss=asked.on_holder_loss,
                lock_delay=asked.lock_delay,
            )
        return self.node.semaphore(
            asked.name,
            asked.value,
            permits=asked.permits,
            timeout=asked.timeout,
            note=asked.note,
            on_lost="flag",
            on_holder_loss=asked.on_holder_loss,
            lock_delay=asked.lock_delay,
        )

    def _granted(self, number: int, hold: Hold) -> None:
        if self.writer.is_closing():
            hold.release_now()
            return
        self.holds[number] = hold
        hold.on_lost = lambda lost: self._say(Lost(number, lost.why))
        self._log("%s: granted to %s: %r", hold)
        self._say(Granted(number, hold.fence, hold.slot))

    def _release(self, number: int) -> None:
        if hold := self.holds.pop(number, None):
            self._log("%s: released by %s: %r", hold)
            hold.release_now()
        elif task := self.tasks.get(number):
            task.cancel()
        self._say(Released(number))

    async def _holders_of(self, asked: Acquire) -> list[LockState]:
        kind = "lock" if asked.value is None else "semaphore"
        try:
            inspection = await self.node.inspect(asked.name)
        except NodeClosed:
            return []
        holders = [view for view in inspection.holders if view.lock == f"{kind}:{asked.name}"]
        return sorted(holders, key=lambda view: view.node)

    async def _holders(self, number: int) -> None:
        try:
            views = await self.node.holders()
            self._say(Holders(number, views, self.node.missing()))
        except SoloistError as error:
            self._say(Refused(number, type(error).__name__, str(error)))

    async def _break(self, asked: AskBreak) -> None:
        try:
            self._say(Broke(asked.number, await self.node.break_lock(asked.name, asked.timeout)))
        except SoloistError as error:
            self._say(Refused(asked.number, type(error).__name__, str(error)))

    async def _change(self, number: int, kind: Literal["add", "remove"], name: str) -> bool:
        try:
            epoch = await change_voters(self.node.beginning, kind, name)
        except SoloistError as error:
            self._say(Refused(number, type(error).__name__, str(error)))
            return False
        log.warning("%s: %s by %s: voter %s", self.node.name, WORDS[kind], self.program, name)
        self._say(Done(number, epoch))
        return True

    async def _leave(self, number: int) -> None:
        """Its vote goes first: a voter that never comes back would count among those that are needed."""
        name = self.node.name
        if name in self.node.beginning.voters():
            if await self._change(number, "remove", name):
                self.server.told_to_leave()
        else:
            self._say(Done(number, self.node.epoch))
            self.server.told_to_leave()

    def _say(self, reply: Reply) -> None:
        if self.writer.is_closing():
            return
        self.writer.write(frame(encode(reply)))
        if self.writer.transport.get_write_buffer_size() > SLOW_CLIENT:
            log.warning(
                "%s: dropped %s on the control socket: it does not read", self.node.name, self.program
            )
            self.writer.transport.abort()

    def _log(self, text: str, hold: Hold, level: int = logging.DEBUG) -> None:
        facts = {"lock": hold.name, "fence": hold.fence, "client": self.program}
        log.log(level, text, self.node.name, self.program, hold.name, extra=facts)
