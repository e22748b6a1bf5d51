"""A lock has one site at each node, and asks by one look at it; a semaphore seeks its idle sites. Both come to the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

from soloist.algorithms import CATALOGUE, Card
from soloist.net.engine import instance
from soloist.net.engine.ticket import Ticket
from tests.net.engine.test_unasked import Stepped

MOVES = ("ask", "ask", "leave", "withdraw", "hear", "hear", "hear", "hear", "ring")


def history(card: Card) -> list[Any]:
    """What three nodes say in a few hundred moves by chance, always the same: callers come, go in, leave and give up."""
    random.seed(20261119)
    chance, lock = random.Random(20261119), Stepped(card)
    callers: list[tuple[int, Ticket]] = []
    told: list[Any] = []
    for _ in range(400):
        me, move = chance.randrange(3), chance.choice(MOVES)
        part, mine = lock.parts[me], [ticket for node, ticket in callers if node == me]
        if move == "ask":
            callers.append((me, ticket := Ticket()))
            lock.do(me, part.request, ticket)
        elif move == "leave":
            for ticket in list(part.inside.values()):
                lock.do(me, part.release, ticket)
        elif move == "withdraw" and (waiting := [ticket for ticket in mine if not ticket.gone]):
            lock.do(me, part.withdraw, chance.choice(waiting))
        elif move == "hear" and (heard := next((said for said in lock.said if said[1] == me), None)):
            lock.said.remove(heard)
            lock.do(me, part.deliver, heard[0], heard[2])
        elif move == "ring" and lock.rings and not lock.said:
            ring, arguments = lock.rings.pop(0)
            lock.do(lock.parts.index(ring.__self__), ring, *arguments)  # type: ignore[attr-defined]
        told.append((me, move, [ticket.fence for _, ticket in callers], list(lock.said)))
    assert not any(each.halted for each in lock.parts)
    assert max(ticket.fence for _, ticket in callers) > 0
    return told


@pytest.mark.parametrize("name", [card.name for card in CATALOGUE.values() if card.capacity == "1"])
def test_a_lock_asks_as_a_semaphore_of_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_one_look = history(CATALOGUE[name])
    monkeypatch.setattr(instance, "ALONE", 0)
    assert history(CATALOGUE[name]) == at_one_look
