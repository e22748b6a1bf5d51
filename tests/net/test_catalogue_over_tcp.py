"""Every algorithm of the catalogue holds a real lock between four processes over TCP, before a witness.

`SOLOIST_ENTRIES=5000` asks for more entries a process than the normal suite takes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from soloist.algorithms import CATALOGUE
from tests.net.crew import employ

WORKERS = 4
ENTRIES = int(os.environ.get("SOLOIST_ENTRIES", "500"))


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_four_processes(name: str, tmp_path: Path) -> None:
    card = CATALOGUE[name]
    k = 2 if card.capacity == "K" else 1
    options = {"semaphore_algorithm": name} if card.capacity == "K" else {"algorithm": name}
    outcome = employ(WORKERS, ENTRIES, tmp_path / "log", capacity=k, **options)
    seen = outcome.testimony
    assert seen.most_inside == k
    assert seen.entries == seen.exits == outcome.entries == WORKERS * ENTRIES
    assert set(seen.by_worker.values()) == {ENTRIES}
    assert k > 1 or seen.fences_grow
    bound = card.bound(card.size(WORKERS * k, k))
    print(f"{name}: {outcome.messages_per_entry:.2f} messages per entry, at most {bound:.4g}")
    assert outcome.messages_per_entry <= bound, f"{outcome.messages_per_entry:.2f}, the card says {bound}"
