"""A sentinel tells the voters that its node is dead, and only then. Real processes and sockets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from soloist.net import Node
from soloist.net.link.tcp import TcpTransport
from soloist.net.link.will import new_will, will_frame, will_of
from soloist.net.member import sentinel as module
from soloist.net.member.sentinel import Sentinel, possible
from soloist.testing import connected, eventually, ports
from tests.net.helpers import run
from tests.net.link.certificates import Authority

pytestmark = pytest.mark.skipif(not possible(), reason="there are no pidfds here")

NODE = """
import os, sys, signal, time
from soloist.net.member.sentinel import Sentinel
sentinel = Sentinel(bytes.fromhex(sys.stdin.readline()), float(sys.argv[1]))
sentinel.tell(sys.argv[2:])
print(sentinel.pid, flush=True)
for line in sys.stdin:
    print(eval(line), flush=True)
"""


class Watched:
    """A process with a sentinel."""

    def __init__(self, *addresses: str, seconds: float = 20.0, cwd: str | None = None) -> None:
        self.will = new_will()
        self.process = subprocess.Popen(
            [sys.executable, "-c", NODE, str(seconds), *addresses],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=cwd,
        )
        self.sentinel = int(self._say(self.will.hex()))
        self.ending = os.pidfd_open(self.sentinel)

    def _say(self, line: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(line + "\n")
        return self.process.stdout.readline().strip()

    def does(self, expression: str) -> str:
        return self._say(expression)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def sentinel_ended(self) -> bool:
        return bool(select.select([self.ending], [], [], 0)[0])

    def ends(self) -> None:
        """Wait for the sentinel."""
        assert select.select([self.ending], [], [], 30)[0], "the sentinel does not end"

    def close(self) -> None:
        self.kill()
        if not self.sentinel_ended:
            signal.pidfd_send_signal(self.ending, signal.SIGKILL)
        os.close(self.ending)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


@contextlib.contextmanager
def watched(*addresses: str, seconds: float = 20.0, cwd: str | None = None) -> Iterator[Watched]:
    process = Watched(*addresses, seconds=seconds, cwd=cwd)
    try:
        yield process
    finally:
        process.close()


class Voter:
    """A socket that hears wills and answers them as nodes do; or not."""

    def __init__(self, address: str = "", answers: bool = True) -> None:
        self.answers = answers
        if address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(address[5:])
            self.socket.listen()
            self.address = address
        else:
            self.socket = socket.create_server(("127.0.0.1", int(address.rpartition(":")[2] or 0)))
            self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.socket.settimeout(30)

    def hears(self) -> bytes:
        """The will that comes next."""
        sock, _ = self.socket.accept()
        with sock:
            sock.settimeout(30)
            said = b""
            while len(said) < len(will_frame(bytes(32))):
                more = sock.recv(100)
                assert more
                said += more
            if self.answers:
                sock.sendall(module.frame(module.encode(module.Welcome())))
        return said

    @property
    def hears_nothing(self) -> bool:
        return not select.select([self.socket], [], [], 0.2)[0]


@contextlib.contextmanager
def voters(count: int = 1, **options: bool) -> Iterator[list[Voter]]:
    made = [Voter(**options) for _ in range(count)]
    try:
        yield made
    finally:
        for voter in made:
            voter.socket.close()


def test_killed_all_voters_hear_the_will_and_the_sentinel_ends() -> None:
    with voters(3) as three, watched(*(voter.address for voter in three)) as node:
        assert all(voter.hears_nothing for voter in three)
        node.kill()
        for voter in three:
            assert voter.hears() == will_frame(node.will)
        node.ends()
        assert all(voter.hears_nothing for voter in three), "it is said once to those who answer"


def test_a_process_that_ends_without_closing_is_dead_as_well() -> None:
    with voters() as (voter,), watched(voter.address) as node:
        node.does("os._exit(0)")
        assert voter.hears() == will_frame(node.will)


def test_one_that_is_stopped_is_not_dead() -> None:
    with voters() as (voter,), watched(voter.address) as node:
        node.process.send_signal(signal.SIGSTOP)
        assert voter.hears_nothing
        assert not node.sentinel_ended
        node.process.send_signal(signal.SIGCONT)
        assert node.does("1 + 1") == "2"


def test_closed_in_peace_it_says_nothing() -> None:
    with voters() as (voter,), watched(voter.address) as node:
        assert node.does("sentinel.close(), sentinel.close(), sentinel.alive, sentinel.descriptors()") == (
            "(None, None, False, [])"
        )
        node.ends()
        node.kill()
        assert voter.hears_nothing


def test_the_end_of_the_pipe_is_no_end_of_the_node_and_no_peace() -> None:
    with voters() as (voter,), watched(voter.address) as node:
        assert node.does("os.close(sentinel._pipe)") == "None"
        assert voter.hears_nothing
        assert not node.sentinel_ended
        node.kill()
        assert voter.hears() == will_frame(node.will)


def test_half_a_line_is_not_peace() -> None:
    with voters() as (voter,), watched(voter.address) as node:
        assert node.does("os.write(sentinel._pipe, b'close')") == "5"
        node.kill()
        assert voter.hears() == will_frame(node.will)


def test_another_program_in_the_same_process_is_no_proof() -> None:
    """The pipe is closed by `exec`, and yet the process lives: somebody may go on where the node was."""
    with voters() as (voter,), watched(voter.address) as node:
        node.does("print('x', flush=True) or os.execvp('sleep', ['sleep', '100'])")
        assert voter.hears_nothing
        node.kill()
        assert voter.hears() == will_frame(node.will)


def test_a_sentinel_that_dies_first_proves_nothing() -> None:
    with voters() as (voter,), watched(voter.address) as node:
        os.kill(node.sentinel, signal.SIGKILL)
        node.ends()
        assert node.does("sentinel.alive") == "False"
        assert node.does("sentinel.tell(['127.0.0.1:1'])") == "None", "and harms nobody"
        assert node.does("sentinel.close()") == "None"
        node.kill()
        assert voter.hears_nothing


def test_a_sentinel_that_is_stopped_harms_nobody() -> None:
    with voters() as (voter,), watched(voter.address) as node:
        os.kill(node.sentinel, signal.SIGSTOP)
        assert node.does("[sentinel.tell(['127.0.0.1:1'] * 100) for _ in range(100)] and None") == "None"
        os.kill(node.sentinel, signal.SIGKILL)


def test_the_voters_of_the_last_view_are_told() -> None:
    with voters(3) as (old, kept, new), watched(old.address, kept.address) as node:
        node.does(f"sentinel.tell([{kept.address!r}, {new.address!r}])")
        node.kill()
        assert kept.hears() == new.hears() == will_frame(node.will)
        node.ends()
        assert old.hears_nothing


def test_without_voters_it_just_ends() -> None:
    with watched() as node:
        node.kill()
        node.ends()


def test_a_voter_that_does_not_answer_is_told_again_and_holds_nobody_up() -> None:
    with (
        voters(2, answers=False) as (busy, silent),
        voters() as (good,),
        watched(silent.address, "127.0.0.1:1", "no such host:1", busy.address, good.address) as node,
    ):
        node.kill()
        assert good.hears() == will_frame(node.will)
        assert busy.hears() == will_frame(node.will)
        busy.answers = True
        assert busy.hears() == will_frame(node.will)
        assert not node.sentinel_ended, "there are others"
        assert silent.hears() == will_frame(node.will)


def test_a_voter_that_comes_late_is_told() -> None:
    with ports("a") as late, voters() as (good,), watched(late["a"], good.address) as node:
        node.kill()
        good.hears()
        voter = Voter(late["a"])
        assert voter.hears() == will_frame(node.will)
        voter.socket.close()
        node.ends()


def test_in_the_end_it_gives_up() -> None:
    with ports("a") as nobody, watched(nobody["a"], seconds=0.3) as node:
        node.kill()
        node.ends()


def test_sockets_with_paths_even_relative_ones(tmp_path: Path) -> None:
    (tmp_path / "with space").mkdir()
    voter = Voter(f"unix:{tmp_path}/with space/v")
    with watched("unix:with space/v", "unix:" + "x" * 500, cwd=str(tmp_path)) as node:
        node.kill()
        assert voter.hears() == will_frame(node.will)
    voter.socket.close()


def test_it_has_the_pidfd_and_the_pipe_and_nothing_else_of_the_node() -> None:
    with voters() as (voter,), watched(voter.address) as node:
        node.does("[os.set_inheritable(n, True) for n in (os.open('/etc/hosts', os.O_RDONLY),)]")
        node.does("globals().update(second=Sentinel(bytes(32)))")
        pid = int(node.does("second.pid"))

        def files() -> list[str]:
            """What it has open; what it reads while it starts comes and goes."""
            with contextlib.suppress(FileNotFoundError):
                links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
                return sorted(link.partition(":")[0] for link in links)
            return []

        expected = [[*["/dev/null"] * 3, kind, "pipe"] for kind in ("anon_inode", "pidfd")]
        run(eventually(lambda: b"lookout" in Path(f"/proc/{pid}/cmdline").read_bytes()))
        run(eventually(lambda: files() in expected))
        assert os.getsid(pid) == pid
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        first = Path(f"/proc/{node.sentinel}")  # whose will we know
        words = (first / "cmdline").read_bytes() + (first / "environ").read_bytes()
        assert b"lookout" in words
        assert node.will.hex().encode() not in words
        assert will_of(node.will).encode() not in words
        assert node.does("second.close()") == "None"


def test_it_imports_hardly_anything() -> None:
    code = f"""
