"""Settings without a lease: all members vote, all must agree, and nobody is out but who has said so, or is proved dead."""

from __future__ import annotations

import math
from typing import Any

from soloist.check.views.setting import Setting, node_called
from soloist.views import Lease


def unleased(name: str, says: str, **facts: Any) -> Setting:
    """Each member has a vote of its own, and proposers belong to members."""
    members, joiners = facts.get("members", ("a", "b")), facts.get("joiners", ())
    usual: dict[str, Any] = {"proposers": ("p.a",), "entries": (1,) * len((*members, *joiners)), "tries": 1}
    return Setting(
        name=name,
        says=says,
        voters=tuple(node_called(each).vote for each in members),
        spare_voters=tuple(node_called(each).vote for each in joiners),
        lease=Lease(math.inf),
        ticks=0,
        renewals="none",
        **usual | facts,
    )


UNLEASED = (
    unleased("leave", "no lease; 2 members, one leaves at any time, the other proposes", leaves=("b",)),
    unleased(
        "leave-proposer",
        "no lease; 2 members, the one that proposes leaves at any time, and the other proposes, too",
        proposers=("p.a", "p.b"),
        ballots=2,
        leaves=("a",),
    ),
    unleased(
        "leave-both",
        "no lease; 3 members, two leave at any time, the third proposes; 3 epochs",
        members=("a", "b", "c"),
        proposers=("p.c",),
        entries=(0, 0, 1),
        inside=True,
        passing=False,
        leaves=("a", "b"),
        ballots=2,
        epochs=3,
    ),
    unleased(
        "leave-rivals",
        "no lease; 3 members, one leaves, the others are rival proposers",
        members=("a", "b", "c"),
        proposers=("p.a", "p.b"),
        entries=(0, 0, 0),
        inside=True,
        ballots=2,
        leaves=("c",),
        rivals=True,
        passing=False,
    ),
    unleased("join", "no lease; 2 members and a joiner", joiners=("c",)),
    unleased(
        "join-rivals",
        "no lease; 2 members, one of them inside, and a joiner; rival proposers of which one has heard of it",
        joiners=("c",),
        known=("c",),
        proposers=("p.a", "p.b"),
        entries=(0, 0, 0),
        inside=True,
        ballots=2,
        rivals=True,
        passing=False,
    ),
    unleased(
        "come-back",
        "no lease; 2 members, one leaves and is started again, at any time; 3 epochs",
        joiners=("b'",),
        leaves=("b",),
        ballots=2,
        epochs=3,
    ),
    unleased(
        "crash",
        "no lease; 2 members, one crashes at any point: nothing goes on, and nothing goes wrong",
        proposers=("p.a", "p.b"),
        ballots=2,
        crashes=1,
    ),
    unleased(
        "crash-proved",
        "no lease; 2 members, one crashes at any point, which is proved",
        proposers=("p.a", "p.b"),
        ballots=2,
        crashes=1,
        proof=True,
    ),
    unleased(
        "unleased-epochs",
        "no lease; 2 members, 3 epochs in a row, old tokens under way, carry-over twice",
        ballots=2,
        epochs=3,
        entries=(2, 1),
    ),
)
