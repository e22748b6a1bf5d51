"""The rules of views one by one, where a sentence is enough; that they work together is checked elsewhere."""

from __future__ import annotations

import msgspec
import pytest

from soloist.core import UsageError
from soloist.views import (
    Activate,
    Ballot,
    Breaking,
    Dropped,
    Effect,
    Holder,
    Lease,
    Lost,
    Mail,
    Member,
    Node,
    Proposer,
    Send,
    Store,
    View,
    VoteFile,
    Voter,
    VoterChange,
    fence,
)
from soloist.views.messages import (
    Ack,
    Break,
    Bye,
    Decided,
    Fetch,
    Join,
    News,
    Prepare,
    Probe,
    Promise,
    Renew,
    Report,
    Said,
    Stored,
)

A, B, C = Node("a", "a1"), Node("b", "b1"), Node("c", "c1")
LEASE = Lease(10, 0.01, 0.2)
VIEW = View(epoch=5, voters=("1", "2", "3"), members=(A, B), lease=LEASE)
NEXT = msgspec.structs.replace(VIEW, epoch=6)


def voter(now: float = 0, **values: object) -> Voter:
    file = VoteFile(cluster="c", voter="1", view=VIEW, **values)  # type: ignore[arg-type]
    started = Voter.start(file, "here", now)
    started.out.clear()
    return started


def member() -> Member:
    joined = Member(node=A, view=VIEW)
    for name in ("1", "2"):
        renewed(joined, name, 0)
    joined.out.clear()
    return joined


def renewed(joined: Member, by: str, now: float) -> None:
    joined.renew(now)
    joined.receive(by, Ack(by, joined.number, VIEW.epoch, False), now)


def said(effects: list[Effect]) -> list[object]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


def test_lease_as_in_the_docs() -> None:
    """Ten seconds, one per cent: 9.7 at the member from sending, 10.1 at the voter from its last answer."""
    assert LEASE.at_member == pytest.approx(9.7)
    assert LEASE.at_voter == pytest.approx(10.1)
    assert LEASE.at_member / (1 - LEASE.drift) <= LEASE.at_voter / (1 + LEASE.drift)


def test_a_lease_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="make it longer than"):
        Lease(0.1, 0.01, 0.2)
    with pytest.raises(UsageError, match="drift must be"):
        Lease(10, 1)


def test_fences_grow_over_epochs() -> None:
    assert fence(5, 10**9) < fence(6, 1) < 1 << 63


def test_every_message_can_be_sent_and_read() -> None:
    """Messages are the wire format, and the vote file is one value."""
    report = Report(5, "a1", (Holder("orders", "a1", fence(5, 3)),))
    decode = msgspec.msgpack.Decoder(Said).decode
    for message in (Renew("a1", 7, 5, report), Decided(VIEW), Prepare(6, Ballot(1, "b1"))):
        assert decode(msgspec.msgpack.encode(message)) == message
    file = voter().file
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(file), type=VoteFile) == file


def test_v1_an_old_renewal_is_not_answered() -> None:
    v = voter()
    v.receive("a1", Renew("a1", 2, 5), 1)
    assert said(v.out) == [Ack("1", 2, 5, False, 1)]
    v.out.clear()
    v.receive("a1", Renew("a1", 2, 5), 2)
    assert v.out == []


def test_v1_who_is_no_member_gets_the_view() -> None:
    v = voter()
    v.receive("z9", Renew("z9", 1, 4), 1)
    assert said(v.out) == [Decided(VIEW)]


def test_v1_after_a_promise_only_the_report_of_this_epoch_counts() -> None:
    v = voter(ballot=Ballot(1, "b1"))
    old, new = Report(4, "a1", ()), Report(5, "a1", ())
    for number, report, answer in ((1, None, Probe), (2, old, Probe), (3, new, Ack)):
        v.out.clear()
        v.receive("a1", Renew("a1", number, 5, report), number)
        assert [type(message) for message in said(v.out)] == [answer]


