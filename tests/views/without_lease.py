"""Deliberate mistakes where there is no lease, one each, and the setting that shows it. They live here only."""

from __future__ import annotations

from collections.abc import Collection

from soloist.check.views import Kit
from soloist.views import Node, Proposer
from soloist.views.view import VoterId

from .teeth import (
    AcceptedIgnored,
    AnyBallot,
    ByeThoughHolding,
    DroppedOnSuspicion,
    FalseProof,
    HolderForgotten,
    KeptWithoutReport,
    NoWedge,
    tooth,
)


class MajorityIsEnough(Proposer):
    """Those who have gone may be the very ones that have agreed."""

    def agree(self, voters: Collection[VoterId]) -> bool:
        gone = [node.vote for node in self.view.members if node.incarnation in self.gone]
        return len({*voters, *gone}.intersection(self.view.voters)) > len(self.view.voters) // 2


class GoneAreWaitedFor(Proposer):
    def agree(self, voters: Collection[VoterId]) -> bool:
        return self.view.is_quorum(voters)


class VotersStay(Proposer):
    """Who has left votes in the next view, and who has joined does not."""

    def next_voters(self, members: tuple[Node, ...]) -> tuple[VoterId, ...]:
        return self.view.voters


WITHOUT_LEASE = [
    tooth("BYE though holding, no lease", "leave", "carry-over", 13, kit=Kit(member=ByeThoughHolding)),
    tooth("gone, and waited for", "leave", "progress", 2, every=1, kit=Kit(proposer=GoneAreWaitedFor)),
    tooth(
        "accepted before a BYE, and ignored", "leave-proposer", "view", 17, kit=Kit(proposer=AcceptedIgnored)
    ),
    tooth(
        "a majority for all",
        "leave-rivals",
        "view",
        20,
        kit=Kit(proposer=MajorityIsEnough),
        leaves=("a",),
    ),
    tooth("crashed, and left out", "crash", "carry-over", 9, kit=Kit(proposer=DroppedOnSuspicion)),
    tooth("false proof, no lease", "crash-proved", "carry-over", 8, kit=Kit(site=FalseProof)),
    tooth("no report, no lease", "join", "carry-over", 8, kit=Kit(proposer=KeptWithoutReport)),
    tooth("holder forgotten at a join", "join", "carry-over", 10, kit=Kit(proposer=HolderForgotten)),
    tooth("no wedge at a join", "join", "carry-over", 10, kit=Kit(member=NoWedge)),
    tooth("any ballot at a join", "join-rivals", "view", 19, kit=Kit(voter=AnyBallot)),
    tooth("voters stay", "come-back", "progress", 9, every=1, kit=Kit(proposer=VotersStay)),
]
