"""When to propose the next view, and how long to go on: what the rules leave to their driver.

Only voters propose, for they know of every reason; one after the other, so that ballots rarely meet. A voter that comes later
waits a little longer, and after a while without a decision everybody tries again with a higher ballot.
"""

from __future__ import annotations

import random

from soloist.core import Message
from soloist.net.member.company import node_of
from soloist.net.member.hearing import Hearing
from soloist.net.member.wish import Wish, unwise
from soloist.views import Algorithm, Ballot, Proposer, View, Voter
from soloist.views.messages import Decided, Stored
from soloist.views.proposer import VoterChange

RANK_SECONDS = 0.15
"""Seconds that each further voter waits longer before it proposes, too."""
MOST_DOUBTS = 3
"""Tries, before a change of voters that would leave too few of them is given up."""
PATIENT_BEATS = 6
"""Beats without a decision after which a proposer tries a higher ballot."""


class Canvass:
    """One node's tries to make the next view."""

    def __init__(self, hearing: Hearing, rank_seconds: float = RANK_SECONDS) -> None:
        self.hearing, self.rank_seconds = hearing, rank_seconds
        self.batch_seconds = 0.0
        """How long we wait, once we see a reason, for others that may come with it."""
        self.proposer: Proposer | None = None
        self.round = 0
        self.since: float | None = None
        """When we saw a reason."""
        self.algorithms: tuple[Algorithm, ...] = ()
        """What the next view is to run, if we know."""
        self.patience = 0
        self.prepared = False
        """Whether our proposer has asked everybody to wedge."""
        self.wish: Wish | None = None
        """What somebody asked us to change."""

    def rest(self) -> None:
        """A view has begun."""
        self.since, self.patience = None, 0

    def consider(self, voter: Voter | None, known: View | None, me: str, now: float) -> bool:
        """Whether it is for us to see to the next view, and whether it is time to wedge everybody.

        Who does not vote does so only if it was asked for something. Gives whether we vote, and see a reason.
        """
        voter = voter if voter and voter.votes else None
        view = voter.view if voter else known
        if view and (voter or self.wish):
            self._consider(voter, view, me, now)
        return voter is not None and self.since is not None

    def _consider(self, voter: Voter | None, view: View, me: str, now: float) -> None:
        if self.proposer and self.proposer.view.epoch < view.epoch:
            self.proposer = None
        wanted = self.wish is not None and not self.wish.fulfilled(view)
        if not (wanted or (voter and voter.has_reason(now))):
            self.since = None
            return
        self.since = now if self.since is None else self.since
        rank = self._rank(voter, view) if voter and not wanted else 0
        new = self.proposer is None and now - self.since >= self.batch_seconds + self.rank_seconds * rank
        if new:
            self._propose(voter, view, me)
        proposer = self.proposer
        if proposer is None:
            return
        if voter:  # at once, not with its next answer: whom we wait for may be dead
            proposer.learn(voter.news())
            proposer.propose()
        ready = proposer.ready() or self._has_proof(voter, proposer, now)
        if ready and not self.prepared and self._would_end(proposer, me, now):
            self.prepared = True
            proposer.prepare()
        elif new:
            proposer.poll()

    def _rank(self, voter: Voter, view: View) -> int:
        """How many voters are before us that can be reached."""
        mine, peers = voter.file.voter, self._living(voter)
        return sum(1 for each in view.voters if each < mine and node_of(each) in peers)

    def _living(self, voter: Voter) -> set[str]:
        """Peers that are connected. One whose death is proved may seem to be: its connection has not ended yet."""
        return {peer for peer, each in self.hearing.incarnations.items() if each not in voter.gone}

    def _has_proof(self, voter: Voter | None, proposer: Proposer, now: float) -> bool:
        """Whether somebody is out for certain, and so many voters were heard lately that they need not be polled first."""
        if voter is None or not proposer.gone:
            return False
        near = self._living(voter).intersection(self.hearing.lately(proposer.view.lease.length / 2, now))
        return proposer.view.is_quorum([voter.file.voter, *(self.hearing.files[peer] for peer in near)])

    def _propose(self, voter: Voter | None, view: View, me: str) -> None:
        ballot = voter.file.ballot if voter else None
        self.round = max(self.round, ballot.round if ballot else 0) + 1
        change = self._wanted(voter, view)
        self.proposer = Proposer(
            view=view,
            ballot=Ballot(self.round, me),
            asked=change is not None,
            change=change,
            algorithms=self.algorithms,
        )
        self.patience = PATIENT_BEATS + random.randrange(PATIENT_BEATS)
        self.prepared = False

    def _would_end(self, proposer: Proposer, me: str, now: float) -> bool:
        """Whether everybody can be heard who is not out already. Nobody is wedged before that, or for a lease."""
        assert self.since is not None
        out, here = proposer.silent() | proposer.gone, {*self.hearing.incarnations.values(), me}
        waited = now - self.since >= proposer.view.lease.length
        return waited or all(each in here for each in proposer.view.incarnations - out)

    def _wanted(self, voter: Voter | None, view: View) -> VoterChange | None:
        """What somebody asked for and is not so yet. Looked at again: others may have gone since, or changed voters, too."""
        wish = self.wish
        if wish is None or wish.fulfilled(view):
            return None
        files = {*self.hearing.files.values(), voter.file.voter if voter else ""}
        if why := unwise(wish.change, view, files):
            wish.doubts += 1  # who votes may not have said so yet: the poll asks
            if wish.doubts == MOST_DOUBTS:
                self.wish = None
                wish.then(why)
            return None
        return wish.change

    def pursue(self, wish: Wish) -> None:
        if self.wish:
            wish.then("another change of voters is under way; they change one at a time")
        else:
            self.wish = wish

    def give_up(self, wish: Wish) -> None:
        if self.wish is wish:
            self.wish = None

    def see_to_wish(self, view: View | None) -> list[tuple[str, Decided]]:
        """Once it is so: the voters who are to say that they know, and what."""
        if view is None or self.wish is None or not self.wish.fulfilled(view):
            return []
        self.wish.epoch = view.epoch if self.wish.epoch is None else self.wish.epoch
        return [(voter, Decided(view)) for voter in view.voters]

    def hear(self, sender: str, message: Message, view: View | None) -> None:
        """What others say to our proposer. P4: done, once a majority of the new voters knows."""
        if self.proposer:
            self.proposer.receive(sender, message)
        if isinstance(message, Stored) and view and self.wish and self.wish.heard(message, view):
            wish, self.wish = self.wish, None
            wish.then("")

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
