"""Whether a vote file is the newest that there was: an older one that was put back would vote a second time.

Every store makes a new edition of the file, with a higher number, and at each start of its voter the number leaps by an
amount that is drawn. Peers remember the highest that they have seen of each voter, and say so. What they say is either an
edition that the file had when it was read, or one of those since; if it is neither, that edition was made in another run,
of which this file knows nothing. If nothing was stored since the copy was taken, it is no older than the original.

Until a majority, itself included, has said what it has seen, nothing is answered that binds a voter. It is a net, no proof: peers that
were started again since have forgotten it, and those that have not heard of the newer editions cannot tell.
"""

from __future__ import annotations

import logging

from soloist.core import Message
from soloist.net.member.company import node_of
from soloist.net.member.parcel import Parcel
from soloist.net.member.votes import Votes
from soloist.views import Voter
from soloist.views.messages import Accept, Prepare, Renew

log = logging.getLogger("soloist.net")

BINDING = (Renew, Prepare, Accept)
"""What a voter must not answer unless its file is the newest."""


class Editions:
    """What one node knows of the vote files of its peers, and they of its own. Only the thread of its council uses it."""

    def __init__(self, votes: Votes, name: str) -> None:
        self.votes, self.name = votes, name
        self.seen: dict[str, int] = {}
        """The highest edition seen of each voter's file."""
        self.told: set[str] = set()
        """Peers that have said what they have seen of ours."""

    def shown(self, peer: str, voter: Voter | None) -> tuple[str, int, dict[str, int]]:
        """What goes into a parcel: our file's voter and edition, if it votes; and what we have seen of that peer's."""
        seen = {each: edition for each, edition in self.seen.items() if node_of(each) == peer}
        if voter is None or not voter.votes or not self.trusted(voter):
            return "", 0, seen
        return voter.file.voter, self.votes.edition, seen

    def compare(self, peer: str, parcel: Parcel, voter: Voter | None) -> None:
        """Learn from a peer. If it has seen what our file does not know of, there is no vote any more."""
        if node_of(parcel.voter) == peer:
            self.seen[parcel.voter] = max(self.seen.get(parcel.voter, 0), parcel.edition)
        self.told.add(peer)
        if voter is None or voter.stopped:
            return
        edition = parcel.seen.get(voter.file.voter, 0)
        if not self.votes.knows(edition):
            voter.failed(
                f"{peer} has seen edition {edition} of its vote file, which this one knows nothing of: it was restored"
            )
            log.error("%s votes no more: %s", self.name, voter.stopped)

    def withhold(self, voter: Voter, message: Message) -> bool:
        """Whether that must not be answered yet. It will be said again."""
        return isinstance(message, BINDING) and not self.trusted(voter)

    def trusted(self, voter: Voter) -> bool:
        """Whether a majority has been asked: who has never voted before need not ask."""
        if not self.votes.loaded or voter.view is None:
            return True
        nodes = {node_of(each) for each in voter.view.voters}
        return len(nodes & (self.told | {self.name})) >= min(voter.view.majority, len(nodes))
