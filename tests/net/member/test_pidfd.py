"""A pidfd of a peer on this host: it tells of its end, and of nothing else. Real processes and sockets."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist.net.link.handshake import Who
from soloist.net.member import pidfd, testament
from soloist.net.member.deaths import Deaths
from soloist.net.member.pidfd import PeerProcess, Process, take
from soloist.testing import eventually
from tests.net.helpers import LOOPS, Loop, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has pidfds")

PEER = """
import os, signal, socket, sys, threading, time
sock = socket.socket(socket.AF_UNIX)
sock.connect("\\0" + sys.argv[1])
sock.sendall(str(os.getpid()).encode() + b"\\n")
todo = sys.argv[2]
if todo == "child keeps the socket" and os.fork() == 0:
    os.close(1)
    signal.pause()
if todo == "main thread ends":
    import ctypes
    def stay():
        sock.recv(100)
        os._exit(0)
    threading.Thread(target=stay).start()
    ctypes.CDLL(None).pthread_exit(None)
while True:
    said = sock.recv(100)
    if not said:
        os._exit(0)
    sock.sendall(said)
"""


class Other:
    """A process that has connected to us, and the socket to it."""

    def __init__(self, process: subprocess.Popen[bytes], sock: socket.socket, stated: Process) -> None:
        self.process, self.socket, self.stated = process, sock, stated

    def answers(self) -> None:
        self.socket.sendall(b"there?")
        assert self.socket.recv(100) == b"there?"

    def kill(self) -> None:
        os.kill(self.stated.pid, signal.SIGKILL)


@contextmanager
def other(todo: str = "answer") -> Iterator[Other]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(name := f"\0soloist-test/{os.getpid()}/{id(listening)}")
        listening.listen()
        listening.settimeout(30)
        process = subprocess.Popen([sys.executable, "-c", PEER, name[1:], todo], start_new_session=True)
        try:
            sock, _ = listening.accept()
            with sock:
                sock.settimeout(30)
                pid = int(sock.makefile("rb").readline())
                yield Other(process, sock, msgspec.structs.replace(Process.mine(), pid=pid))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before Linux 6.5."""
    monkeypatch.setattr(pidfd, "_named", lambda sock: None)


