"""A thread with sockets of its own: it goes on whatever the others do, and whatever a peer does."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from soloist.core import ProtocolError
from soloist.net.link.cipher import Encrypted
from soloist.net.link.connection import detach
from soloist.net.link.wire import frame
from soloist.net.member import renewal
from soloist.net.member.renewal import Pulse
from soloist.testing import eventually, until
from tests.net.helpers import LOOPS, Loop, log_lines, run
from tests.net.link.certificates import Authority


class Ear:
    """Keeps what a pulse tells, and waits for it."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, bytes]] = []
        self.lost: list[tuple[str, str]] = []
        self.changed = threading.Condition()

    def on_frame(self, peer: str, body: bytes) -> None:
        with self.changed:
            self.frames.append((peer, body))
            self.changed.notify_all()

    def on_lost(self, peer: str, why: str) -> None:
        with self.changed:
            self.lost.append((peer, why))
            self.changed.notify_all()

    def wait(self, holds: Callable[[], Any]) -> None:
        with self.changed:
            assert self.changed.wait_for(holds, 30), (self.frames[:10], self.lost)

    def said(self, peer: str) -> list[bytes]:
        return [body for name, body in self.frames if name == peer]


@contextmanager
def pulse(ear: Ear | None = None, **options: Any) -> Iterator[Pulse]:
    ear = ear or Ear()
    made = Pulse(ear.on_frame, ear.on_lost, **options)
    try:
        yield made
    finally:
        made.close()
        assert not made._thread.is_alive()


def unix_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair()


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one = socket.create_connection(listening.getsockname())
        return one, listening.accept()[0]


PAIRS = [unix_pair, tcp_pair]
Pair = Callable[[], tuple[socket.socket, socket.socket]]


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest) -> Pair:
    made: Pair = request.param
    return made


# Frames.


def test_frames_go_both_ways_and_in_order(pair: Pair) -> None:
    here, there = Ear(), Ear()
    with pulse(here) as a, pulse(there) as b:
        one, other = pair()
        a.add("b", one)
        b.add("a", other)
        for number in range(500):
            a.send("b", b"%d" % number)
            b.send_all(b"%d" % number)
        a.send("nobody", b"is not there")
        expected = [b"%d" % number for number in range(500)]
        there.wait(lambda: len(there.frames) == 500)
        here.wait(lambda: len(here.frames) == 500)
        assert there.said("a") == here.said("b") == expected
        assert a.peers() == {"b"}


def test_large_frames_and_empty_ones(pair: Pair) -> None:
    ear = Ear()
    with pulse() as a, pulse(ear) as b:
        one, other = pair()
        a.add("b", one)
        b.add("a", other)
        bodies = [b"", os.urandom(3 * 1024 * 1024), b"x"]
        for body in bodies:
            a.send("b", body)
            ear.wait(lambda body=body: ear.frames and ear.frames[-1][1] == body)
        assert ear.said("a") == bodies


def test_what_arrives_in_pieces_and_what_was_read_before(pair: Pair) -> None:
    ear = Ear()
    with pulse(ear) as a:
        one, other = pair()
        stream = frame(b"first") + frame(b"second") + frame(b"third")
        a.add("b", one, unread=stream[:12])
        with other:
            for at in range(12, len(stream)):
                other.sendall(stream[at : at + 1])
                time.sleep(0.001)
            ear.wait(lambda: ear.said("b") == [b"first", b"second", b"third"])


def test_the_first_word_comes_before_all_others(pair: Pair) -> None:
    """Whatever is said to all just then: the other may wait for this word, and be able to read nothing else."""
    for _ in range(50):
        with pulse() as a:
            one, other = pair()
            with other:
                end = a.call_every(1e-6, lambda: a.send_all(b"beat"))
                a.add("b", one, first=b"welcome")
                other.settimeout(30)
                expected = frame(b"welcome")
                said = b""
                while len(said) < len(expected):
                    said += other.recv(len(expected) - len(said))
                assert said == expected
                end()


def test_callbacks_may_answer_from_within() -> None:
    ear = Ear()
    echo: list[Pulse] = []
    echo.append(Pulse(lambda peer, body: echo[0].send(peer, b"echo " + body)))
    try:
        with pulse(ear) as a:
            one, other = unix_pair()
            a.add("b", one)
            echo[0].add("a", other)
            a.send("b", b"hello")
            ear.wait(lambda: ear.said("b") == [b"echo hello"])
    finally:
        echo[0].close()


# Timers, and everything from any thread.


