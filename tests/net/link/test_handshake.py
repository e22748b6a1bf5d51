"""The handshake: who may come in, and what is said to the others. Real sockets."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest

from soloist.core import UsageError
from soloist.net import Node
from soloist.net.link import handshake as hs
from soloist.net.link.connection import HANDSHAKE_FRAME
from soloist.net.link.handshake import Hello, Identity, Proof, Sorry, Welcome, Who, decode_greeting
from soloist.net.link.tcp import STRANGERS
from soloist.net.link.versions import Versions
from soloist.net.link.wire import MAX_FRAME, VERSION, Batch, encode, frame
from soloist.testing import connected, eventually, ports
from tests.net.helpers import log_lines, run, split

SECRET = b"a secret"
ALGORITHMS = "naimi-trehel srimani-reddy"


def identity(**changes: Any) -> Identity:
    secret = changes.pop("secret", SECRET)
    facts = {"cluster": "soloist", "node": "a", "algorithm": ALGORITHMS, "members": ("a", "b", "c")}
    return Identity(Who(**{**facts, "incarnation": "1", "origin": 0, **changes}), secret)


class Stranger:
    """A connection by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, address: tuple[str, int]) -> Stranger:
        return cls(*await asyncio.open_connection(*address))

    def put(self, body: bytes) -> None:
        self.writer.write(frame(body))

    async def get(self) -> bytes:
        (length,) = struct.unpack(">I", await self.reader.readexactly(4))
        return await self.reader.readexactly(length)

    async def closed(self) -> None:
        """Wait until the other side closes."""
        try:
            while await self.reader.read(4096):
                pass
        except ConnectionError:
            pass
        await self.close()

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()

    async def introduce(self, me: Identity, to: str = "b", **changes: Any) -> tuple[Hello, Hello, Proof]:
        """The dialler's part, up to its own proof."""
        ours = msgspec.structs.replace(hs.hello(me, to, "", 0), **changes)
        self.put(encode(ours))
        theirs, proof = decode_greeting(await self.get()), decode_greeting(await self.get())
        assert isinstance(theirs, Hello)
        assert isinstance(proof, Proof)
        return ours, theirs, proof

    async def sorry(self) -> Sorry:
        """What it is told before it is shown the door."""
        said = decode_greeting(await self.get())
        assert isinstance(said, Sorry)
        await self.closed()
        return said


@asynccontextmanager
async def bystanders() -> AsyncIterator[tuple[tuple[str, int], list[str]]]:
    """The address of c, while c and b go on using a lock that they share with nobody else. Nobody has a lease."""
    with ports("a", "b", "c") as peers:
        async with (
            Node("b", peers, secret=SECRET, algorithm="naimi-trehel", lease=None) as b,
            Node("c", peers, secret=SECRET, algorithm="naimi-trehel", lease=None) as c,
        ):
            await eventually(lambda: "c" in b.transport.connected())
            with log_lines() as lines:
                yield split(peers, "c"), lines
            await eventually(lambda: b.missing() == c.missing() == ["a"], "nothing else is harmed")
            assert (await b.inspect("x")).unreachable == ["a"]


def refused(me: Identity, **changes: Any) -> tuple[Sorry, list[str]]:
    """What is said and logged when a stranger says hello like this."""

    async def main() -> tuple[Sorry, list[str]]:
        async with bystanders() as (address, lines):
            stranger = await Stranger.to(address)
            stranger.put(encode(msgspec.structs.replace(hs.hello(me, "c", "", 0), **changes)))
            return await stranger.sorry(), lines

    return run(main())


def refused_after_proof(me: Identity) -> tuple[Sorry, list[str]]:
    async def main() -> tuple[Sorry, list[str]]:
        async with bystanders() as (address, lines):
            stranger = await Stranger.to(address)
            ours, theirs, _ = await stranger.introduce(me, "c")
            stranger.put(encode(hs.proof(me, encode(ours), encode(theirs))))
            return await stranger.sorry(), lines

    return run(main())


@pytest.mark.parametrize(
    ("me", "changes", "why"),
    [
        (identity(cluster="other"), {}, "belongs to cluster 'other'"),
        (identity(node="c"), {}, "calls itself 'c', as we do"),
        (identity(), {"to": "b"}, "wants to talk to 'b'"),
        (
            identity(versions=Versions(VERSION + 1, VERSION + 2)),
            {},
            f"speaks versions {VERSION + 1} to {VERSION + 2} of the protocol, we speak version {VERSION}",
        ),
    ],
)
def test_a_stranger_is_refused_with_one_line_on_both_sides(
    me: Identity, changes: dict[str, Any], why: str
) -> None:
    sorry, (line,) = refused(me, **changes)
    assert why in line
    assert why in sorry.why


