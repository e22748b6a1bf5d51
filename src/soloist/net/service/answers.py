"""What a node answers to questions of its clients, and of those who operate it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from soloist.net.member.electing import change_voters
from soloist.net.service.dialogue import (
    AskBreak,
    AskHolders,
    AskInspect,
    AskStatus,
    ChangeVoters,
    Done,
    Found,
    Holders,
    Leave,
    Question,
)
from soloist.net.service.status import status

if TYPE_CHECKING:
    from soloist.net.service.session import Session

log = logging.getLogger("soloist.net")

WORDS = {"add": "added", "remove": "removed"}


async def find(session: Session, question: Question) -> tuple[Found, Callable[[], object]]:
    """The answer, and what is to be done once it is said."""
    node, rights, nothing = session.node, session.rights, lambda: None
    match question:
        case AskStatus():
            rights.check_operator("to see how a node is")
            return status(session.server), nothing
        case AskHolders():
            views = [view for view in await node.holders() if rights.allows(view.lock.partition(":")[2])]
            return Holders(views, node.missing()), nothing
        case AskInspect():
            rights.check(question.name)
            return await node.inspect(question.name), nothing
        case AskBreak():
            rights.check_operator("to break a lock")
            return await node.break_lock(question.name, question.timeout), nothing
        case ChangeVoters():
            return Done(await _change(session, question.kind, question.name)), nothing
        case Leave():
            return Done(await _leave(session)), session.server.told_to_leave


async def _change(session: Session, kind: Literal["add", "remove"], name: str) -> int:
    session.rights.check_operator("to change who votes")
    epoch = await change_voters(session.node.beginning, kind, name)
    log.warning("%s: %s by %s: voter %s", session.node.name, WORDS[kind], session.program, name)
    return epoch


async def _leave(session: Session) -> int:
    """Its vote goes first: a voter that never comes back would count among those that are needed."""
    session.rights.check_operator("to have a node leave")
    node = session.node
    if node.name in node.beginning.voters():
        return await _change(session, "remove", node.name)
    return node.epoch
