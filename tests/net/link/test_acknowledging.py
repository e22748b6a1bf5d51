"""When a peer is told that we have what it said, if no batch of ours tells it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from soloist.net.link.security import address
from soloist.net.link.tcp import BUSY_LOOKS, TcpTransport
from tests.net.helpers import run


def listening(*names: str) -> tuple[Any, list[str]]:
    """A transport that has heard one batch of each peer, and the peers whom it has told since."""
    transport: Any = TcpTransport("me", {name: address("127.0.0.1:7400") for name in ("me", *names)})
    told: list[str] = []

    def connection(peer: Any) -> SimpleNamespace:
        def tell() -> bool:
            peer.acknowledged = peer.received
            told.append(peer.name)
            return True

        return SimpleNamespace(acknowledge_unless_told=tell)

    for peer in transport.peers.values():
        peer.received, peer.connection = 1, connection(peer)
    return transport, told


def look(transport: Any) -> None:
    transport.acknowledging.cancel()
    transport._acknowledge()


def test_whoever_said_the_last_word_is_told_at_the_next_look() -> None:
    async def main() -> None:
        transport, told = listening("a", "b")
        transport.acknowledge_later()
        look(transport)
        assert told == ["a", "b"]
        assert transport.acknowledging is None, "there is nothing left to tell"

    run(main())


def test_while_more_comes_all_are_told_together_now_and_then() -> None:
    """Each of them is woken for it: where 32 contended, that was a sixth of all that they read."""

    async def main() -> None:
        transport, told = listening("a", "b")
        for _ in range(3):
            transport.acknowledge_later()
            for _ in range(BUSY_LOOKS - 1):
                transport.peers["a"].received += 1
                look(transport)
                assert not told
            transport.peers["a"].received += 1
            transport.peers["b"].received += 1
            look(transport)
            assert told == ["a", "b"]
            told.clear()

    run(main())


def test_once_it_is_quiet_whoever_waits_is_told() -> None:
    async def main() -> None:
        transport, told = listening("a", "b")
        transport.acknowledge_later()
        transport.peers["a"].received += 1
        look(transport)
        assert not told
        look(transport)
        assert told == ["a", "b"]

    run(main())
