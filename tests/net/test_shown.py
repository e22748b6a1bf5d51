"""Users see of what they have in hand what is theirs, each with a word about it."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from soloist import MemoryHub, Node, SyncNode
from soloist.net.shown import Shown, shown


def own(value: object) -> list[str]:
    return [name for name in dir(value) if not name.startswith("__")]


def in_hand(node: Any, hold: Any) -> list[object]:
    return [
        node,
        hold,
        node.lock("a"),
        node.rlock("a"),
        node.semaphore("s", 2),
        node.locks("a", "b"),
        node.leader("l"),
    ]


def check(values: list[object]) -> None:
    for value in values:
        names = own(value)
        assert not [name for name in names if name.startswith("_")], value
        assert all(hasattr(value, name) for name in names), value


def test_a_node_and_what_it_makes() -> None:
    async def look() -> None:
        node = Node("a", {"a": ""}, transport=MemoryHub().transport("a"))
        async with node, node.lock("orders") as hold:
            check(in_hand(node, hold))
            assert {"lock", "semaphore", "members", "close"} <= set(own(node))
            assert not {"table", "obtain", "board", "begin_life"} & set(own(node))
            assert {"fence", "valid", "check"} <= set(own(hold))
            assert not {"begins", "enter_body", "key"} & set(own(hold))

    asyncio.run(look())


def test_the_same_for_threads() -> None:
    with SyncNode("a", {"a": ""}, transport=MemoryHub().transport("a")) as node, node.lock("orders") as hold:
        values = in_hand(node, hold)
        check([value for value in values if isinstance(value, Shown)])
        assert {"lock", "semaphore", "missing", "close"} <= set(own(node))
        assert all(
            name.startswith("_") for value in values if not isinstance(value, Shown) for name in own(value)
        )


def kinds(kind: type = Shown) -> list[type]:
    return [each for below in kind.__subclasses__() for each in (below, *kinds(below))]


@pytest.mark.parametrize("kind", sorted(set(kinds()), key=str))
def test_what_is_shown_is_there_and_says_what_it_is(kind: type) -> None:
    for name in shown(kind):
        found = inspect.getattr_static(kind, name, None)
        if callable(found) or isinstance(found, property):
            assert inspect.getdoc(found), f"{kind.__name__}.{name}"
