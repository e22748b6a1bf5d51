"""Transports: how batches get from node to node. Reliable and in order, whatever lies below."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from soloist.core import UsageError
from soloist.net.wire import Batch, Control, Envelope, decode_batch, encode

Receive = Callable[[str, list[Batch]], None]
"""Called with the name of a peer and all that it is known to have said, in order, never twice.

It may let tasks run, so only a callback of the loop may call it."""

Link = Callable[[list[Envelope], list[Control]], int]
"""Says something to a peer. Never waits and never fails: what cannot leave now is kept until it can. Gives the
`backlog` of that peer."""


class Transport(Protocol):
    """What a node asks of a transport."""

    async def start(self, receive: Receive) -> None:
        """Begin to connect and to listen. Peers may come later."""

    def link(self, peer: str) -> Link:
        """How to speak to a peer."""

    def backlog(self, peer: str) -> int:
        """Bytes that the peer has not acknowledged."""

    def connected(self) -> set[str]:
        """Peers that can be reached at this moment."""

    def unread(self) -> bool:
        """Whether something has arrived that the next turns of the loop will deliver. Cheap."""

    async def close(self) -> None: ...


class MemoryHub:
    """A network inside one process and one event loop: for tests, notebooks and examples.

    Give each node `transport=hub.transport("a")`. Messages are encoded and decoded as on a real wire.
    """

    def __init__(self) -> None:
        self.receivers: dict[str, Receive] = {}
        self.waiting: dict[str, list[tuple[str, bytes]]] = {}
        self.unread: dict[str, int] = {}
        """How much is on its way, by receiver."""

    def transport(self, node: str) -> MemoryTransport:
        return MemoryTransport(self, node)

    def post(self, sender: str, to: str, body: bytes) -> None:
        if to in self.receivers:
            self.unread[to] = self.unread.get(to, 0) + 1
            asyncio.get_running_loop().call_soon(self._deliver, sender, to, body)
        else:
            self.waiting.setdefault(to, []).append((sender, body))

    def _deliver(self, sender: str, to: str, body: bytes) -> None:
        self.unread[to] -= 1
        if receive := self.receivers.get(to):
            receive(sender, [decode_batch(body)])

    def join(self, node: str, receive: Receive) -> None:
        if node in self.receivers:
            raise UsageError(f"node {node!r} is in this hub already")
        self.receivers[node] = receive
        for sender, body in self.waiting.pop(node, []):
            self.post(sender, node, body)


class MemoryTransport:
    """One node's place in a hub."""

    def __init__(self, hub: MemoryHub, node: str) -> None:
        self.hub, self.node = hub, node

    async def start(self, receive: Receive) -> None:
        self.hub.join(self.node, receive)

    def link(self, peer: str) -> Link:
        def send(envelopes: list[Envelope], control: list[Control]) -> int:
            self.hub.post(self.node, peer, encode(Batch(1, 0, envelopes, control)))
            return 0

        return send

    def backlog(self, peer: str) -> int:
        return 0

    def connected(self) -> set[str]:
        return set(self.hub.receivers) - {self.node}

    def unread(self) -> bool:
        return bool(self.hub.unread.get(self.node))

    async def close(self) -> None:
        self.hub.receivers.pop(self.node, None)