def test_v1_a_member_that_does_not_hear_falls_silent() -> None:
    """Renewals come, but no answer is echoed: for a lease they are acknowledged, then only probed."""
    v = voter()
    answers = []
    for number in range(1, 9):
        v.out.clear()
        v.receive("a1", Renew("a1", number, 5), 3.0 * number)
        answers += [type(message) for message in said(v.out)]
    assert answers == [Ack] * 4 + [Probe] * 4
    assert "a1" in v.silent(3 * 4 + LEASE.at_voter)
    v.out.clear()
    v.receive("a1", Renew("a1", 9, 5, echo=8), 27)
    assert [type(message) for message in said(v.out)] == [Ack]


def test_v2_is_stored_before_it_is_said() -> None:
    v = voter()
    v.receive("b1", Prepare(6, Ballot(1, "b1"), asked=True), 11)
    store, send = v.out
    assert isinstance(store, Store)
    assert store.file.banned == ("a1", "b1")
    assert isinstance(send, Send)
    assert isinstance(send.message, Promise)


def test_v2_no_reason_no_promise() -> None:
    v = voter()
    v.receive("b1", Prepare(6, Ballot(1, "b1")), 1)
    assert v.out == []


def test_v2_a_report_is_a_reason() -> None:
    """Else a member that was wedged by a proposer of which no voter has heard would stay so for ever."""
    v = voter()
    v.receive("a1", Renew("a1", 1, 5, Report(5, "a1", ())), 1)
    v.out.clear()
    v.receive("b1", Prepare(6, Ballot(1, "b1")), 1)
    assert [type(effect) for effect in v.out] == [Store, Send]


def test_v4_a_removed_voter_keeps_the_view_and_votes_no_more() -> None:
    v = voter()
    v.receive("b1", Decided(msgspec.structs.replace(NEXT, voters=("2", "3"))), 1)
    assert v.view is not None
    assert v.view.epoch == 6
    assert not v.votes
    v.out.clear()
    v.receive("b1", Prepare(7, Ballot(1, "b1"), asked=True), 1)
    assert v.out == []


def test_v5_a_restarted_voter_knows_of_no_silence() -> None:
    v = voter(now=1000)
    assert v.silent(1010) == []
    assert v.silent(1010.1) == ["a1", "b1"]


def test_v5_a_copied_file_does_not_vote() -> None:
    file = VoteFile(cluster="c", voter="1", view=VIEW, place="there")
    v = Voter.start(file, "here", 0)
    assert "a copy" in v.stopped
    v.receive("a1", Renew("a1", 1, 5), 1)
    assert v.out == []


def test_v5_a_restored_file_is_noticed_by_its_start_number() -> None:
    v = voter(start=3)
    v.receive("a1", Renew("a1", 1, 5, start=7), 1)
    assert "restored" in v.stopped
    assert v.out == []


def test_a_failed_store_ends_all_votes() -> None:
    v = voter()
    v.receive("b1", Prepare(6, Ballot(1, "b1"), asked=True), 1)
    v.failed("disk full")
    assert v.out == []
    assert not v.votes


def test_m1_an_acknowledgement_counts_from_sending() -> None:
    m = Member(node=A, view=VIEW)
    m.renew(100)
    for name in ("1", "2"):
        m.receive(name, Ack(name, 1, 5, False), 105)
    assert m.valid(109.69)
    assert not m.valid(109.7)


def test_m1_an_acknowledgement_of_an_older_start_counts_for_nothing() -> None:
    m = Member(node=A, view=VIEW)
    m.renew(0)
    m.receive("1", Ack("1", 1, 5, False, start=4), 0)
    m.receive("2", Ack("2", 1, 5, False, start=4), 0)
    m.renew(5)
    m.receive("1", Ack("1", 2, 5, False, start=3), 5)
    assert not m.valid(10)


