"""Three nodes in memory, for tests of locks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from soloist.net import Node
from soloist.testing import memory_cluster
from tests.net.helpers import assert_at_rest, begun, run, settled

Test = Callable[[list[Node]], Awaitable[None]]


def on_three_nodes(test: Test) -> Callable[[], None]:
    """Run a test on three nodes in memory; nothing may be left at the end."""

    async def body() -> None:
        async with memory_cluster() as nodes:
            await begun(*nodes)
            await test(nodes)
            alive = [node for node in nodes if not node.closed]
            await settled(alive)
            assert_at_rest(alive)

    def wrapper() -> None:
        run(body())

    wrapper.__name__, wrapper.__doc__ = test.__name__, test.__doc__  # type: ignore[attr-defined]
    return wrapper
