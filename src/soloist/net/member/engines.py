"""Who decides on who is a member: the voters among the nodes, all of them, or an etcd."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.core import UsageError
from soloist.net.member.company import USUAL_LEASE, Asked, check_lease
from soloist.net.member.etcd.endpoints import Endpoints, Etcd
from soloist.views import Lease

if TYPE_CHECKING:
    from soloist.net.engine.switchboard import Switchboard
    from soloist.net.link.handshake import Who
    from soloist.net.link.transport import Transport
    from soloist.net.member.company import Company
    from soloist.net.member.fellowship import Fellowship
    from soloist.net.member.membership import Membership
    from soloist.net.member.origin import DataDirectory
    from soloist.net.member.succession import Succession

LEAST_SECONDS = 2
"""Seconds: etcd's leases are no shorter than one and a half of its elections."""


def engine(lease: Asked, etcd: Endpoints | None) -> tuple[Lease | None, Callable[..., Succession]]:
    """The terms, from what a user says, and what begins a membership with them."""
    if etcd is None:
        terms = check_lease(lease)
        return terms, begin_with_voters if terms else begin_with_all
    from soloist.net.member.etcd.membership import begin_with_etcd  # only who wants it loads HTTP

    return etcd_lease(lease), partial(begin_with_etcd, Etcd.of(etcd))


def begin_with_voters(*told: Any) -> Membership:
    """As `begin_membership`, which is loaded when a node with a lease starts: an import is shorter without it."""
    from soloist.net.member.membership import begin_membership

    return begin_membership(*told)


def begin_with_all(
    terms: None,
    told: Company,
    board: Switchboard,
    transport: Transport,
    who: Who,
    sentinel: bool,
    data: DataDirectory | None,
) -> Fellowship:
    """Without a lease nobody is out-waited, and there is nothing for a sentinel to tell."""
    from soloist.net.member.fellowship import Fellowship

    return Fellowship(who, told, board, transport, data)


def etcd_lease(said: Asked) -> Lease:
    """The terms, from what a user says. Etcd waits for the lease and no longer, so drift counts twice at the member."""
    seconds = USUAL_LEASE if said == "auto" else said
    lease = check_lease(seconds)
    if lease is None or seconds is None:
        raise UsageError("with etcd there is always a lease: leave lease out, or give it seconds")
    if seconds < LEAST_SECONDS or seconds % 1:
        raise UsageError(
            f"lease must be a whole number of seconds with etcd, {LEAST_SECONDS} or more; not {seconds!r}"
        )
    lost = lease.length * (1 - lease.drift) * lease.drift / (1 + lease.drift)
    return msgspec.structs.replace(lease, margin=lease.margin + lost)


__all__ = ["Endpoints", "engine", "etcd_lease"]
