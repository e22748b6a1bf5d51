"""Two nodes, each a process of its own, over TCP, with etcd: killed, stopped and started again.

Where a proof of death is to be shown the lease is ten minutes, far beyond every watchdog.
"""

from __future__ import annotations

from soloist.net.engine.ticket import FENCE_BITS
from soloist.testing import Grab, Workers, until
from soloist.testing.worker import Worker

from .etcds import Etcds, needs_etcd

pytestmark = needs_etcd

LEASE = 2
FOR_EVER = 600


def fence_of(workers: Workers, name: str, lock: str) -> int:
    """Let one take a lock, whatever that takes."""
    fence = workers.grab(name, lock)[lock]
    assert isinstance(fence, int), fence
    return fence


def refused(workers: Workers, name: str, lock: str) -> None:
    said = workers.grab(name, lock, timeout=0.2)[lock]
    assert str(said).startswith("AcquireTimeout"), said


def test_the_holder_is_killed_then_all_are_and_start_again(etcds: Etcds, cluster: str) -> None:
    with Workers("ab", etcd=etcds.endpoints, cluster=cluster, lease=FOR_EVER) as workers:
        kept = fence_of(workers, "a", "kept")
        killed = fence_of(workers, "b", "wanted")
        workers.tell("a", Grab(("wanted",)))
        workers.kill("b")  # which its sentinel proves
        fence = workers.hear("a")["wanted"]
        assert fence >> FENCE_BITS > killed >> FENCE_BITS
        assert workers.held("a") == {"kept": kept, "wanted": fence}
        workers.kill("a")
        for name in "ab":  # on its data: that proves that it was dead
            workers.restart(name)
        assert fence_of(workers, "b", "wanted") >> FENCE_BITS > fence >> FENCE_BITS
        assert fence_of(workers, "a", "kept") > kept
        refused(workers, "b", "kept")
        assert not [each for found in workers.findings().values() for each in found.problems]


async def epoch(worker: Worker) -> int:
    return worker.node.epoch


def test_the_holder_is_stopped_for_longer_than_its_lease(etcds: Etcds, cluster: str) -> None:
    """And no proof helps: etcd waits for its lease, then the other makes a view without it."""
    with Workers("ab", etcd=etcds.endpoints, cluster=cluster, lease=LEASE, sentinel=False) as workers:
        before = fence_of(workers, "b", "wanted")
        workers.pause("b")
        fence = fence_of(workers, "a", "wanted")
        assert fence >> FENCE_BITS > before >> FENCE_BITS
        workers.resume("b")
        assert "LockLost" in str(workers.held("b")["wanted"])
        refused(workers, "b", "wanted")
        until(lambda: workers.do("b", epoch) == workers.do("a", epoch), "it is a member again")
        workers.free("a", "wanted")
        workers.free("b", "wanted")
        assert fence_of(workers, "b", "wanted") > fence
        assert not [each for found in workers.findings().values() for each in found.problems]
