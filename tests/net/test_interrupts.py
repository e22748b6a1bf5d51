"""Ctrl-C at every single step of entering and leaving.

The interpreter looks for signals where a function begins and where a call into C ends, and these are the places of which
it tells a profiler. So the interrupts come from there, one for each place.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from soloist.net import Node, SyncNode
from soloist.net.errand import Errand
from soloist.net.sync_lock import Entered, SyncHold, SyncLock, SyncLocks
from soloist.testing import ports, until
from tests.net.helpers import BEHIND, LOOPS, a_client, run

SECONDS = 10.0


BEGINNINGS = {Entered.__exit__.__code__, SyncHold.release.__code__}
"""What is raised before the first step of these no Python code can mend."""


class Interrupt:
    """Raised once, after so many places."""

    def __init__(self, places: int) -> None:
        self.left = places

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "c_return") or self.left < 0:
            return
        if frame.f_code in BEGINNINGS and event == "call":
            return
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def enter(lock: SyncLock | SyncLocks, interrupt: Interrupt) -> None:
    sys.setprofile(interrupt)
    with lock:
        sys.setprofile(None)


def leave(lock: SyncLock | SyncLocks, interrupt: Interrupt) -> None:
    with lock:
        sys.setprofile(interrupt)


@pytest.fixture(params=LOOPS, ids=["asyncio", "fastest"])
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    new_loop: Callable[[], asyncio.AbstractEventLoop] = request.param
    monkeypatch.setattr("soloist.net.threaded.new_loop", new_loop)


@pytest.fixture(params=["SyncNode", "connect_sync"])
def home(request: pytest.FixtureRequest, loop: None) -> Iterator[Any]:
    """What has locks: a node, or a client of one."""
    with ExitStack() as stack:
        peers = stack.enter_context(ports("a"))
        node = stack.enter_context(SyncNode("a", peers))
        found = node if request.param == "SyncNode" else stack.enter_context(a_client(node))
        gc.disable()  # it may call Python code anywhere, and what is raised there is lost
        stack.callback(gc.enable)
        yield found


@pytest.mark.parametrize("names", ["x", "xy"])
@pytest.mark.parametrize("use", [enter, leave])
def test_ctrl_c_at_any_step_is_raised_and_leaves_nothing_behind(
    home: Any, names: str, use: Callable[[SyncLock | SyncLocks, Interrupt], None]
) -> None:
    lock = home.lock(names) if len(names) == 1 else home.locks(*names)
    places = 0
    while interrupted(use, lock, places):
        places += 1
        assert not left_by(home, threading.current_thread())
        assert not lock._bodies._open
    assert places > 10


def test_a_hold_whose_release_is_interrupted_is_given_back(home: Any) -> None:
    lock = home.lock("x")

    def release(lock: SyncLock, interrupt: Interrupt) -> None:
        hold = lock.acquire()
        assert hold
        sys.setprofile(interrupt)
        hold.release()

    places = 0
    while interrupted(release, lock, places):
        places += 1
        assert not left_by(home, threading.current_thread())
    assert places > 10


def threads() -> list[str]:
    """Those that nodes of this process have made and that are alive."""
    return [each.name for each in threading.enumerate() if each.name.startswith("soloist")]


def test_ctrl_c_at_any_step_of_a_start_leaves_nothing_behind(tmp_path: Path) -> None:
    """No thread that renews a lease for nobody, no port and no data directory that is in use: it can be started again."""
    with ports("a") as peers:

        def start(node: SyncNode, interrupt: Interrupt) -> None:
            call = node.call

            def called(work: Any) -> Any:
                sys.setprofile(interrupt)  # what was before has made a thread at most, and no node
                return call(work)

            node.call = called  # type: ignore[method-assign]
            node.start()
            sys.setprofile(None)
            node.call = call  # type: ignore[method-assign]
            node.close()

        gc.disable()
        try:
            places = 0
            while interrupted(start, SyncNode("a", peers, lease=600, data_dir=str(tmp_path)), places):
                places += 1
                until(lambda: not threads(), f"nothing is left (place {places})")
        finally:
            gc.enable()
        assert places > 10


def test_a_start_that_is_cancelled_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the name that it is to listen at is looked up."""

    async def main() -> None:
        node = Node("a", {"a": "localhost:7499", "b": "localhost:7498"}, lease=None)
        looking = asyncio.Event()

        async def look_up(*args: Any, **options: Any) -> Any:
            looking.set()
            await asyncio.sleep(3600)

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
        start = asyncio.create_task(node.start())
        await looking.wait()
        assert node.descriptors()
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        assert not node.descriptors()

    run(main())


def interrupted(use: Callable[[Any, Interrupt], None], lock: Any, places: int) -> bool:
    """False if there are not so many places."""
    interrupt = Interrupt(places)
    try:
        use(lock, interrupt)
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    assert interrupt.left >= 0, f"the interrupt at place {places} was lost"
    return False


def left_by(home: Any, thread: threading.Thread) -> list[str]:
    """What it holds, when all that was handed to the loop is done; of a client, what its node has granted to it, too."""
    end = time.monotonic() + SECONDS
    while True:
        held = [
            name
            for name, holds in list(home.node.holds.items())
            for hold in list(holds)
            if hold.key[1] is thread
        ]
        if home in BEHIND:
            held += list(BEHIND[home].node.holds)
        if not held or time.monotonic() > end:
            return held
        time.sleep(0)


def test_an_errand_that_is_withdrawn_before_it_began_dies_in_the_loop() -> None:
    """Not when garbage is collected: that may be in the main thread, and whatever is raised there is lost."""

    async def main() -> bool:
        async def work() -> None:
            raise AssertionError

        errand = Errand(work)
        errand.begin()
        assert errand._task
        task = weakref.ref(errand._task)
        errand.withdraw()
        gc.disable()
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            return task() is None
        finally:
            gc.enable()

    assert run(main())
