"""Who hears whom: silence is counted by the clock, not by connections."""

from __future__ import annotations

from soloist.net.member.hearing import Hearing
from soloist.views import Lease, Node, View

VIEW = View(
    epoch=7, voters=("a#1", "b#2"), members=(Node("a", "A"), Node("b", "B")), lease=Lease(10, margin=0.1)
)


def hearing() -> Hearing:
    """Of a, which has been in the view with b since 0 and has heard it at 50."""
    ears = Hearing("a")
    ears.begin(VIEW, 0)
    ears.meet("b", "B")
    ears.heard("b", ["a"], 50)
    return ears


def test_a_connection_that_breaks_and_is_made_again_is_no_silence() -> None:
    ears = hearing()
    ears.lost("b")
    assert ears.deaf_to(VIEW, 55) == ()
    ears.meet("b", "B")
    assert ears.deaf_to(VIEW, 59.9) == ()
    assert ears.deaf_to(VIEW, 60) == ("B",)


def test_a_new_member_is_not_silent_before_it_could_speak() -> None:
    ears = Hearing("a")
    ears.begin(VIEW, 100)
    assert ears.deaf_to(VIEW, 109) == ()
    assert ears.deaf_to(VIEW, 110) == ("B",)


def test_who_is_heard_is_told_so_over_each_connection_anew() -> None:
    ears = hearing()
    assert ears.lately(10, 51) == ["b"]
    ears.told.add("b")
    ears.meet("b", "B2")
    assert ears.lately(10, 51) == []
    assert ears.told == set()


def test_who_was_left_out_comes_back_when_everybody_hears_it_or_some_day() -> None:
    ears = Hearing("b")
    without_b = View(epoch=8, voters=("a#1",), members=(Node("a", "A"),), lease=Lease(10, margin=0.1))
    ears.left_out = without_b, 100
    assert not ears.may_join(None, 101)
    ears.meet("a", "A")
    ears.heard("a", [], 101)
    assert not ears.may_join(None, 101)
    ears.heard("a", ["b"], 102)
    assert ears.may_join(None, 102)
    ears.lost("a")
    assert not ears.may_join(None, 103)
    assert ears.may_join(None, 201)


def test_who_heard_us_before_a_link_was_cut_does_not_do_so_now() -> None:
    """It would be in a view with us, and mail between us would wait until one of us is left out again."""
    ears = hearing()
    ears.left_out = VIEW, 50
    assert ears.may_join(None, 54)
    assert not ears.may_join(None, 56)
    ears.heard("b", ["a"], 56)
    assert ears.may_join(None, 56)


def test_who_heard_the_incarnation_before_has_to_hear_this_one() -> None:
    ears = hearing()
    ears.left_out = VIEW, 50
    ears.become_another()
    assert not ears.may_join(None, 51)
    ears.heard("b", ["a"], 51)
    assert ears.may_join(None, 51)
