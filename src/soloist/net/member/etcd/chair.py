"""When to make the next view, and which: what a proposer does where etcd is the only voter.

No promises and no ballots: the node that writes first, over the revision of the view that it has seen, has decided. Rule P2 is
that of `Proposer`; who has no entry is gone.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from soloist.net.member.etcd.store import Entry, Snapshot
from soloist.views import Algorithm, Ballot, Eviction, Lease, Proposer, View, fence
from soloist.views.view import COUNTER_BITS

ETCD = "etcd"
"""The id of the only voter."""
RANK_SECONDS = 0.15
"""Seconds that each further node waits longer before it sees to the next view, too."""
BATCH_SECONDS = 0.05
"""Seconds that joiners wait for others that may come with them."""


class Mark(msgspec.Struct, frozen=True):
    """Ask everybody to wedge, before this epoch begins."""

    epoch: int


class Decide(msgspec.Struct, frozen=True):
    """Make this the view, if those are not there."""

    view: View
    absent: tuple[str, ...] = ()


def wanted(eviction: Eviction, view: View) -> bool:
    """Whether the view after this one is needed for it. Entries still speak of what is done already."""
    return eviction.below > fence(view.epoch, 0) or any(map(eviction.hits, view.holders))


class Chair:
    """One node's part in making views."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        """As this node is configured: counts in a view that nobody is carried over into."""
        self.algorithms: tuple[Algorithm, ...] = ()
        """What the views that we make are to run, if we know."""
        self.since: float | None = None
        """When we saw a reason."""

    def consider(self, at: Snapshot, me: str, heard: Collection[str], now: float) -> Mark | Decide | None:
        """What to do now. `heard` are the incarnations that we are connected with."""
        here = {me, *heard}
        step = self._next(at, me, here) if at.view else self._first(at, here)
        if step is None:
            self.since = None
            return None
        self.since = now if self.since is None else self.since
        waited = now - self.since
        if waited < self._patience(at, me, here):
            return None
        if isinstance(step, Mark) and not self._would_end(at, here) and waited < self.lease.length:
            return None
        return step

    def _first(self, at: Snapshot, here: set[str]) -> Decide | None:
        if any(entry.epoch >= 0 for entry in at.entries.values()):
            return (
                None  # there was a view, which somebody has removed, and its members may hold something yet
            )
        joiners = [entry for each, entry in at.entries.items() if each in here]
        origin = max(entry.origin for entry in at.entries.values())  # of those we do not hear, too
        epoch, counter = divmod(origin, 1 << COUNTER_BITS)
        members = tuple({entry.node.name: entry.node for entry in joiners}.values())  # of each name one
        return Decide(
            View(
                epoch=epoch,
                counter=counter,
                voters=(ETCD,),
                members=tuple(sorted(members)),
                lease=self.lease,
                algorithms=self.algorithms,
                protocol=min(node.newest for node in members),
            )
        )

    def _next(self, at: Snapshot, me: str, here: set[str]) -> Mark | Decide | None:
        proposer = self._proposer(at, here)
        view = proposer.view
        unfinished = at.change == proposer.epoch or proposer.reports
        breaks = any(wanted(each, view) for each in proposer.evictions)
        if not (unfinished or breaks or proposer.gone or proposer.newcomers() or proposer.cut_off()):
            return None
        if me not in view.incarnations and proposer.gone != view.incarnations:
            return None  # it is for the members to see to that
        if found := proposer.next_view():
            return Decide(found, tuple(sorted(proposer.gone)))
        return Mark(proposer.epoch) if at.change != proposer.epoch and me in view.incarnations else None

    def _proposer(self, at: Snapshot, here: set[str]) -> Proposer:
        assert at.view
        proposer = Proposer(view=at.view, ballot=Ballot(0, ETCD), algorithms=self.algorithms)
        proposer.gone = set(at.view.incarnations - at.entries.keys())
        proposer.evictions = set(at.evictions)
        for each, entry in at.entries.items():
            if entry.report:
                proposer.note(entry.report)
            if entry.epoch < 0 and each in here:
                proposer.take_in(entry.node)
            proposer.cut |= {(each, other) for other in entry.deaf}
        if proposer.gone == at.view.incarnations:
            proposer.lease = self.lease
        return proposer

    def _patience(self, at: Snapshot, me: str, here: set[str]) -> float:
        """The first by name that can be reached does not wait; members come before joiners."""
        members = at.view.incarnations if at.view else frozenset()

        def place(entry: Entry) -> tuple[bool, str, str]:
            return entry.node.incarnation not in members, entry.node.name, entry.node.incarnation

        mine = place(at.entries[me])
        before = sum(1 for each, entry in at.entries.items() if each in here and place(entry) < mine)
        batch = 0.0 if members - at.entries.keys() or at.change else BATCH_SECONDS
        return batch + RANK_SECONDS * before

    def _would_end(self, at: Snapshot, here: set[str]) -> bool:
        """Whether everybody can be heard who is not out already. Nobody is wedged before that, or for a lease."""
        assert at.view
        return all(each in here for each in at.view.incarnations & at.entries.keys())
