"""When a node makes the next view, and which."""

from __future__ import annotations

import msgspec
import pytest

from soloist.net.member.etcd.chair import BATCH_SECONDS, ETCD, RANK_SECONDS, Chair, Decide, Mark
from soloist.net.member.etcd.store import Entry, Snapshot
from soloist.views import Breaking, Holder, Lease, Node, View
from soloist.views.messages import Report
from soloist.views.view import fence

A, B, C = (Node(name, name * 32) for name in "abc")
ALL = (A, B, C)
IDS = {node.incarnation for node in ALL}
LEASE = Lease(10, margin=0.2)
EPOCH = 7
HOLD = Holder("lock:x", B.incarnation, fence(EPOCH, 5))


def view(*members: Node, epoch: int = EPOCH, holders: tuple[Holder, ...] = (), lease: Lease = LEASE) -> View:
    return View(epoch=epoch, voters=(ETCD,), members=members, holders=holders, lease=lease)


def snapshot(*entries: Entry, of: View | None = None, change: int = 0) -> Snapshot:
    there = {entry.node.incarnation: entry for entry in entries}
    return Snapshot(view=of, revision=5, change=change, entries=there)


def member(node: Node, *holds: Holder, wedged: bool = False, deaf: tuple[str, ...] = ()) -> Entry:
    report = Report(EPOCH, node.incarnation, holds) if wedged else None
    return Entry(node, epoch=EPOCH, report=report, deaf=deaf)


def patient(at: Snapshot, me: Node, heard: set[str] = IDS, seconds: float = 1.0) -> Mark | Decide | None:
    """What a node does that has seen this for a while."""
    chair = Chair(LEASE)
    chair.consider(at, me.incarnation, heard, 100.0)
    return chair.consider(at, me.incarnation, heard, 100.0 + seconds)


def test_nothing_is_done_without_a_reason() -> None:
    assert patient(snapshot(*map(member, ALL), of=view(*ALL)), A, seconds=1000) is None


def test_the_first_view_is_above_what_anybody_knows_of() -> None:
    """Somebody who is not heard yet may have been a member before etcd lost its keys."""
    old = Entry(B, origin=fence(EPOCH, 9))
    found = patient(snapshot(Entry(A, origin=fence(3, 1)), old), A, heard=set())
    assert isinstance(found, Decide)
    assert (found.view.members, found.view.origin) == ((A,), fence(EPOCH, 9))


def test_first_all_are_asked_to_wedge_and_then_the_holders_are_carried_over() -> None:
    gone = snapshot(member(A), member(B), of=view(*ALL))
    assert patient(gone, A) == Mark(EPOCH + 1)
    wedged = member(A, wedged=True)
    assert patient(snapshot(wedged, member(B), of=view(*ALL), change=EPOCH + 1), A) is None
    ready = snapshot(wedged, member(B, HOLD, wedged=True), of=view(*ALL), change=EPOCH + 1)
    assert patient(ready, A) == Decide(view(A, B, epoch=EPOCH + 1, holders=(HOLD,)), (C.incarnation,))


def test_a_lock_is_broken_by_the_member_that_has_it() -> None:
    wish = Breaking.of(("lock:x",), view(A, B))
    asks = msgspec.structs.replace(member(A), evictions=wish.evictions)
    assert patient(snapshot(asks, member(B), of=view(A, B)), A) == Mark(EPOCH + 1)
    wedged = msgspec.structs.replace(member(A, wedged=True), evictions=wish.evictions)
    holds = snapshot(wedged, member(B, HOLD, wedged=True), of=view(A, B), change=EPOCH + 1)
    assert patient(holds, A) is None
    lost = msgspec.structs.replace(member(B), report=Report(EPOCH, B.incarnation, (), (HOLD,)))
    after = msgspec.structs.replace(view(A, B, epoch=EPOCH + 1), broken=(HOLD,))
    assert patient(snapshot(wedged, lost, of=view(A, B), change=EPOCH + 1), A) == Decide(after)
    done = [msgspec.structs.replace(each, epoch=EPOCH + 1, report=None) for each in (asks, member(B))]
    assert patient(snapshot(*done, of=after), A, seconds=1000) is None
    rival = view(A, B, epoch=EPOCH + 1, holders=(HOLD,))  # made by one who did not know
    assert patient(snapshot(*done, of=rival), A) == Mark(EPOCH + 2)


