"""What leaves a node, and when: one batch per peer for all that is said in one turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

import msgspec

from soloist.net.engine.ticket import Effects
from soloist.net.link.transport import Link, Transport
from soloist.net.link.wire import Envelope, Notice

HIGH_WATER = 8 * 1024 * 1024
"""Bytes that a peer may leave unacknowledged before new requests wait."""
MOST_ENVELOPES = 256
"""Envelopes in one batch: with names and tokens of any sane length it fits into a frame."""
EAGER = 2
"""Times in a row that callers are not made to wait: for a release, and the request of a caller that asks again.

What callers say first leaves at once, the rest together at the end of this turn of the loop. So a lock is handed
over without delay, and a program that uses many locks at a time still sends few batches.
"""
SINGLE = 1
"""Envelopes that need not be sorted by the peers that they are for."""
ROOM_SECONDS = 0.01
"""Seconds between two looks at a peer that is far behind."""


class Stats(msgspec.Struct):
    """Counts since the node started."""

    entries: int = 0
    messages_sent: int = 0
    messages_received: int = 0
    batches_sent: int = 0


class Outgoing:
    """Messages of locks go by the number of a member, notices by its name."""

    loop: asyncio.AbstractEventLoop
    """Once the node is started."""

    def __init__(
        self,
        node: str,
        members: Collection[str],
        transport: Transport,
        effects: Effects,
        unwritable: Callable[[str, str], None],
    ) -> None:
        self.node, self.transport = node, transport
        self.address(sorted(members))
        self.stats = Stats()
        self.sends, self.notices = effects.sends, dict[str, list[Notice]]()
        self.unwritable = unwritable
        """Told of a lock of which something could not be written, and why."""
        self.eager = EAGER
        self.flushing = False
        """Whether a flush will come."""
        self.hearing = False
        """Whether what a peer has said is being dealt with; a flush comes at its end."""
        self.closed = False
        self.behind: set[str] = set()
        """Peers that have left much unacknowledged."""

    def address(self, names: Sequence[str]) -> None:
        """These are the members, by number: from now on."""
        self.names = names
        self.numbers = {name: number for number, name in enumerate(names)}
        self.links: dict[int, Link] = {
            number: self.transport.link(name) for number, name in enumerate(names) if name != self.node
        }

    def say(self, peer: str, notice: Notice) -> None:
        self.notices.setdefault(peer, []).append(notice)
        self.flush_soon()

    def say_to_all(self, envelope: Envelope) -> None:
        self.sends += [(host, envelope) for host in self.links]
        self.flush_soon()

    def after_call(self) -> None:
        """A caller has asked, or given back, and that made us say something: it leaves at once, or soon."""
        if not self.eager:
            self.flush_soon()
            return
        self.eager -= 1
        self.send_all()

    def flush_soon(self) -> None:
        if not (self.flushing or self.hearing):
            self.flushing = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        """The end of a turn, or of what a peer has said."""
        self.flushing = False
        self.eager = EAGER
        if not self.closed and (self.sends or self.notices):
            self.send_all()

    def send_all(self) -> None:
        sends = self.sends
        if len(sends) == SINGLE:  # the rule
            host, envelope = sends.pop()
            self._send(host, [envelope])
        elif sends:
            by_host: dict[int, list[Envelope]] = {}
            for host, envelope in sends:
                by_host.setdefault(host, []).append(envelope)
            sends.clear()
            for host, envelopes in by_host.items():
                for start in range(0, len(envelopes), MOST_ENVELOPES):
                    self._send(host, envelopes[start : start + MOST_ENVELOPES])
        if self.notices:
            notices_of, self.notices = self.notices, {}
            for peer, notices in notices_of.items():
                send = self.transport.link(peer)
                for each in notices:
                    send([], [each])

    def _send(self, host: int, envelopes: list[Envelope]) -> None:
        try:
            backlog = self.links[host](envelopes, [])
        except (OverflowError, TypeError, ValueError) as error:
            self._send_what_can_be_sent(host, envelopes, error)
            return
        self.stats.messages_sent += len(envelopes)
        self.stats.batches_sent += 1
        if backlog > HIGH_WATER:
            self.behind.add(self.names[host])

    def _send_what_can_be_sent(self, host: int, envelopes: list[Envelope], error: Exception) -> None:
        """A peer that counts beyond all measure makes us say what cannot be written; that harms no other lock."""
        if len(envelopes) == 1:
            why = f"{self.node} cannot write a message to {self.names[host]}: {error!r}"
            self.unwritable(envelopes[0].lock, why)
            return
        for envelope in envelopes:
            self._send(host, [envelope])

    async def room(self) -> None:
        """Wait while a peer is far behind: a request more would only make it worse."""
        while self.behind and not self.closed:
            await asyncio.sleep(ROOM_SECONDS)
            self.behind = {peer for peer in self.behind if self.transport.backlog(peer) > HIGH_WATER}
