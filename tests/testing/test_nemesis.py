"""Real processes are killed, stopped and cut off while they contend: nobody is ever inside with another, and all go on.

Times are not judged here but by a benchmark: machines are busy.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net.link.wire import VERSION
from soloist.testing import Namespaces, afflictions, until
from soloist.testing.afflictions import AFFLICTIONS, NEED_PROXIES, VOTES
from soloist.testing.judge import Judgement
from soloist.testing.nemesis import KINDS, UNCUT, Nemesis

LEASE = 1.0
MINUTES = float(os.environ.get("SOLOIST_SOAK_MINUTES", "5"))
SEMAPHORE: dict[str, Any] = {"semaphore": 2, "locks": 3, "semaphore_algorithm": "bulgannawar-vaidya"}
FEW: dict[str, Any] = {"tasks": 2, "locks": 4}
"""As many contend for each lock as usually, and half as many in all."""
LOCKS: dict[str, dict[str, Any]] = {
    "naimi-trehel": {},
    "lodha-kshemkalyani": {"algorithm": "lodha-kshemkalyani"},
    "bulgannawar-vaidya": SEMAPHORE,
}


def judged(names: str, seconds: float = 0.0, **options: Any) -> Judgement:
    """With no time given, each kind once."""
    with Nemesis(names, every=(0.1, 0.4), **FEW | {"lease": LEASE} | options) as nemesis:
        found = nemesis.haunt(seconds, least=len(nemesis.kinds))
        # Once all have left and come back all offer the later version, and that is the one in use.
        version = VERSION + ("leave" in nemesis.kinds)
        for name in nemesis.names:
            until(lambda name=name: nemesis.tally(name).protocol == version, f"{name} speaks {version}")  # type: ignore[misc]
    print(found.entries, "entries", found.losses, "losses", found.epochs, "epochs;", found.worst, found.late)
    for fault in found.faults:
        print(f"{fault.at - found.faults[0].at:8.2f} {fault.what}")
    assert not found.problems
    assert set(found.errors) <= {"NoQuorum", "LockLost"}  # too few are heard; lost before its task went on
    assert found.epochs > 0
    assert found.writes >= found.entries - len(found.faults)  # who is killed may not get to it
    assert {fault.kind for fault in found.faults} >= set(nemesis.kinds)
    return found


def test_crashes_among_nodes_of_one_host() -> None:
    judged(
        "abc", seed=3, direct=True, kinds=["kill", "point", "pause", "amnesia"], **LOCKS["lodha-kshemkalyani"]
    )


def test_every_kind_of_cut() -> None:
    judged("abcde", seed=4, kinds=["kill", "pause-most", *NEED_PROXIES])


def test_slots_of_a_semaphore_and_two_versions_mixed() -> None:
    judged("abc", seed=5, kinds=["kill", "leave", "split"], **SEMAPHORE)


def test_strangers_join_and_leave_or_are_killed() -> None:
    """They contend like the others, and are judged like them."""
    with Nemesis("abc", seed=6, lease=LEASE, kinds=["join"], every=(0.1, 0.2), **FEW) as nemesis:
        found = nemesis.haunt(0.0, least=3)
    assert not found.problems
    assert set(found.errors) <= {"NoQuorum", "LockLost"}
    assert any(tally.entries for tally in nemesis.dead)  # of all others nobody has ended
    assert {"kill stranger", "stranger leaves"} == {
        re.sub(r"\d", "", fault.what) for fault in found.faults if "joins" not in fault.what
    }


def test_a_daemon_is_killed_whose_client_holds() -> None:
    """What the client does afterwards, it does without the lock, and knows it."""
    with Nemesis("abc", seed=7, lease=LEASE, kinds=["daemon"], every=(0.1, 0.2), **FEW) as nemesis:
        found = nemesis.haunt(0.0, least=2)
    assert not found.problems
    assert set(found.errors) <= {"NoQuorum", "LockLost"}
    assert all(tally.entries for tally in nemesis.dead)
    assert [fault.what for fault in found.faults if fault.kind == "daemon"] == [
        f"kill stranger{number}, whose client goes on" for number in (1, 2)
    ]


@pytest.mark.skipif(Namespaces.missing() is not None, reason=f"not run: {Namespaces.missing()}")
def test_cables_between_hosts_are_cut() -> None:
    judged("abcde", seed=8, apart=True, kinds=["one-way", "ring", "split"], quiet=True)


@pytest.mark.soak
@pytest.mark.parametrize("direct", [True, False], ids=["direct", "proxies"])
@pytest.mark.parametrize("algorithm", LOCKS)
def test_for_long(algorithm: str, direct: bool) -> None:
    seed = int.from_bytes(os.urandom(2), "big")
    print("seed", seed)
    options = {"locks": 8, **LOCKS[algorithm]}
    judged("abcde", 60 * MINUTES, seed=seed, lease=2.0, direct=direct, tasks=4, **options)


def test_an_old_vote_file_that_is_still_the_newest_is_no_amnesia(tmp_path: Path) -> None:
    """As at the first fault: nobody has stored anything since, so nobody could find it out."""
    draw = Random(0)
    draw.choice = lambda of: "an old vote file" if "nothing" in of else of[0]  # type: ignore[method-assign]
    told = SimpleNamespace(epoch=1, unvoting="")
    starts = list[bool]()
    nemesis: Any = SimpleNamespace(
        names=["a"],
        draw=draw,
        folder=tmp_path,
        lease=0.001,
        seed=0,
        data=lambda name: tmp_path / name,
        old_votes=lambda name: tmp_path / "old",
        note=lambda *_: None,
        fell=lambda name: None,
        revive=lambda name: starts.append((tmp_path / name).exists()),
        await_member=lambda name: (tmp_path / name).mkdir(),
        tally=lambda name: told,
    )
    (tmp_path / "a").mkdir()
    for path in (tmp_path / "a" / VOTES, tmp_path / "old"):
        path.write_text("as it was born")
    afflictions.amnesia(nemesis)
    assert starts == [False, True]  # it began with nothing, and has its own file back
    assert (tmp_path / "a" / VOTES).exists()


def test_wrong_kinds_are_told() -> None:
    assert set(UNCUT) | set(NEED_PROXIES) == set(KINDS) == set(AFFLICTIONS)
    with pytest.raises(UsageError, match="unknown kind of fault 'kil'; did you mean kill"):
        Nemesis(seed=1, kinds=["kil"])
    with pytest.raises(UsageError, match="ring: nothing can be cut without proxies; only kill, "):
        Nemesis(seed=1, kinds=["ring"], direct=True)
    with pytest.raises(UsageError, match="spoil: nothing can be spoilt without proxies; only kill, "):
        Nemesis(seed=1, kinds=["spoil"], apart=True)
    with pytest.raises(UsageError, match="choose"):
        Nemesis(seed=1, direct=True, apart=True)
