"""What a node says to be taken in, and when it goes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from soloist.core import Message
from soloist.net.member.chronicle import RESTARTED
from soloist.views import Member
from soloist.views.messages import Dead, Decided, Join

if TYPE_CHECKING:
    from soloist.net.member.council import Council


def joining_requests(council: Council) -> list[Message]:
    """Said again and again to all voters that can be reached, until a view has us."""
    said: list[Message] = [Join(council.member.node)]
    if council.previous:
        said.insert(0, Dead(council.previous, RESTARTED))
    if council.voter and council.voter.view:  # there may be voters who were not told that it was born
        said.insert(0, Decided(council.voter.view))
    return said


def say_farewell(member: Member, peers: Iterable[str]) -> None:
    """Let nobody in any more and let go of everything; then tell these incarnations, and never act again."""
    member.leave()
    member.lose_all()
    if member.view:
        member.farewell(tuple(peers))