@pytest.mark.parametrize(
    ("me", "why"),
    [
        (identity(node="mallory"), "'mallory' is no peer of 'c'"),
        (
            identity(algorithm="lamport raymond-k"),
            "'a' runs lamport raymond-k, 'c' runs naimi-trehel srimani-reddy",
        ),
        (identity(members=("a", "c")), "'c' alone counts 'b'"),
        (identity(members=("a", "b", "c", "d")), "'a' alone counts 'd'"),
    ],
)
def test_a_node_that_is_configured_otherwise_learns_how_once_it_is_known(me: Identity, why: str) -> None:
    sorry, (line,) = refused_after_proof(me)
    assert why in line
    assert why in sorry.why


def test_a_name_with_a_line_break_makes_one_line() -> None:
    _, (line,) = refused_after_proof(identity(node="evil\nFATAL: fake line"))
    assert "\n" not in line


def test_the_right_secret_opens() -> None:
    async def main() -> None:
        async with bystanders() as (address, lines):
            stranger = await Stranger.to(address)
            me = identity()
            ours, theirs, their_proof = await stranger.introduce(me, "c")
            hs.check_proof(me, encode(ours), encode(theirs), their_proof, "b")  # it proved itself first
            stranger.put(encode(hs.proof(me, encode(ours), encode(theirs))))
            stranger.put(encode(Batch(1, 0, [], [])))
            assert decode_greeting(await stranger.get()) == Welcome()
            answer = msgspec.msgpack.decode(await stranger.get())
            assert answer[1] == 1, "the batch is acknowledged"
            assert lines == []
            await stranger.close()

    run(main())


@pytest.mark.parametrize("secret", [b"", b"wrong"])
def test_a_wrong_secret_does_not(secret: bytes) -> None:
    async def main() -> None:
        async with bystanders() as (address, lines):
            stranger = await Stranger.to(address)
            me = identity(secret=secret)
            ours, theirs, _ = await stranger.introduce(me, "c")
            stranger.put(encode(hs.proof(me, encode(ours), encode(theirs))))
            await stranger.closed()
            (line,) = lines
            assert "'a' does not know the secret" in line

    run(main())


def test_our_own_proof_sent_back_is_no_proof() -> None:
    async def main() -> None:
        async with bystanders() as (address, lines):
            stranger = await Stranger.to(address)
            *_, proof = await stranger.introduce(identity(secret=b""), "c")
            stranger.put(encode(proof))
            await stranger.closed()
            assert ["does not know the secret" in line for line in lines] == [True]

    run(main())


def test_a_proof_is_good_for_one_connection_only() -> None:
    async def main() -> None:
        async with bystanders() as (address, lines):
            first = await Stranger.to(address)
            me = identity()
            ours, theirs, _ = await first.introduce(me, "c")
            proof = hs.proof(me, encode(ours), encode(theirs))
            first.put(encode(proof))
            await first.close()
            second = await Stranger.to(address)
            second.put(encode(ours))  # the same hello, word for word
            await second.get()
            await second.get()
            second.put(encode(proof))
            await second.closed()
            assert ["does not know the secret" in line for line in lines] == [True]

    run(main())


def test_a_proof_is_not_good_for_another_hello() -> None:
    """Who listens to a real handshake learns nothing that would let him change what was said."""
    me, other = identity(), identity(node="b")
    ours, theirs = hs.hello(me, "b", "", 0), hs.hello(other, "a", "", 0)
    proof = hs.proof(me, encode(ours), encode(theirs))
    hs.check_proof(other, encode(theirs), encode(ours), proof, "a")
    other_process = msgspec.structs.replace(me.who, incarnation="2")
    for changes in ({"received": 7}, {"who": other_process}, {"nonce": b"x" * 16}, {"met": "3"}):
        with pytest.raises(Exception, match="does not know the secret"):
            hs.check_proof(
                other, encode(theirs), encode(msgspec.structs.replace(ours, **changes)), proof, "a"
            )
    assert hs.nonce() != hs.nonce()


def test_a_hello_may_say_more_than_we_can_read() -> None:
    """A later release may append fields: a proof is about what was sent, not about what was understood of it."""

    async def main() -> None:
        me = identity()
        async with bystanders() as (address, lines):
            stranger = await Stranger.to(address)
            said = msgspec.msgpack.decode(encode(hs.hello(me, "c", "", 0)))
            said[2].append("of a later release")
            later = encode([*said, 3])
            stranger.put(later)
            theirs, proof = await stranger.get(), decode_greeting(await stranger.get())
            assert isinstance(proof, Proof)
            hs.check_proof(me, later, bytes(theirs), proof, "c")
            stranger.put(encode(hs.proof(me, later, bytes(theirs))))
            assert isinstance(decode_greeting(await stranger.get()), hs.Welcome)
            assert not lines
            await stranger.close()

    run(main())