import sys
before = set(sys.modules)
sys.argv = ["x"]
import runpy
runpy.run_path({str(module.PROGRAM)!r}, run_name="x")
print(*sorted(name for name in sys.modules if name.partition(".")[0] in ("soloist", "asyncio", "msgspec", "subprocess")))
"""
    out = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "\n"


def test_where_it_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as no:
        no.setattr(sys, "executable", "")
        assert not possible()
    with monkeypatch.context() as no:
        no.setattr(module, "PROGRAM", Path(__file__).with_name("nowhere.py"))
        assert not possible()
    with monkeypatch.context() as no:
        no.delattr(os, "pidfd_open")
        assert not possible()
    files = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as no:
        no.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(FileNotFoundError):
            Sentinel(new_will())
    assert len(os.listdir("/proc/self/fd")) == files, "nothing stays open"


@pytest.mark.parametrize("kind", ["plain", "secret", "tls"])
def test_real_nodes_hear_it(kind: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path) if kind == "tls" else None

    async def main() -> None:
        heard: list[tuple[str, str]] = []
        with ports("a", "b") as peers:
            nodes = [
                Node(name, peers, secret="s" if kind == "secret" else None)
                if authority is None
                else Node(name, peers, tls=authority.certificate(name))
                for name in peers
            ]
            async with nodes[0], nodes[1]:
                await connected(*nodes)
                for node in nodes:
                    assert isinstance(node.transport, TcpTransport)
                    node.transport.on_will = lambda will, name=node.name: heard.append((name, will))
                third = await asyncio.to_thread(Watched, *peers.values())
                third.process.kill()
                await eventually(lambda: len(heard) == 2)
                assert sorted(heard) == [("a", will_of(third.will)), ("b", will_of(third.will))]
                await eventually(lambda: third.sentinel_ended)
                await asyncio.to_thread(third.close)

    run(main())
