"""Every algorithm of the catalogue holds a real lock between four processes over TCP, before a witness.

`SOLOIST_ENTRIES=5000` asks for more entries a process than the normal suite takes.
"""

from __future__ import annotations

import os

import pytest

from soloist.algorithms import CATALOGUE
from soloist.testing import Contend, Workers

ENTRIES = int(os.environ.get("SOLOIST_ENTRIES", "500"))


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_four_processes(name: str) -> None:
    card = CATALOGUE[name]
    k = 2 if card.capacity == "K" else 1
    options = {"semaphore_algorithm": name} if card.capacity == "K" else {"algorithm": name}
    with Workers("abcd", **options) as workers:
        done = workers.contend(Contend("shared", k, ENTRIES))
        messages = workers.messages()
        seen = workers.findings()["shared"]
    assert not seen.problems
    assert seen.most_inside == k
    entries = sum(len(each.waits) for each in done)
    assert seen.entries == seen.exits == entries == 4 * ENTRIES
    assert seen.by_holder == dict.fromkeys("abcd", ENTRIES)
    bound = card.bound(card.size(4 * k, k))
    print(f"{name}: {messages / entries:.2f} messages per entry, at most {bound:.4g}")
    assert messages / entries <= bound, f"{messages / entries:.2f}, the card says {bound}"
