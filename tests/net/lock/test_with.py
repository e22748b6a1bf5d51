"""`async with` enters holding the lock, or raises; a decorator does the same."""

from __future__ import annotations

import pytest

from soloist.net import AcquireTimeout, Hold, Node
from tests.net.lock.three import on_three_nodes


@on_three_nodes
async def test_with_raises_if_the_lock_does_not_come(nodes: list[Node]) -> None:
    a, b, _ = nodes
    entered = False
    async with a.lock("x"):
        for timeout in (0, 0.01):
            with pytest.raises(AcquireTimeout, match="'x' was not granted") as caught:
                async with b.lock("x", timeout=timeout):
                    entered = True
            assert caught.value.name == "x"
    assert not entered


@on_three_nodes
async def test_a_body_holds_until_its_end(nodes: list[Node]) -> None:
    a, b, _ = nodes
    seen: list[Hold] = []

    async def fail() -> None:
        async with a.lock("x") as hold:
            seen.append(hold)
            assert hold.valid
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert not seen[0].valid
    async with b.lock("x", timeout=5):
        pass


@on_three_nodes
async def test_a_lock_is_a_decorator(nodes: list[Node]) -> None:
    a, *_ = nodes
    lock = a.lock("daily")

    @lock
    async def job(x: int, *, y: int) -> int:
        """Does it."""
        assert lock.locked()
        return x + y

    assert await job(1, y=2) == 3
    assert job.__doc__ == "Does it."
    assert not lock.locked()
