"""The parts of a state: copied, compared and moved on in time.

A part's clock always reads 0. When it goes on, all times that the part remembers go back, and no further than they can
make a difference: what is silent stays silent, what is worth nothing stays so. Nobody tells others what time it is, so
this changes nothing that can be seen.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from soloist.check.views.site import Site
from soloist.core import Message
from soloist.views import FOR_GOOD, Ledger, Member, Proposer, View, Voter
from soloist.views.messages import (
    Accept,
    Accepted,
    Ack,
    Decided,
    Prepare,
    Probe,
    Promise,
    Register,
    Registered,
    Renew,
    Report,
    Strike,
    Struck,
)
from soloist.views.voter import Heard

S = TypeVar("S", bound=msgspec.Struct)


class Slot(msgspec.Struct, kw_only=True):
    """Somebody who may propose: the newest view that it knows, and its try, if one is under way."""

    id: str
    base: View
    tries: int = 0
    proposer: Proposer | None = None


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What may still happen, and what the properties have to remember."""

    ticks: int
    ballots: int
    crashes: int
    restarts: int
    disks: int
    hangs: int
    top: int = 0
    """The highest fence so far."""
    decided: tuple[View, ...] = ()
    standing: int = 0
    """The fence of a registered hold that has begun, and was neither released nor broken."""
    waited: float | None = None
    """How long ago its loss was decided, if it was: by a clock that is right."""
    wrong: str = ""


def copied(part: S) -> S:
    """A copy that may be changed by a step."""
    values = [getattr(part, name) for name in part.__struct_fields__]
    return type(part)(
        **{name: _copied(value) for name, value in zip(part.__struct_fields__, values, strict=True)}
    )


def _copied(value: Any) -> Any:
    if isinstance(value, dict | set | list):
        return value.copy()
    if isinstance(value, Member | Proposer | Ledger):
        return copied(value)
    return value


def frozen(value: Any) -> Any:
    """A part as a value that can be compared: equal exactly if nothing tells the parts apart."""
    if isinstance(value, Voter | Member | Proposer | Ledger | Site | Slot):
        return tuple(frozen(getattr(value, name)) for name in value.__struct_fields__ if name != "out")
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    if isinstance(value, set):
        return tuple(sorted(value))
    return value


def later_voter(voter: Voter, by: int) -> None:
    if voter.view is None:
        return
    lease = voter.view.lease
    for inc, heard in voter.heard.items():
        unheard = None if heard.unheard is None else max(heard.unheard - by, -lease.length)
        voter.heard[inc] = Heard(heard.number, max(heard.time - by, -lease.at_voter), heard.echo, unheard)
    for each in voter.view.withheld:
        if each.delay < FOR_GOOD:
            limit = -each.delay * (1 + lease.drift)
            voter.since[each.hold] = max(voter.since[each.hold] - by, limit)


def later_site(site: Site, by: int) -> None:
    member = site.member
    if site.crashed or member.ended:
        return
    site.fresh = True
    member.worth = {voter: worth - by for voter, worth in member.worth.items() if worth > by}
    if member.view:
        length = member.view.lease.at_member
        member.sent = {n: sent - by for n, sent in member.sent.items() if sent - by + length > 0}


def is_void(part: Any, message: Message, echo: bool = False) -> bool:
    """Whether this message can never again mean anything to this part: it is about an epoch or a ballot gone by."""
    match part, message:
        case Voter(), Prepare() | Accept() | Decided():
            epoch = message.epoch if isinstance(message, Prepare) else message.view.epoch
            past = part.view is not None and epoch <= part.view.epoch
            return past or not (isinstance(message, Decided) or part.may_promise(message))
        case Site(), Prepare():
            return not part.acts or message.epoch <= part.member.epoch
        case Site(), Decided():
            return not part.acts or message.view.epoch <= part.member.epoch
        case Site(), Ack() | Probe():
            return part.member.ended or not _tells(part.member, message, echo)
        case Voter(), Renew():
            heard = part.heard.get(message.incarnation)
            return heard is not None and message.number <= heard.number
        case Slot(), Decided():
            return message.view.epoch <= part.base.epoch
        case Slot(), Promise() | Accepted():
            proposer = part.proposer
            if message.epoch <= part.base.epoch or proposer is None:
                return message.epoch <= part.base.epoch
            if isinstance(message, Promise) and proposer.proposal:
                return message.ballot <= proposer.ballot
            return message.ballot < proposer.ballot
        case Slot(), Report():
            return message.epoch < part.base.epoch
        case Voter(), Register() | Strike():
            return part.view is not None and message.epoch < part.view.epoch
        case Site(), Registered() | Struck():
            ledger, hold = part.member.ledger, message.hold
            waits = hold in ledger.striking or any(each.hold == hold for each in ledger.asked)
            return not waits or message.epoch != part.member.epoch
    return False


def _tells(member: Member, m: Ack | Probe, echo: bool) -> bool:
    """Whether an answer to a renewal is news."""
    if echo and m.number > member.echoes.get(m.voter, 0):
        return True
    if m.promised and (m.epoch > member.epoch or (m.epoch == member.epoch and not member.wedged)):
        return True
    if isinstance(m, Probe) or member.view is None or m.number not in member.sent:
        return False
    return member.worth.get(m.voter, 0) < member.sent[m.number] + member.view.lease.at_member


def plain_voter(voter: Voter) -> None:
    """Where no answer is ever under way its number tells nothing."""
    voter.heard = {inc: Heard(0, heard.time) for inc, heard in voter.heard.items()}


def no_echo(part: Voter | Member) -> None:
    """Leave out whether answers come through."""
    if isinstance(part, Voter):
        part.heard = {inc: Heard(heard.number, heard.time) for inc, heard in part.heard.items()}
    else:
        part.echoes = {}


def plain_member(member: Member) -> None:
    member.number, member.sent, member.echoes, member.starts = 0, {}, {}, {}


def rest(site: Site) -> None:
    """A site that never acts again is like any other such site."""
    member = site.member
    keep = type(member)(node=member.node, ended=True, leaving=member.leaving)
    site.member, site.token, site.kept, site.left, site.fresh, site.hung = keep, None, (), 0, False, False