def test_m2_a_hold_asked_about_without_a_lease_is_lost_for_good() -> None:
    m = member()
    assert m.enter("orders", 0, fence(5, 1), 1)
    assert not m.holding("orders", 0, 10)
    for name in ("1", "2"):
        renewed(m, name, 11)
    assert m.valid(12)
    assert not m.holding("orders", 0, 12)


def test_m4_released_while_wedged_is_reported_again() -> None:
    m = member()
    m.enter("orders", 0, fence(5, 1), 1)
    m.receive("b1", Prepare(6, Ballot(1, "b1")), 1)
    assert not m.may_enter(1)
    m.release("orders", 0, 2)
    hold = Holder("orders", "a1", fence(5, 1))
    assert said(m.out) == [Report(5, "a1", (hold,)), Report(5, "a1", ())]


def test_m4_what_is_to_be_broken_is_lost_before_it_is_reported() -> None:
    joined, wish = member(), Breaking.of(("x",), VIEW)
    for lock in "xy":
        assert joined.enter(lock, 0, fence(5, 1), 1)
    news = News(evictions=wish.evictions)
    joined.receive("p", Prepare(6, Ballot(1, "p"), news=news), 1)
    lost, report = Holder("x", "a1", fence(5, 1)), Report(5, "a1", (Holder("y", "a1", fence(5, 1)),))
    assert joined.out == [Lost(lost, True), Send("p", msgspec.structs.replace(report, broken=(lost,)))]
    joined.receive(
        "p", Prepare(6, Ballot(1, "p"), news=News(evictions=Breaking.of(("y",), VIEW).evictions)), 1
    )
    assert [m.holds for m in said(joined.out) if isinstance(m, Report)][-1] == ()


def test_m4_what_was_granted_later_is_not_broken() -> None:
    joined = member()
    assert joined.enter("x", 0, fence(5, 1), 1)
    earlier = Breaking.of(("x",), msgspec.structs.replace(VIEW, epoch=4))
    joined.receive("p", Prepare(6, Ballot(1, "p"), news=News(evictions=earlier.evictions)), 1)
    assert joined.holds


def test_a_wish_to_break_a_lock_is_done_when_a_view_shows_it() -> None:
    old, new = Holder("x", "a1", fence(5, 1)), Holder("x", "b1", fence(6, 1))
    wish = Breaking.of(("x",), VIEW)
    assert not wish.done(VIEW)
    assert not wish.done(msgspec.structs.replace(NEXT, holders=(old,)))  # a rival made it
    assert wish.done(msgspec.structs.replace(NEXT, epoch=7, holders=(new,)))
    wish.see(msgspec.structs.replace(NEXT, broken=(old,), holders=(new,)))
    assert wish.held == {old}


def test_a_voter_keeps_a_wish_until_the_next_view() -> None:
    v, wish = voter(), Breaking.of(("x",), VIEW)
    v.receive("a1", Break(4, wish.evictions), 0)
    assert said(v.out) == [Decided(VIEW)]
    v.receive("a1", Break(6, wish.evictions), 0)
    assert not v.has_reason(0)
    v.receive("a1", wish.ask(VIEW), 0)
    assert v.has_reason(0)
    assert v.news().evictions == wish.evictions
    v.receive("p", Decided(NEXT), 0)
    assert not v.evictions


def test_m5_a_hold_that_ended_while_wedged_goes_in_and_out() -> None:
    m = member()
    m.enter("orders", 0, fence(5, 1), 1)
    m.receive("b1", Prepare(6, Ballot(1, "b1")), 1)
    m.release("orders", 0, 2)
    m.out.clear()
    hold = Holder("orders", "a1", fence(5, 1))
    view = msgspec.structs.replace(NEXT, holders=(hold,))
    m.receive("b1", Decided(view), 3)
    assert m.out == [Activate(view, (), (hold,))]


