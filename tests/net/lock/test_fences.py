"""Fences grow from holder to holder."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import FenceGuard, Node, StaleFence
from tests.net.helpers import Exclusion
from tests.net.lock.three import on_three_nodes


@on_three_nodes
async def test_fences_grow_from_holder_to_holder_whichever_node_it_is_at(nodes: list[Node]) -> None:
    exclusion = Exclusion()
    await asyncio.gather(
        *(exclusion.visit(node, node.lock("x"), 30) for node in nodes for _ in range(2)),
        *(exclusion.visit(node, node.rlock("x"), 30) for node in nodes),
    )
    assert all(a < b for a, b in pairwise(exclusion.fences))
    assert len(exclusion.fences) == 270


def test_a_guard_refuses_those_who_were_overtaken() -> None:
    guard = FenceGuard()
    for fence in (3, 3, 5):
        guard.check("x", fence)
    with pytest.raises(StaleFence, match="5 has been here"):
        guard.check("x", 4)
    guard.check("y", 1)


@pytest.mark.parametrize("fence", [float("nan"), float("inf"), 7.0, True, None, "7"])
def test_what_is_no_fence_does_not_disarm_a_guard(fence: Any) -> None:
    guard = FenceGuard()
    guard.check("x", 5)
    with pytest.raises(UsageError, match="a fence must be a whole number"):
        guard.check("x", fence)
    with pytest.raises(StaleFence):
        guard.check("x", 4)
