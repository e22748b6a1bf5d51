"""What a node says to be taken in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soloist.core import Message
from soloist.views.messages import Dead, Decided, Join

if TYPE_CHECKING:
    from soloist.net.member.council import Council


def joining_requests(council: Council) -> list[Message]:
    """Said again and again to all voters that can be reached, until a view has us."""
    said: list[Message] = [Join(council.member.node)]
    if council.previous:
        said.insert(0, Dead(council.previous, "restarted"))
    if council.voter and council.voter.view:  # there may be voters who were not told that it was born
        said.insert(0, Decided(council.voter.view))
    return said