def test_m5_a_carried_hold_keeps_its_fence() -> None:
    m = member()
    m.enter("orders", 0, fence(5, 1), 1)
    hold = Holder("orders", "a1", fence(5, 1))
    view = msgspec.structs.replace(NEXT, holders=(hold,))
    m.receive("b1", Decided(view), 3)
    assert m.out == [Activate(view, (hold,), ())]
    assert m.holding("orders", 0, 4)


def test_m5_other_voters_need_a_lease_over_them_while_something_is_held() -> None:
    m = member()
    m.enter("orders", 0, fence(5, 1), 1)
    hold = Holder("orders", "a1", fence(5, 1))
    view = msgspec.structs.replace(NEXT, voters=("1", "2", "3", "4"), holders=(hold,))
    m.receive("b1", Decided(view), 2)
    assert m.epoch == 5
    renewed(m, "4", 3)
    assert m.epoch == 6
    assert m.holding("orders", 0, 4)


def test_m5_other_voters_are_not_waited_for_if_nothing_is_held() -> None:
    m = member()
    m.receive("b1", Decided(msgspec.structs.replace(NEXT, voters=("1", "2", "3", "4"))), 2)
    assert m.epoch == 6


def test_m5_a_shorter_lease_cuts_what_acknowledgements_are_worth() -> None:
    m = member()
    m.receive("b1", Decided(msgspec.structs.replace(NEXT, lease=Lease(2, 0.01, 0.05))), 1)
    assert m.valid(2.9)
    assert not m.valid(3)


def test_m5_a_dropped_member_loses_all_and_never_acts_again() -> None:
    m = member()
    m.enter("orders", 0, fence(5, 1), 1)
    view = msgspec.structs.replace(NEXT, members=(B,))
    m.receive("b1", Decided(view), 2)
    assert m.out == [Lost(Holder("orders", "a1", fence(5, 1))), Dropped(view)]
    m.out.clear()
    m.renew(3)
    assert m.out == []


def test_m6_mail() -> None:
    m = member()
    assert m.admit("b1", 4) is Mail.DROP
    assert m.admit("b1", 5) is Mail.DELIVER
    assert m.admit("z9", 5) is Mail.DROP
    assert m.admit("b1", 6) is Mail.KEEP
    assert said(m.out) == [Fetch(5)] * 3
    m.wedge(1)
    assert m.admit("b1", 5) is Mail.DROP


def test_m7_bye_only_when_nothing_is_held() -> None:
    m = member()
    m.enter("orders", 0, fence(5, 1), 1)
    m.leave()
    assert not m.farewell()
    assert not m.enter("bills", 0, fence(5, 1), 1)
    m.release("orders", 0, 2)
    m.out.clear()
    assert m.farewell()
    assert said(m.out) == [Bye("a1")] * 3


def test_v4_a_joiner_that_leaves_while_it_is_taken_in_is_out_of_the_next_view() -> None:
    """Its goodbye comes before the view that has it; nobody need wait until it is silent."""
    d = Node("d", "d1")
    v = voter()
    v.receive("d1", Join(d), 0)
    v.receive("d1", Bye("d1"), 0)
    v.receive("d1", Join(d), 0)  # which was long on its way
    v.receive("p", Prepare(6, Ballot(1, "p"), asked=True, news=News(joiners=(d,))), 0)
    assert not v.news().joiners
    v.receive("p", Decided(msgspec.structs.replace(NEXT, members=(*NEXT.members, d))), 0)
    assert v.has_reason(0)
    assert v.news().gone == ("d1",)
    v.receive("p", Decided(msgspec.structs.replace(NEXT, epoch=7)), 0)
    assert not v.has_reason(0)
    assert not v.gone


def proposer(**values: object) -> Proposer:
    return Proposer(view=VIEW, ballot=Ballot(1, "b1"), **values)  # type: ignore[arg-type]


def promises(p: Proposer, *voters: str, banned: tuple[str, ...] = ()) -> None:
    for name in voters:
        v = voter()
        v.receive("b1", Prepare(6, p.ballot, asked=True, news=v.news()), 0)
        promise = said(v.out)[-1]
        assert isinstance(promise, Promise)
        p.receive(name, msgspec.structs.replace(promise, voter=name, banned=banned))


