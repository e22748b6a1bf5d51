"""Views: agreement on who is a member and which epoch it is, so that a crash is survived once, for every algorithm.

Pure state machines, like the algorithms: no clock, no I/O, no random numbers. Time is an argument, messages are
frozen records, and what is to be done is put into `out`, in order. `docs/views.md` has the rules.

`Voter`     V1-V7  remembers views and promises; a majority of them decides, and a majority is a lease
`Member`    M1-M8  lets callers in while its lease is good and no change of view is under way
`Proposer`  P1-P4  makes the next view; any node may be one
`Ledger`           M8: the holds of a member that voters remember, for when it is lost
`ClientSession`, `NodeSession`  S1-S5: what a client of a node may hold, and for how long
`Breaking`         an operator's wish to have a lock taken from its holder, and when that is done
"""

from soloist.views.breaking import Breaking
from soloist.views.effects import Activate, Discharged, Dropped, Effect, Entitled, Lost, Send, Store, VoteFile
from soloist.views.ledger import Ledger
from soloist.views.member import Mail, Member
from soloist.views.proposer import Proposer, VoterChange
from soloist.views.session import ClientSession, NodeSession, slower
from soloist.views.view import (
    FOR_GOOD,
    Algorithm,
    Ballot,
    Eviction,
    Holder,
    Lease,
    Node,
    Registration,
    View,
    Vote,
    fence,
)
from soloist.views.voter import Voter

__all__ = [
    "FOR_GOOD",
    "Activate",
    "Algorithm",
    "Ballot",
    "Breaking",
    "ClientSession",
    "Discharged",
    "Dropped",
    "Effect",
    "Entitled",
    "Eviction",
    "Holder",
    "Lease",
    "Ledger",
    "Lost",
    "Mail",
    "Member",
    "Node",
    "NodeSession",
    "Proposer",
    "Registration",
    "Send",
    "Store",
    "View",
    "Vote",
    "VoteFile",
    "Voter",
    "VoterChange",
    "fence",
    "slower",
]
