"""How arguments become the situation of an experiment."""

from __future__ import annotations

from soloist.algorithms import Card
from soloist.core import UsageError
from soloist.durations import duration
from soloist.sim import Listed, Saturated, Thinking, listed
from soloist.sim.links import Network, delay


def workload(rate: float | None, saturate: bool, requests: str | None) -> Thinking | Saturated | Listed:
    """Exactly one of the three, or the default rate."""
    given = [
        name
        for name, value in (("--rate", rate), ("--saturate", saturate), ("--requests", requests))
        if value not in (None, False)
    ]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other; give one of them")
    if saturate:
        return Saturated()
    if requests is not None:
        return listed(requests)
    return Thinking(1.0 if rate is None else rate)


def network(
    card: Card, k: int, latency: str, send_cost: str, receive_cost: str, channels: str | None
) -> Network:
    if channels not in (None, "fifo", "any"):
        raise UsageError(f"--channels must be fifo or any, not {channels!r}")
    return Network(
        delay=delay(latency),
        fifo=(channels or card.links(k)) == "fifo",
        send_cost=duration(send_cost, "--send-cost"),
        receive_cost=duration(receive_cost, "--receive-cost"),
    )