def test_p2_waits_for_a_report_or_a_ban_of_a_majority() -> None:
    p = proposer()
    promises(p, "1", banned=("a1",))
    promises(p, "2", "3")
    p.receive("b1", Report(5, "b1", ()))
    assert p.proposal is None
    promises(p, "2", banned=("a1",))
    assert p.proposal is not None
    assert p.proposal.members == (B,)


def test_p2_a_joiner_of_the_same_name_waits_until_the_old_one_is_gone() -> None:
    again = Node("a", "a2")
    p = proposer(joiners={"a2": again})
    p.receive("a1", Report(5, "a1", ()))
    p.receive("b1", Report(5, "b1", ()))
    promises(p, "1", "2")
    assert p.proposal is not None
    assert p.proposal.members == (A, B)


def test_p2_of_joiners_with_one_name_only_the_last_is_taken_in() -> None:
    """It was started twice before anybody took it in."""
    first, second = Node("d", "d2"), Node("d", "d1")
    v = voter()
    for node in (first, second):
        v.receive(node.incarnation, Join(node), 0)
    assert v.news().joiners == (second,)
    p = proposer(joiners={"d2": first, "d1": second})
    p.receive("a1", Report(5, "a1", ()))
    p.receive("b1", Report(5, "b1", ()))
    assert p.newcomers() == [second]
    promises(p, "1", "2")
    assert p.proposal is not None
    assert p.proposal.members == (A, B, second)


def test_a_view_says_where_its_voters_are() -> None:
    view = msgspec.structs.replace(VIEW, homes=(("1", "h:1"), ("2", "h:2")))
    more = Proposer(view=view, ballot=Ballot(1, "b1"), change=VoterChange("add", "4", "h:4"))
    assert more.next_homes(more.view.members) == (("1", "h:1"), ("2", "h:2"), ("4", "h:4"))
    less = Proposer(view=view, ballot=Ballot(1, "b1"), change=VoterChange("remove", "1"))
    assert less.next_homes(less.view.members) == (("2", "h:2"),)


def test_p2_of_two_that_do_not_hear_each_other_one_that_holds_nothing_is_left_out() -> None:
    hold = Holder("orders", "b1", fence(5, 1))
    p = proposer(cut={("a1", "b1"), ("b1", "a1")})
    p.receive("a1", Report(5, "a1", ()))
    p.receive("b1", Report(5, "b1", (hold,)))
    promises(p, "1", "2")
    assert p.proposal is not None
    assert (p.proposal.members, p.proposal.holders) == ((B,), (hold,))


def test_p2_voters_change_by_one() -> None:
    assert VoterChange("add", "4").applied(("1", "2", "3")) == ("1", "2", "3", "4")
    assert VoterChange("remove", "1").applied(("1", "2")) == ("2",)
    assert not msgspec.structs.replace(NEXT, voters=("1", "2", "4")).follows(VIEW)
    with pytest.raises(UsageError, match="last voter"):
        VoterChange("remove", "1").applied(("1",))


def test_p4_done_when_a_majority_of_the_new_voters_has_stored_it() -> None:
    p = proposer()
    p.receive("", Decided(msgspec.structs.replace(NEXT, voters=("2", "3", "4", "5"))))
    for name, done in (("1", False), ("2", False), ("3", False), ("4", True)):
        p.receive(name, Stored(name, 6))
        assert p.done() is done


def test_polls_bind_nobody() -> None:
    p, v = proposer(), voter()
    p.poll()
    before = v.file
    v.receive("b1", said(p.out)[0], 20)  # type: ignore[arg-type]
    assert v.file == before
    (answer,) = said(v.out)
    for name in ("1", "2"):
        p.receive(name, msgspec.structs.replace(answer, voter=name))  # type: ignore[type-var]
    assert p.silent() == {"a1", "b1"}
    assert p.ready()
