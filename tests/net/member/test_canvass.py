"""When a voter sees to the next view: at once where somebody's end is proved, and after a poll where nobody's is."""

from __future__ import annotations

from soloist.core import Message
from soloist.net.member.canvass import Canvass
from soloist.net.member.hearing import Hearing
from soloist.views import Lease, Node, Send, View, VoteFile, Voter
from soloist.views.messages import Accept, Dead, News, Poll, Prepare, Promise, Report

LEASE = 10.0
VIEW = View(
    epoch=7,
    voters=("a#1", "b#1", "c#1"),
    members=tuple(Node(name, f"{name}-incarnation") for name in "abcd"),
    lease=Lease(LEASE),
)


class Driven:
    """The voter of one node, and its canvass."""

    def __init__(self, name: str, hears: str, at: float = 0.0) -> None:
        self.me = f"{name}-incarnation"
        self.voter = Voter(file=VoteFile(cluster="x", voter=f"{name}#1", view=VIEW))
        self.hearing = Hearing(name)
        for peer in hears:
            self.hearing.meet(peer, f"{peer}-incarnation")
            self.hearing.heard(peer, [name], at, f"{peer}#1" if peer in "abc" else "")
        self.canvass = Canvass(self.hearing)

    def hear_of_death(self, name: str) -> None:
        self.voter.receive("", Dead(f"{name}-incarnation", "its process is gone"), 0.0)

    def says(self, now: float = 0.0) -> list[tuple[str, Message]]:
        self.canvass.consider(self.voter, VIEW, self.me, now)
        if self.canvass.proposer is None:
            return []
        said, self.canvass.proposer.out = self.canvass.proposer.out, []
        return [(each.to, each.message) for each in said if isinstance(each, Send)]


def kinds(said: list[tuple[str, Message]]) -> set[type[Message]]:
    return {type(message) for _, message in said}


def test_a_proof_of_death_needs_no_poll() -> None:
    a = Driven("a", "bcd")
    assert a.says() == []
    a.hear_of_death("d")
    said = a.says()
    assert kinds(said) == {Prepare}
    assert {to for to, _ in said} == {*VIEW.voters, *VIEW.incarnations}


def test_without_voters_that_were_heard_lately_nobody_is_wedged() -> None:
    """They may be out of reach, and whoever is wedged waits for them."""
    a = Driven("a", "bcd")
    a.hear_of_death("d")
    assert kinds(a.says(now=LEASE * 0.6)) == {Poll}


def test_a_dead_voter_whose_connection_has_not_ended_is_neither_heard_nor_waited_for() -> None:
    b = Driven("b", "ad")
    b.hear_of_death("a")
    assert kinds(b.says()) == {Poll}  # it is the first of those who vote, and c is not heard
    b = Driven("b", "acd")
    b.hear_of_death("a")
    assert kinds(b.says()) == {Prepare}


def test_whoever_dies_while_it_is_waited_for_is_waited_for_no_longer() -> None:
    a = Driven("a", "bcd")
    a.hear_of_death("d")
    a.says()
    proposer = a.canvass.proposer
    assert proposer
    for voter in ("a#1", "b#1"):
        proposer.receive(voter, Promise(8, proposer.ballot, voter, None, (), News()))
    for name in "ab":
        proposer.receive(f"{name}-incarnation", Report(7, f"{name}-incarnation", ()))
    assert kinds(a.says()) == set()  # c has not reported
    a.hear_of_death("c")
    said = [message for _, message in a.says() if isinstance(message, Accept)]
    assert said
    assert [node.name for node in said[0].view.members] == ["a", "b"]
