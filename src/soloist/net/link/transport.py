"""Transports: how batches get from node to node. Reliable and in order, whatever lies below."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from soloist.core import UsageError
from soloist.net.link.cipher import Cipher
from soloist.net.link.handshake import Mismatch, Who, agreed, check_config
from soloist.net.link.wire import Batch, Envelope, Notice, decode_batch, encode

Receive = Callable[[str, list[Batch]], None]
"""Called with the name of a peer and all that it is known to have said, in order, never twice.

It may let tasks run, so only a callback of the loop may call it."""

Link = Callable[[list[Envelope], list[Notice]], int]
"""Says something to a peer. Never waits and never fails: what cannot leave now is kept until it can. Gives the
`backlog` of that peer."""


class Meeting(Protocol):
    """What a transport asks and tells of those whom it finds. See `soloist.net.member.beginning`."""

    who: Who
    """What the node says of itself, at this moment."""
    joining: bool
    """Whether others have begun already, and this node is none of them."""
    renews: bool
    """Whether each pair of nodes needs a connection for renewals, too."""

    def pulse(
        self, theirs: Who, sock: socket.socket, unread: bytes, dialled: bool, cipher: Cipher | None = None
    ) -> None:
        """Here is one; what was read from it already belongs to it. If we did not dial, the other waits for a word."""

    def refusal(self, theirs: Who) -> str | None:
        """Why that incarnation of a peer must not be linked to; None if it may be."""

    def met(self, theirs: Who) -> None:
        """There is a link to it, or there is one again."""

    def trouble(self, peer: str, why: str, mismatch: bool) -> None:
        """There is none: why, and whether it is configured otherwise than we are."""


class Transport(Protocol):
    """What a node asks of a transport."""

    on_will: Callable[[str], None]
    """Called with the hash of each will that is heard: see `soloist.net.link.will`."""

    @property
    def out_of_sight(self) -> bool:
        """Whether there are peers whose processes cannot be watched from here."""

    async def start(self, receive: Receive, meeting: Meeting) -> None:
        """Begin to connect and to listen. Peers may come later."""

    def link(self, peer: str) -> Link:
        """How to speak to a peer that was met. What is said before, or to one that is started again, is lost."""

    def backlog(self, peer: str) -> int:
        """Bytes that the peer has not acknowledged."""

    def connected(self) -> set[str]:
        """Peers that can be reached at this moment."""

    def unread(self) -> bool:
        """Whether something has arrived that the next turns of the loop will deliver. Cheap."""

    def pulse_lost(self, peer: str) -> None:
        """The connection for renewals is gone: make another."""

    def know(self, addresses: Mapping[str, str]) -> None:
        """Those are to be reached, too, from now on. What our own user has told us of a peer goes before that."""

    def forget(self, names: Collection[str]) -> None:
        """Those have gone, and are not called any more. They may call."""

    def failures(self) -> dict[str, str]:
        """Peers that are called and do not answer: where they should be, and what comes of it."""

    def expect(self, incarnations: Mapping[str, str]) -> None:
        """Those peers are meant from now on: what is said is for them, even if they are met only later."""

    def begin_again(self) -> None:
        """The node is another incarnation from now on: every link begins anew."""

    def incarnation(self, peer: str) -> str | None:
        """Of the process that what comes from this peer comes from."""

    def socket_to(self, peer: str) -> Any:
        """That of the connection to it, to look at; None if there is none."""

    def descriptors(self) -> list[int]:
        """The files that the child of a fork must not keep."""

    async def close(self) -> None: ...


RETRY_SECONDS = 0.02


class MemoryHub:
    """A network inside one process and one event loop: for tests, notebooks and examples.

    Give each node `transport=hub.transport("a")`. Messages are encoded and decoded as on a real wire.
    """

    def __init__(self) -> None:
        self.present: dict[str, MemoryTransport] = {}

    def __repr__(self) -> str:
        return f"<MemoryHub: {', '.join(sorted(self.present)) or 'nobody yet'}>"

    def transport(self, node: str) -> MemoryTransport:
        """The place of that node, to be given to it."""
        return MemoryTransport(self, node)

    def join(self, newcomer: MemoryTransport) -> None:
        """Take in a node, which calls this when it starts."""
        if newcomer.node in self.present:
            raise UsageError(f"node {newcomer.node!r} is in this hub already")
        others = list(self.present.values())
        self.present[newcomer.node] = newcomer
        for other in others:
            introduce(newcomer, other)


class MemoryTransport:
    """One node's place in a hub."""

    receive: Receive
    meeting: Meeting
    out_of_sight = False

    def __init__(self, hub: MemoryHub, node: str) -> None:
        self.hub, self.node = hub, node
        self.on_will: Callable[[str], None] = lambda will: None
        self.peers: dict[str, MemoryTransport] = {}
        self.coming = 0
        """How much is on its way to us."""

    async def start(self, receive: Receive, meeting: Meeting) -> None:
        self.receive, self.meeting = receive, meeting
        self.hub.join(self)

    def link(self, peer: str) -> Link:
        def send(envelopes: list[Envelope], notices: list[Notice]) -> int:
            if there := self.peers.get(peer):
                body = encode(Batch(1, 0, envelopes, notices))
                there.coming += 1
                asyncio.get_running_loop().call_soon(self._deliver, there, body)
            return 0

        return send

    def _deliver(self, there: MemoryTransport, body: bytes) -> None:
        there.coming -= 1
        if there.peers.get(self.node) is self:  # neither has gone meanwhile
            there.receive(self.node, [decode_batch(body)])

    def backlog(self, peer: str) -> int:
        return 0

    def pulse_lost(self, peer: str) -> None:
        if self.node < peer:  # both have lost it, and one is to see to it
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._introduce_again, peer)

    def _introduce_again(self, peer: str) -> None:
        if there := self.peers.get(peer):
            introduce_pulses(self, there)

    def know(self, addresses: Mapping[str, str]) -> None:
        for other in [self.hub.present.get(name) for name in addresses]:
            if other and other is not self and other.node not in self.peers:
                introduce(self, other)

    def forget(self, names: Collection[str]) -> None:
        pass  # nobody is called here

    def failures(self) -> dict[str, str]:
        return {}

    def expect(self, incarnations: Mapping[str, str]) -> None:
        pass  # who is in the hub is met at once

    def begin_again(self) -> None:
        others = list(self.peers.values())
        for other in others:
            del other.peers[self.node], self.peers[other.node]
        for other in others:
            introduce(self, other)

    def incarnation(self, peer: str) -> str | None:
        there = self.peers.get(peer)
        return there.meeting.who.incarnation if there else None

    def socket_to(self, peer: str) -> Any:
        return None

    def connected(self) -> set[str]:
        return set(self.peers)

    def unread(self) -> bool:
        return self.coming > 0

    def descriptors(self) -> list[int]:
        return []

    async def close(self) -> None:
        if self.hub.present.get(self.node) is self:
            del self.hub.present[self.node]
        for peer in self.peers.values():
            peer.peers.pop(self.node, None)
        self.peers.clear()


