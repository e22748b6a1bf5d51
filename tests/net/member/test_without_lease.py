"""Nodes without a lease that come and go: who says goodbye, or asks to come in, is agreed upon; who says nothing is waited for."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist.core import UsageError
from soloist.net import MemoryHub, Node
from soloist.net.link.wire import Batch, Counsel, decode_batch, encode
from soloist.net.member.assembly import decode_said
from soloist.net.member.fellowship import Fellowship
from soloist.testing import crash, eventually, tcp_cluster
from soloist.testing.ports import ports
from soloist.views.messages import Fetch
from tests.net.helpers import Exclusion, asked, log_lines, run


class Hub(MemoryHub):
    """Where nodes without a lease are."""

    def __init__(self, names: str = "abc") -> None:
        super().__init__()
        self.peers = dict.fromkeys(names, "")

    def node(self, name: str, **options: Any) -> Node:
        given: dict[str, Any] = {} if "join" in options else {"peers": self.peers}
        return Node(name, lease=None, transport=self.transport(name), **given, **options)

    async def start(self, names: str = "abc", **options: Any) -> list[Node]:
        nodes = [self.node(name, **options) for name in names]
        await asyncio.gather(*(node.start() for node in nodes))
        await eventually(lambda: all(node.beginning.open for node in nodes), "the cluster has begun")
        return nodes


def agree(*nodes: Node) -> bool:
    names = sorted(node.name for node in nodes)
    return all(node.members == names for node in nodes)


async def close(*nodes: Node) -> None:
    for node in nodes:
        await node.close()


@pytest.mark.parametrize("algorithm", ["naimi-trehel", "central", "maekawa", "token-ring"])
def test_who_is_closed_is_missed_by_nobody(algorithm: str) -> None:
    """Whatever rested there, and whatever was held there; what the others hold they go on holding."""

    async def main() -> None:
        a, b, c = await Hub().start(algorithm=algorithm)
        names = [f"n{number}" for number in range(6)]
        for name in names:
            async with c.lock(name, timeout=10):  # so that all tokens rest there
                pass
        kept = await b.lock("kept").acquire_or_raise(10)
        taken = await c.lock("taken").acquire_or_raise(10)
        waiting = asyncio.create_task(a.lock("taken", timeout=20).acquire())
        await c.close()
        assert not taken.valid
        later = await waiting
        assert later
        assert later.fence > taken.fence
        await eventually(lambda: agree(a, b), "c has left")
        assert kept.valid
        assert await a.lock("kept").acquire(timeout=0.05) is None
        for node in (a, b):
            for name in names:
                async with node.lock(name, timeout=10):
                    pass
        await kept.release()
        async with a.lock("kept", timeout=10) as next_one:
            assert next_one.fence > kept.fence
        await b.close()
        async with a.lock("kept", timeout=10):  # alone
            pass
        await a.close()

    run(main())


def test_a_name_comes_back_by_a_change_of_view() -> None:
    async def main() -> None:
        hub = Hub()
        a, b, c = await hub.start()
        hold = await a.lock("x").acquire_or_raise(10)
        await c.close()
        c = await hub.node("c").start()  # at once, or before the others have left it out
        await eventually(lambda: agree(a, b, c), "it is back")
        assert hold.valid
        assert await c.lock("x").acquire(timeout=0.05) is None
        await hold.release()
        async with c.lock("x", timeout=10) as later:
            assert later.fence > hold.fence
        await close(a, b, c)

    run(main())


def test_nobody_joins_whom_those_who_began_would_not_know_after_a_restart() -> None:
    """They keep nothing on a disk: both companies would let callers in."""
    with pytest.raises(UsageError, match="join= needs a lease, not lease=None"):
        Hub().node("d", join={"a": ""})


def test_what_is_released_while_a_view_is_made_goes_on() -> None:
    """The others have been told that it is held."""

    async def main() -> None:
        hub = Hub()
        a, b, c = await hub.start()
        hold = await b.lock("x").acquire_or_raise(10)
        there = b.beginning
        assert isinstance(there, Fellowship)
        waiting = asyncio.create_task(a.lock("x", timeout=20).acquire())
        await asked(a, among=(a, b, c))
        await c.close()
        while not there.assembly.member.wedged:
            await asyncio.sleep(0)
        assert hold.valid
        await hold.release()
        assert not hold.why
        later = await waiting
        assert later
        assert later.fence > hold.fence
        await close(a, b)

    run(main())


def test_who_ends_without_a_word_is_waited_for_and_named() -> None:
    """And who comes in its place is refused, in words; a proof that it has ended is enough to go on."""

    async def main() -> None:
        hub = Hub()
        a, b, c = await hub.start()
        for node in (a, b, c):
            async with node.lock("x", timeout=10):  # the token rests at c
                pass
        await crash(c)
        assert await a.lock("x").acquire(timeout=0.05) is None
        assert a.trouble() == "not connected: c"
        again = await hub.node("c").start()
        assert await again.lock("x").acquire(timeout=0.05) is None
        assert "'c' was started again" in again.trouble()
        await again.close()
        with log_lines() as lines:
            await b.close()
            await eventually(lambda: "c has to agree" in a.trouble(), "that is said")
            await eventually(lambda: bool(lines), "and logged")
        assert "without a lease nobody is left out who has not said goodbye" in lines[0]
        assert a.members == ["a", "b", "c"]
        there = a.beginning
        assert isinstance(there, Fellowship)
        there.assembly.dead(c.beginning.who.incarnation, "its process is gone")
        async with a.lock("x", timeout=10):
            assert a.members == ["a"]
        await a.close()

    run(main())


def test_a_restart_on_the_same_data_directory_is_a_proof(tmp_path: Path) -> None:
    async def main() -> None:
        hub = Hub()
        a, b = [await hub.node(name).start() for name in "ab"]
        c = await hub.node("c", data_dir=tmp_path / "c").start()
        hold = await c.lock("x").acquire_or_raise(10)
        await crash(c)
        assert await a.lock("x").acquire(timeout=0.05) is None
        again = await hub.node("c", data_dir=tmp_path / "c").start()
        async with again.lock("x", timeout=20) as later:
            assert later.fence > hold.fence
            assert agree(a, b, again)
        await close(a, b, again)

    run(main())


def test_fences_grow_although_all_are_started_again_at_once() -> None:
    """No disk remembers them, and there were more views than minutes."""

    async def main() -> None:
        fences = []
        for _ in range(3):
            hub = Hub()
            a, b, c = await hub.start()
            for _ in range(3):
                async with b.lock("x", timeout=10) as hold:
                    fences.append(hold.fence)
                await c.close()
                async with a.lock("x", timeout=10) as hold:
                    fences.append(hold.fence)
                c = await hub.node("c").start()
                async with c.lock("x", timeout=10) as hold:
                    fences.append(hold.fence)
            await close(a, b, c)
        assert len(fences) == 27
        assert all(one < other for one, other in pairwise(fences)), fences

    run(main())


def test_who_waits_for_a_view_that_is_over_begins_anew() -> None:
    """Only one of the old ones is left when the others are started again; and then that one goes, too."""

    async def main() -> None:
        hub = Hub()
        a, b, c = await hub.start()
        await crash(b)
        await c.close()  # nobody can agree to that without b
        c = await hub.node("c").start()
        assert await c.lock("x").acquire(timeout=0.05) is None
        await a.close()
        a, b = [await hub.node(name).start() for name in "ab"]
        for node in (a, b, c):
            async with node.lock("x", timeout=10):
                pass
        await close(a, b, c)

    run(main())


def test_all_may_be_closed_in_any_order_or_at_once() -> None:
    async def main() -> None:
        for order in ("abc", "cba", "bac"):
            nodes = {node.name: node for node in await Hub().start()}
            await close(*(nodes[name] for name in order))
        nodes_at_once = await Hub().start()
        await asyncio.gather(*(node.close() for node in nodes_at_once))

    run(main())


@pytest.mark.parametrize("algorithm", ["naimi-trehel", "lamport", "raymond-tree"])
def test_a_rolling_restart_over_tcp_while_all_contend(algorithm: str) -> None:
    async def main() -> None:
        exclusion, stop, entries = Exclusion(), asyncio.Event(), [0]

        async def contend(node: Node) -> None:
            while not (stop.is_set() or node.closed):
                try:
                    await exclusion.visit(node, node.lock("x", timeout=20), 1)
                    entries[0] += 1
                except Exception:
                    if not node.closed:
                        raise

        with ports("a", "b", "c") as peers:

            async def start(name: str) -> Node:
                return await Node(name, peers, lease=None, algorithm=algorithm).start()

            nodes = {name: await start(name) for name in "abc"}
            await eventually(lambda: all(node.beginning.open for node in nodes.values()))
            tasks = [asyncio.create_task(contend(node)) for node in nodes.values()]
            for name in "abc":
                before = entries[0]
                await eventually(lambda before=before: entries[0] > before + 5, "they go on")
                await nodes[name].close()
                nodes[name] = await start(name)
                await eventually(lambda: agree(*nodes.values()), f"{name} is back")
                tasks.append(asyncio.create_task(contend(nodes[name])))
            stop.set()
            await asyncio.gather(*tasks)
            assert all(one < other for one, other in pairwise(exclusion.fences))
            await close(*nodes.values())

    run(main(), 55)


def test_what_is_said_of_members_is_kept_when_its_place_is_read_into_again() -> None:
    """It is heard in a later turn of the loop, and a connection has one place that it reads into."""

    async def main() -> None:
        a, b, c = await Hub().start()
        fellowship, heard = a.beginning, list[Any]()
        assert isinstance(fellowship, Fellowship)
        fellowship.assembly.hear = lambda _, said: heard.append(decode_said(said.body))  # type: ignore[method-assign]
        asked = Fetch(7)
        counsel = Counsel(("b",), msgspec.Raw(msgspec.msgpack.encode(asked)))
        place = bytearray(encode(Batch(1, 0, [], [counsel])))
        fellowship._take_counsel("b", decode_batch(place).notices[0])  # type: ignore[arg-type]
        place[:] = bytes(len(place))
        await eventually(lambda: heard, "it is heard")
        assert heard == [asked]
        await close(a, b, c)

    run(main())


def test_two_nodes_over_tcp_go_on_without_each_other() -> None:
    async def main() -> None:
        async with tcp_cluster("ab", lease=None) as (a, b):
            async with a.lock("x") as first:
                pass
            await a.close()
            async with b.lock("x", timeout=10) as second:
                assert second.fence > first.fence
            assert b.members == ["b"]
            assert not b.trouble()

    run(main())
