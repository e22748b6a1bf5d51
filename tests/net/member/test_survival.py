"""Locks survive crashes, pauses and partitions: real processes over TCP, with leases and data directories.

Where a proof of death is to be shown the lease is ten minutes, far beyond every watchdog: what happens at all happens
because of the proof.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
import time
from collections.abc import Iterator
from functools import partial
from unittest import mock

import pytest

from soloist.net import LockLost
from soloist.net.engine.ticket import FENCE_BITS
from soloist.testing import Do, Grab, Proxies, Worker, Workers, until
from tests.net.helpers import with_a_lease

LEASE, LONG_LEASE = 2.0, 12.0
FOR_EVER = 600.0
A_MOMENT = 0.3
"""Seconds for which somebody asks who is not to be let in."""
ALGORITHMS = [
    "bulgannawar-vaidya",
    *(pytest.param(name, marks=pytest.mark.soak) for name in ("naimi-trehel", "lodha-kshemkalyani")),
]


@pytest.fixture(autouse=True, params=ALGORITHMS)
def algorithm(request: pytest.FixtureRequest) -> Iterator[None]:
    """All of this with each of them; what carries holders over is one for all, so one is enough for every day."""
    with mock.patch.object(sys.modules[__name__], "Workers", partial(Workers, algorithm=request.param)):
        yield


def refused(workers: Workers, name: str, lock: str) -> str:
    """What one is told who asks for a lock in vain."""
    said = workers.grab(name, lock, timeout=A_MOMENT)[lock]
    assert isinstance(said, str), f"{name} got {lock} with fence {said}"
    assert said.startswith(("AcquireTimeout", "NoQuorum")), said
    return said


def fence_of(workers: Workers, name: str, lock: str) -> int:
    """Let one take a lock, whatever that takes: where others are slow to start, it is told first that too few are heard."""

    def answer() -> int | str:
        found = workers.grab(name, lock)[lock]
        return "" if str(found).startswith("NoQuorum") else found

    fence = until(answer, f"{name} hears enough voters")
    assert isinstance(fence, int), fence
    return fence


@pytest.mark.parametrize("by_proof", [True, False], ids=["pidfd", "lease"])
def test_the_holder_is_killed(by_proof: bool) -> None:
    if by_proof:
        the_holder_is_killed(FOR_EVER, shortcut=True)
    else:
        with_a_lease(partial(the_holder_is_killed, shortcut=False), LEASE, LONG_LEASE)


def the_holder_is_killed(lease: float, shortcut: bool) -> None:
    with Workers("abc", lease=lease, shortcut=shortcut) as workers:
        kept = fence_of(workers, "a", "kept")
        killed = fence_of(workers, "b", "wanted")
        workers.tell("c", Grab(("wanted",)))
        workers.kill("b")
        fence = workers.hear("c")["wanted"]
        assert fence > killed
        assert fence >> FENCE_BITS > killed >> FENCE_BITS
        assert workers.held("a") == {"kept": kept}
        refused(workers, "c", "kept")
        refused(workers, "a", "wanted")
        assert fence_of(workers, "a", "nobody's") >> FENCE_BITS == fence >> FENCE_BITS
        workers.free("a", "kept")
        assert fence_of(workers, "c", "kept") > kept
        assert not [each for found in workers.findings().values() for each in found.problems]


def test_started_again_on_its_data_it_proves_that_it_was_dead() -> None:
    with Workers("abc", lease=FOR_EVER) as workers:
        before = fence_of(workers, "b", "wanted")
        kept = fence_of(workers, "a", "kept")
        workers.restart("b")
        fence = fence_of(workers, "c", "wanted")
        assert fence > before
        workers.tell("b", Grab(("wanted",)))
        refused(workers, "a", "wanted")
        workers.free("c", "wanted")
        assert workers.hear("b")["wanted"] > fence
        assert workers.held("a") == {"kept": kept}
        refused(workers, "b", "kept")


def test_without_its_data_it_proves_nothing() -> None:
    """Nobody knows whether the process of that name which held something is dead, or only cut off."""
    with Workers("abc", lease=FOR_EVER, sentinel=False) as workers:
        fence_of(workers, "b", "wanted")
        workers.forget("b")
        workers.restart("b")
        assert "it has asked to join" in refused(workers, "b", "other")
        refused(workers, "a", "wanted")
    with Workers("abc", lease=LEASE, sentinel=False) as workers:
        before = fence_of(workers, "b", "wanted")
        workers.forget("b")
        workers.restart("b")
        assert fence_of(workers, "b", "wanted") > before


def test_a_cluster_that_is_started_again_whole_goes_on_with_higher_fences() -> None:
    with Workers("abc", lease=FOR_EVER) as workers:
        before = max(fence_of(workers, name, "wanted" + name) for name in "abc")
        for name in "abc":
            workers.kill(name)
        for name in "abc":
            workers.restart(name)
        assert min(fence_of(workers, name, f"wanted{other}") for name, other in ("ab", "bc", "ca")) > before
        fences = [fence_of(workers, "a", "one")]
        for name in "abc":
            workers.end(name)
        for name in "abc":
            workers.restart(name)
        fences.append(fence_of(workers, "c", "one"))
        assert fences == sorted(fences)
        assert fences[0] >> FENCE_BITS < fences[1] >> FENCE_BITS


def test_a_majority_is_dead() -> None:
    with Workers("abc", lease=LEASE) as workers:
        fence_of(workers, "a", "mine")
        workers.kill("b")
        workers.kill("c")
        until(lambda: isinstance(workers.held("a")["mine"], str), "the hold is lost")
        assert workers.held("a")["mine"].startswith("LockLost"), workers.held("a")  # type: ignore[union-attr]
        for lock in ("mine", "other"):
            said = refused(workers, "a", lock)
            assert "b" in said
            assert "c" in said
        workers.restart("b")
        until(lambda: isinstance(workers.grab("a", "another")["another"], int), "a majority is heard again")


async def stay(worker: Worker, lock: str) -> tuple[bool, list[int], str]:
    """Stay inside for ever; what becomes of it."""
    told: list[int] = []
    try:
        async with worker.node.lock(lock) as hold:
            hold.on_lost = lambda lost: told.append(lost.fence)
            worker.pipe.send(hold.fence)
            await asyncio.sleep(3600)
    except LockLost as error:
        with pytest.raises(LockLost):
            hold.check()
        return hold.valid, told, str(error)
    raise AssertionError("it left")


def test_the_smaller_side_of_a_split() -> None:
    with_a_lease(the_smaller_side_of_a_split, LEASE, LONG_LEASE)


def the_smaller_side_of_a_split(lease: float) -> None:
    with Proxies("abc") as proxies, Workers("abc", lease=lease, peers=proxies.peers) as workers:
        workers.tell("a", Do(stay, ("mine",)))
        mine = workers.hear("a")
        theirs = fence_of(workers, "b", "theirs")
        proxies.split("a", "bc")
        fence = fence_of(workers, "c", "mine")
        assert fence > mine
        valid, told, why = workers.hear("a")
        assert not valid
        assert told == [mine]
        assert "'mine' is lost" in why
        refused(workers, "a", "other")
        assert workers.held("b") == {"theirs": theirs}
        proxies.heal()
        assert fence_of(workers, "a", "other")
        refused(workers, "a", "theirs")
        assert not [each for found in workers.findings().values() for each in found.problems]


def test_a_holder_that_is_stopped_for_long_has_lost_its_lock_when_it_wakes() -> None:
    with Workers("abc", lease=LEASE) as workers:
        before = fence_of(workers, "b", "wanted")
        workers.pause("b")
        assert fence_of(workers, "c", "wanted") > before  # more than a lease has passed, then
        workers.resume("b")
        assert "LockLost" in str(workers.held("b")["wanted"])
        workers.free("c", "wanted")
        again = fence_of(workers, "b", "other")
        assert again >> FENCE_BITS > before >> FENCE_BITS


def test_a_holder_that_is_stopped_for_half_a_lease_keeps_its_lock() -> None:
    with_a_lease(stopped_for_half_a_lease, 3 * LEASE, 2 * LONG_LEASE)


def stopped_for_half_a_lease(lease: float) -> None:
    with Workers("abc", lease=lease) as workers:
        before = fence_of(workers, "b", "wanted")
        workers.pause("b")
        time.sleep(lease / 2)
        workers.resume("b")
        assert workers.held("b") == {"wanted": before}
        refused(workers, "a", "wanted")


async def hang(worker: Worker, seconds: float) -> None:
    time.sleep(seconds)


async def keep_the_interpreter(worker: Worker, seconds: float) -> None:
    """No thread of this process runs meanwhile."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def test_loops_that_hang_lose_nothing() -> None:
    with_a_lease(loops_that_hang_lose_nothing, LEASE, LONG_LEASE)


