"""Callers are woken within the callback that brings the news: whatever they do there, nobody else suffers."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from msgspec import Raw

from soloist.algorithms.naimi_trehel import Request
from soloist.core import UsageError
from soloist.net import LockError, MemoryHub, Node
from soloist.net.engine.layout import Layout
from soloist.net.engine.switchboard import WAKE
from soloist.net.link.wire import Batch, Envelope, Question, decode_batch, encode
from soloist.testing import eventually, memory_cluster, tcp_cluster
from tests.net.helpers import LOOPS, Loop, asked, log_lines, run


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("leaving", [SystemExit, KeyboardInterrupt])
def test_a_body_may_leave_the_program(leaving: type[BaseException], loop: Loop) -> None:
    async def main() -> None:
        async with tcp_cluster("ab", shortcut=True) as (a, b):
            held = await a.lock("x").acquire()
            assert held

            async def body() -> None:
                async with b.lock("x"):
                    raise leaving(3)

            task = asyncio.create_task(body())
            await asked(b, among=(a, b))
            await held.release()
            await task

    with pytest.raises(leaving):
        run(main(), loop=loop)


def test_what_a_body_raises_is_its_own_affair() -> None:
    async def main() -> None:
        async with memory_cluster("abc") as (a, b, c):

            async def body(node: Node) -> None:
                async with node.lock("x"):
                    raise ZeroDivisionError

            held = await a.lock("x").acquire()
            assert held
            tasks = [asyncio.create_task(body(node)) for node in (b, c)]
            for node in (b, c):
                await asked(node, among=(a, b, c))
            await held.release()
            for task in tasks:
                with pytest.raises(ZeroDivisionError):
                    await task
            async with a.lock("x", timeout=5):
                pass

    run(main())


def test_a_body_may_close_its_node() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            held = await a.lock("x").acquire()
            assert held

            async def body() -> None:
                hold = await b.lock("x").acquire()
                assert hold
                await hold.release()
                await b.close()

            task = asyncio.create_task(body())
            await asked(b, among=(a, b))
            await held.release()
            await task

    run(main())


def test_a_body_may_take_and_give_other_locks_at_once() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, b):

            async def both(node: Node, first: str, second: str) -> None:
                for _ in range(50):
                    async with node.lock(first):
                        pass
                    async with node.lock(second):
                        pass

            await asyncio.gather(*(both(node, *names) for node in (a, b) for names in ("xy", "yx")))

    run(main())


def test_one_who_waits_in_another_loop_gets_an_error_and_harms_nobody() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            held = await a.lock("x").acquire()
            other = await a.lock("y").acquire()
            assert held
            assert other
            errors: list[BaseException] = []

            def in_a_thread() -> None:
                try:
                    asyncio.run(b.lock("x").acquire())  # type: ignore[arg-type]
                except UsageError as error:
                    errors.append(error)

            thread = threading.Thread(target=in_a_thread)
            thread.start()
            await asyncio.to_thread(thread.join)
            assert "another event loop" in str(errors)
            waiting = asyncio.create_task(b.lock("y").acquire(timeout=5))
            await asked(b, "lock:y", among=(a, b))
            await held.release()
            await other.release()
            taken = await waiting
            assert taken
            await taken.release()
            async with b.lock("x", timeout=5):
                pass

    run(main())


def test_a_coroutine_thrown_away_while_it_waits_leaves_nothing() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            held = await a.lock("x").acquire()
            assert held
            waiting: Any = b.lock("x").acquire()
            waiting.send(None)
            waiting.close()
            assert b.instances["lock:x"].waiting == 0
            await held.release()
            async with b.lock("x", timeout=5):
                pass

    run(main())


def test_a_failure_on_the_way_keeps_nobody_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with memory_cluster("ab", algorithm="lamport") as (a, b):
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
            held = await a.lock("x").acquire()
            assert held
            waiting = asyncio.create_task(b.lock("x").acquire())
            await asked(b, among=(a, b))

            def fails() -> None:
                raise RuntimeError

            monkeypatch.setattr(b.outgoing, "send_all", fails)
            b.outgoing.notices["a"] = [
                Question(1, "x")
            ]  # so that there is something to send when the lock comes
            await held.release()
            taken = await asyncio.wait_for(waiting, 5)
            monkeypatch.undo()
            assert taken
            await taken.release()

    run(main())


def test_what_a_peer_makes_us_say_that_cannot_be_said_harms_no_other_lock() -> None:
    async def main() -> None:
        async with memory_cluster("ab", algorithm="lamport") as (a, b):
            for name in "xy":
                async with a.lock(name):
                    pass
            a.instances["lock:x"].first.process.C = 2**64 - 1  # type: ignore[attr-defined]
            a.outgoing.eager = 0
            asking = asyncio.create_task(a.lock("x").acquire())
            again = asyncio.create_task(a.lock("y").acquire())  # in the same turn, so in the same batch
            hold = await asyncio.wait_for(again, 5)
            assert hold
            await hold.release()
            async with b.lock("y", timeout=5):
                pass
            with pytest.raises(LockError, match="'x' is broken: a cannot write a message to b") as broken:
                await asyncio.wait_for(asking, 5)
            assert broken.value.name == "x"

    run(main())


@pytest.mark.parametrize("site", [-1, 3, 2**40])
def test_a_peer_that_speaks_of_a_site_that_is_nowhere_harms_no_other_lock(site: int) -> None:
    """Whoever holds the token passes it on to that site, in the turn in which it passes on others as well."""

    async def main() -> None:
        async with memory_cluster("abc", algorithm="naimi-trehel") as (a, b, _):
            names = (f"x{number}" for number in range(100))
            bad = next(name for name in names if Layout.of(f"lock:{name}", 3, 0, 1).hosts == (1, 2, 0))
            held = [await a.lock(name).acquire() for name in (bad, "y", "z")]
            waiting = [asyncio.create_task(b.lock(name).acquire()) for name in "yz"]
            await eventually(
                lambda: all(a.instances[f"lock:{name}"].first.process.next is not None for name in "yz")
            )  # type: ignore[attr-defined]
            request = Envelope(f"lock:{bad}", 1, a.epoch, 0, sender=0, to=2, body=Raw(encode(Request(site))))
            asyncio.get_running_loop().call_soon(a.board.receive, "b", [Batch(1, 0, [request], [])])
            await asyncio.sleep(0)
            a.outgoing.eager = 0  # so that all that is said in this turn leaves together
            with log_lines() as lines:
                for hold in held:
                    assert hold
                    await hold.release()  # the holder is not to blame
                for each in waiting:
                    hold = await asyncio.wait_for(each, 5)
                    assert hold
                    await hold.release()
            assert [line for line in lines if f"spoke of site {site}" in line]
            with pytest.raises(LockError, match="is broken") as broken:
                await a.lock(bad).acquire()
            assert broken.value.name == bad

    run(main())


def test_a_peer_that_speaks_for_a_site_that_is_nowhere_is_not_heard_and_the_rest_of_its_batch_is() -> None:
    """Counted from the end, site -1 would be that of the last node."""

    async def main() -> None:
        async with memory_cluster("abc", algorithm="naimi-trehel") as (a, *_):
            name = next(x for x in map(str, range(100)) if Layout.of(f"lock:{x}", 3, 0, 1).hosts == (0, 1, 2))
            async with a.lock(name):
                pass  # the cluster has begun
            before = a.instances[f"lock:{name}"].counter
            bad = Envelope(
                f"lock:{name}", 1, a.epoch, before + 7, sender=-1, to=0, body=Raw(encode(Request(2)))
            )
            good = Envelope("lock:another", 1, a.epoch, 0, 0, 0, Raw(WAKE))
            with log_lines() as lines:
                a.board.receive("c", [Batch(1, 0, [bad, good], [])])
            assert "site -1 is nowhere" in lines[0]
            assert a.instances[f"lock:{name}"].counter == before
            assert "lock:another" in a.instances

    run(main())


def test_clusters_that_share_a_hub_do_not_ask_each_other() -> None:
    async def main() -> None:
        hub = MemoryHub()
        one = {"a": "", "b": ""}
        other = {"c": "", "d": ""}
        nodes = [Node(n, peers, transport=hub.transport(n)) for peers in (one, other) for n in peers]
        for node in nodes:
            await node.start()
        assert (await nodes[0].inspect("x")).unreachable == []
        for node in nodes:
            await node.close()

    run(main())


def test_a_failure_on_the_way_keeps_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that is to be passed on is passed on, though what the peer said besides could not be dealt with."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: None)
        async with memory_cluster("ab", algorithm="naimi-trehel") as nodes:
            await eventually(lambda: all(node.beginning.open for node in nodes))
            ours = [node.board._instance("lock:x", 1).first.process for node in nodes]
            (here, holder), (there, asker) = sorted(
                zip(nodes, ours, strict=True),
                key=lambda pair: not pair[1].token,  # type: ignore[attr-defined]
            )
            waiting = asyncio.create_task(there.lock("x").acquire())
            there.outgoing.eager = 0
            await asyncio.sleep(0)
            [(_, envelope)] = there.outgoing.sends
            there.outgoing.sends.clear()
            [sealed] = [decode_batch(encode(Batch(1, 0, [envelope], [Question(1, "x")])))]
            monkeypatch.setattr(here.board, "_heard", lambda peer, said: 1 / 0)
            loop.call_soon(here.board.receive, there.name, [sealed])
            hold = await asyncio.wait_for(waiting, 5)
            assert hold
            await hold.release()
            assert (holder.me, asker.me) == (0, 1)

    run(main())
