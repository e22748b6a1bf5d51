"""A view: who is a member and who votes, in which epoch, and what the members hold. One value, agreed upon once.

Everything is about *incarnations*, never about names: 128 random bits, new at each start of a process.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

import msgspec

from soloist.core import UsageError

Incarnation = str
"""One run of one process, in hexadecimal digits."""
VoterId = str
"""One vote file: a voter that has lost its disk comes back under another id."""

COUNTER_BITS = 40
MOST_COUNTED = 1 << COUNTER_BITS - 1
"""Entries, from which on counting begins anew, in another epoch."""
FOR_GOOD = 1e12
"""Seconds: a delay that never ends. Infinity would not come back from a vote file, which is JSON."""


def fence(epoch: int, counter: int) -> int:
    """Grows from holder to holder within an epoch by its counter, and over epochs whatever the counter is."""
    return epoch << COUNTER_BITS | counter


class Node(msgspec.Struct, frozen=True, array_like=True, order=True):
    """One member of a view."""

    name: str
    incarnation: Incarnation
    address: str = ""
    oldest: int = 1
    newest: int = 1
    """The versions of the protocol that it offers, from the first to the last."""

    @property
    def vote(self) -> VoterId:
        """Under which id it votes where nobody is ever out-waited: such a vote ends with its process."""
        return f"{self.name}#{self.incarnation}"

    def speaks(self, protocol: int) -> bool:
        return self.oldest <= protocol <= self.newest


class Holder(msgspec.Struct, frozen=True, array_like=True, order=True):
    """One hold that is carried over into an epoch, with the fence that it was given when it began."""

    lock: str
    incarnation: Incarnation
    fence: int
    slot: int = 0
    """Which place it has; below 0 where the algorithm does not tell places apart, and then only a number of its own."""
    size: int = 1
    """How many places the lock has."""


class Registration(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A hold that a majority of voters has stored before it began, so that it is known of when its holder is lost."""

    hold: Holder
    node: str
    """The name of the holder's node."""
    delay: float
    """Seconds for which nobody else gets in after the loss was decided; `FOR_GOOD`: until somebody breaks the lock."""