def test_two_nodes_with_different_secrets_do_not_meet() -> None:
    async def main() -> None:
        with ports("a", "b") as peers, log_lines() as lines:
            async with Node("a", peers, secret="one") as a, Node("b", peers, secret="two") as b:
                await eventually(lambda: lines)
                assert a.missing() == ["b"]
                assert b.missing() == ["a"]

    run(main())


def test_two_nodes_with_different_algorithms_do_not_meet() -> None:
    async def main() -> None:
        with ports("a", "b") as peers, log_lines() as lines:
            async with Node("a", peers, algorithm="naimi-trehel"), Node("b", peers, algorithm="lamport"):
                await eventually(lambda: [line for line in lines if "runs naimi-trehel" in line])

    run(main())


# Bytes that are no handshake at all.


GARBAGE = {
    "oversized": struct.pack(">I", HANDSHAKE_FRAME + 1),
    "huge": b"\xff" * 64,
    "not msgpack": frame(b"\xc1\xc1\xc1"),
    "another type": frame(encode({"version": 1})),
    "too short": frame(encode([1, "soloist"])),
    "wrong types": frame(encode(["1", 2, 3, 4, 5, 6, 7, 8])),
    "empty": frame(b""),
    "a line break": frame(encode(["hello\nFATAL: fake line"])),
    "deep": frame(b"\x91" * 4000),
    "bad text": frame(b"\x98\x01\xa2\xff\xfe"),
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "tls": bytes.fromhex("16030100a5010000a10303") + bytes(32),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_closes_its_connection_with_one_line(kind: str) -> None:
    async def main() -> None:
        async with bystanders() as (address, lines):
            stranger = await Stranger.to(address)
            stranger.writer.write(GARBAGE[kind])
            await stranger.closed()
            assert len(lines) == 1, lines
            assert "closed the connection to a stranger" in lines[0]
            assert "\n" not in lines[0]

    run(main())


def test_a_frame_that_breaks_off_is_one_line() -> None:
    async def main() -> None:
        async with bystanders() as (address, lines):
            stranger = await Stranger.to(address)
            stranger.writer.write(struct.pack(">I", 100) + b"half")
            await stranger.close()
            await eventually(lambda: lines)
            (line,) = lines
            assert "in the middle of a frame" in line

    run(main())


def test_after_the_handshake_too_a_bad_frame_closes_only_its_connection() -> None:
    bad = {
        "oversized": struct.pack(">I", MAX_FRAME + 1),
        "garbage": frame(b"\xc1"),
        "a gap": frame(encode(Batch(5, 0, [], []))),
        "an acknowledgement of nothing": frame(encode(Batch(1, 9, [], []))),
    }

    async def main(data: bytes) -> None:
        async with bystanders() as (address, lines):
            stranger = await Stranger.to(address)
            me = identity()
            ours, theirs, _ = await stranger.introduce(me, "c")
            stranger.put(encode(hs.proof(me, encode(ours), encode(theirs))))
            stranger.writer.write(data)
            await stranger.closed()
            (line,) = lines
            assert "closed the connection to a" in line

    for data in bad.values():
        run(main(data))


def test_those_who_say_nothing_make_room_for_those_who_do() -> None:
    """However many connections stay silent, a peer still gets in."""

    async def main() -> None:
        with ports("a", "b") as peers, log_lines() as lines:
            async with Node("b", peers, secret=SECRET) as b:
                silent = [await Stranger.to(split(peers, "b")) for _ in range(STRANGERS + 10)]
                await eventually(lambda: lines)
                assert ["have not shown who they are" in line for line in lines] == [True]
                async with Node("a", peers, secret=SECRET) as a:
                    await connected(a, b)
                    async with a.lock("x", timeout=5):
                        pass
                for each in silent:
                    await each.close()

    run(main())


# Where no secret is needed, and where one is.


@pytest.mark.parametrize("far", ["10.0.0.1:7400", "db.example:7400", "0.0.0.0:7400", "[2001:db8::1]:7400"])
def test_beyond_this_host_something_must_vouch_for_the_peers(far: str) -> None:
    peers = {"a": "127.0.0.1:7400", "b": far}
    with pytest.raises(UsageError, match="not on this host"):
        Node("a", peers)
    with pytest.raises(UsageError, match="not on this host"):
        Node("a", peers, secret="")
    Node("a", peers, secret="s")
    Node("a", peers, insecure=True)


@pytest.mark.parametrize(
    "near", ["127.0.0.1:7400", "127.8.9.1:7400", "[::1]:7400", "localhost:7400", "unix:/tmp/x"]
)
def test_on_this_host_nothing_must(near: str) -> None:
    Node("a", {"a": near, "b": "127.0.0.1:7401"})


@pytest.mark.parametrize("text", ["", "x", ":7400", "h:0", "h:65536", "h:x", "unix:", "h:-1"])
def test_an_address_must_be_one(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        Node("a", {"a": text})