def introduce(one: MemoryTransport, other: MemoryTransport) -> None:
    """Two nodes of a hub meet, if they are of one cluster; or else both are told why not."""
    ours, theirs = one.meeting.who, other.meeting.who
    if not (
        told_of(one, other)
        or told_of(other, one)
        or (ours.cluster == theirs.cluster and both_admit(one, other))
    ):
        return  # they do not look for each other
    why, mismatch = None, False
    try:
        agreed(ours, theirs)
        check_config(ours, theirs)
        why = one.meeting.refusal(theirs) or other.meeting.refusal(ours)
    except Mismatch as error:
        why, mismatch = str(error), True
    for here, there in ((one, other), (other, one)):
        if why:
            here.meeting.trouble(there.node, why, mismatch)
        else:
            here.peers[there.node] = there
    if (
        why and not mismatch and (ours.joins or theirs.joins or ours.epoch or theirs.epoch)
    ):  # too early, perhaps
        asyncio.get_running_loop().call_later(RETRY_SECONDS, introduce_again, one, other)
    if not why:
        one.meeting.met(theirs)
        other.meeting.met(ours)
        introduce_pulses(one, other)


def introduce_again(one: MemoryTransport, other: MemoryTransport) -> None:
    both_there = all(each.hub.present.get(each.node) is each for each in (one, other))
    if both_there and other.node not in one.peers:
        introduce(one, other)


def told_of(one: MemoryTransport, other: MemoryTransport) -> bool:
    return other.node in one.meeting.who.members


def both_admit(one: MemoryTransport, other: MemoryTransport) -> bool:
    refusals = one.meeting.refusal(other.meeting.who), other.meeting.refusal(one.meeting.who)
    return not any(refusals)


def introduce_pulses(one: MemoryTransport, other: MemoryTransport) -> None:
    """Renewals go through real sockets here, too: a thread at each end reads them."""
    if one.meeting.renews and other.meeting.renews:
        here, there = socket.socketpair()
        one.meeting.pulse(other.meeting.who, here, b"", True)
        other.meeting.pulse(one.meeting.who, there, b"", True)
