"""Figures about views: why they changed, how long that took, and how much of the lease is left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from soloist.net.node import Node
from soloist.net.telemetry.observer import Change

if TYPE_CHECKING:
    from prometheus_client.core import CollectorRegistry, Metric

BUCKETS = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Seconds: from a token that is here to a nightly job."""


class ViewFigures:
    """What is counted when it happens."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Histogram

        self.losses = Counter(
            "soloist_losses", "Holds that ended without being released.", ["kind"], registry=registry
        )
        self.changes = Counter(
            "soloist_view_changes", "Views that began here, for each reason.", ["reason"], registry=registry
        )
        self.recoveries = Histogram(
            "soloist_recovery_seconds",
            "Time from the first reason for a view that was seen here until it began.",
            buckets=BUCKETS,
            registry=registry,
        )
        self.pauses = Histogram(
            "soloist_pause_seconds",
            "Time for which nobody was let in here before a view began.",
            buckets=BUCKETS,
            registry=registry,
        )
        self.syncs = Histogram(
            "soloist_fsync_seconds", "Time to store a vote, synced.", buckets=BUCKETS, registry=registry
        )

    def count(self, change: Change) -> None:
        for reason in change.reasons:
            self.changes.labels(reason).inc()
        if change.recovery is not None:
            self.recoveries.observe(change.recovery)
        if change.pause is not None:
            self.pauses.observe(change.pause)


def lease_figures(node: Node) -> Iterable[Metric]:
    """What is read when somebody asks. Nothing where there is no lease: a zero would be an alarm."""
    from prometheus_client.core import GaugeMetricFamily as Gauge

    left, voters = node.beginning.lease_left(), node.beginning.voters()
    if left is not None:
        yield Gauge("soloist_lease_margin_seconds", "What is left of the lease.", value=left)
        yield Gauge("soloist_voters", "Who votes on who is a member.", value=len(voters))
        yield Gauge("soloist_voters_heard", "Those of them that are heard here.", value=sum(voters.values()))
