"""Real processes are killed, stopped and cut off while they contend: nobody is ever inside with another, and all go on.

Times are not judged here but by a benchmark: machines are busy.
"""

from __future__ import annotations

import os

import pytest

from soloist.testing.nemesis import KINDS, Judgement, Kind, Nemesis

SECONDS = 25.0
MINUTES = float(os.environ.get("SOLOIST_SOAK_MINUTES", "5"))


def judged(names: str, seconds: float, **options: object) -> Judgement:
    with Nemesis(names, every=(0.5, 1.5), **options) as nemesis:  # type: ignore[arg-type]
        found = nemesis.haunt(seconds, least=6)
    print(found.entries, "entries", found.losses, "losses", found.epochs, "epochs;", found.worst, found.late)
    for fault in found.faults:
        print(f"{fault.at - found.faults[0].at:8.2f} {fault.what}")
    assert not found.problems
    assert set(found.errors) <= {"NoQuorum"}  # on the smaller side of a cut
    assert found.epochs > 0
    return found


def kinds_of(found: Judgement) -> set[Kind]:
    words: dict[str, Kind] = {
        "kill": "kill",
        "pause": "pause",
        "alone": "split",
        "is not heard by": "one-way",
        "a ring": "ring",
    }
    return {kind for word, kind in words.items() if any(word in fault.what for fault in found.faults)}


def test_kills_and_pauses_among_nodes_of_one_host() -> None:
    found = judged("abc", SECONDS, seed=1, direct=True)
    assert kinds_of(found) == {"kill", "pause"}


def test_every_kind_of_fault() -> None:
    found = judged("abcde", SECONDS, seed=281)
    assert kinds_of(found) == set(KINDS)


@pytest.mark.soak
@pytest.mark.parametrize("direct", [True, False])
def test_for_long(direct: bool) -> None:
    found = judged("abcde", 60 * MINUTES, seed=int.from_bytes(os.urandom(2), "big"), direct=direct)
    assert kinds_of(found) == (set(KINDS) if not direct else {"kill", "pause"})
