"""What can be seen of a running node: metrics, spans, traces and logs; and that it costs nothing if nobody looks."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter, defaultdict
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from soloist.core import Port, UsageError
from soloist.net import AcquireTimeout, Node
from soloist.net import node as node_module
from soloist.net.link.security import Address
from soloist.net.service.logs import JsonLines
from soloist.net.telemetry import metrics as metrics_module
from soloist.net.telemetry.metrics import Metrics, Spans
from soloist.net.telemetry.observer import Observer, Wait
from soloist.net.telemetry.recording import TraceRecorder
from soloist.testing import eventually, memory_cluster, memory_nodes, ports, started
from tests.net.helpers import log_lines, run, split, under_way


def figures(text: bytes) -> dict[str, float]:
    """Name and labels -> value."""
    return {
        sample.name + "".join(f"[{value}]" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_metrics_count_what_happened() -> None:
    async def scenario() -> list[dict[str, float]]:
        nodes = memory_nodes("ab")
        metrics = [Metrics(node) for node in nodes]
        async with started(nodes) as (a, b):
            for node in (a, a, b, a):
                async with node.lock("x"):
                    pass
            async with a.semaphore("s", 2, permits=2):
                pass
            async with a.semaphore("s", 2), b.lock("x"):
                with pytest.raises(AcquireTimeout):
                    async with a.lock("x", timeout=0):
                        pass
                waiting = asyncio.create_task(a.lock("x").acquire())
                await eventually(lambda: figures(metrics[0].text())["soloist_queue_length"] == 1)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
                held = figures(metrics[0].text())["soloist_held"]
            assert held == 1

            def nothing_under_way() -> bool:
                a, b = (figures(each.text()) for each in metrics)
                sent, received = "soloist_messages_sent_total", "soloist_messages_received_total"
                return a[sent] == b[received] and b[sent] == a[received]

            await eventually(nothing_under_way)
            return [figures(each.text()) for each in metrics]

    a, b = run(scenario())
    assert a["soloist_wait_seconds_count[lock]"] == 3
    assert a["soloist_hold_seconds_count[lock]"] == 3
    assert a["soloist_wait_seconds_count[permits]"] == 1  # whoever takes several is alone at it
    assert a["soloist_wait_seconds_count[semaphore]"] == a["soloist_hold_seconds_count[semaphore]"] == 2
    assert a["soloist_entries_total"] == 6
    assert a["soloist_handoffs_total[lock]"] == 1  # a, a, then b, then a
    assert "soloist_handoffs_total[semaphore]" not in a
    assert b["soloist_handoffs_total[lock]"] == 2
    assert a["soloist_given_up_total[lock][timeout]"] == 1
    assert a["soloist_given_up_total[lock][cancelled]"] == 1
    assert a["soloist_queue_length"] == a["soloist_held"] == 0
    assert a["soloist_peer_connected[b]"] == 1
    assert a["soloist_messages_sent_total"] == b["soloist_messages_received_total"] > 0
    assert b["soloist_messages_sent_total"] == a["soloist_messages_received_total"] > 0
    assert a["soloist_reconnects_total"] == 0


def test_each_node_has_its_own_registry() -> None:
    nodes = memory_nodes("ab")
    first, second = Metrics(nodes[0]), Metrics(nodes[1])
    first.waits.labels("lock").observe(1)
    assert "soloist_wait_seconds_count[lock]" in figures(first.text())
    assert "soloist_wait_seconds_count[lock]" not in figures(second.text())


async def ask(where: Address, request: bytes) -> tuple[bytes, bytes]:
    """Status line and body."""
    reader, writer = await asyncio.open_connection(where.host, where.port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0], body


def test_metrics_over_http(tmp_path: Path) -> None:
    async def scenario(where: Address) -> None:
        node = memory_nodes("a")[0]
        async with node, Metrics(node).serving(where), node.lock("x"):
            status, body = await ask(where, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            assert status.endswith(b" 200 OK")
            assert figures(body)["soloist_entries_total"] == 1
            negotiated = await ask(where, b"GET / HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n")
            assert negotiated[1].endswith(b"# EOF\n")
            assert (await ask(where, b"POST / HTTP/1.1\r\n\r\n"))[0].endswith(b" 405 Method Not Allowed")
            await ask(where, b"\r\n\r\n")
            await ask(where, b"x" * 100_000)
            assert (await ask(where, b"GET /metrics HTTP/1.1\r\n\r\n"))[0].endswith(b" 200 OK")
            with pytest.raises(UsageError, match=r"cannot serve metrics at .*: Address already in use"):
                async with Metrics(node).serving(where):
                    pass

    with ports("metrics") as addresses:
        run(scenario(Address(*split(addresses, "metrics"))))


def test_whoever_connects_to_the_metrics_and_says_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_module._Handler, "timeout", 0.05)

    async def scenario(where: Address) -> None:
        node = memory_nodes("a")[0]
        async with node, Metrics(node).serving(str(where)):
            reader, writer = await asyncio.open_connection(where.host, where.port)
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()

    with ports("metrics") as addresses:
        run(scenario(Address(*split(addresses, "metrics"))))


def test_a_program_that_has_metrics_can_add_those_of_its_node() -> None:
    registry = CollectorRegistry()
    Gauge("own", "A figure of the program.", registry=registry).set(7)
    Metrics(memory_nodes("a")[0], registry)
    found = figures(generate_latest(registry))
    assert (found["own"], found["soloist_entries_total"]) == (7, 0)


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(UsageError, match=r"pip install 'soloist\[metrics\]'"):
        Metrics(memory_nodes("a")[0])


def test_spans_of_waits_and_holds() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")

    fences = []

    async def scenario() -> None:
        nodes = memory_nodes("ab")
        Spans(nodes[0], tracer)
        async with started(nodes) as (a, b):
            with tracer.start_as_current_span("caller"):
                async with a.lock("x", note="why"):
                    pass
            async with b.lock("x"):
                with pytest.raises(AcquireTimeout):
                    async with a.lock("x", timeout=0):
                        pass
            hold = await a.lock("y").acquire()  # and is lost when the node closes
            assert hold
            fences.append(hold.fence)

    run(scenario())
    provider.shutdown()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert len(exporter.get_finished_spans()) == 6
    facts = {"soloist.lock": "y", "soloist.kind": "lock", "soloist.node": "a", "soloist.fence": fences[0]}
    assert spans["acquire y"].attributes == facts
    assert spans["hold y"].attributes == {**facts, "soloist.lost": True}
    assert spans["hold x"].attributes["soloist.note"] == "why"
    assert spans["hold x"].attributes["soloist.lost"] is False
    assert spans["acquire x"].attributes["soloist.given_up"] == "AcquireTimeout"
    parent = spans["caller"].context.span_id
    assert spans["hold x"].parent.span_id == parent
    assert any(span.parent and span.parent.span_id == parent for span in exporter.get_finished_spans())


def test_spans_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    node = memory_nodes("a")[0]
    assert node.observers == []
    spans = Spans(node)
    assert node.observers == [spans]
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UsageError, match=r"pip install 'soloist\[metrics\]'"):
        Spans(node)


@pytest.mark.parametrize("algorithm", ["naimi-trehel", "ricart-agrawala"])
def test_the_traces_of_all_nodes_are_one_trace(algorithm: str, tmp_path: Path) -> None:
    entries = 20

    async def visit(node: Node) -> None:
        for _ in range(entries):
            async with node.lock("x"):
                await asyncio.sleep(0)
            async with node.semaphore("s", 2):
                await asyncio.sleep(0)

    async def scenario() -> None:
        nodes = memory_nodes("abc", algorithm=algorithm, locality=0)
        recorders = [TraceRecorder(node.name, tmp_path / f"{node.name}.jsonl") for node in nodes]
        for node, recorder in zip(nodes, recorders, strict=True):
            node.observers.append(recorder)
        async with started(nodes):
            await asyncio.gather(*(visit(node) for node in nodes))
            await eventually(lambda: not under_way(nodes), "what is under way arrives")
            messages = sum(node.stats.messages_sent for node in nodes)
        for recorder in recorders:
            recorder.close()
        lines = [json.loads(line) for r in recorders for line in Path(r.file.name).read_text().splitlines()]
        steps = [line for line in lines if "soloist" not in line]
        check_trace(sorted(steps, key=lambda step: step["time"]), entries, messages)

    run(scenario())


def check_trace(steps: list[dict[str, object]], entries: int, messages: int) -> None:
    assert {step["kind"] for step in steps} == {"request", "send", "deliver", "enter", "exit"}
    assert {step["node"] for step in steps} == {"a", "b", "c"}
    hosts = defaultdict(set)
    inside: Counter[object] = Counter()
    links: dict[tuple[object, ...], list[object]] = defaultdict(list)
    for step in steps:
        lock, site, kind = step["lock"], step["site"], step["kind"]
        hosts[lock, site].add(step["node"])
        if kind in ("send", "deliver"):
            ends = (site, step["peer"]) if kind == "send" else (step["peer"], site)
            links[(kind, lock, *ends)].append(step["message"])
        inside[lock] += (kind == "enter") - (kind == "exit")
        assert 0 <= inside[lock] <= (1 if lock == "lock:x" else 2)
    assert all(len(nodes) == 1 for nodes in hosts.values())
    counts = Counter((step["lock"], step["kind"]) for step in steps)
    for lock in ("lock:x", "semaphore:s"):
        assert counts[lock, "request"] == counts[lock, "enter"] == counts[lock, "exit"] == 3 * entries
    sent = {key[1:]: said for key, said in links.items() if key[0] == "send"}
    assert sent == {key[1:]: said for key, said in links.items() if key[0] == "deliver"}
    across = sum(
        len(said)
        for (lock, sender, to), said in sent.items()
        if hosts[lock, sender] != hosts[lock, to]
    )  # fmt: skip
    assert across == messages


def test_a_trace_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write the trace to"):
        TraceRecorder("a", tmp_path / "no" / "file")


class Diary(Observer):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_request(self, wait: Wait) -> None:
        self.lines.append(f"request {wait.lock.name}")

    def on_enter(self, wait: Wait, hold: object) -> None:
        assert wait.seconds >= 0
        self.lines.append(f"enter {wait.lock.name}")

    def on_give_up(self, wait: Wait, error: BaseException) -> None:
        self.lines.append(f"{type(error).__name__} {wait.lock.name}")

    def on_exit(self, hold: object) -> None:
        self.lines.append("exit")


def test_observers_see_each_hold_begin_and_end_once() -> None:
    async def scenario() -> list[str]:
        async with AsyncExitStack() as stack:
            (node,) = await stack.enter_async_context(memory_cluster("a"))
            diary = Diary()
            node.observers.append(diary)
            async with node.rlock("x") as hold, node.rlock("x"):
                pass
            await hold.release()
            async with node.lock("x"):
                task = asyncio.create_task(node.lock("x", timeout=0.01).acquire())
                assert await task is None
            await node.lock("y").acquire()
            assert not any(
                type(port) is not Port for i in node.instances.values() for port in i.ports.values()
            )
        return diary.lines

    x = ["request x", "enter x", "exit"]
    y = ["request x", "enter x", "request x", "AcquireTimeout x", "exit"]
    assert run(scenario()) == [*x, *y, "request y", "enter y", "exit"]


def test_json_logs_have_fields() -> None:
    record = logging.makeLogRecord(
        {"name": "soloist.net", "levelname": "WARNING", "msg": "%s: hm", "args": ("a",), "created": 1.5}
    )
    record.lock = Path("orders")  # whatever a caller gives as extra
    line = json.loads(JsonLines({"node": "a"}).format(record))
    assert line == {
        "time": "1970-01-01T00:00:01.500Z",
        "level": "warning",
        "logger": "soloist.net",
        "node": "a",
        "message": "a: hm",
        "lock": "orders",
    }


def test_a_node_that_waits_for_absent_peers_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_module, "REMIND_SECONDS", 0.02)

    async def scenario(peers: dict[str, str], lines: list[str]) -> None:
        async with Node("a", peers) as node:
            said = "a: nobody is let in yet; the cluster has not begun: not seen yet: b, c"
            await eventually(lambda: said in lines, "it is said")
            assert await node.lock("x").acquire(timeout=0.2) is None
            assert len([line for line in lines if "nobody is let in" in line]) == 1

    with ports("a", "b", "c") as peers, log_lines() as lines:
        run(scenario(peers, lines))


def test_an_observer_that_raises_keeps_no_lock() -> None:
    class Clumsy(Observer):
        def on_enter(self, wait: Wait, hold: object) -> None:
            raise RuntimeError("oops")

    async def scenario() -> None:
        async with memory_cluster("ab") as (a, b):
            a.observers.append(Clumsy())
            with pytest.raises(RuntimeError, match="oops"):
                await a.lock("x").acquire()
            async with b.lock("x", timeout=5):
                pass

    run(scenario())