class Eviction(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Somebody wants this lock taken from holders with a fence below that: later holders have nothing to fear."""

    lock: str
    below: int

    def hits(self, hold: Holder) -> bool:
        return hold.lock == self.lock and hold.fence < self.below


NOBODY = Eviction("", 0)
"""Hits no hold: it asks for the next view for its own sake."""
LOSS = Eviction("", -1)
"""As well: a registered hold is lost, and nobody but its member knows."""


def evicted(hold: Holder, evictions: Iterable[Eviction]) -> bool:
    return any(eviction.hits(hold) for eviction in evictions)


class Algorithm(msgspec.Struct, frozen=True, array_like=True, order=True):
    """What runs a kind of lock in this epoch; the digest is of its source."""

    name: str
    options: str = ""
    digest: str = ""


class Lease(msgspec.Struct, frozen=True, array_like=True):
    """How long a silent member is waited for. All of it comes from the view, never from a node's configuration."""

    length: float
    drift: float = 0.01
    """The most by which the rate of a clock is off, as a fraction."""
    margin: float = 0.0
    """Seconds from looking at the clock to using the answer, at most."""

    def __post_init__(self) -> None:
        if not (0 <= self.drift < 1 and self.margin >= 0 and self.at_member > 0):
            raise UsageError(
                f"a lease of {self.length:g} s leaves nothing to its members with drift {self.drift:g} "
                f"and margin {self.margin:g} s; make it longer than {self.margin / (1 - self.drift):g} s"
                if 0 <= self.drift < 1 and self.margin >= 0
                else f"drift must be from 0 to below 1 and margin not negative, not {self.drift:g} and {self.margin:g}"
            )

    @property
    def endless(self) -> bool:
        """Whether there is none: nobody is ever silent, and all members vote."""
        return self.length == math.inf

    @property
    def at_member(self) -> float:
        """LM: seconds that an acknowledgement is worth, from *sending* the renewal, on the member's clock."""
        return self.length * (1 - self.drift) - self.margin

    @property
    def at_voter(self) -> float:
        """LV: seconds from the last acknowledgement *sent*, on the voter's clock, until a member is silent."""
        return self.length * (1 + self.drift)


class View(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """Epoch, voters, members, holders and terms. Equal epochs mean equal views."""

    epoch: int
    voters: tuple[VoterId, ...]
    members: tuple[Node, ...]
    holders: tuple[Holder, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    """Places of every semaphore that was ever held, by name."""
    lease: Lease
    algorithms: tuple[Algorithm, ...] = ()
    protocol: int = 1
    """The version in which its members talk: the highest that all of them offer."""
    counter: int = 0
    """Above which its fences begin: not 0 if the epoch was found by a clock, at a birth, or if they go on."""
    broken: tuple[Holder, ...] = ()
    """Holds that were taken from members which stay, when this view was made."""
    homes: tuple[tuple[VoterId, str], ...] = ()
    """Where voters are to be found: not all of them need be members."""
    registered: tuple[Registration, ...] = ()
    """Holds that voters have stored when they began, and that were not released when this view was made."""
    fences: int = 0
    """The epoch that its fences bear, if not its own: they go on above those of the view before."""

    def __post_init__(self) -> None:
        if not self.voters or len(set(self.voters)) < len(self.voters):
            raise UsageError(
                f"a view needs voters, each once, not {', '.join(self.voters) or 'an empty list'}"
            )
        if len(self.incarnations) < len(self.members):
            raise UsageError("a view has each incarnation once")

    @property
    def incarnations(self) -> frozenset[Incarnation]:
        return frozenset(node.incarnation for node in self.members)

    @property
    def withheld(self) -> tuple[Registration, ...]:
        """Those whose holders are lost: in this epoch nobody gets in where they were."""
        held = set(self.holders) if self.registered else ()
        return tuple(each for each in self.registered if each.hold not in held)

    @property
    def origin(self) -> int:
        """The fence that is below all those given in this view."""
        return fence(self.fence_epoch, self.counter)

    @property
    def fence_epoch(self) -> int:
        """The first half of its fences."""
        return self.fences or self.epoch

    @property
    def majority(self) -> int:
        """How many of the voters must agree: all of them, where nobody is ever out-waited."""
        return len(self.voters) if self.lease.endless else len(self.voters) // 2 + 1

    def is_quorum(self, voters: Collection[VoterId]) -> bool:
        """Whether these are a majority of this view's voters, or all of them, as the case may be."""
        return len(set(voters).intersection(self.voters)) >= self.majority

    def follows(self, older: View) -> bool:
        """Whether this may be the next view after `older`: one epoch on, and its voters one more or one less.

        Never one replaced: {1, 2, 3} and {1, 2, 4} have majorities without a voter in common. Where all must agree any
        number may change: nobody of the older view acts in it any more but those who have agreed to this one.
        """
        difference = set(self.voters) ^ set(older.voters)
        return self.epoch == older.epoch + 1 and (older.lease.endless or len(difference) <= 1)


class Ballot(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A try to make the next view: by round, then by proposer."""

    round: int
    proposer: str


class Vote(msgspec.Struct, frozen=True, array_like=True):
    """What a voter has accepted, and at which ballot."""

    ballot: Ballot
    view: View


def unsurpassed(registered: Iterable[Registration], holders: Iterable[Holder]) -> tuple[Registration, ...]:
    """Without those that were released, as a later holder of the same place shows: fences grow from holder to holder."""
    registered = tuple(registered)
    newest: dict[tuple[str, int], int] = {}
    for hold in (*holders, *(each.hold for each in registered)):
        place = hold.lock, hold.slot
        newest[place] = max(hold.fence, newest.get(place, 0))
    return tuple(sorted(r for r in registered if r.hold.fence == newest[r.hold.lock, r.hold.slot]))


def newcomers(view: View, joiners: Iterable[Node]) -> list[Node]:
    """Those whose name no member of the view bears, and who understand its members; of several with one name, the one
    that asked last."""
    names = {node.name for node in view.members}
    asking = [node for node in joiners if node.name not in names and node.speaks(view.protocol)]
    return list({node.name: node for node in asking}.values())


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """The same names once each and in order, so that equal sets are equal values."""
    return tuple(sorted(set(names)))
