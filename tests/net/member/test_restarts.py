"""Members that are killed and started again, alone or all together, and members with other peers: real processes.

Whatever happens, nobody gets what another holds, no fence goes back, and both ends say what is the matter. This is about
nodes without a lease; those with one are in test_survival.py.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, Literal

import pytest

from soloist.net import Client, LockError, NodeClosed
from soloist.net.client.operator import operate
from soloist.testing import Crew, Statement, Witness, eventually, ports
from soloist.testing.worker import Grab, work
from tests.net.helpers import run
from tests.net.service.clients import take

NAMES = [f"n{number}" for number in range(40)]
AGAIN = "was started again"
SECONDS = 120
Found = dict[str, int | str]


class InLibrary:
    """A program with a node in it."""

    def __init__(
        self, name: str, peers: dict[str, str], directory: Path, lease: Literal["none", "auto"] = "none"
    ) -> None:
        self.name, self.peers = name, peers
        self.options = {"lease": None} if lease == "none" else {}
        self.crew = Crew()

    async def start(self) -> None:
        self.crew.start(self.name, work, self.name, self.peers, self.options, None, None, None)
        await asyncio.to_thread(self.crew.hear, self.name)

    async def grab(self, names: list[str], timeout: float) -> Found:
        found: Found = await asyncio.to_thread(self.crew.ask, self.name, Grab(tuple(names), timeout), SECONDS)
        return found

    async def end(self, how: str) -> None:
        if how == "close":
            self.crew.tell(self.name, None)
        elif how == "kill":
            self.crew.kill(self.name)
        else:
            os.kill(self.crew.pid(self.name), signal.SIGTERM)
        await eventually(lambda: not self.crew.alive(self.name), f"{self.name} has ended")

    async def stop(self) -> None:
        self.crew.kill_all()
        self.crew.stop()


class Daemon:
    """A daemon, and a client of it."""

    def __init__(
        self, name: str, peers: dict[str, str], directory: Path, lease: Literal["none", "auto"] = "none"
    ) -> None:
        self.name, self.directory = name, directory / name
        self.directory.mkdir()
        nodes = "".join(f'{each} = "{where}"\n' for each, where in peers.items())
        (self.directory / "cluster.toml").write_text(
            f'cluster = "t"\nlease = "{lease}"\ncontrol = "{{name}}.sock"\n[nodes]\n{nodes}'
        )
        self.client: Client | None = None
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        words = ("soloist", "node", "--name", self.name, "--grace", "0.1")
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *words, cwd=self.directory, stdin=DEVNULL, stderr=DEVNULL
        )
        async with asyncio.timeout(SECONDS):
            while True:
                try:
                    self.client = await operate(self.directory / f"{self.name}.sock").__aenter__()
                    return
                except NodeClosed:  # it does not listen yet
                    await asyncio.sleep(0.05)

    async def grab(self, names: list[str], timeout: float) -> Found:
        async def one(name: str) -> int | str:
            assert self.client
            try:
                return (await take(self.client, name, timeout=timeout)).fence
            except LockError as error:
                return f"{type(error).__name__}: {error}"

        return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))

    async def end(self, how: str) -> None:
        assert self.client
        if how == "close":
            await self.client.close()
        assert self.process
        if how == "kill":
            self.process.kill()
        else:
            self.process.terminate()
        await self.process.wait()
        self.process = None
        await self.client.close()
        (self.directory / f"{self.name}.sock").unlink(missing_ok=True)

    async def stop(self) -> None:
        if self.process:
            await self.end("kill")


class Troupe:
    """Three members, and the witness."""

    def __init__(self, members: dict[str, Any]) -> None:
        self.members = members
        self.witness = Witness()

    async def grab(self, who: str, names: list[str], timeout: float) -> tuple[int, set[str]]:
        found = await self.members[who].grab(names, timeout)
        granted = {name: fence for name, fence in found.items() if isinstance(fence, int)}
        for name, fence in granted.items():
            self.witness.hear(Statement("enter", name, 1, who, fence))
        self.witness.confirm()
        assert not self.witness.problems()
        return len(granted), {words for words in found.values() if isinstance(words, str)}

    async def denied(self, who: str, names: list[str], *words: str) -> None:
        """None of these is granted, and soon it is said why."""
        reasons: set[str] = set()
        while not (reasons and all(word in reason for word in words for reason in reasons)):
            granted, reasons = await self.grab(who, names, 0.3)
            assert granted == 0

    async def end(self, who: str, how: str) -> None:
        await self.members[who].end(how)
        for report in self.witness.inside:
            if report.holder == who:
                self.witness.gone(report)

    async def restart(self, who: str, how: str) -> None:
        await self.end(who, how)
        await self.members[who].start()


@asynccontextmanager
async def troupe(kind: Callable[..., Any]) -> AsyncIterator[Troupe]:
    directory = Path(tempfile.mkdtemp(prefix="soloist-"))  # short: the path of a socket is
    async with AsyncExitStack() as stack:
        stack.callback(shutil.rmtree, directory)
        peers = stack.enter_context(ports("a", "b", "c"))
        members = {name: kind(name, peers, directory) for name in peers}
        for member in members.values():
            stack.push_async_callback(member.stop)
            await member.start()
        yield Troupe(members)


KINDS = [InLibrary, Daemon]


@pytest.mark.parametrize(
    ("kind", "how"),
    [*((InLibrary, how) for how in ("kill", "term", "close")), *((Daemon, how) for how in ("term", "close"))],
)
def test_a_member_that_said_goodbye_or_is_known_to_be_dead_comes_back(
    kind: Callable[..., Any], how: str
) -> None:
    """What the others hold they go on holding. On one host the end of a process is known."""

    async def main() -> None:
        async with troupe(kind) as cast:
            assert await cast.grab("a", NAMES[30:], 30) == (10, set())
            assert await cast.grab("b", NAMES[:20], 30) == (20, set())
            assert await cast.grab("c", NAMES[20:30], 30) == (10, set())
            await cast.restart("a", how)
            assert await cast.grab("a", NAMES[30:], 30) == (10, set())
            assert (await cast.grab("a", NAMES[:30], 0.1))[0] == 0
            await cast.restart("b", how)
            assert await cast.grab("b", NAMES[:20], 30) == (20, set())
            assert (await cast.grab("b", NAMES[20:], 0.1))[0] == 0

    run(main(), SECONDS)


def test_a_member_that_may_be_alive_gets_nothing_until_all_are_started_again() -> None:
    """Who uses the locks of a daemon goes on when that is killed, so its end proves nothing."""
    kind, how = Daemon, "kill"

    async def main() -> None:
        async with troupe(kind) as cast:
            assert await cast.grab("b", NAMES[:20], 30) == (20, set())
            assert await cast.grab("c", NAMES[20:30], 30) == (10, set())
            await cast.restart("a", how)
            await cast.denied("a", NAMES, f"'a' {AGAIN}", "restart 'b', too", "restart 'c', too")
            await cast.denied("b", NAMES[20:30], f"'a' {AGAIN}")
            await cast.restart("b", how)
            await cast.denied("b", NAMES, f"'b' {AGAIN}", "restart 'c', too")
            await cast.denied("a", NAMES, f"'a' {AGAIN}")
            await cast.restart("c", how)
            assert await cast.grab("a", NAMES[:20], 30) == (20, set()), "a goes on by itself"
            assert await cast.grab("c", NAMES[20:], 30) == (20, set())

    run(main(), SECONDS)


@pytest.mark.parametrize("kind", KINDS)
def test_fences_grow_over_whole_restarts(kind: Callable[..., Any]) -> None:
    async def main() -> None:
        async with troupe(kind) as cast:
            for how in ("kill", "term", "close"):
                assert await cast.grab("b", NAMES, 30) == (40, set())
                for who in "abc":
                    await cast.end(who, how)
                await asyncio.gather(*(member.start() for member in cast.members.values()))
            assert await cast.grab("c", NAMES, 30) == (40, set())

    run(main(), SECONDS)


@pytest.mark.parametrize("kind", KINDS)
def test_members_with_other_peers_share_nothing_and_are_told_the_difference(kind: Callable[..., Any]) -> None:
    """Also where one of them would have a lease and the other would not: the peers are why."""

    async def main() -> None:
        directory = Path(tempfile.mkdtemp(prefix="soloist-"))
        with ports("a", "b", "c") as peers:
            two = {name: where for name, where in peers.items() if name != "c"}
            cast = Troupe({"a": kind("a", two, directory, "auto"), "b": kind("b", peers, directory, "auto")})
            try:
                for member in cast.members.values():
                    await member.start()
                for who in "ab":
                    granted, reasons = await cast.grab(who, NAMES, 10)
                    assert granted == 0
                    assert reasons
                    for reason in reasons:
                        assert reason.startswith("ConfigMismatch")
                        assert "'b' alone counts 'c'" in reason
            finally:
                for member in cast.members.values():
                    await member.stop()
                shutil.rmtree(directory)

    run(main(), SECONDS)
