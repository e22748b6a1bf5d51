"""What is said about members where there is no lease: between the messages of the locks, what is alike to one peer at once."""

from __future__ import annotations

import logging

import msgspec

from soloist.core import Message
from soloist.net.link.transport import Transport
from soloist.net.link.wire import MAX_FRAME, Counsel, encode
from soloist.views.messages import Bye

log = logging.getLogger("soloist.net")

MOST_BACKLOG = 256 * 1024
"""Bytes that a peer may leave unacknowledged before nothing is said again to it."""
MOST_SAID = MAX_FRAME - 64 * 1024


class Mail:
    """What one node has to say. It goes past the outbox of the locks, which is closed when the node is."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._said: dict[str, dict[Message, list[str]]] = {}

    def say(self, peer: str, to: str, message: Message) -> None:
        self._said.setdefault(peer, {}).setdefault(message, []).append(to)

    def flush(self) -> None:
        said, self._said = self._said, {}
        for peer, messages in said.items():
            for message, to in messages.items():
                body = encode(message)
                if len(body) > MOST_SAID:
                    log.error("too much is held to be told to %s: %d bytes", peer, len(body))
                elif self.transport.backlog(peer) < MOST_BACKLOG or isinstance(message, Bye):
                    self.transport.link(peer)([], [Counsel(tuple(to), msgspec.Raw(body))])
