"""A session: what a client of a node may hold, and for how long, though nobody hears from it. Rules S1 to S5.

A client renews its session as a member renews its lease: it counts from *sending*, the node from the last acknowledgement
that it *sent*. But a node has a lease of its own, and what its clients hold is worth no more than what it holds itself.

- S1 the client numbers its renewals, and remembers when it sent each.
- S2 the node acknowledges a renewal of a session that is not over with what it is *worth*: the smaller of the session's
  lease and what is left of the node's own, at this moment, as a clock that runs slower must count it.
- S3 the client: good until = max(good until, sent + worth), if the session is not over, and if this was said by that node, in
  that session: another one that knows its number, as it may after a restart, has none of its holds. A caller that asks when it is not good
  has lost all that was held in it, for good: what is acknowledged later changes nothing. An acknowledgement that is worth
  nothing says nothing: the node has no lease, yet or any more.
- S4 the node lets go of what a session holds when the client has said goodbye or is known to have ended, or when
  the session's lease has passed since the last acknowledgement, on a clock that runs faster than the client's.
- S5 who comes back within that time, with the session's secret number, goes on in it. The node releases what the client no
  longer has, as its latest hello says, and what it says once it is welcome that it has given back since; the client loses what the node no longer has, and is told
  again of what was lost meanwhile. What is lost before anybody was let in is given back, and asked for anew by another number: words
  about the one before may be on their way. What comes behind the welcome is heard once the client is in the session that it is about.
  A session is with one node: where another one answers, or the same one that has forgotten it, another session begins.

A node that ends of its own will outwaits S4 for all sessions before it says goodbye to its peers: their clients may be
unreachable. If it ends otherwise, its peers wait for its lease, and by S2 no client's hold is good for longer.
"""

from __future__ import annotations

import math

import msgspec

from soloist.views.view import Lease

REMEMBERED = 8
"""Renewals whose sending time is remembered; an acknowledgement of an older one counts for nothing."""


class ClientSession(msgspec.Struct):
    """The client's side. Times are on the client's clock."""

    until: float = -math.inf
    """Until when what it holds is good."""
    over: bool = False
    number: int = 0
    sent: dict[int, float] = {}

    def renew(self, now: float) -> int:
        """S1. Gives the number of the renewal that is sent now."""
        self.number += 1
        self.sent[self.number] = now
        self.sent.pop(self.number - REMEMBERED, None)
        return self.number

    def renewed(self, number: int, worth: float, now: float) -> None:
        """S3."""
        sent = self.sent.pop(number, None)
        if sent is not None and worth > 0 and self.alive(now):
            self.until = max(self.until, sent + worth)

    def alive(self, now: float) -> bool:
        """Whether it may go on: it is good, or has never been good and nothing can have been held in it."""
        if self.until > -math.inf:
            self.good(now)
        return not self.over

    def good(self, now: float) -> bool:
        """S3. Whether what is held in it is held at this moment. Asked when it is not, it is lost for good."""
        if now >= self.until:
            self.over = True
        return not self.over


class NodeSession(msgspec.Struct):
    """The node's side. Times are on the node's clock."""

    lease: Lease
    until: float
    """When it is over, unless it is renewed."""
    over: bool = False

    @classmethod
    def begun(cls, lease: Lease, now: float) -> NodeSession:
        return cls(lease, now + lease.at_voter)

    def renew(self, left: float, now: float) -> float:
        """S2. Seconds that the acknowledgement is worth, if it is sent now; `left`: of the node's own lease."""
        if self.ended(now):
            return 0.0
        self.until = max(self.until, now + self.lease.at_voter)
        return max(0.0, min(self.lease.at_member, slower(left, self.lease.drift)))

    def ended(self, now: float) -> bool:
        """S4."""
        self.over = self.over or now >= self.until
        return self.over


def slower(seconds: float, drift: float) -> float:
    """What a clock may count, however slow it runs, if another one counts so much, however fast."""
    return seconds * (1 - drift) / (1 + drift)


__all__ = ["ClientSession", "NodeSession", "slower"]
