"""The session alone, as a state machine: two ends, and connections that break at any point."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from soloist.core import ProtocolError
from soloist.net.link.session import MANY, Session
from soloist.net.link.wire import Batch, Envelope, Frames, decode_batch, frame


def envelope(number: int) -> Envelope:
    return Envelope("x", 1, 0, number, 0, 1, msgspec.Raw(b"\xc0"))


class End:
    """One end of a link: what it was told to send, and what came to those above."""

    def __init__(self) -> None:
        self.session = Session()
        self.said = 0
        self.heard: list[int] = []
        self.wire: deque[bytes] = deque()
        """On the way to the other end."""

    def say(self, connected: bool) -> None:
        self.said += 1
        self.session.write = self.wire.append if connected else None
        self.session.send([envelope(self.said)], [])

    def hear(self, framed: bytes) -> None:
        batch = decode_batch(framed[4:])
        if self.session.accept(batch):
            self.heard += [each.counter for each in batch.envelopes]

    def kept(self) -> Iterator[tuple[int, bytes]]:
        kept = list(self.session._kept)
        return zip(range(self.session.sent - len(kept) + 1, self.session.sent + 1), kept, strict=True)


class Link(RuleBasedStateMachine):
    """Whatever breaks, each end hears what the other said: all of it in order, and nothing twice."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = (End(), End())
        self.connected = False

    @rule(which=st.integers(0, 1))
    def say(self, which: int) -> None:
        self.ends[which].say(self.connected)

    @precondition(lambda self: self.connected)
    @rule(which=st.integers(0, 1))
    def deliver(self, which: int) -> None:
        wire = self.ends[which].wire
        if wire:
            self.ends[1 - which].hear(wire.popleft())

    @precondition(lambda self: self.connected)
    @rule(which=st.integers(0, 1))
    def acknowledge(self, which: int) -> None:
        if said := self.ends[which].session.acknowledgement():
            self.ends[which].wire.append(said)

    @precondition(lambda self: self.connected)
    @rule(arrives=st.tuples(st.integers(0, 5), st.integers(0, 5)))
    def break_off(self, arrives: tuple[int, int]) -> None:
        """Some of what is under way arrives still, and the rest does not."""
        for which, count in enumerate(arrives):
            wire = self.ends[which].wire
            for _ in range(min(count, len(wire))):
                self.ends[1 - which].hear(wire.popleft())
            wire.clear()
        self.connected = False

    @precondition(lambda self: not self.connected)
    @rule()
    def connect(self) -> None:
        """Both say what they have, and send the rest again."""
        has = [end.session.received for end in self.ends]
        for which, end in enumerate(self.ends):
            end.session.resume(has[1 - which])
            end.session.go_on(end.wire.append)
        self.connected = True

    @precondition(lambda self: self.connected)
    @rule(which=st.integers(0, 1))
    def a_late_duplicate(self, which: int) -> None:
        """What came over the connection before may come again over this one."""
        end = self.ends[which]
        for number, framed in end.kept():
            if number <= self.ends[1 - which].session.received:
                self.ends[1 - which].hear(framed)

    @invariant()
    def nothing_is_lost_doubled_or_out_of_order(self) -> None:
        for which, end in enumerate(self.ends):
            other = self.ends[1 - which]
            assert other.heard == list(range(1, len(other.heard) + 1))
            kept = {number for number, _ in end.kept()}
            assert kept >= set(range(len(other.heard) + 1, end.said + 1))
            assert end.session.backlog == sum(len(framed) for _, framed in end.kept())

    def teardown(self) -> None:
        if not self.connected:
            self.connect()
        for end in self.ends:
            end.say(True)
        for _ in range(3):
            self.acknowledge_all()
            for which, end in enumerate(self.ends):
                while end.wire:
                    self.ends[1 - which].hear(end.wire.popleft())
        for which, end in enumerate(self.ends):
            assert self.ends[1 - which].heard == list(range(1, end.said + 1))
            assert end.session.backlog == 0, "what is acknowledged is forgotten"
            assert not list(end.kept())

    def acknowledge_all(self) -> None:
        for which in (0, 1):
            self.acknowledge(which)


Link.TestCase.settings = settings(
    max_examples=200, stateful_step_count=60, deadline=None, print_blob=True, database=None
)
TestLink = Link.TestCase


def test_a_gap_is_noticed() -> None:
    with pytest.raises(ProtocolError, match="came after 0"):
        Session().accept(Batch(2, 0, [], []))