def test_something_is_done_again_and_again_until_it_is_ended() -> None:
    ear = Ear()
    with pulse(ear) as a, pulse() as b:
        one, other = unix_pair()
        a.add("b", one)
        b.add("a", other)
        end = b.call_every(0.001, lambda: b.send_all(b"tick"))
        ear.wait(lambda: len(ear.frames) >= 5)
        end()
        done = threading.Event()
        b.call_every(0.001, done.set)  # the thread has seen the end of the other
        assert done.wait(30)
        until(lambda: len(b._timers) == 1)
        for seconds in (0.0, -1.0, float("nan")):
            with pytest.raises(ValueError, match="never, or always"):
                b.call_every(seconds, done.set)


def test_many_threads_at_once() -> None:
    ear = Ear()
    with pulse(ear) as a, pulse() as b:
        pairs = {f"p{number}": unix_pair() for number in range(8)}
        for name, (one, other) in pairs.items():
            a.add(name, one)
            b.add(name, other)

        def work(name: str) -> None:
            for number in range(200):
                b.send(name, b"%d" % number)

        threads = [threading.Thread(target=work, args=(name,)) for name in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ear.wait(lambda: len(ear.frames) == 1600)
        for name in pairs:
            assert ear.said(name) == [b"%d" % number for number in range(200)]


ENOUGH = 20
"""Renewals; the main thread does nothing but what it does until these have come."""


def sleep(ear: Ear) -> None:
    patience = time.monotonic() + 30
    while len(ear.frames) < ENOUGH and time.monotonic() < patience:
        time.sleep(0.1)


def compute(ear: Ear) -> None:
    patience = time.monotonic() + 30
    while len(ear.frames) < ENOUGH and time.monotonic() < patience:
        sum(range(1000))


@pytest.mark.parametrize("busy", [sleep, compute])
def test_renewals_go_on_while_the_main_thread_sleeps_or_computes_in_its_loop(
    busy: Callable[[Ear], None],
) -> None:
    ear = Ear()

    async def main() -> int:
        with pulse(ear) as a, pulse() as b:
            one, other = tcp_pair()
            a.add("b", one)
            b.add("a", other)
            b.call_every(0.005, lambda: b.send_all(b"renew"))
            busy(ear)  # the loop has had no turn since the connection was handed over
            return len(ear.frames)

    assert run(main(), 60) >= ENOUGH


# Peers that misbehave.


def test_a_peer_that_does_not_read_blocks_nobody(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "MOST_QUEUED", 100_000)
    ear = Ear()
    with pulse() as a, pulse(ear) as b:
        stalled, other = pair()
        good, end = pair()
        a.add("stalled", stalled)
        a.add("good", good)
        b.add("a", end)
        with other:
            sent = 0
            while a.dropped < 100:
                a.send_all(b"%08d" % sent + bytes(10_000))
                sent += 1
                ear.wait(lambda sent=sent: len(ear.frames) == sent)
            assert a.peers() == {"stalled", "good"}
            assert a._lines["stalled"].queued <= 100_000
            assert [int(body[:8]) for body in ear.said("a")] == list(range(sent)), "the other has got it all"
            # Those that are left are whole, and the newest: the oldest had to go.
            late = Ear()
            with pulse(late) as reader:
                reader.add("a", other)
                late.wait(lambda: late.frames and int(late.frames[-1][1][:8]) == sent - 1)
            numbers = [int(body[:8]) for body in late.said("a")]
            assert numbers == sorted(set(numbers))
            assert len(numbers) == sent - a.dropped


def test_one_frame_that_is_larger_than_the_queue_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "MOST_QUEUED", 10)
    ear = Ear()
    with pulse() as a, pulse(ear) as b:
        one, other = unix_pair()
        a.add("b", one)
        body = os.urandom(2_000_000)
        a.send("b", body)
        b.add("a", other)
        ear.wait(lambda: ear.said("a") == [body])


NONSENSE = {
    "an endless frame": struct.pack(">I", 1001) + b"x",
    "another protocol": b"GET / HTTP/1.1\r\n\r\n",
    "ones": b"\xff" * 100,
}


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_ends_that_connection_and_no_other(pair: Pair, nonsense: str) -> None:
    ear = Ear()
    with pulse(ear, limit=1000) as a:
        bad, hostile = pair()
        good, friend = pair()
        a.add("bad", bad)
        a.add("good", good)
        with hostile, friend:
            hostile.sendall(frame(b"fine") + NONSENSE[nonsense])
            ear.wait(lambda: ear.lost)
            ((peer, why),) = ear.lost
            assert peer == "bad"
            assert "the limit is 1000" in why
            friend.sendall(frame(b"still here"))
            ear.wait(lambda: ear.said("good") == [b"still here"])
            assert ear.said("bad") == [b"fine"]
            assert a.peers() == {"good"}
            hostile.settimeout(30)
            with suppress(ConnectionResetError):  # it had said more than was read
                assert hostile.recv(1) == b""