@pytest.fixture(params=["named by the kernel", "looked up"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "looked up":
        by_number(monkeypatch)
    return str(request.param)


def taken(peer: Other) -> PeerProcess:
    process = take(peer.socket, peer.stated)
    assert process
    peer.answers()
    process.answered()
    return process


@pytest.mark.parametrize("loop", LOOPS)
def test_killed_it_is_told_and_stopped_it_is_not(way: str, loop: Loop) -> None:
    async def main() -> None:
        with other() as peer:
            process = taken(peer)
            ended: list[str] = []
            process.watch(lambda: ended.append("ended"))
            os.kill(peer.stated.pid, signal.SIGSTOP)
            await asyncio.sleep(0.1)
            assert not ended
            assert not process.gone
            peer.kill()  # nobody has waited for it: it is a zombie
            await eventually(lambda: ended)
            await asyncio.sleep(0.01)
            assert ended == ["ended"], "once"
            assert process.descriptors() == [], "and that is the end of it"

    run(main(), loop=loop)


def test_a_child_that_keeps_the_socket_hides_nothing(way: str) -> None:
    """There is no end of the connection, yet the process has ended."""
    with other("child keeps the socket") as peer:
        process = taken(peer)
        peer.kill()
        peer.process.wait()
        assert process.gone
        peer.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            peer.socket.recv(1)
        process.close()


def test_a_main_thread_that_ends_is_not_the_end_of_the_process(way: str) -> None:
    with other("main thread ends") as peer:
        process = take(peer.socket, peer.stated)
        assert process
        process.answered()
        run(eventually(lambda: "Z (zombie)" in Path(f"/proc/{peer.stated.pid}/status").read_text()))
        assert not process.gone
        peer.socket.sendall(b"go")
        peer.process.wait()
        assert process.gone
        process.close()


def test_the_end_of_the_connection_is_no_end(way: str) -> None:
    async def main() -> None:
        with other() as peer:
            process = taken(peer)
            ended: list[str] = []
            process.watch(lambda: ended.append("ended"))
            os.kill(peer.stated.pid, signal.SIGSTOP)
            peer.socket.close()
            await asyncio.sleep(0.05)
            assert not ended
            process.close()
            process.close()

    run(main())


@pytest.mark.parametrize(
    "change",
    [{"pid": 1}, {"namespace": 1}, {"boot": "another"}, {"boot": ""}],
    ids=lambda change: str(change),
)
def test_looked_up_all_must_be_as_it_was_stated(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    by_number(monkeypatch)
    with other() as peer:
        assert take(peer.socket, msgspec.structs.replace(peer.stated, **change)) is None
        assert take(peer.socket, None) is None


def test_named_by_the_kernel_a_number_of_another_namespace_does_not_matter() -> None:
    with other() as peer:
        descriptor = pidfd._named(peer.socket)
        if descriptor is None:
            pytest.skip("this kernel does not name it")
        os.close(descriptor)
        for stated in (None, Process(1, 1, peer.stated.boot), Process(1, peer.stated.namespace, "another")):
            process = take(peer.socket, stated)
            assert process
            process.close()
        assert take(peer.socket, msgspec.structs.replace(peer.stated, pid=1)) is None, "but one of ours does"


def test_looked_up_it_counts_only_once_the_peer_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be another's by now: here it is, and that one has ended."""
    by_number(monkeypatch)

    async def main() -> None:
        with subprocess.Popen(["true"]) as short, other() as peer:
            descriptor = os.pidfd_open(short.pid)
            monkeypatch.setattr(os, "pidfd_open", lambda number: descriptor)
            process = take(peer.socket, peer.stated)
            assert process
            short.wait()
            assert not process.gone
            with pytest.raises(ValueError, match="once its peer has answered"):
                process.watch(lambda: None)
            process.close()

    run(main())


def test_one_that_has_ended_before_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    by_number(monkeypatch)
    with other() as peer:
        peer.kill()
        peer.process.wait()
        assert take(peer.socket, peer.stated) is None


def test_there_is_none_over_tcp() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as sock,
    ):
        assert take(sock, Process.mine()) is None


@pytest.mark.parametrize("loop", LOOPS)
def test_what_a_loop_gives_for_a_socket_will_do(loop: Loop) -> None:
    """Transports of asyncio and uvloop do not give their sockets, but something like them."""

    async def main() -> None:
        seen: list[PeerProcess | None] = []

        class Accepted(asyncio.Protocol):
            def connection_made(self, transport: Any) -> None:
                seen.append(take(transport.get_extra_info("socket"), Process.mine()))
                transport.close()

        name = f"\0soloist-test/{os.getpid()}/loop"
        async with await asyncio.get_running_loop().create_unix_server(Accepted, name):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(name)
                await eventually(lambda: seen)
        (mine,) = seen
        assert mine
        assert not mine.gone
        mine.close()

    run(main(), loop=loop)


def test_after_the_end_no_process_is_watched_any_more() -> None:
    """A peer may get through while its node closes: what is taken then is closed by nobody."""

    async def main() -> None:
        with other() as peer:
            theirs = Who("t", "b", "lamport", ("a", "b"), "0" * 32, 0)
            files = len(os.listdir("/proc/self/fd"))
            deaths = Deaths(testament.Testament(False), lambda *_: None)
            deaths.watch(theirs, peer.socket)
            deaths.close()
            deaths.watch(theirs, peer.socket)
            assert len(os.listdir("/proc/self/fd")) == files

    run(main())


def in_child(work: Callable[[], object]) -> bytes:
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, str(work()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with open(reader, "rb") as file:
        return file.read()


def test_the_child_of_a_fork_has_none() -> None:
    with other() as peer:
        process = taken(peer)
        link = f"/proc/self/fd/{process.descriptor}"
        assert "pidfd" in os.readlink(link)
        assert in_child(lambda: (os.readlink(link), process.gone)) == b"('/dev/null', False)"
        peer.kill()
        peer.process.wait()
        assert process.gone
        process.close()
