"""When to propose the next view, and how long to go on: what the rules leave to their driver.

Only voters propose, for they know of every reason; one after the other, so that ballots rarely meet. Whoever comes later
waits a little longer, and after a while without a decision everybody tries again with a higher ballot.
"""

from __future__ import annotations

import random

from soloist.net.member.hearing import Hearing
from soloist.net.member.parcel import node_of
from soloist.views import Algorithm, Ballot, Proposer, View, Voter

RANK_SECONDS = 0.15
"""How much longer each further voter waits before it proposes, too."""
PATIENT_BEATS = 6
"""After so many beats without a decision a proposer tries a higher ballot."""


class Canvass:
    """One node's tries to make the next view."""

    def __init__(self, hearing: Hearing) -> None:
        self.hearing = hearing
        self.proposer: Proposer | None = None
        self.round = 0
        self.since: float | None = None
        """When we saw a reason."""
        self.algorithms: tuple[Algorithm, ...] = ()
        """What the next view is to run, if we know."""
        self.patience = 0
        self.prepared = False
        """Whether our proposer has asked everybody to wedge."""

    def rest(self) -> None:
        """A view has begun."""
        self.since, self.patience = None, 0

    def consider(self, voter: Voter, me: str, now: float) -> None:
        """Whether it is for us to see to the next view, and whether it is time to wedge everybody."""
        view = voter.view
        assert view
        if self.proposer and self.proposer.view.epoch < view.epoch:
            self.proposer = None
        if not voter.has_reason(now):
            self.since = None
            return
        self.since = now if self.since is None else self.since
        if self.proposer is None and now - self.since >= RANK_SECONDS * self._rank(voter, view):
            self._propose(voter, view, me)
        proposer = self.proposer
        if proposer and not self.prepared and proposer.ready() and self._would_end(proposer, me, now):
            self.prepared = True
            proposer.prepare()

    def _rank(self, voter: Voter, view: View) -> int:
        """How many voters are before us that can be reached."""
        mine, peers = voter.file.voter, self.hearing.incarnations
        return sum(1 for each in view.voters if each < mine and node_of(each) in peers)

    def _propose(self, voter: Voter, view: View, me: str) -> None:
        ballot = voter.file.ballot
        self.round = max(self.round, ballot.round if ballot else 0) + 1
        self.proposer = Proposer(view=view, ballot=Ballot(self.round, me), algorithms=self.algorithms)
        self.patience = PATIENT_BEATS + random.randrange(PATIENT_BEATS)
        self.prepared = False
        self.proposer.poll()

    def _would_end(self, proposer: Proposer, me: str, now: float) -> bool:
        """Whether everybody can be heard who is not out already. Nobody is wedged before that, or for a lease."""
        assert self.since is not None
        out, here = proposer.silent() | proposer.gone, {*self.hearing.incarnations.values(), me}
        waited = now - self.since >= proposer.view.lease.length
        return waited or all(each in here for each in proposer.view.incarnations - out)

    def press(self) -> None:
        """Say it again: what was said may be lost."""
        proposer = self.proposer
        if proposer is None:
            return
        self.patience -= 1
        if self.patience <= 0:
            self.proposer = None
        if proposer.decision:
            proposer.tell()
        elif self.patience <= 0:
            return
        elif proposer.proposal:
            proposer.ask_accept()
        elif self.prepared:
            proposer.prepare()
        else:
            proposer.poll()
