"""Without a lease, where things go wrong: other maps of peers, a node that is left out, who asks and ends, and what fences rest on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from soloist.net import ConfigMismatch, LockLost, Node
from soloist.net.link.wire import Counsel
from soloist.net.member.assembly import decode_said
from soloist.net.member.fellowship import Fellowship
from soloist.testing import crash, eventually
from soloist.views.messages import Decided
from tests.net.helpers import log_lines, run
from tests.net.member.test_without_lease import Hub, close


def fellowship(node: Node) -> Fellowship:
    assert isinstance(node.beginning, Fellowship)
    return node.beginning


def test_who_was_told_of_others_is_not_taken_in_though_there_is_a_view() -> None:
    """Else those who were not told of it would begin without it, once they are all started again, and both would hold."""

    async def main() -> None:
        hub = Hub()
        a, b = (
            Node(name, dict.fromkeys("ab", ""), lease=None, transport=hub.transport(name)) for name in "ab"
        )
        await asyncio.gather(a.start(), b.start())
        await eventually(lambda: a.beginning.open and b.beginning.open)
        c = await hub.node("c").start()
        with pytest.raises(ConfigMismatch, match="different peers: 'c' alone counts 'c'"):
            await c.lock("x").acquire(timeout=20)
        assert a.members == ["a", "b"]
        assert "different peers" in c.trouble()
        await close(a, b, c)

    with log_lines():
        run(main())


def test_who_is_left_out_loses_what_it_holds() -> None:
    """It had not even stopped: the others were told that it has ended, and it hears only of their view."""

    async def main() -> None:
        a, b, c = await Hub().start()
        there = fellowship(c).assembly
        hear = there.hear

        def hear_decisions(incarnation: str, said: Counsel) -> None:
            if isinstance(decode_said(said.body), Decided):
                hear(incarnation, said)

        there.hear = hear_decisions  # type: ignore[method-assign]
        hold = await c.lock("x", on_lost="flag").acquire_or_raise(10)
        several = await c.semaphore("s", 3, on_lost="flag").acquire_or_raise(10)
        old = c.beginning.who.incarnation
        fellowship(a).assembly.dead(old, "somebody says so")
        async with a.lock("x", timeout=20) as later:
            await eventually(lambda: c.beginning.who.incarnation != old, "c knows")
            assert not hold.valid
            assert not several.valid
            assert later.valid
            with pytest.raises(LockLost, match="made a view without this node"):
                hold.check()
        there.hear = hear  # type: ignore[method-assign]
        async with c.lock("x", timeout=20):  # it has come back
            pass
        await close(a, b, c)

    with log_lines():
        run(main())


def test_who_asked_to_join_and_has_ended_since_is_not_taken_in() -> None:
    """Although a change was under way already: it could not be got rid of again."""

    async def main() -> None:
        hub = Hub()
        a, b, c = await hub.start()
        await c.close()
        await eventually(lambda: a.members == b.members == ["a", "b"])
        held_back: list[Any] = []
        deliver = fellowship(b).assembly.hear
        fellowship(b).assembly.hear = lambda *said: held_back.append(said)  # type: ignore[method-assign]
        c = await hub.node("c").start()
        there = fellowship(a).assembly
        await eventually(
            lambda: there.canvass.proposer and there.canvass.proposer.joiners, "a has been asked"
        )
        await crash(c)
        fellowship(b).assembly.hear = deliver  # type: ignore[method-assign]
        for said in held_back:
            deliver(*said)
        await eventually(lambda: not there.busy, "there is nothing to be changed any more")
        assert a.members == ["a", "b"]
        c = await hub.node("c").start()
        async with c.lock("x", timeout=20):
            pass
        await close(a, b, c)

    with log_lines():
        run(main())


def test_a_goodbye_says_how_far_was_counted_by_who_goes() -> None:
    """Nobody else has heard of these entries."""

    async def main() -> None:
        a, b, c = await Hub().start()
        for _ in range(9):
            async with c.lock("x", timeout=10) as hold:
                pass
        await c.close()
        async with a.lock("x", timeout=10) as later:
            assert later.fence > hold.fence
        await close(a, b)

    run(main())
