"""The thread that agrees with the others, alone: what it does without anybody to answer."""

from __future__ import annotations

from soloist.core import Message
from soloist.net.member.clock import lease_clock
from soloist.net.member.council import Council
from soloist.net.member.parcel import decode_parcel
from soloist.net.member.votes import MemoryVotes
from soloist.testing import until
from soloist.views import Lease, Node, View, VoteFile
from soloist.views.messages import Prepare

HOUR = 3600.0


class Deaf:
    """Whoever is told, and does not mind."""

    def activated(self, view: View) -> None: ...
    def lost(self, lock: str, fence: int, broken: bool) -> None: ...
    def dropped(self, view: View) -> None: ...
    def renewed(self) -> None: ...
    def starving(self, why: str) -> None: ...
    def learned(self, view: View) -> None: ...
    def left_us(self, peer: str) -> None: ...


def test_a_member_without_a_lease_asks_for_it_again_soon() -> None:
    """The voters may not have had the view yet when it first asked: callers would wait for a third of a lease."""
    here, votes = Node("a", "1" * 32, "a:1"), MemoryVotes("test", "a")
    others = [Node(name, name * 32, f"{name}:1") for name in "bc"]
    council = Council(here, votes, lease_clock(), Deaf())
    view = View(
        epoch=1,
        voters=(votes.file.voter, "b#1", "c#1"),
        members=(here, *others),
        lease=Lease(HOUR, drift=0.01, margin=1.0),
    )
    council.start()
    try:
        council.born(view)
        until(lambda: council.member.number >= 4, "it asks again and again")
    finally:
        council.close()


def test_another_incarnation_is_not_heard_because_the_one_before_was() -> None:
    """A node that was left out would else join at once, to be left out again by those who still do not hear it."""
    council = Council(Node("a", "1" * 32, "a:1"), MemoryVotes("test", "a"), lease_clock(), Deaf())
    council.start()
    try:
        council.do(lambda: council.hearing.heard("b", ["a"], council.clock()))
        until(lambda: council.hearing.heard_by.get("b"), "b hears a")
        council.become(Node("a", "2" * 32, "a:1"))
        until(lambda: not council.hearing.heard_by, "b has yet to hear it")
    finally:
        council.close()


class Noting(MemoryVotes):
    """Notes what had been said when a promise was stored."""

    def __init__(self) -> None:
        super().__init__("test", "a")
        self.said: list[tuple[str, Message]] = []
        self.said_before: list[tuple[str, Message]] | None = None

    def hear(self, peer: str, body: bytes) -> None:
        self.said += [(peer, message) for _, message in decode_parcel(body).said]

    def store(self, file: VoteFile) -> None:
        if file.ballot and self.said_before is None:
            self.said_before = list(self.said)
        super().store(file)


def test_others_are_asked_before_we_store_our_own_promise() -> None:
    """So that their disks work while ours does."""
    here, votes = Node("a", "1" * 32, "a:1"), Noting()
    others = [Node(name, name * 32, f"{name}:1") for name in "bc"]
    council = Council(here, votes, lease_clock(), Deaf())
    council.pulse.send = votes.hear  # type: ignore[method-assign]
    view = View(epoch=1, voters=(votes.file.voter, "b#1", "c#1"), members=(here, *others), lease=Lease(HOUR))

    def meet() -> None:
        council.hearing.meet("b", "b" * 32)
        council.hearing.heard("b", ["a"], council.clock(), "b#1")

    council.start()
    try:
        council.born(view)
        council.do(meet)
        council.dead("c" * 32, "its process is gone")
        until(lambda: votes.said_before is not None, "it has promised")
        assert any(peer == "b" and isinstance(each, Prepare) for peer, each in votes.said_before or ())
    finally:
        council.close()