def test_what_cannot_be_read_ends_the_connection_and_what_fails_otherwise_is_logged() -> None:
    ear = Ear()

    def on_frame(peer: str, body: bytes) -> None:
        if body == b"bad":
            raise ProtocolError("it says bad")
        if body == b"bug":
            raise KeyError("bug")
        ear.on_frame(peer, body)

    with log_lines() as lines:
        a = Pulse(on_frame, ear.on_lost)
        try:
            one, other = unix_pair()
            a.add("b", one)
            with other:
                other.sendall(frame(b"bug") + frame(b"good") + frame(b"bad") + frame(b"never read"))
                ear.wait(lambda: ear.lost == [("b", "it says bad")])
            a.call_every(0.001, lambda: 1 / 0 and None)
            until(lambda: len(lines) >= 2)
        finally:
            a.close()
    assert ear.said("b") == [b"good"]
    assert set(lines) == {"what a renewal led to has failed"}


def test_the_end_of_a_connection_is_told_and_another_takes_its_place(pair: Pair) -> None:
    ear = Ear()
    with pulse(ear) as a:
        for number in range(3):
            one, other = pair()
            a.add("b", one)
            other.sendall(frame(b"%d" % number))
            ear.wait(lambda number=number: len(ear.frames) == number + 1)
            other.close()
            ear.wait(lambda number=number: len(ear.lost) == number + 1)
        assert set(ear.lost) == {("b", "the peer closed it")}
        a.send("b", b"into the void")
        assert a.peers() == set()


def test_on_lost_may_add_a_new_connection_at_once() -> None:
    ear, others = Ear(), []
    made: list[Pulse] = []

    def again(peer: str, why: str) -> None:
        one, other = unix_pair()
        others.append(other)
        made[0].add(peer, one)

    made.append(Pulse(ear.on_frame, again))
    try:
        again("b", "")
        for number in range(5):
            others[number].sendall(frame(b"%d" % number))
            ear.wait(lambda number=number: len(ear.frames) == number + 1)
            others[number].close()
            until(lambda number=number: len(others) == number + 2)
    finally:
        made[0].close()
        for other in others:
            other.close()


def test_a_connection_that_breaks_while_we_send_is_told_once() -> None:
    ear = Ear()
    with pulse(ear) as a:
        one, other = tcp_pair()
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        a.add("b", one)
        end = a.call_every(0.001, lambda: a.send_all(bytes(1000)))
        other.recv(1)
        other.close()  # with a reset
        ear.wait(lambda: ear.lost)
        end()
    assert len(ear.lost) == 1


def test_what_a_peer_said_before_it_went_is_heard() -> None:
    """Its goodbye comes, and it goes, while something of another peer is dealt with that leads to a word for it."""
    ear = Ear()
    (one, other), (two, there) = unix_pair(), unix_pair()

    def on_frame(peer: str, body: bytes) -> None:
        ear.on_frame(peer, body)
        if peer == "c":
            other.sendall(frame(b"goodbye"))
            other.close()
            a.send("b", b"are you there?")

    a = Pulse(on_frame, ear.on_lost)
    try:
        a.add("b", one)
        a.add("c", two)
        there.sendall(frame(b"now"))
        ear.wait(lambda: ear.lost)
        assert ear.said("b") == [b"goodbye"]
    finally:
        a.close()
        there.close()


def test_another_connection_to_the_same_peer_takes_the_place_of_the_first(pair: Pair) -> None:
    ear = Ear()
    with pulse(ear) as a:
        first, end = pair()
        second, other = pair()
        a.add("b", first)
        a.add("b", second)
        with end, other:
            assert end.recv(1) == b""
            other.sendall(frame(b"hello"))
            ear.wait(lambda: ear.said("b") == [b"hello"])
            a.drop("b")
            a.drop("b")
            assert other.recv(1) == b""
    assert not ear.lost, "nobody has lost anything"


# The end.


def is_closed(a: Pulse, other: socket.socket) -> None:
    assert other.recv(1) == b""
    assert a.descriptors() == []
    late, end = unix_pair()
    a.add("c", late)
    a.send_all(b"nobody hears this")
    a.close()
    with end:
        assert end.recv(1) == b""


def test_closing_closes_everything() -> None:
    a = Pulse(Ear().on_frame)
    one, other = unix_pair()
    with other:
        a.add("b", one)
        a.close()
        is_closed(a, other)


