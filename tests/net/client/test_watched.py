"""What a node's observers are told of its clients' requests: the same as of its own callers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from soloist.net import AcquireTimeout, LockError, connect
from soloist.net.service.control import ControlServer
from soloist.net.telemetry import metrics
from soloist.net.telemetry.observer import Observer, Wait
from soloist.testing import eventually, memory_cluster
from tests.net.helpers import assert_at_rest, log_lines, run


class Diary(Observer):
    def __init__(self) -> None:
        self.seen: list[tuple[str, ...]] = []

    def on_request(self, wait: Wait) -> None:
        self.seen.append(("asks", wait.lock.name))

    def on_enter(self, wait: Wait, hold: Any) -> None:
        assert hold.valid
        self.seen.append(("enters", wait.lock.name))

    def on_give_up(self, wait: Wait, error: BaseException) -> None:
        self.seen.append(("gives up", wait.lock.name, type(error).__name__))

    def on_exit(self, hold: Any) -> None:
        self.seen.append(("leaves", hold.name))


def test_observers_see_how_each_request_begins_and_ends(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with memory_cluster("ab") as (node, _):
            diary = Diary()
            node.observers.append(diary)
            server = ControlServer(node, "t", {})
            await server.start(tmp_path / "s")
            url = f"unix:{tmp_path}/s"

            def seen() -> list[tuple[str, ...]]:
                found, diary.seen = diary.seen, []
                return found

            async with connect(url) as one, connect(url) as other:
                async with one.lock("x"):
                    assert seen() == [("asks", "x"), ("enters", "x")]
                    with pytest.raises(AcquireTimeout):
                        await other.lock("x").acquire_or_raise(0.01)
                    assert seen() == [("asks", "x"), ("gives up", "x", "AcquireTimeout")]
                    waiting = asyncio.create_task(other.lock("x").acquire())
                    await eventually(lambda: diary.seen)
                    waiting.cancel()
                    await eventually(lambda: len(diary.seen) > 1)
                    assert seen() == [("asks", "x"), ("gives up", "x", "CancelledError")]
                await eventually(lambda: diary.seen)
                assert seen() == [("leaves", "x")]
                async with one.lock("x"):
                    waiting = asyncio.create_task(other.lock("x").acquire())
                    await eventually(lambda: node.instances["lock:x"].waiting)
                    node.board.break_off("lock:x", "for a test")
                    with pytest.raises(LockError, match="for a test"):
                        await waiting
                    assert seen()[2:] == [("asks", "x"), ("gives up", "x", "LockError")]
                with pytest.raises(LockError, match="for a test"):
                    await one.lock("x").acquire()
                assert seen()[-2:] == [("asks", "x"), ("gives up", "x", "LockError")]
            await server.close()

    run(scenario())


class Clumsy(Observer):
    def on_enter(self, wait: Wait, hold: Any) -> None:
        raise ZeroDivisionError


def test_an_observer_that_raises_keeps_no_lock_from_clients(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with memory_cluster("a") as (node,):
            server = ControlServer(node, "t", {})
            await server.start(tmp_path / "s")
            async with connect(f"unix:{tmp_path}/s") as one, connect(f"unix:{tmp_path}/s") as other:
                first = await one.lock("x").acquire_or_raise(None)
                node.observers.append(Clumsy())
                waiting = asyncio.create_task(other.lock("x").acquire_or_raise(10))
                await eventually(lambda: node.instances["lock:x"].waiting)
                await first.release()
                second = await waiting
                assert second.fence > first.fence
                await second.release()
                await eventually(lambda: not node.holds)
            await server.close()
            assert_at_rest([node])

    with log_lines() as lines:
        run(scenario())
    assert "a: an observer failed in on_enter" in lines


def test_whoever_is_watched_needs_no_task_either(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with memory_cluster("a") as (node,):
            node.observers.append(Diary())
            server = ControlServer(node, "t", {})
            await server.start(tmp_path / "s")
            async with connect(f"unix:{tmp_path}/s") as client:
                async with client.lock("x"):
                    waiting = asyncio.create_task(client.lock("x").acquire())
                    await eventually(lambda: node.instances["lock:x"].waiting)
                    (session,) = server.sessions.values()
                    assert session.requests.waiting
                    assert not session.requests.tasks
                hold = await waiting
                assert hold
                await hold.release()
            await server.close()
            assert_at_rest([node])

    run(scenario())


def test_spans_are_made_where_somebody_records_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider, recorded in (
        (trace.ProxyTracerProvider(), False),
        (trace.NoOpTracerProvider(), False),
        (TracerProvider(), True),
    ):
        monkeypatch.setattr(trace, "get_tracer_provider", lambda provider=provider: provider)
        assert metrics.recorded() is recorded
