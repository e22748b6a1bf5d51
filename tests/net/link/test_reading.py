"""What arrives as one whole frame is read in one function, and anything else by the parts that it is made of: to the same end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from soloist.net.link import connection
from soloist.net.link.connection import Connection
from soloist.net.link.peer import Peer
from soloist.net.link.security import address
from soloist.net.link.wire import Batch, encode, frame

SENT = 5
"""Batches that we have said before: the peer may acknowledge as many."""


def heard(pieces: list[bytes], at_once: bool) -> tuple[Any, ...]:
    """What a connection makes of what arrives in these pieces, until it has had enough."""
    space, taken, warned = memoryview(bytearray(64 * 1024)), list[int](), list[tuple[str, ...]]()
    owner: Any = SimpleNamespace(
        space=space,
        receive=lambda peer, batches: taken.extend(batch.number for batch in batches),
        receipts=SimpleNamespace(timer=None, look_later=lambda: None),
        warn=lambda *what: warned.append(what),
    )
    with patch.object(connection, "READ_AT_ONCE", at_once):
        one, peer = Connection(owner, None), Peer("b", address("127.0.0.1:7401"))
        one.peer, one.open, peer.sent = peer, True, SENT
        for piece in pieces:
            if not warned:
                space[: len(piece)] = piece
                one.buffer_updated(len(piece))
    return taken, warned, peer.received, peer.confirmed, peer.acknowledged, bytes(one.frames.buffer)


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Batches, mostly in order and honest, cut mostly where they end."""
    number, stream, cuts = 0, b"", set[int]()
    for step in draw(st.lists(st.sampled_from((1, 1, 1, 1, 0, -1, 2, None)), max_size=50)):
        number += step or 0
        acknowledged = draw(st.integers(0, SENT) | st.just(SENT + 1) if step == 2 else st.integers(0, SENT))
        stream += frame(encode(Batch(0 if step is None else max(0, number), acknowledged, [], [])))
        if draw(st.integers(0, 3)):
            cuts.add(len(stream))
    if stream:
        cuts |= draw(st.sets(st.integers(1, len(stream)), max_size=5))
    ends = sorted({*cuts, len(stream)} - {0})
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@given(streams())
def test_a_frame_is_read_alike_at_once_and_in_parts(pieces: list[bytes]) -> None:
    assert heard(pieces, True) == heard(pieces, False)


def test_a_batch_in_one_piece_is_taken_and_one_too_many_refused() -> None:
    first, wrong = (frame(encode(Batch(number, SENT, [], []))) for number in (1, 3))
    for at_once in (True, False):
        taken, warned, received, confirmed, _, _ = heard([first, wrong], at_once)
        assert (taken, received, confirmed) == ([1], 1, SENT)
        assert warned == [("closed the connection to b: batch 3 came after 1",)]