def loops_that_hang_lose_nothing(lease: float) -> None:
    with Workers("abc", lease=lease) as workers:
        fences = {name: fence_of(workers, name, name) for name in "abc"}
        for name in "abc":
            workers.tell(name, Do(hang, (2 * lease,)))
        for name in "abc":
            workers.hear(name)
        assert all(workers.held(name) == {name: fence} for name, fence in fences.items())
        assert {fence >> FENCE_BITS for fence in fences.values()} == {
            fence_of(workers, "a", "new") >> FENCE_BITS
        }


def test_a_c_call_that_keeps_the_interpreter_loses_only_what_it_must() -> None:
    with Workers("abc", lease=LEASE) as short, Workers("abc", lease=5 * LEASE) as long:
        lost, kept = (fence_of(workers, "b", "wanted") for workers in (short, long))
        for workers in (short, long):
            workers.tell("b", Do(keep_the_interpreter, (2.5 * LEASE,)))
        assert fence_of(short, "c", "wanted") > lost
        for workers in (short, long):
            workers.hear("b")
        assert "LockLost" in str(short.held("b")["wanted"])
        for name in "bc":
            short.free(name, "wanted")
        assert fence_of(short, "b", "another")
        assert not [each for found in short.findings().values() for each in found.problems]
        assert long.held("b") == {"wanted": kept}
        refused(long, "c", "wanted")


def test_whoever_says_goodbye_is_not_waited_for() -> None:
    with Workers("abc", lease=FOR_EVER) as workers:
        before = fence_of(workers, "c", "job")
        kept = fence_of(workers, "a", "kept")
        workers.end("c")
        after = fence_of(workers, "b", "job")
        assert after > before
        workers.hire("c")  # a job that is done soon
        workers.hear("c")
        assert fence_of(workers, "c", "short")
        workers.tell("b", Grab(("short",)))
        workers.end("c")
        assert workers.hear("b")["short"]
        assert workers.held("a") == {"kept": kept}
        refused(workers, "b", "kept")
