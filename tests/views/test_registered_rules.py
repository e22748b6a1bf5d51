"""The rules of registered holds one by one: V6, V7, M8 and what P2 makes of them."""

from __future__ import annotations

import msgspec

from soloist.views import (
    FOR_GOOD,
    Activate,
    Ballot,
    Discharged,
    Entitled,
    Holder,
    Member,
    Proposer,
    Registration,
    Send,
    Store,
    View,
    Voter,
    fence,
)
from soloist.views.messages import (
    Break,
    Bye,
    Decided,
    Message,
    News,
    Prepare,
    Promise,
    Register,
    Registered,
    Report,
    Strike,
    Struck,
)
from soloist.views.view import LOSS

from .test_rules import LEASE, VIEW, A, B, member, said, voter

HOLD = Holder("lock:x", "a1", fence(5, 3))
OURS = Registration(HOLD, "a", FOR_GOOD)
WITHOUT = msgspec.structs.replace(VIEW, epoch=6, members=(B,), registered=(OURS,))


def asked(registration: Registration = OURS) -> Member:
    found = member()
    assert found.register(registration, 1)
    return found


def inside() -> Member:
    found = asked()
    for name in ("1", "2"):
        found.receive(name, Registered(name, 5, HOLD), 1)
    assert found.enter("lock:x", 0, HOLD.fence, 1)
    found.out.clear()
    return found


def told(found: Member, kind: type[Message]) -> list[str]:
    return [each.to for each in found.out if isinstance(each, Send) and isinstance(each.message, kind)]


def next_view(registered: dict[str, tuple[Registration, ...]], *heard: Message, **values: object) -> View:
    """What a proposer makes of the promises of these voters, and of what it hears besides."""
    proposer = Proposer(view=VIEW, ballot=Ballot(1, "b1"), **values)  # type: ignore[arg-type]
    for message in heard:
        proposer.receive("", message)
    for name, known in registered.items():
        proposer.receive(name, Promise(6, proposer.ballot, name, None, (), News(), 1, known))
    assert proposer.proposal is not None
    return proposer.proposal


def test_v6_is_stored_before_it_is_said() -> None:
    v = voter()
    v.receive("a1", Register(5, OURS), 0)
    stored, answer = v.out
    assert isinstance(stored, Store)
    assert stored.file.registered == (OURS,)
    assert answer == Send("a1", Registered("1", 5, HOLD))
    v.receive("a1", Strike(5, HOLD), 0)
    assert v.file.registered == ()
    assert said(v.out)[-1] == Struck("1", 5, HOLD)
    v.out.clear()
    v.receive("a1", Register(5, OURS), 0)  # it is late
    assert (v.out, v.file.registered) == ([], ())


def test_v6_not_after_a_promise_nor_of_another_epoch_nor_by_a_stranger() -> None:
    v = voter()
    v.receive("a1", Register(4, OURS), 0)
    assert said(v.out) == [Decided(VIEW)]
    stranger = msgspec.structs.replace(OURS, hold=msgspec.structs.replace(HOLD, incarnation="z"))
    v.receive("z", Register(5, stranger), 0)
    v.receive("b1", Prepare(6, Ballot(1, "b1"), asked=True), 0)
    v.out.clear()
    v.receive("a1", Register(5, OURS), 0)
    assert (v.out, v.file.registered) == ([], ())


def test_v7_a_delay_counts_from_the_view_and_anew_after_a_restart() -> None:
    delayed = msgspec.structs.replace(OURS, delay=10)
    lost = msgspec.structs.replace(WITHOUT, registered=(delayed,))
    v = voter()
    v.receive("b1", Decided(lost), 100)
    limit = 100 + 10 * (1 + LEASE.drift)
    assert not v.lapsed(limit - 0.01)
    v.receive("b1", Decided(msgspec.structs.replace(lost, epoch=7)), 105)
    assert v.lapsed(limit + 0.01) == {HOLD}
    assert v.has_reason(limit + 0.01)
    again = Voter.start(v.file, "here", 200)
    assert not again.lapsed(200 + 10)
    assert again.lapsed(200 + 10.11) == {HOLD}
    v.receive("b1", Decided(msgspec.structs.replace(WITHOUT, epoch=8)), 300)
    assert not v.lapsed(1e9)  # for good


def test_m8_lets_nobody_in_before_a_majority_has_stored_it() -> None:
    found = asked()
    assert told(found, Register) == ["1", "2", "3"]
    found.receive("1", Registered("1", 5, HOLD), 1)
    found.receive("1", Registered("1", 5, HOLD), 1)
    found.receive("2", Registered("2", 4, HOLD), 1)
    assert Entitled(HOLD) not in found.out
    assert not found.enter("lock:x", 0, HOLD.fence, 1)
    found.receive("3", Registered("3", 5, HOLD), 1)
    assert found.out[-1] == Entitled(HOLD)
    assert found.enter("lock:x", 0, HOLD.fence, 1)


