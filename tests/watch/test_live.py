"""What the nodes of a cluster record becomes one trace, whatever their clocks say; and what cannot have been is found."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import Node
from soloist.net.telemetry.recording import TraceRecorder
from soloist.testing import crash, eventually, memory_nodes, started
from soloist.watch.live import Impossible, merge
from soloist.watch.validate import validate
from tests.net.helpers import run, under_way

ENTRIES = 4


async def visit(node: Node) -> None:
    for _ in range(ENTRIES):
        async with node.lock("x"):
            await asyncio.sleep(0)
        async with node.semaphore("s", 2):
            await asyncio.sleep(0)


def record(folder: Path, rests: bool = True, **options: Any) -> list[Path]:
    """Three nodes contend for a lock and a semaphore, and write down what they do."""

    async def scenario() -> None:
        nodes = memory_nodes("abc", locality=0, **options)
        recorders = [TraceRecorder(node.name, folder / f"{node.name}.jsonl") for node in nodes]
        for node, recorder in zip(nodes, recorders, strict=True):
            node.observers.append(recorder)
        async with started(nodes):
            await asyncio.gather(*map(visit, nodes))
            if rests:
                await eventually(lambda: not under_way(nodes), "what is under way arrives")
        for recorder in recorders:
            recorder.close()

    run(scenario())
    return sorted(folder.glob("*.jsonl"))


def rewrite(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    lines = [change(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("algorithm", "semaphore"),
    [("naimi-trehel", "bulgannawar-vaidya"), ("ricart-agrawala", "raymond-k"), ("raynal-inform", "makki")],
)
def test_the_files_become_one_trace(algorithm: str, semaphore: str, tmp_path: Path) -> None:
    rests = algorithm != "raynal-inform"
    files = record(tmp_path, rests, algorithm=algorithm, semaphore_algorithm=semaphore)
    for lock, permits in (("x", 1), ("s", 2)):
        trace = merge(files, lock)
        assert trace.head.lock == lock
        assert trace.head.origin == "live"
        assert (
            sum(step.enter for step in trace.steps) == sum(step.exit for step in trace.steps) == 3 * ENTRIES
        )
        assert {name.split(".")[0] for name in trace.head.sites} == {"a", "b", "c"}
        inside = 0
        for step in trace.steps:
            inside += step.enter - step.exit
            assert 0 <= inside <= permits
        times = [step.t for step in trace.steps]
        assert times == sorted(times)  # type: ignore[type-var]
        assert validate(trace) is None
        if rests:
            assert all(message.received is not None for message in trace.messages().values())
    fences = [int(step.fence) for step in merge(files, "x").steps if step.fence]
    assert fences == sorted(set(fences))
    assert len(fences) == 3 * ENTRIES


def test_clocks_that_do_not_agree_change_no_order(tmp_path: Path) -> None:
    files = record(tmp_path)
    before = merge(files, "x")

    def late(line: dict[str, Any]) -> dict[str, Any]:
        return {**line, "time": line["time"] - 3600} if "time" in line else line

    rewrite(files[1], late)
    after = merge(files, "x")
    own = [[(s.what, s.message is None) for s in t.steps if s.site == 1] for t in (before, after)]
    assert own[0] == own[1]
    for message in after.messages().values():
        assert message.received is None or message.sent < message.received
    assert validate(after) is None


def test_what_no_algorithm_would_do_is_found(tmp_path: Path) -> None:
    files = record(tmp_path, algorithm="naimi-trehel")
    text = files[0].read_text()
    lines = [line for line in text.splitlines(keepends=True) if "lock:x" in line]

    def told(kind: str, change: Callable[[str], str]) -> str:
        line = next(line for line in lines if f'"kind":"{kind}"' in line)
        files[0].write_text(text.replace(line, change(line), 1))
        with pytest.raises(Impossible) as caught:
            merge(files, "x")
        return str(caught.value)

    assert re.search(r"a\.jsonl:\d+: .* the algorithm sends .*enters$", told("enter", lambda line: ""))
    assert "which no file has as sent" in told("send", lambda line: "")
    assert "which is idle" in told("request", lambda line: line.replace('"request"', '"exit"'))
    assert re.search(r"a\.jsonl:\d+: .* sends Token to \d; the algorithm", told("send", lambda line: line.replace('"kind":"Request"', '"kind":"Token"')))  # fmt: skip


def test_files_that_are_missing_or_broken_get_one_clear_line(tmp_path: Path) -> None:
    files = record(tmp_path)
    with pytest.raises(UsageError, match="the trace of c is missing; give the files of all nodes"):
        merge(files[:2], "x")
    with pytest.raises(
        UsageError, match=r"the traces have no lock y in epoch any; they have s in epoch \d+, x in"
    ):
        merge(files, "y")
    with pytest.raises(UsageError, match="cannot read the trace"):
        merge([tmp_path / "none.jsonl"])
    text = files[0].read_text()
    files[0].write_text(text[:-9])  # the node was killed while it wrote
    merge(files, "x")
    files[0].write_text(text.replace('"kind":"request"', '"kind":"re', 1))
    with pytest.raises(UsageError, match=r"a\.jsonl:\d+ is no step of a trace"):
        merge(files, "x")
    files[0].write_text(text.replace('"version":2', '"version":3', 1))
    with pytest.raises(UsageError, match="a trace of version 3; this program reads 2"):
        merge(files, "x")


def test_without_a_recorder_a_port_is_a_plain_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        nodes = memory_nodes("ab")
        async with started(nodes):
            async with nodes[0].lock("x"):
                pass
            (instance,) = nodes[0].table.instances.values()
            assert type(instance.first).__name__ == "Port"

    run(scenario())


@pytest.mark.parametrize("algorithm", ["naimi-trehel", "token-ring", "lamport"])
def test_a_crash_ends_an_epoch_and_the_next_begins_with_holders_inside(
    algorithm: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        nodes = memory_nodes("abc", lease=600.0, algorithm=algorithm, locality=0)
        recorders = [TraceRecorder(node.name, tmp_path / f"{node.name}.jsonl") for node in nodes]
        for node, recorder in zip(nodes, recorders, strict=True):
            node.observers.append(recorder)
        async with started(nodes):
            a, b, c = nodes
            kept = await a.lock("x").acquire_or_raise(None)
            await b.lock("wanted").acquire_or_raise(None)
            waiting = asyncio.create_task(c.lock("wanted").acquire_or_raise(None))
            await eventually(lambda: any(each.waiting for each in c.instances.values()), "c waits")
            await crash(b, a, c)
            await (await waiting).release()
            after = asyncio.create_task(c.lock("x").acquire_or_raise(None))
            await asyncio.sleep(0)
            await kept.release()
            await (await after).release()
        for recorder in recorders:
            recorder.close()

    run(scenario())
    files = sorted(tmp_path.glob("*.jsonl"))
    epochs = sorted(
        {
            json.loads(line)["epoch"]
            for path in files
            for line in path.read_text().splitlines()
            if '"kind"' in line
        }
    )
    assert len(epochs) == 2
    before = merge(files, "wanted", epochs[0])
    (gone,) = [step for step in before.steps if step.what == "crash"]
    assert before.name(gone.site) == "b"
    assert before.steps[-1].text == "the epoch ends: crash"
    after = merge(files, "x", epochs[1])
    assert [after.name(step.site) for step in after.steps if step.exit] == ["a", "c"]
    assert [after.name(step.site) for step in after.steps if step.enter] == ["c"], (
        "a was inside from the start"
    )
    for trace in (before, after):
        assert validate(trace) is None
