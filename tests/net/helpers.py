"""What the tests of the network share beyond `soloist.testing`: watchdogs, what is left at rest, logs."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from unittest import mock
from weakref import WeakKeyDictionary

import msgspec

from soloist.net import Client, LockError, Node, SyncClient, SyncNode, connect_sync
from soloist.net.link.security import address
from soloist.net.service.client_port import ClientPort
from soloist.net.service.control import ControlServer
from soloist.net.service.door import opened
from soloist.net.sync import new_loop
from soloist.testing import Statement, Witness, eventually, ports
from soloist.testing.waiting import PATIENCE

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


def with_a_lease(check: Callable[[float], None], *seconds: float) -> None:
    """Show something with the first lease that is long enough for this machine at this moment.

    A process that waits for a processor for longer than its lease loses what it holds, and has to. So whoever says that
    nothing is lost tries a short lease first, and longer ones if that fails: what is shown must not depend on it.
    Each trial keeps its votes elsewhere: its ports are others, and a vote file is for one set of addresses.
    """
    *short, longest = seconds
    state = os.environ["XDG_STATE_HOME"]
    for lease in short:
        try:
            with mock.patch.dict(os.environ, XDG_STATE_HOME=f"{state}-{lease:g}"):
                check(lease)
            return
        except (AssertionError, LockError, TimeoutError) as error:
            print(f"with a lease of {lease:g} s: {error!r}")
    check(longest)


async def begun(*nodes: Node) -> None:
    """Wait until callers are let in, so that even a try is worth it."""

    def so() -> bool:
        councils = [node.beginning.council for node in nodes]
        return all(node.beginning.open for node in nodes) and all(c.leased for c in councils if c)

    await eventually(so, "the cluster has begun")


async def settled(nodes: list[Node]) -> None:
    """Let everything that is under way come to its end."""
    async with asyncio.timeout(PATIENCE):
        while not all(instance.idle for node in nodes for instance in node.instances.values()):
            await asyncio.sleep(0)


NODE_OF: WeakKeyDictionary[Any, Node] = WeakKeyDictionary()
"""Which node a client talks to, where that is in this process, too."""


async def asked(
    home: Node | Client, lock: str = "lock:x", callers: int = 1, among: Iterable[Node | Client] = ()
) -> None:
    """Wait until so many callers wait at that node, and what was said about it among these has been heard."""
    node = NODE_OF.get(home, home)
    assert isinstance(node, Node)

    def so() -> bool:
        instance = node.instances.get(lock)
        return bool(
            instance
            and instance.waiting == callers
            and not under_way(NODE_OF.get(each, each) for each in among)
        )

    await eventually(so, f"{callers} wait for {lock} at {node.name}")


def under_way(nodes: Iterable[Any]) -> int:
    """Messages that have been sent, but not received."""
    return sum(node.stats.messages_sent - node.stats.messages_received for node in nodes)


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
    """A witness of one lock, in this process: it fails at once, and keeps fences and owners in the order of entry."""

    def __init__(self, most: int = 1) -> None:
        self.most = most
        self.witness = Witness(remember=True)

    def enter(self, fence: int, owner: str = "") -> None:
        self.witness.hear(Statement("enter", "lock", self.most, owner, fence))
        assert not self.witness.problems()

    def leave(self) -> None:
        self.witness.hear(msgspec.structs.replace(self.witness.inside[0], event="exit"))

    async def visit(self, node: Node, lock: Any, times: int, inside: float = 0.0) -> None:
        for _ in range(times):
            async with lock as hold:
                with self.witness.inside_with("lock", node.name, hold.fence, self.most):
                    assert not self.witness.problems()
                    await asyncio.sleep(inside)

    @property
    def highest(self) -> int:
        return self.witness.finding("lock").most_inside

    @property
    def fences(self) -> list[int]:
        return [fence for _, fence in self.witness.finding("lock").order]

    @property
    def owners(self) -> list[str]:
        return [owner for owner, _ in self.witness.finding("lock").order]


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


BEHIND: WeakKeyDictionary[Any, SyncNode] = WeakKeyDictionary()
"""The node of a client."""


FOR_THREADS = ["SyncNode", "connect_sync", "elsewhere"]
"""What has locks for threads: nodes; clients through the socket of a daemon, or through its port, with a session of their own."""


@contextmanager
def home_of(node: SyncNode, home: str) -> Iterator[Any]:
    """The node itself, or a client of it."""
    if home == "SyncNode":
        yield node
    else:
        with a_client(node, home) as client:
            yield client


@contextmanager
def a_client(node: SyncNode, home: str = "connect_sync") -> Iterator[SyncClient]:
    """Of a node that runs here, too, through a socket as of a daemon; `elsewhere` through its port."""

    async def serve() -> ControlServer:
        server = ControlServer(node.node, "t", {})
        if home == "elsewhere":
            server.enter_by(await opened(server, ClientPort(address(where["clients"]), 600.0)))
        else:
            await server.start(Path(directory, "s"))
        return server

    with TemporaryDirectory(prefix="soloist-") as directory, ports("clients") as where:
        server = node.call(serve)
        client = connect_sync(
            f"soloist://{where['clients']}" if home == "elsewhere" else f"unix:{directory}/s"
        )
        BEHIND[client] = node
        try:
            yield client.start()
        finally:
            client.close()
            node.call(server.close)
