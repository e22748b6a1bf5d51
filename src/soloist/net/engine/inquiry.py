"""Questions to peers: what do you know of this lock?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import msgspec

from soloist.net.engine.outgoing import Outgoing
from soloist.net.engine.table import Table
from soloist.net.engine.withheld import once
from soloist.net.link.transport import Transport
from soloist.net.link.wire import Answer, LockState, Question

MOST_STATES = 200
"""States in one answer, so that it fits into a frame."""
ASK_SECONDS = 1.0
"""Seconds that answers are waited for."""


class Inspection(msgspec.Struct, frozen=True):
    """What the cluster knows of a lock at about this time."""

    lock: str
    holders: list[LockState]
    waiting: dict[str, int]
    fence: int
    unreachable: list[str]
    """Nodes that did not answer; what they hold is not known."""

    @classmethod
    def of(cls, lock: str, found: Mapping[str, list[LockState]], members: Iterable[str]) -> Inspection:
        """From what each of those knows who have answered."""
        known = once(state for states in found.values() for state in states)
        return cls(
            lock,
            holders=[state for state in known if state.holding],
            waiting={state.node: state.waiting for state in known if state.waiting},
            fence=max((state.fence for state in known), default=0),
            unreachable=sorted(set(members) - set(found)),
        )


class Inquiry:
    """What a node asks, and what it is asked."""

    def __init__(self, name: str, table: Table, outgoing: Outgoing, transport: Transport) -> None:
        self.name, self.table, self.outgoing, self.transport = name, table, outgoing, transport
        self._number = 0
        self._found: dict[int, dict[str, list[LockState]]] = {}
        self._partial: dict[tuple[int, str], list[LockState]] = {}
        """Answers of which parts have come."""
        self._came: dict[int, asyncio.Event] = {}

    async def ask(self, lock: str) -> dict[str, list[LockState]]:
        """What each node knows of it; those are left out that do not answer."""
        self._number += 1
        number = self._number
        found = self._found[number] = {self.name: self.table.known_of(lock)}
        came = self._came[number] = asyncio.Event()
        asked = self.transport.connected() & self.outgoing.numbers.keys()
        for peer in asked:
            self.outgoing.say(peer, Question(number, lock))
        try:
            async with asyncio.timeout(ASK_SECONDS):
                while len(found) <= len(asked):
                    came.clear()
                    await came.wait()
        except TimeoutError:
            pass
        finally:
            del self._found[number], self._came[number]
            self._partial = {key: states for key, states in self._partial.items() if key[0] != number}
        return found

    def asked(self, peer: str, question: Question) -> None:
        states = self.table.known_of(question.lock)
        for start in range(0, max(1, len(states)), MOST_STATES):
            end = start + MOST_STATES
            self.outgoing.say(peer, Answer(question.number, states[start:end], more=end < len(states)))

    def answered(self, peer: str, answer: Answer) -> None:
        if answer.number not in self._found:
            return  # too late
        states = self._partial.setdefault((answer.number, peer), [])
        states += answer.states
        if not answer.more:
            self._found[answer.number][peer] = self._partial.pop((answer.number, peer))
            self._came[answer.number].set()
