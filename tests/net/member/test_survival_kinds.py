"""What else can be held survives a crash, too: semaphores with and without slots, several permits or locks, reentrant
locks, and locks of threads. Real processes; the proof of death is a pidfd, for the lease is too long to matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from soloist.net import SyncNode
from soloist.testing import Do, Grab, Worker, Workers, ports
from tests.net.member.test_survival import FOR_EVER, fence_of, refused


async def keep(worker: Worker, name: str, value: int, permits: int = 1) -> tuple[int, tuple[int, ...]]:
    """Take permits and keep them."""
    hold = await worker.node.semaphore(name, value, permits=permits).acquire_or_raise(None)
    worker.holds[f"{name} {len(worker.holds)}"] = hold
    return hold.fence, hold.slots


async def slots_of(worker: Worker, name: str) -> list[tuple[int, ...]]:
    return [hold.slots for key, hold in worker.holds.items() if key.startswith(f"{name} ")]


async def is_full(worker: Worker, name: str, value: int) -> bool:
    return await worker.node.semaphore(name, value).acquire(timeout=0.3) is None


async def give_back(worker: Worker) -> None:
    for hold in worker.holds.values():
        await hold.release()
    worker.holds.clear()


async def take_twice(worker: Worker, name: str) -> list[int]:
    lock = worker.node.rlock(name)
    worker.holds |= {each: await lock.acquire_or_raise(None) for each in ("first", "second")}
    return [worker.holds[each].fence for each in ("first", "second")]


async def leave_once(worker: Worker) -> None:
    await worker.holds.popitem()[1].release()


async def take_all(worker: Worker, *names: str) -> dict[str, int]:
    worker.holds |= await worker.node.locks(*names).take()
    return {name: worker.holds[name].fence for name in names}


def test_permits_of_the_living_stay_out() -> None:
    with Workers("abc", lease=FOR_EVER, shortcut=True, semaphore_algorithm="raymond-k") as workers:
        kept, _ = workers.do("a", keep, "s", 2)
        killed, _ = workers.do("b", keep, "s", 2)
        workers.tell("c", Do(keep, ("s", 2)))
        workers.kill("b")
        fence, _ = workers.hear("c")
        assert fence > max(kept, killed)
        assert list(workers.held("a").values()) == [kept]
        assert workers.do("a", is_full, "s", 2)
        for name in "ac":
            workers.do(name, give_back)
        assert workers.do("c", keep, "s", 2, 2)[0] > fence
        assert workers.do("a", is_full, "s", 2)


def test_slots_of_the_living_stay_theirs() -> None:
    with Workers("abc", lease=FOR_EVER, shortcut=True, semaphore_algorithm="bulgannawar-vaidya") as workers:
        kept, slots = workers.do("a", keep, "s", 3)
        fence_of(workers, "b", "wanted")
        workers.kill("b")
        assert fence_of(workers, "c", "wanted")
        assert list(workers.held("a").values()) == [kept]
        workers.tell("c", Do(keep, ("s", 3)))  # it may ask for the very one that a has, and wait
        assert workers.do("a", slots_of, "s") == [slots]
        workers.do("a", give_back)
        fence, _ = workers.hear("c")
        assert fence > kept


def test_reentrant_locks_and_several_at_once() -> None:
    with Workers("abc", lease=FOR_EVER, shortcut=True) as workers:
        twice = workers.do("a", take_twice, "r")
        both = workers.do("c", take_all, "p", "q")
        fence_of(workers, "b", "wanted")
        workers.kill("b")
        assert fence_of(workers, "a", "wanted")
        workers.free("a", "wanted")
        assert list(workers.held("a").values()) == twice
        assert workers.held("c") == both
        for lock in both:
            refused(workers, "a", lock)
        workers.do("a", leave_once)
        refused(workers, "c", "r")
        workers.do("a", leave_once)
        assert fence_of(workers, "c", "r") > twice[0]


def test_locks_of_threads(tmp_path: Path) -> None:
    with ports("a", "b", "c") as peers:
        options: dict[str, Any] = {"cluster": "testing", "lease": FOR_EVER}
        with (
            SyncNode("a", peers, data_dir=tmp_path, **options) as node,
            Workers("bc", peers=lambda name: peers, shortcut=True, **options) as workers,
        ):
            kept = node.lock("kept").acquire()
            assert kept
            before = fence_of(workers, "b", "wanted")
            workers.kill("b")
            with node.lock("wanted", timeout=60) as hold:
                assert hold.fence > before
                workers.tell("c", Grab(("wanted",)))
            assert workers.hear("c")["wanted"] > hold.fence
            assert kept.valid
            refused(workers, "c", "kept")
            kept.release()
            assert fence_of(workers, "c", "kept") > kept.fence
