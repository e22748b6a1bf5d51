"""Let another node vote, or one no more."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from soloist.core import UsageError
from soloist.net.errors import NoQuorum
from soloist.net.member.beginning import Beginning
from soloist.net.member.membership import Membership
from soloist.net.member.wish import Kind, Wish, planned

CHANGE_SECONDS = 30.0
"""Seconds that a majority may take to agree on other voters."""


async def change_voters(beginning: Beginning, kind: Kind, name: str) -> int:
    """One voter more, or one less. Returns once that cannot be undone by any crash; gives the epoch."""
    if not isinstance(beginning, Membership):
        raise UsageError("nobody votes here: `lease` is not set")
    if beginning.who.engine:
        raise UsageError(f"{beginning.who.engine} decides who is a member here: no node votes")
    roster, council = beginning.roster, beginning.council
    change = planned(roster, beginning.who, council.pulse.peers(), kind, name)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def then(why: str) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_answer, answer, why)

    wish = Wish(change, then)
    council.do(lambda: council.canvass.pursue(wish))
    try:
        async with asyncio.timeout(CHANGE_SECONDS):
            if why := await answer:
                raise UsageError(why)
    except TimeoutError:
        raise NoQuorum(
            f"no majority has agreed within {CHANGE_SECONDS:g} s; it may still do so: see `soloist members`"
        ) from None
    finally:
        council.do(lambda: council.canvass.give_up(wish))
    return roster.view.epoch if roster.view else 0


def _answer(answer: asyncio.Future[str], why: str) -> None:
    if not answer.done():
        answer.set_result(why)
