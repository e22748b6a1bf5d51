"""A process whose main thread is interrupted at random moments: `python -m tests.net.pestered USE NAMES TRIES SEED LOOP HOME`.

It takes and gives back a lock again and again while another thread takes it, too. After each try nothing may be left
of it, interrupted or not. It says how many of the tries were interrupted, and what was left.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any, Self

from soloist.net import SyncNode, threaded
from soloist.testing import ports
from tests.net.helpers import home_of

SECONDS = 10.0


class Pest:
    """Raises `KeyboardInterrupt` once, at some moment while it is awake.

    However its body ends, nothing bites any more then: a timer that comes late would kill a process that ends, which
    has no handlers any longer, and whatever went wrong would not be said.
    """

    awake = False

    def __enter__(self) -> Self:
        signal.signal(signal.SIGALRM, self.bite)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)

    def bite(self, number: int, frame: FrameType | None) -> None:
        # What hits the very beginning of `__exit__`, before its first step, no Python code can mend.
        beginning = frame and frame.f_code.co_name == "__exit__" and frame.f_lasti <= 2
        if self.awake and not beginning:
            self.awake = False
            raise KeyboardInterrupt


def tried(use: str, lock: Any, pest: Pest, delay: float) -> bool:
    """Whether it was interrupted."""
    hold = None
    try:
        if use == "leave":
            with lock:
                wake(pest, delay)
            pest.awake = False
        elif use == "enter":
            wake(pest, delay)
            with lock:
                pest.awake = False
        else:
            wake(pest, delay)
            hold = lock.acquire()
            pest.awake = False
    except KeyboardInterrupt:
        return True
    finally:
        if hold:
            hold.release()
    return False


def wake(pest: Pest, delay: float) -> None:
    pest.awake = True
    signal.setitimer(signal.ITIMER_REAL, delay)


def main(use: str, names: str, tries: int, seed: int, loop: str, home: str) -> None:
    if loop == "asyncio":
        threaded.new_loop = asyncio.new_event_loop
    rng, over = random.Random(seed), threading.Event()
    with Pest() as pest, ports("a") as peers, SyncNode("a", peers) as served, home_of(served, home) as node:
        lock = node.locks(*names) if len(names) > 1 else node.lock(names)

        def disturb() -> None:
            while not over.is_set():
                with node.lock("x"):
                    time.sleep(rng.choice((0, 0, 0.0002)))
                time.sleep(0.0002)

        other = threading.Thread(target=disturb, daemon=True)
        other.start()
        interrupted, left = 0, 0
        me = threading.current_thread()

        def mine() -> list[Any]:
            return [
                hold for holds in list(node.node.holds.values()) for hold in list(holds) if hold.key[1] is me
            ]

        for _ in range(tries):
            interrupted += tried(use, lock, pest, rng.uniform(1e-6, 1e-3))
            end = time.monotonic() + SECONDS
            while mine():
                if time.monotonic() > end:
                    left += 1
                    for hold in mine():
                        node.call(hold.release)
                    break
        over.set()
        other.join(SECONDS)
        print(interrupted, left, len(lock._bodies._open), "hangs" if other.is_alive() else "ends", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
