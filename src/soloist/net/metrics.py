"""Figures of a running node for Prometheus, and spans for OpenTelemetry.

Both are optional: `pip install 'soloist[metrics]'` for the first; the second comes to life if `opentelemetry-api` is
installed. Each node has a registry of its own, and serves it from its own loop: no threads, nothing global.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from soloist.core import UsageError
from soloist.net.errors import AcquireTimeout
from soloist.net.lock import Hold
from soloist.net.node import Node
from soloist.net.observer import Observer, Wait
from soloist.net.security import Address

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer
    from prometheus_client.core import Metric

log = logging.getLogger("soloist.net")

BUCKETS = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Seconds: from a token that is here to a nightly job."""
REQUEST_SECONDS = 5.0


class Metrics(Observer):
    """The figures of one node. Lock names are no labels: there may be thousands of them."""

    def __init__(self, node: Node) -> None:
        try:
            import prometheus_client
        except ImportError:
            raise UsageError("metrics need prometheus-client: pip install 'soloist[metrics]'") from None
        self.node = node
        self.registry = registry = prometheus_client.CollectorRegistry()
        self._encode = prometheus_client.generate_latest
        self.content_type = prometheus_client.CONTENT_TYPE_LATEST
        self.waits = prometheus_client.Histogram(
            "soloist_wait_seconds",
            "Time from asking to entering.",
            ["kind"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.held = prometheus_client.Histogram(
            "soloist_hold_seconds",
            "Time from entering to leaving.",
            ["kind"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.given_up = prometheus_client.Counter(
            "soloist_given_up", "Requests that ended without an entry.", ["kind", "reason"], registry=registry
        )
        self.handoffs = prometheus_client.Counter(
            "soloist_handoffs", "Entries that followed an entry at another node.", ["kind"], registry=registry
        )
        self._fences: dict[str, int] = {}
        """The last fence that was seen here, by instance."""
        registry.register(_NodeFigures(node))
        node.observers.append(self)

    def on_enter(self, wait: Wait, hold: Hold) -> None:
        kind, key = wait.lock.kind, hold.key[0]
        self.waits.labels(kind).observe(wait.seconds)
        # Fences count entries, everywhere: if ours is not the next one, somebody else was in between.
        if hold.fence > self._fences.get(key, self.node.origin) + getattr(wait.lock, "permits", 1):
            self.handoffs.labels(kind).inc()
        self._fences[key] = hold.fence

    def on_give_up(self, wait: Wait, error: BaseException) -> None:
        match error:
            case AcquireTimeout():
                reason = "timeout"
            case asyncio.CancelledError():
                reason = "cancelled"
            case _:
                reason = "error"
        self.given_up.labels(wait.lock.kind, reason).inc()

    def on_exit(self, hold: Hold) -> None:
        self.held.labels(hold.key[0].partition(":")[0]).observe(time.monotonic() - hold.since)

    def text(self) -> bytes:
        """All figures, as Prometheus reads them."""
        return self._encode(self.registry)

    @contextlib.asynccontextmanager
    async def serving(self, where: Address) -> AsyncIterator[None]:
        """Answer `GET /metrics` at that address meanwhile."""
        try:
            server = await asyncio.start_server(self._answer, where.host, where.port)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise UsageError(f"cannot serve metrics at {where}: {reason}") from None
        try:
            yield
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one answer, and the end: all that a scraper needs."""
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                request = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)
                writer.write(self._response(request[0], request[1].partition(b"?")[0]))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError):
            pass  # whatever that was, it was no scraper
        finally:
            writer.close()

    def _response(self, method: bytes, path: bytes) -> bytes:
        if method not in (b"GET", b"HEAD"):
            status, kind, body = "405 Method Not Allowed", "text/plain", b"GET only\n"
        elif path not in (b"/", b"/metrics"):
            status, kind, body = "404 Not Found", "text/plain", b"see /metrics\n"
        else:
            status, kind, body = "200 OK", self.content_type, self.text()
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        return head.encode() + (b"" if method == b"HEAD" else body)


class _NodeFigures:
    """What the node counts anyway, read when somebody asks."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def collect(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily as Counter
        from prometheus_client.core import GaugeMetricFamily as Gauge

        node, transport, stats = self.node, self.node.transport, self.node.stats
        instances = list(node.instances.values())
        peers = [peer for peer in node.members if peer != node.name]
        connected = transport.connected()
        yield Counter("soloist_entries", "Entries here.", value=stats.entries)
        yield Counter("soloist_messages_sent", "Messages to peers.", value=stats.messages_sent)
        yield Counter("soloist_messages_received", "Messages from peers.", value=stats.messages_received)
        yield Counter("soloist_batches_sent", "Batches that carried them.", value=stats.batches_sent)
        yield Counter(
            "soloist_reconnects", "Connections made again.", value=getattr(transport, "reconnects", 0)
        )
        yield Gauge(
            "soloist_queue_length", "Callers that wait here.", value=sum(i.waiting for i in instances)
        )
        yield Gauge("soloist_held", "Permits held here.", value=sum(len(i.inside) for i in instances))
        yield Gauge("soloist_locks", "Names that this node has met.", value=len(instances) + len(node.asleep))
        up = Gauge("soloist_peer_connected", "1 if the peer can be reached.", labels=["peer"])
        behind = Gauge("soloist_peer_backlog_bytes", "Bytes the peer has not acknowledged.", labels=["peer"])
        for peer in peers:
            up.add_metric([peer], peer in connected)
            behind.add_metric([peer], transport.backlog(peer))
        yield up
        yield behind


class Spans(Observer):
    """Two spans for each caller: the wait, in the caller's own trace, and the hold after it."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.waits: dict[Wait, Span] = {}
        self.holds: dict[Hold, Span] = {}

    @classmethod
    def if_installed(cls) -> list[Observer]:
        """One, if the API is here; whether anybody listens is for its SDK to say."""
        try:
            from opentelemetry import trace
        except ImportError:
            return []
        return [cls(trace.get_tracer("soloist"))]

    def on_request(self, wait: Wait) -> None:
        facts = {
            "soloist.lock": wait.lock.name,
            "soloist.kind": wait.lock.kind,
            "soloist.node": wait.lock.node.name,
        }
        self.waits[wait] = self.tracer.start_span(f"acquire {wait.lock.name}", attributes=facts)

    def on_enter(self, wait: Wait, hold: Hold) -> None:
        self._finish(wait, {"soloist.fence": hold.fence})
        facts: dict[str, Any] = {
            "soloist.lock": hold.name,
            "soloist.kind": wait.lock.kind,
            "soloist.node": wait.lock.node.name,
            "soloist.fence": hold.fence,
        }
        if hold.note:
            facts["soloist.note"] = hold.note
        self.holds[hold] = self.tracer.start_span(f"hold {hold.name}", attributes=facts)

    def on_give_up(self, wait: Wait, error: BaseException) -> None:
        self._finish(wait, {"soloist.given_up": type(error).__name__})

    def on_exit(self, hold: Hold) -> None:
        if span := self.holds.pop(hold, None):
            span.set_attribute("soloist.lost", hold.lost.is_set())
            span.end()

    def _finish(self, wait: Wait, facts: dict[str, Any]) -> None:
        span = self.waits.pop(wait)
        span.set_attributes(facts)
        span.end()