def test_a_callback_may_close_it() -> None:
    a = Pulse(lambda peer, body: a.close())
    one, other = unix_pair()
    with other:
        a.add("b", one)
        other.sendall(frame(b"close!"))
        a._thread.join(30)
        is_closed(a, other)


def test_what_the_child_of_a_fork_must_not_keep() -> None:
    with pulse() as a:
        one, other = unix_pair()
        number = one.fileno()
        a.add("b", one)
        until(lambda: a.peers())
        assert number in a.descriptors()
        assert len(a.descriptors()) == len(set(a.descriptors())) >= 3
        other.close()


# Sockets from a loop, and TLS.


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("unix", [False, True])
def test_a_connection_is_taken_from_a_loop_and_neither_end_notices(
    loop: Loop, unix: bool, tmp_path: Path
) -> None:
    ear = Ear()

    async def main(a: Pulse) -> None:
        gone = asyncio.Event()

        class Accepted(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                self.transport = transport

            def data_received(self, data: bytes) -> None:
                hello, _, rest = data.partition(b"\n")
                assert hello == b"hello"
                a.add("b", detach(self.transport), unread=rest)
                a.send("b", b"welcome")

            def connection_lost(self, error: Exception | None) -> None:
                gone.set()

        there = asyncio.get_running_loop()
        path = str(tmp_path / "s")
        server = await (
            there.create_unix_server(Accepted, path)
            if unix
            else there.create_server(Accepted, "127.0.0.1", 0)
        )
        with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as sock:
            sock.connect(path if unix else server.sockets[0].getsockname())
            sock.sendall(b"hello\n" + frame(b"early") + frame(b"cut")[:5])
            await gone.wait()
            sock.settimeout(30)
            assert await asyncio.to_thread(sock.recv, 100) == frame(b"welcome")
            sock.sendall(frame(b"cut")[5:] + frame(b"late"))
            await eventually(lambda: ear.said("b") == [b"early", b"cut", b"late"])
        await eventually(lambda: ear.lost)
        server.close()
        await server.wait_closed()

    with pulse(ear) as a:
        run(main(a), loop=loop)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("keys"))


def test_over_tls(authority: Authority, pair: Pair) -> None:
    here, there = Ear(), Ear()
    with pulse(here) as a, pulse(there) as b:
        one, other = pair()
        a.add("b", one, cipher=Encrypted(authority.certificate("a").client(), "b", server_side=False))
        a.send("b", b"early")
        b.add("a", other, cipher=Encrypted(authority.certificate("b").server(), "a", server_side=True))
        body = os.urandom(1_000_000)
        b.send("a", body)
        a.send("b", b"late")
        there.wait(lambda: there.said("a") == [b"early", b"late"])
        here.wait(lambda: here.said("b") == [body])
        b.drop("a")
        here.wait(lambda: here.lost)


@pytest.mark.parametrize("server_side", [False, True])
def test_a_certificate_with_another_name_is_refused(authority: Authority, server_side: bool) -> None:
    """Whichever end has it."""
    here, there = Ear(), Ear()
    with pulse(here) as a, pulse(there) as b:
        one, other = unix_pair()
        ours, theirs = authority.certificate("a"), authority.certificate("b")
        honest = ours.server() if server_side else ours.client()
        a.add("c", one, cipher=Encrypted(honest, "c", server_side))
        impostor = theirs.client() if server_side else theirs.server()
        b.add("a", other, cipher=Encrypted(impostor, "a", not server_side))
        b.send("a", b"believe me")
        here.wait(lambda: here.lost)
        there.wait(lambda: there.lost)
        assert not here.frames


def test_whoever_speaks_no_tls_is_refused(authority: Authority) -> None:
    ear = Ear()
    with pulse(ear) as a:
        one, other = unix_pair()
        a.add("b", one, cipher=Encrypted(authority.certificate("a").server(), "b", server_side=True))
        with other:
            other.sendall(frame(b"plain"))
            ear.wait(lambda: ear.lost)
    assert not ear.frames


@pytest.mark.parametrize("loop", LOOPS)
def test_tls_that_a_loop_began_stays_there(authority: Authority, loop: Loop) -> None:
    async def main() -> None:
        refused: list[str] = []

        class Accepted(asyncio.Protocol):
            def connection_made(self, transport: Any) -> None:
                try:
                    detach(transport)
                except ProtocolError as error:
                    refused.append(str(error))
                transport.abort()

        there = asyncio.get_running_loop()
        server = await there.create_server(Accepted, "127.0.0.1", 0, ssl=authority.certificate("b").server())
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=authority.certificate("a").client(), server_hostname="b"
        )
        await eventually(lambda: refused)
        writer.transport.abort()
        server.close()
        await server.wait_closed()

    run(main(), loop=loop)
