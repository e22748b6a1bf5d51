"""Figures of a running node for Prometheus, and spans for OpenTelemetry: `Metrics(node)`, `Spans(node)`.

Both need `pip install 'soloist[metrics]'`. A node's figures have a registry of their own, unless they are given one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from soloist.core import UsageError
from soloist.net.errors import AcquireTimeout
from soloist.net.link.security import Address, address
from soloist.net.lock import Hold
from soloist.net.node import Node
from soloist.net.telemetry.observer import Change, Observer, Wait
from soloist.net.telemetry.view_metrics import BUCKETS, ViewFigures, lease_figures

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer
    from prometheus_client.core import CollectorRegistry, Metric

log = logging.getLogger("soloist.net")

POLL_SECONDS = 0.05
"""Seconds until the server notices that it should end."""
REQUEST_SECONDS = 5.0
"""Seconds in which a client that connects has to ask."""


class Metrics(Observer):
    """The figures of one node. Lock names are no labels: there may be thousands of them."""

    def __init__(self, node: Node, registry: CollectorRegistry | None = None) -> None:
        try:
            import prometheus_client
        except ImportError:
            raise UsageError("metrics need prometheus-client: pip install 'soloist[metrics]'") from None
        self.node = node
        self.registry = registry = registry or prometheus_client.CollectorRegistry()
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
        self.views = ViewFigures(registry)
        self._fences: dict[str, int] = {}
        """The last fence that was seen here, by instance."""
        registry.register(_NodeFigures(node))
        node.observers.append(self)

    def on_enter(self, wait: Wait, hold: Hold) -> None:
        kind, key = wait.lock.kind, hold.key[0]
        self.waits.labels(kind).observe(wait.seconds)
        # Fences count entries, everywhere: if ours is not the next one, somebody else was in between.
        if hold.fence > self._fences.get(key, self.node.table.view.origin) + getattr(wait.lock, "permits", 1):
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
        kind = hold.key[0].partition(":")[0]
        self.held.labels(kind).observe(time.monotonic() - hold.since)
        if hold.lost.is_set():
            self.views.losses.labels(kind).inc()

    def on_view(self, change: Change) -> None:
        self.views.count(change)

    def on_store(self, seconds: float) -> None:
        self.views.syncs.observe(seconds)

    def text(self) -> bytes:
        """All figures, as Prometheus reads them."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)

    @contextlib.asynccontextmanager
    async def serving(self, where: Address | str | int) -> AsyncIterator[None]:
        """Answer scrapers meanwhile, in threads: at a port of this host, or at HOST:PORT."""
        if isinstance(where, int):
            where = f"127.0.0.1:{where}"
        where = address(where) if isinstance(where, str) else where
        try:
            server = await asyncio.to_thread(_Server, where, self.registry)  # it looks for names
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise UsageError(f"cannot serve metrics at {where}: {reason}") from None
        with server:
            serving = asyncio.create_task(asyncio.to_thread(server.serve_forever, POLL_SECONDS))
            try:
                yield
            finally:
                await asyncio.to_thread(server.shutdown)
                await serving


class _Server(ThreadingMixIn, WSGIServer):
    """The page of `prometheus_client`, by the server of the standard library; its own one waits for ever for requests."""

    daemon_threads = True

    def __init__(self, where: Address, registry: CollectorRegistry) -> None:
        from prometheus_client import make_wsgi_app

        self.address_family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
        super().__init__((where.host, where.port), _Handler)
        self.set_app(make_wsgi_app(registry))

    def handle_error(self, *_: object) -> None:
        """Whatever that was, it was no scraper."""


class _Handler(WSGIRequestHandler):
    timeout = REQUEST_SECONDS

    def log_message(self, *_: object) -> None:
        """Scrapers come every few seconds: nothing to tell."""


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
        yield Counter(
            "soloist_refused_joins",
            "Nodes that were refused at the handshake, each time.",
            value=getattr(transport, "refused", 0),
        )
        yield Gauge(
            "soloist_epoch", "Of the view that is in force here; 0 before the first.", value=node.epoch
        )
        yield from lease_figures(node)
        up = Gauge("soloist_peer_connected", "1 if the peer can be reached.", labels=["peer"])
        behind = Gauge("soloist_peer_backlog_bytes", "Bytes the peer has not acknowledged.", labels=["peer"])
        for peer in peers:
            up.add_metric([peer], peer in connected)
            behind.add_metric([peer], transport.backlog(peer))
        yield up
        yield behind


def recorded() -> bool:
    """Whether anybody would get spans: OpenTelemetry is installed, and a program like `opentelemetry-instrument` has set it up."""
    try:
        from opentelemetry import trace
    except ImportError:
        return False
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider)


class Spans(Observer):
    """Two spans for each caller: the wait, in the caller's own trace, and the hold after it.

    Whether anybody listens is for the SDK of OpenTelemetry to say, unless a tracer is given.
    """

    def __init__(self, node: Node, tracer: Tracer | None = None) -> None:
        if tracer is None:
            try:
                from opentelemetry import trace
            except ImportError:
                raise UsageError("spans need opentelemetry-api: pip install 'soloist[metrics]'") from None
            tracer = trace.get_tracer("soloist")
        self.tracer = tracer
        self.waits: dict[Wait, Span] = {}
        self.holds: dict[Hold, Span] = {}
        node.observers.append(self)

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