def test_m8_says_it_again_until_it_is_known() -> None:
    found = asked()
    found.out.clear()
    found.renew(2)
    assert told(found, Register) == ["1", "2", "3"]
    found.strike(HOLD)  # the caller has gone
    found.out.clear()
    found.renew(3)
    assert (told(found, Register), told(found, Strike)) == ([], ["1", "2", "3"])
    found.receive("1", Struck("1", 5, HOLD), 3)
    assert Discharged(HOLD) not in found.out
    found.receive("2", Struck("2", 5, HOLD), 3)
    assert found.out[-1] == Discharged(HOLD)


def test_m8_plain_holds_say_nothing() -> None:
    found = member()
    assert found.enter("lock:x", 0, HOLD.fence, 1)
    found.release("lock:x", 0, 1)
    assert found.out == []


def test_m8_who_was_not_let_in_when_wedged_is_not_let_in_in_this_epoch() -> None:
    found = asked()
    found.receive("b1", Prepare(6, Ballot(1, "b1")), 1)
    for name in ("1", "2"):
        found.receive(name, Registered(name, 5, HOLD), 1)
    assert Entitled(HOLD) not in found.out
    assert not found.ledger.asked


def test_m8_what_is_lost_is_reported_and_a_view_is_asked_for() -> None:
    found = inside()
    assert not found.holding("lock:x", 0, 50)
    assert Send("1", Break(5, (LOSS,))) in found.out
    assert found.report(50) == Report(5, "a1", (), (), (HOLD,))
    found.receive("b1", Decided(msgspec.structs.replace(VIEW, epoch=6, registered=(OURS,))), 50)
    found.out.clear()
    found.renew(51)
    assert told(found, Break) == []  # the view shows it
    assert found.report(51).lost == (HOLD,)


def test_m8_a_hold_lost_after_its_report_does_not_go_in_and_out() -> None:
    found = inside()
    found.wedge(1)
    found.lose_all()
    found.out.clear()
    carried = msgspec.structs.replace(VIEW, epoch=6, holders=(HOLD,), registered=(OURS,))
    found.receive("b1", Decided(carried), 1)
    assert Activate(carried, (), ()) in found.out
    assert Send("1", Break(6, (LOSS,))) in found.out


def test_m8_released_after_its_report_it_is_struck_off_in_the_next_epoch() -> None:
    found = inside()
    found.wedge(1)
    found.release("lock:x", 0, 1)
    found.out.clear()
    carried = msgspec.structs.replace(VIEW, epoch=6, holders=(HOLD,), registered=(OURS,))
    found.receive("b1", Decided(carried), 1)
    assert Activate(carried, (), (HOLD,)) in found.out
    assert Send("1", Strike(6, HOLD)) in found.out


def test_m7_what_was_released_is_said_before_goodbye() -> None:
    found = inside()
    found.release("lock:x", 0, 1)
    found.leave()
    assert found.farewell()
    to_first = [each.message for each in found.out if isinstance(each, Send) and each.to == "1"]
    assert [type(each) for each in to_first[-2:]] == [Strike, Bye]


def test_p2_of_a_dead_member_what_may_have_begun_stays() -> None:
    left = Bye("a1"), Report(5, "b1", ())
    assert next_view({"1": (OURS,), "2": ()}, *left).withheld == (OURS,)  # 3 may have it, too
    proposer = Proposer(view=VIEW, ballot=Ballot(1, "b1"))
    for name, known in {"1": (OURS,), "2": (), "3": ()}.items():
        proposer.receive(name, Promise(6, proposer.ballot, name, None, (), News(), 1, known))
    for message in left:
        proposer.receive("", message)
    assert proposer.proposal is not None
    assert proposer.proposal.registered == ()  # no majority can have stored it


def test_p2_of_a_dead_member_what_was_released_or_surpassed_goes() -> None:
    everybody = {"1": (OURS,), "2": (OURS,)}
    left = Bye("a1"), Report(5, "b1", ())
    assert next_view(everybody, *left, struck={HOLD}).registered == ()
    assert next_view(everybody, *left, over={HOLD}).registered == ()
    later = Holder("lock:x", "b1", fence(5, 4))
    assert next_view(everybody, Bye("a1"), Report(5, "b1", (later,))).registered == ()
    elsewhere = Holder("lock:y", "b1", fence(5, 4))
    assert next_view(everybody, Bye("a1"), Report(5, "b1", (elsewhere,))).withheld == (OURS,)


def test_p2_a_living_member_knows_best() -> None:
    everybody, other = {"1": (OURS,), "2": (OURS,)}, Report(5, "b1", ())
    held = next_view(everybody, Report(5, "a1", (HOLD,)), other)
    assert (held.registered, held.withheld) == ((OURS,), ())
    assert next_view(everybody, Report(5, "a1", ()), other).registered == ()
    lost = next_view(everybody, Report(5, "a1", (), (), (HOLD,)), other)
    assert (lost.withheld, lost.members) == ((OURS,), (A, B))
