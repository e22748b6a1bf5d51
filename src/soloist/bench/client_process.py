"""A process of the clients' benchmark: takes a lock or a permit, again and again, until it is killed."""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from soloist.children import obedient
from soloist.testing import Statement
from soloist.testing.testimony import BlockingTestimony

LOCK, SEMAPHORE, PERMITS = "orders", "gpu", 3
INSIDE_SECONDS = 0.001

System = Literal["client", "postgresql"]
Grant = tuple[str, int, int, int | None]
"""What was taken, its capacity, the fence and the place."""


def work(system: System, where: str, witness: tuple[str, int], seed: int) -> None:
    """`where`: the URL, or the port of a PostgreSQL."""
    chance, told = random.Random(seed), BlockingTestimony(witness)
    with obedient(), (_ours if system == "client" else _postgres)(where, chance) as (take, give):
        while True:
            name, capacity, fence, place = take()
            told.give(Statement("enter", name, capacity, str(seed), fence, place))
            time.sleep(INSIDE_SECONDS * chance.random())
            told.give(Statement("exit", name, capacity, str(seed), fence, place))
            give()


Hands = tuple[Callable[[], Grant], Callable[[], None]]


@contextmanager
def _ours(url: str, chance: random.Random) -> Iterator[Hands]:
    from soloist.net import SyncHold, connect_sync

    with connect_sync(url) as client:
        lock, semaphore = client.lock(LOCK), client.semaphore(SEMAPHORE, PERMITS)
        held: list[SyncHold] = []

        def take() -> Grant:
            both = chance.random() < 0.5
            hold = (semaphore if both else lock).acquire()
            assert hold
            held.append(hold)
            return (SEMAPHORE, PERMITS, hold.fence, hold.slot) if both else (LOCK, 1, hold.fence, None)

        yield take, lambda: held.pop().release()


@contextmanager
def _postgres(port: str, chance: random.Random) -> Iterator[Hands]:
    """It knows no fences and no semaphores."""
    import psycopg

    key = (zlib.crc32(LOCK.encode()),)
    with (
        psycopg.connect(
            autocommit=True, host="127.0.0.1", port=int(port), user="bench", dbname="postgres"
        ) as connection,
        connection.cursor() as cursor,
    ):

        def take() -> Grant:
            cursor.execute("select pg_advisory_lock(%s)", key)
            return LOCK, 1, time.monotonic_ns(), None

        def give() -> None:
            cursor.execute("select pg_advisory_unlock(%s)", key)

        yield take, give
