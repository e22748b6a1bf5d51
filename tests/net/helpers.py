"""What the tests of the network share: clusters in memory and over sockets, ports, logs and workers."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, TypeVar

from soloist.net import MemoryHub, Node
from soloist.net.sync import new_loop

T = TypeVar("T")

ROOT = Path(__file__).parents[2]


Loop = Callable[[], asyncio.AbstractEventLoop]
LOOPS: list[Loop] = [asyncio.new_event_loop, new_loop]
"""Python's, and the fastest that is installed."""


def run(work: Coroutine[Any, Any, T], seconds: float = 30, loop: Loop = asyncio.new_event_loop) -> T:
    """Run to the end, or fail: no test may hang, and no error may be hidden in a callback."""
    errors: list[dict[str, Any]] = []

    async def bounded() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        async with asyncio.timeout(seconds):
            return await work

    with asyncio.Runner(loop_factory=loop) as runner:
        result = runner.run(bounded())
    assert not errors, errors
    return result


async def eventually(holds: Callable[[], Any], what: str = "", seconds: float = 15) -> None:
    """Wait until something is so."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"it never came to this: {what or holds}") from None


@contextmanager
def ports(*names: str) -> Iterator[dict[str, str]]:
    """An address for each name. The ports stay reserved until the end: bound, but nobody listens."""
    reserved = []
    try:
        for _ in names:
            sock = socket.socket()
            reserved.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", 0))
        yield {name: f"127.0.0.1:{sock.getsockname()[1]}" for name, sock in zip(names, reserved, strict=True)}
    finally:
        for sock in reserved:
            sock.close()


@asynccontextmanager
async def started(nodes: list[Node]) -> AsyncIterator[list[Node]]:
    async with AsyncExitStack() as stack:
        for node in nodes:
            await stack.enter_async_context(node)
        yield nodes


def memory_nodes(names: str | list[str] = "abc", **options: Any) -> list[Node]:
    hub = MemoryHub()
    peers = dict.fromkeys(names, "")
    return [Node(name, peers, transport=hub.transport(name), **options) for name in names]


@asynccontextmanager
async def memory_cluster(names: str | list[str] = "abc", **options: Any) -> AsyncIterator[list[Node]]:
    async with started(memory_nodes(names, **options)) as nodes:
        yield nodes


@asynccontextmanager
async def tcp_cluster(
    names: str = "abc", shortcut: bool = False, **options: Any
) -> AsyncIterator[list[Node]]:
    """Nodes that talk over TCP, although they could take the shortcut."""
    with ports(*names) as peers:
        async with started([Node(name, peers, shortcut=shortcut, **options) for name in names]) as nodes:
            await connected(*nodes)
            yield nodes


async def connected(*nodes: Node) -> None:
    await eventually(lambda: not any(node.missing() for node in nodes), "all are connected")


async def settled(nodes: list[Node]) -> None:
    """Let everything that is under way come to its end."""
    async with asyncio.timeout(10):
        while not all(instance.idle for node in nodes for instance in node.instances.values()):
            await asyncio.sleep(0)


def assert_at_rest(nodes: list[Node]) -> None:
    """Nobody holds, waits or asks, and nothing that a caller left behind is kept."""
    for node in nodes:
        assert not node.holds
        for name, instance in node.instances.items():
            assert instance.idle, (
                f"{name} at {node.name}: {instance.waiting} waiting, {instance.inside} inside"
            )
            assert not instance.queue
            assert not instance.inside


class Exclusion:
    """Counts who is inside, and keeps the fences in the order of entry."""

    def __init__(self, most: int = 1) -> None:
        self.most = most
        self.inside = 0
        self.highest = 0
        self.fences: list[int] = []
        self.owners: list[str] = []

    def enter(self, fence: int, owner: str = "") -> None:
        self.inside += 1
        self.highest = max(self.highest, self.inside)
        assert self.inside <= self.most, f"{self.inside} inside at once"
        if self.most == 1 and self.fences:
            assert fence > self.fences[-1], f"fence {fence} after {self.fences[-1]}"
        self.fences.append(fence)
        self.owners.append(owner)

    def leave(self) -> None:
        self.inside -= 1

    async def visit(self, node: Node, lock: Any, times: int, inside: float = 0.0) -> None:
        for _ in range(times):
            async with lock as hold:
                self.enter(hold.fence, node.name)
                await asyncio.sleep(inside)
                self.leave()


@contextmanager
def log_lines(level: int = logging.WARNING) -> Iterator[list[str]]:
    """What is logged meanwhile."""
    lines: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger = logging.getLogger("soloist.net")
    keeper, before = Keeper(level), logger.level
    logger.addHandler(keeper)
    logger.setLevel(min(level, logging.INFO))
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.removeHandler(keeper)
        logger.setLevel(before)
        logger.propagate = True


def start_python(module: str, *arguments: str, **options: Any) -> Popen[bytes]:
    """A process of its own; whoever starts it stops it, with `stop`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("environment", {})}
    return Popen([sys.executable, "-m", module, *arguments], env=environment, stdout=PIPE, **options)


def stop(*processes: Popen[bytes]) -> None:
    for process in processes:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()


def split(addresses: Mapping[str, str], name: str) -> tuple[str, int]:
    host, port = addresses[name].rsplit(":", 1)
    return host, int(port)
