"""Every algorithm of the catalogue holds a real lock between four processes over TCP, before a witness.

The processes are started once and make a node for each algorithm, without a lease: this is about the algorithm alone. `SOLOIST_ENTRIES=5000` asks for more entries per process
than the normal suite takes.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from soloist.algorithms import CATALOGUE
from soloist.net import Node
from soloist.testing import Contend, Workers, ports
from soloist.testing.clusters import connected
from soloist.testing.worker import Do, Done, Worker

ENTRIES = int(os.environ.get("SOLOIST_ENTRIES", "200"))
MANY = 5000
NAMES = "abcd"
NODES: dict[str, Node] = {}
"""In each of the processes: its node of the algorithm that is tested just now."""


@pytest.fixture(scope="module")
def crew() -> Iterator[Workers]:
    with Workers(NAMES) as workers:
        yield workers


async def begin(worker: Worker, peers: Mapping[str, str], options: Mapping[str, Any]) -> None:
    name = worker.node.name
    NODES[name] = Node(name, peers, cluster="catalogue", shortcut=False, lease=None, **options)
    await NODES[name].start()


async def contend(worker: Worker, job: Contend) -> Done:
    """Wait for the others, and do it."""
    guest = copy.copy(worker)
    guest.node = NODES[worker.node.name]
    await connected(guest.node)
    return await guest._contend(job)


async def sent(worker: Worker) -> int:
    """Asked when all are done: the last exits of some make others send a little more."""
    return NODES[worker.node.name].stats.messages_sent


async def end(worker: Worker) -> None:
    await NODES.pop(worker.node.name).close()


def every(crew: Workers, what: Do) -> list[Any]:
    for name in NAMES:
        crew.tell(name, what)
    return [crew.hear(name) for name in NAMES]


KINDS = [
    (name, k) for name in sorted(CATALOGUE) for k in ((1, 2) if CATALOGUE[name].capacity == "K" else (1,))
]
"""As locks, and as semaphores of two."""


def four_processes(crew: Workers, name: str, k: int, entries: int) -> None:
    card = CATALOGUE[name]
    options = {"semaphore_algorithm": name} if k > 1 else {"algorithm": name}
    lock = f"{name} of {k}, {entries} times"
    for each in NAMES:
        if not crew.alive(each):  # an algorithm that failed before is not this one's fault
            crew.restart(each)
    with ports(*NAMES) as peers:
        every(crew, Do(begin, (peers, options)))
        done = every(crew, Do(contend, (Contend(lock, k, entries),)))
        messages = sum(every(crew, Do(sent)))
        every(crew, Do(end))
    seen = crew.findings()[lock]
    assert not seen.problems
    assert seen.most_inside == k
    entered = sum(len(each.waits) for each in done)
    assert seen.entries == seen.exits == entered == 4 * entries
    assert seen.by_holder == dict.fromkeys(NAMES, entries)
    bound = card.bound(card.size(4 * k, k))
    print(f"{name}: {messages / entered:.2f} messages per entry, at most {bound:.4g}")
    assert messages / entered <= bound, f"{messages / entered:.2f}, the card says {bound}"


@pytest.mark.parametrize(("name", "k"), KINDS)
def test_four_processes(name: str, k: int, crew: Workers) -> None:
    four_processes(crew, name, k, ENTRIES)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "k"), KINDS)
def test_four_processes_for_long(name: str, k: int, crew: Workers) -> None:
    four_processes(crew, name, k, MANY)
