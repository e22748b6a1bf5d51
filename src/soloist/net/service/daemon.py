"""A member of a cluster as a process of its own, with a control socket, metrics and a trace if wanted."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import stat
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

from soloist.core import UsageError
from soloist.net.link.security import address
from soloist.net.node import Node
from soloist.net.service import files, supervised
from soloist.net.service.config import Config, Member
from soloist.net.service.control import ControlServer
from soloist.net.service.door import opened
from soloist.net.sync import new_loop
from soloist.net.telemetry.metrics import Metrics, Spans, recorded
from soloist.net.telemetry.recording import TraceRecorder

log = logging.getLogger("soloist.net")

GRACE_SECONDS = 10.0
"""Seconds for clients that hold something to finish, when the daemon is told to stop."""
LOOK_SECONDS = 1.0


def serve(config: Config, name: str, grace: float = GRACE_SECONDS) -> None:
    """Be that node until told to stop by SIGTERM or SIGINT."""
    files.raise_limit()
    with claimed(config.member(name)), asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_serve(config, name, grace))


@contextlib.contextmanager
def claimed(member: Member) -> Iterator[None]:
    """Be the only daemon of that node on this host. The kernel ends the claim with the process, however it ends."""
    path = member.control.with_name(member.control.name + ".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        claim = _claim(path)
    except BlockingIOError:
        holder = path.read_text().strip() or "another process"
        raise UsageError(f"node {member.name!r} runs here already, as {holder} (see {path})") from None
    except OSError as error:
        raise UsageError(f"cannot make {path}: {error.strerror}") from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(claim)


def _claim(path: Path) -> int:
    """An open, locked file that is certainly the one at that path: another daemon may just have removed it."""
    while True:
        claim = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(claim), path.stat()):
                os.truncate(claim, 0)
                os.write(claim, f"process {os.getpid()}\n".encode())
                return claim
        except BaseException:
            os.close(claim)
            raise
        os.close(claim)


async def _serve(config: Config, name: str, grace: float) -> None:
    member = config.member(name)
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    async with contextlib.AsyncExitStack() as stack:
        node = config.node(name)
        node.serve_others(member.port.terms.at_voter if member.port else 0.0)
        node.written_in(config.path.absolute())
        if recorded():
            Spans(node)
        if member.trace:
            stack.enter_context(_trace(node, member.trace))
        if member.metrics:
            await stack.enter_async_context(Metrics(node).serving(member.metrics))
        await stack.enter_async_context(node)
        await stack.enter_async_context(_task(supervised.report(node)))
        await stack.enter_async_context(_control(node, config, member, told, grace))
        _warn_of_open_secret(member)
        _warn_of_open_door(config, member)
        log.info("%s: ready at %s, control socket %s", name, member.address, member.control)
        supervised.say("READY=1")
        await stack.enter_async_context(_task(_tell(node)))
        await told.wait()
        supervised.say("STOPPING=1")


@contextlib.asynccontextmanager
async def _control(
    node: Node, config: Config, member: Member, told: asyncio.Event, grace: float
) -> AsyncIterator[None]:
    """A control socket; at the end its clients may finish or must let go, so that others get what they held."""
    addresses = {each.name: each.address for each in config.members.values()}
    server = ControlServer(node, config.cluster, addresses)
    server.told_to_leave = told.set
    await server.start(member.control)
    try:
        if member.port:
            server.enter_by(await opened(server, member.port))
            log.info("%s: clients come in at %s", node.name, member.port.address)
        yield
        log.info("%s: stopping; %d clients hold locks and have %g s", node.name, server.holders(), grace)
        told.clear()
        await server.drain(grace, told)
        await _said(node)
    finally:
        await server.outwait()  # whatever has led here
        await server.close()
        member.control.unlink(missing_ok=True)


async def _said(node: Node) -> None:
    """Until peers have got what was released last: what does not arrive now never will."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1):
            await asyncio.sleep(0)
            while any(node.transport.backlog(peer) for peer in node.transport.connected()):
                await asyncio.sleep(0.01)


@contextlib.contextmanager
def _trace(node: Node, path: Path) -> Iterator[None]:
    """Record meanwhile."""
    recorder = TraceRecorder(node.name, path)
    node.observers.append(recorder)
    try:
        yield
    finally:
        recorder.close()


@contextlib.asynccontextmanager
async def _task(work: Coroutine[Any, Any, object]) -> AsyncIterator[asyncio.Task[object]]:
    """Something that goes on meanwhile, and ends with the body."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _tell(node: Node) -> None:
    """Say whom the node misses, whenever that changes. With a lease it says so itself, once it is a member."""
    told: list[str] = []
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        missing = [] if node.lease and node.beginning.open else node.missing()
        if missing and missing != told:
            why = "; ".join(dict.fromkeys([f"not connected: {', '.join(missing)}", node.trouble()]))
            log.warning("%s: %s", node.name, why, extra={"missing": missing})
        elif told and not missing:
            log.info("%s: connected to everybody", node.name)
        told = missing


def _warn_of_open_secret(member: Member) -> None:
    for what, path in (("secret_file", member.secret_file), ("key", member.tls and member.tls.key)):
        with contextlib.suppress(OSError):
            if path and os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                log.warning("%s: %s %s can be read by others than its owner", member.name, what, path)


def _warn_of_open_door(config: Config, member: Member) -> None:
    """Over TCP nobody tells users of one host apart."""
    ports = [each for each in config.members.values() if not address(each.address).unix]
    if len(config.members) > 1 and ports and not member.tls and not member.secret_file:
        whoever = "whoever can reach it" if config.insecure else "every user of this host"
        log.warning(
            "%s: neither tls nor secret_file: %s can speak as a node; `soloist keys DIR --secret` makes one",
            member.name,
            whoever,
        )