@pytest.mark.parametrize("claim", [3, 2**40])
def test_nobody_can_acknowledge_what_was_never_sent(claim: int) -> None:
    session = Session()
    session.send([], [])
    with pytest.raises(ProtocolError, match="acknowledges"):
        session.accept(Batch(0, claim, [], []))
    with pytest.raises(ProtocolError, match="says it has"):
        session.resume(claim)


@pytest.mark.parametrize("claim", [0, 1, 2])
def test_what_was_acknowledged_is_not_sent_again(claim: int) -> None:
    """What the peer said of itself may be older than what it acknowledged since, over another connection."""
    session = Session()
    for _ in range(3):
        session.send([], [])
    session.accept(Batch(0, 2, [], []))
    with pytest.raises(ProtocolError, match="says it has"):
        session.resume(-1)
    written: list[bytes] = []
    session.resume(claim)
    session.go_on(written.append)
    assert [decode_batch(framed[4:]).number for framed in written] == [3]


def test_a_connection_that_has_enough_gets_the_rest_later_and_nothing_twice() -> None:
    session, written = Session(), list[bytes]()

    def full_after_two(framed: bytes) -> None:
        written.append(framed)
        if len(written) % 2 == 0:
            session.write = None

    for _ in range(5):
        session.send([], [])
    session.go_on(full_after_two)
    assert len(written) == 2
    session.send([], [])
    assert len(written) == 2
    for _ in range(2):
        session.go_on(full_after_two)
    assert [decode_batch(framed[4:]).number for framed in written] == [1, 2, 3, 4, 5, 6]


def test_what_cannot_be_written_has_not_been_sent() -> None:
    session, written = Session(), list[bytes]()
    session.go_on(written.append)
    with pytest.raises(OverflowError):
        session.send([envelope(2**64)], [])
    session.send([envelope(1)], [])
    assert [decode_batch(framed[4:]).number for framed in written] == [1]
    assert session.backlog == len(written[0])


def test_what_the_peer_has_meanwhile_is_not_written_again() -> None:
    """It may have read the rest of an old connection after it said what it had."""
    session, written = Session(), list[bytes]()
    for _ in range(14):
        session.send([], [])
    session.resume(5)
    session.accept(Batch(0, 10, [], []))
    session.go_on(written.append)
    assert [decode_batch(framed[4:]).number for framed in written] == [11, 12, 13, 14]
    assert session.written == 14


def test_what_is_sent_again_is_acknowledged_again() -> None:
    """The acknowledgement may have been lost with the connection."""
    session = Session()
    for number in (1, 2):
        session.accept(Batch(number, 0, [], []))
    assert session.acknowledgement()
    assert not session.accept(Batch(2, 0, [], []))
    said = session.acknowledgement()
    assert said
    assert decode_batch(said[4:]).acknowledged == 2


def test_much_that_the_peer_has_is_forgotten_at_once() -> None:
    session = Session()
    session.send([Envelope("x", 1, 0, 0, 0, 1, msgspec.Raw(b"\xc5\xff\xff" + bytes(65535)))] * 20, [])
    session.accept(Batch(0, 1, [], []))
    assert session.send([], []) < 100


def test_what_the_peer_has_is_forgotten_in_time() -> None:
    session = Session()
    sizes = []
    for number in range(1, 5 * MANY):
        sizes.append(session.send([], []))
        session.accept(Batch(0, number, [], []))
    assert max(sizes) <= MANY * 20
    assert len(session._kept) <= MANY


def test_a_bare_acknowledgement_is_said_once() -> None:
    session = Session()
    assert session.acknowledgement() is None
    session.accept(Batch(1, 0, [], []))
    said = session.acknowledgement()
    assert said
    assert decode_batch(said[4:]) == Batch(0, 1, [], [])
    assert session.acknowledgement() is None


# Frames.


@given(bodies=st.lists(st.binary(max_size=300), max_size=20), cuts=st.lists(st.integers(1, 50), min_size=1))
@settings(deadline=None, print_blob=True)
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(
    bodies: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(map(frame, bodies))
    frames, out, at, turn = Frames(), [], 0, 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        out += list(frames.feed(stream[at : at + size]))
        at, turn = at + size, turn + 1
    assert out == bodies
    assert not frames.buffer


def test_a_frame_that_is_too_long_is_refused_before_it_is_there() -> None:
    frames = Frames(limit=10)
    with pytest.raises(ProtocolError, match="11 bytes; the limit is 10"):
        list(frames.feed(frame(b"fine") + b"\x00\x00\x00\x0b"))
