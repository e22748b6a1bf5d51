"""The judge of a nemesis: how long each lock was out of reach, and who was let in where no majority is heard."""

from __future__ import annotations

from soloist.testing.haunted import Tally
from soloist.testing.journal import Entry
from soloist.testing.judge import Evidence, Fault, judge
from soloist.testing.store import Books

EPOCH = 1 << 40


def evidence(entries: list[Entry], faults: list[Fault], **more: object) -> Evidence:
    given = {"tallies": [], "books": Books(), "began": 0.0, "ended": 20.0, "locks": 1, "lease": 2.0, **more}
    return Evidence(entries=entries, faults=faults, **given)  # type: ignore[arg-type]


def busy(holder: str, since: float, until: float, counter: int = 1, step: float = 0.5) -> list[Entry]:
    """It enters all the time."""
    found, now = [], since
    while now < until:
        found.append(Entry(holder, 0, EPOCH + counter, now, now + step / 2))
        now, counter = now + step, counter + 1
    return found


def test_a_recovery_is_counted_from_the_last_fault_that_touched_it() -> None:
    faults = [Fault(5.0, "kill a", "kill"), Fault(5.5, "a is started again")]
    found = judge(1, evidence([*busy("a", 0, 5), *busy("b", 8.25, 20, 100)], faults))
    assert found.recoveries == 1
    assert (found.worst, found.worst_by) == (2.75, {"kill": 2.75})
    assert found.late == []
    late = judge(1, evidence([*busy("a", 0, 5), *busy("b", 8.75, 20, 100)], faults))
    assert late.late == ["lock 0: not entered for 3.25 s after: a is started again"]
    assert not late.problems, "that is for a benchmark to judge"


def test_nothing_was_done_and_nobody_entered() -> None:
    found = judge(1, evidence([*busy("a", 0, 5), *busy("b", 8.75, 20, 100)], []))
    assert found.recoveries == 0
    assert found.late == ["lock 0: not entered for 4.00 s after: nothing"]


def test_who_hears_no_majority_for_a_lease_is_not_let_in() -> None:
    faults = [Fault(5.0, "a alone", "split", few=("a",)), Fault(10.0, "is healed")]
    assert not judge(1, evidence([*busy("a", 0, 7), *busy("a", 10.1, 20, 50)], faults)).problems
    (wrong,) = judge(1, evidence([*busy("a", 0, 7.4), *busy("a", 10.1, 20, 50)], faults, lease=1.9)).problems
    assert wrong == "lock 0: a was let in 2.00 s after: a alone"


def test_what_writers_and_the_store_have_seen_counts() -> None:
    tally = Tally(losses=2, errors={"NoQuorum": 3}, problems=["lock 0: somebody else has written"])
    books = Books(accepted=7, refused=1, problems=["n0: a and b both write with fence 5"])
    found = judge(3, evidence(busy("a", 0, 20), [], tallies=[tally, tally], books=books))
    assert (found.losses, found.errors, found.writes, found.stale) == (4, {"NoQuorum": 6}, 7, 1)
    assert found.problems == [*books.problems, *tally.problems, *tally.problems]