def test_a_report_of_another_epoch_is_none() -> None:
    old = Entry(A, epoch=EPOCH, report=Report(EPOCH - 1, A.incarnation, ()))
    assert patient(snapshot(old, of=view(A, B), change=EPOCH + 1), A) is None


def test_nobody_is_wedged_for_one_who_may_not_answer() -> None:
    """But not for ever."""
    gone = snapshot(member(A), member(B), of=view(*ALL))
    assert patient(gone, A, heard=set()) is None
    assert patient(gone, A, heard=set(), seconds=LEASE.length) == Mark(EPOCH + 1)


def test_one_after_the_other() -> None:
    gone = snapshot(member(A), member(B), of=view(*ALL))
    assert patient(gone, A, seconds=0.0) == Mark(EPOCH + 1)
    assert patient(gone, B, seconds=RANK_SECONDS * 0.9) is None
    assert patient(gone, B, seconds=RANK_SECONDS * 1.1) == Mark(EPOCH + 1)
    assert patient(gone, B, heard={B.incarnation}, seconds=0.0) is None  # a has an entry and is not heard
    joins = snapshot(member(A), Entry(C), of=view(A))
    assert patient(joins, A, seconds=BATCH_SECONDS * 0.9) is None
    assert patient(joins, A, seconds=BATCH_SECONDS * 1.1) == Mark(EPOCH + 1)


def test_joiners_that_are_not_heard_wait_and_so_do_those_with_a_name_that_is_taken() -> None:
    joins = snapshot(member(A), Entry(C), of=view(A))
    assert patient(joins, A, heard=set()) is None
    again = Node("a", "d" * 32)
    assert patient(snapshot(member(A), Entry(again), of=view(A)), A, heard={again.incarnation}) is None
    came_back = snapshot(member(B, wedged=True), Entry(again), of=view(A, B), change=EPOCH + 1)
    assert patient(came_back, B, heard={again.incarnation}) == Decide(
        view(again, B, epoch=EPOCH + 1), (A.incarnation,)
    )


def test_joiners_leave_it_to_the_members_while_there_are_any() -> None:
    assert patient(snapshot(member(A), Entry(C), of=view(A, B)), C) is None
    assert patient(snapshot(member(A, wedged=True), Entry(C), of=view(A, B)), C) is None
    alone = patient(snapshot(Entry(C), of=view(A, B, lease=Lease(99))), C)
    assert alone == Decide(view(C, epoch=EPOCH + 1), (A.incarnation, B.incarnation))


def test_who_was_left_out_does_not_join_as_it_was() -> None:
    """Its entry is there for a while, and says that it was a member."""
    assert patient(snapshot(member(A), member(C), of=view(A)), A) is None


def test_of_two_that_do_not_hear_each_other_one_is_left_out() -> None:
    deaf = (B.incarnation,)
    cut = snapshot(member(A, deaf=deaf), member(B), of=view(A, B))
    assert patient(cut, A) == Mark(EPOCH + 1)
    wedged = [member(A, wedged=True, deaf=deaf), member(B, wedged=True)]
    assert patient(snapshot(*wedged, of=view(A, B)), A) == Decide(view(A, epoch=EPOCH + 1))


def test_the_first_view() -> None:
    first = snapshot(Entry(A, origin=fence(3, 9)), Entry(B, origin=fence(4, 2)), Entry(C))
    found = patient(first, A, heard={B.incarnation})
    assert isinstance(found, Decide)
    assert (found.view.members, found.view.epoch, found.view.counter) == ((A, B), 4, 2)
    assert found.absent == ()


def test_a_view_that_was_removed_is_not_followed_by_a_first_one_while_its_members_are_there() -> None:
    assert patient(snapshot(Entry(A), member(B)), A) is None
    assert patient(snapshot(Entry(A)), A) is not None


@pytest.mark.parametrize("node", ALL)
def test_all_have_gone(node: Node) -> None:
    newcomer = Node(node.name, "f" * 32)
    found = patient(snapshot(Entry(newcomer), of=view(*ALL)), newcomer)
    assert found == Decide(view(newcomer, epoch=EPOCH + 1), tuple(sorted(IDS)))
