"""When a peer is told that we have what it said, if no batch of ours tells it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from soloist.net.link.receipts import BUSY_LOOKS, Receipts
from tests.net.helpers import run


def heard_of(*names: str) -> tuple[Receipts, dict[str, Any], list[str]]:
    """What has come from each of these peers is one batch; and who was told so since."""
    told: list[str] = []

    def peer(name: str) -> Any:
        def tell() -> bool:
            one.acknowledged = one.received
            told.append(name)
            return True

        one = SimpleNamespace(
            received=1, acknowledged=0, connection=SimpleNamespace(acknowledge_unless_told=tell)
        )
        return one

    peers = {name: peer(name) for name in names}
    return Receipts(peers), peers, told


def look(receipts: Receipts) -> None:
    assert receipts.timer
    receipts.timer.cancel()
    receipts._look()


def test_whoever_said_the_last_word_is_told_at_the_next_look() -> None:
    async def main() -> None:
        receipts, _, told = heard_of("a", "b")
        receipts.look_later()
        look(receipts)
        assert told == ["a", "b"]
        assert receipts.timer is None, "there is nothing left to tell"

    run(main())


def test_while_more_comes_all_are_told_together_now_and_then() -> None:
    """Each of them is woken for it: where 32 contended, that was a sixth of all that they read."""

    async def main() -> None:
        receipts, peers, told = heard_of("a", "b")
        for _ in range(3):
            receipts.look_later()
            for _ in range(BUSY_LOOKS - 1):
                peers["a"].received += 1
                look(receipts)
                assert not told
            peers["a"].received += 1
            peers["b"].received += 1
            look(receipts)
            assert told == ["a", "b"]
            told.clear()

    run(main())


def test_once_it_is_quiet_whoever_waits_is_told() -> None:
    async def main() -> None:
        receipts, peers, told = heard_of("a", "b")
        receipts.look_later()
        peers["a"].received += 1
        look(receipts)
        assert not told
        look(receipts)
        assert told == ["a", "b"]

    run(main())
