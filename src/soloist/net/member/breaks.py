"""Locks that somebody wants broken: asked for from view to view, until one shows that it was done.

`Pleas` are kept by the council, in its thread; `Breaks` are the loop's side, where somebody waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from soloist.net.errors import AcquireTimeout, LockError, NodeClosed, NoQuorum
from soloist.views import Breaking, Eviction, View

if TYPE_CHECKING:
    from soloist.net.member.council import Council

log = logging.getLogger("soloist.net")

KINDS = ("lock", "semaphore", "permits")
"""Of what may bear one name."""
BROKEN = "it was broken: somebody had it taken away"


class Taken(msgspec.Struct, frozen=True):
    """A hold that was taken away."""

    node: str
    fence: int
    kind: str


class Broken(msgspec.Struct, frozen=True):
    """What became of the wish to break a lock."""

    name: str
    epoch: int
    """Of the view that shows it: every later fence is higher than all that were taken away."""
    held: tuple[Taken, ...]
    """Empty if nobody held it, or nobody who lives."""
    left_out: tuple[str, ...]
    """Nodes that are no longer members, as they were: they have ended, or were out-waited, with all that they held."""


Then = Callable[[Breaking, View], None]


class Asked:
    """A wish of which it is not known yet in which view it was made: ours may be one of the past.

    Once a majority of voters, asked after it was made, neither has a later view nor has begun one, ours was not.
    """

    def __init__(self, locks: tuple[str, ...], then: Then) -> None:
        self.locks, self.then = locks, then
        self.current: set[str] = set()
        """Voters that have said so, of the newest view that we know."""


class Pleas:
    """In the thread of a council, but for `begin` and `end`, which any thread may call."""

    def __init__(self, council: Council) -> None:
        self._council = council
        self._asked: dict[int, Asked] = {}
        self._numbers = count(1)
        self._open: list[tuple[Breaking, Then]] = []

    def begin(self, locks: tuple[str, ...], then: Then) -> None:
        """Have these taken from their holders; `then` is called, in the thread, once a view shows that it was done."""
        self._council.do(lambda: self._begin(locks, then))

    def end(self, then: Then) -> None:
        """Nobody waits for it any more."""
        self._council.do(lambda: self._end(then))

    def _begin(self, locks: tuple[str, ...], then: Then) -> None:
        self._asked[next(self._numbers)] = Asked(locks, then)
        self.say()

    def _end(self, then: Then) -> None:
        self._asked = {number: asked for number, asked in self._asked.items() if asked.then is not then}
        self._open = [wish for wish in self._open if wish[1] is not then]

    def confirm(self, voter: str, epoch: int, number: int) -> None:
        """That voter was asked with this number, and knows of nothing after this epoch."""
        view, asked = self._council.newest_view, self._asked.get(number)
        if asked is None or view is None or view.epoch != epoch:
            return
        asked.current.add(voter)
        if view.is_quorum(asked.current):
            del self._asked[number]
            self._open.append((Breaking.of(asked.locks, view), asked.then))
            self.say()

    def say(self) -> None:
        """To all voters, again and again."""
        view = self._council.newest_view
        if view is None:
            return
        for number in list(self._asked):
            self._council.ask_for_newest(view, number)
        for breaking, _ in self._open:
            self._council.tell_voters(breaking.ask(view))

    def evictions(self) -> tuple[Eviction, ...]:
        return tuple(sorted({each for breaking, _ in self._open for each in breaking.evictions}))

    def see(self, view: View) -> None:
        """There is a later view, whether or not we are in it."""
        for asked in self._asked.values():
            asked.current.clear()
        for breaking, then in list(self._open):
            breaking.see(view)
            if breaking.done(view):
                self._end(then)
                then(breaking, view)


class Breaks:
    """In the loop."""

    def __init__(self, council: Council, in_loop: Callable[..., None], why: Callable[[], str]) -> None:
        """`why` says what is missing before there is a view."""
        self._council, self._in_loop, self._why = council, in_loop, why
        self._waiting: dict[asyncio.Future[Broken], str] = {}

    async def ask(self, name: str, timeout: float | None) -> Broken:
        """Have it broken, and wait until that is agreed."""
        if self._council.newest_view is None:
            raise LockError(f"{name!r} cannot be broken yet: {self._why()}", name=name)
        answer: asyncio.Future[Broken] = asyncio.get_running_loop().create_future()

        def then(breaking: Breaking, view: View) -> None:
            self._in_loop(_answer, answer, broken(name, breaking, view))

        self._waiting[answer] = name
        self._council.pleas.begin(tuple(f"{kind}:{name}" for kind in KINDS), then)
        try:
            async with asyncio.timeout(timeout):
                found = await answer
        except TimeoutError:
            raise AcquireTimeout(f"{name!r} was not broken within {timeout:g} s", name=name) from None
        finally:
            del self._waiting[answer]
            self._council.pleas.end(then)
        log.warning("%s: %r was broken, in epoch %d", self._council.name, name, found.epoch)
        return found

    def starve(self, why: str) -> None:
        """There has been no majority for a whole lease."""
        self._fail(lambda name: NoQuorum(f"{name!r} cannot be broken: {why}", name=name))

    def end(self) -> None:
        self._fail(lambda name: NodeClosed(f"the node was closed before {name!r} was broken", name=name))

    def _fail(self, why: Callable[[str], LockError]) -> None:
        """Callers that wait had better know that it is in vain."""
        for answer, name in self._waiting.items():
            if not answer.done():
                answer.set_exception(why(name))


def _answer(answer: asyncio.Future[Broken], found: Broken) -> None:
    if not answer.done():
        answer.set_result(found)


def broken(name: str, breaking: Breaking, view: View) -> Broken:
    nodes = {each.hold.incarnation: each.node for each in breaking.since.registered}
    nodes |= {node.incarnation: node.name for node in (*breaking.since.members, *view.members)}
    held = [
        Taken(nodes.get(hold.incarnation, "?"), hold.fence, hold.lock.partition(":")[0])
        for hold in sorted(breaking.held)
        if not hold.lock.startswith("permits:")
    ]
    out = {node.name for node in breaking.since.members if node.incarnation not in view.incarnations}
    return Broken(name, view.epoch, tuple(held), tuple(sorted(out)))
