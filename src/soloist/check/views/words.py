"""Messages of views in a few words, for runs that people read."""

from __future__ import annotations

from soloist.check.views.site import Token
from soloist.core import Message
from soloist.views import Holder, View
from soloist.views.messages import (
    Accept,
    Accepted,
    Ack,
    Bye,
    Dead,
    Decided,
    Join,
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


def describe(message: Message) -> str:
    match message:
        case Renew():
            return f"renewal {message.number}" + (
                f" with {describe(message.report)}" if message.report else ""
            )
        case Ack() | Probe():
            kind = "acknowledgement" if isinstance(message, Ack) else "probe"
            return f"{kind} {message.number}" + (", which says to wedge" if message.promised else "")
        case Report():
            return f"REPORT of epoch {message.epoch}, {_holds(message.holds)}"
        case Prepare():
            breaks = ", which breaks the lock" if message.news.evictions else ""
            return f"PREPARE of epoch {message.epoch}, ballot {message.ballot.round}{breaks}"
        case Promise():
            banned = f", banning {', '.join(message.banned)}" if message.banned else ""
            return f"PROMISE of epoch {message.epoch}, ballot {message.ballot.round}{banned}"
        case Accept():
            return f"ACCEPT of {view_words(message.view)}, ballot {message.ballot.round}"
        case Accepted():
            return f"ACCEPTED of epoch {message.epoch}, ballot {message.ballot.round}"
        case Decided():
            return f"DECIDED {view_words(message.view)}"
        case Join():
            return f"JOIN of {message.node.name}"
        case Bye():
            return f"BYE of {message.incarnation}"
        case Dead():
            return f"proof that {message.incarnation} is dead"
        case Register():
            return f"REGISTER of {_holds((message.registration.hold,))}"
        case Registered():
            return f"that it has stored {_holds((message.hold,))}"
        case Strike():
            return f"STRIKE of {_holds((message.hold,))}"
        case Struck():
            return f"that it has struck off {_holds((message.hold,))}"
        case Token():
            return f"the token of epoch {message.epoch}"
    return str(message)


def view_words(view: View) -> str:
    members = ", ".join(node.name for node in view.members)
    lost = "".join(f", held for {each.node}, which is lost" for each in view.withheld)
    return f"epoch {view.epoch} with {members}, {_holds(view.holders)}{lost}, voters {', '.join(view.voters)}"


def _holds(holders: tuple[Holder, ...]) -> str:
    if not holders:
        return "holding nothing"
    return ", ".join(f"{h.incarnation} holding" for h in holders)
