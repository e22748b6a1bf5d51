"""What the witness says of entries and exits, right and wrong ones."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import msgspec

from soloist.testing import (
    BlockingTestimony,
    Findings,
    Statement,
    Testimony,
    Witness,
    WitnessServer,
    eventually,
)
from tests.net.helpers import run


def seen(*reports: tuple[Any, ...], capacity: int = 1) -> Findings:
    """What a witness says of events, holders, fences and places."""
    witness = Witness(remember=True)
    for event, holder, fence, *place in reports:
        witness.hear(Statement(event, "x", capacity, holder, fence, *place))
    return witness.finding("x")


def test_one_after_the_other_is_fine() -> None:
    found = seen(("enter", "a", 1), ("exit", "a", 1), ("enter", "b", 2), ("exit", "b", 2))
    assert (found.entries, found.exits, found.most_inside, found.problems) == (2, 2, 1, [])
    assert found.order == [("a", 1), ("b", 2)]
    assert found.by_holder == {"a": 1, "b": 1}


def test_two_inside_are_one_too_many() -> None:
    found = seen(("enter", "a", 1), ("enter", "b", 2), ("exit", "a", 1), ("exit", "b", 2))
    assert found.most_inside == 2
    assert found.problems == ["a, b are inside together"]


def test_a_fence_must_be_higher_than_the_one_before() -> None:
    found = seen(("enter", "a", 7), ("exit", "a", 7), ("enter", "b", 7), ("exit", "b", 7))
    assert found.problems == ["b entered with fence 7 after 7"]


def test_who_leaves_must_have_entered() -> None:
    assert seen(("exit", "a", 1)).problems == ["a left with fence 1, but was not inside"]


def test_all_must_mean_the_same_capacity() -> None:
    witness = Witness()
    witness.hear(Statement("enter", "x", 2, "a", 1))
    witness.hear(Statement("enter", "x", 3, "b", 2))
    assert witness.problems() == ["x: b takes 3 for its capacity, others 2"]


def test_a_semaphore_has_its_places_each_with_fences_of_its_own() -> None:
    fine = [("enter", "a", 5, 0), ("enter", "b", 3, 1), ("exit", "b", 3, 1), ("enter", "c", 4, 1)]
    found = seen(*fine, capacity=2)
    assert (found.most_inside, found.problems) == (2, [])
    assert seen(*fine, ("enter", "d", 9), capacity=2).problems == ["a, c, d are inside together"]
    assert seen(*fine, ("exit", "c", 4, 1), ("enter", "d", 4, 1), capacity=2).problems == [
        "d entered with fence 4 after 4"
    ]


def test_a_hold_reported_as_lost_excuses_who_came_meanwhile_and_nothing_else() -> None:
    """It was paused, say, while its lease ended; it must not have used the lock again."""
    lost = seen(("enter", "a", 1), ("enter", "b", 2), ("lost", "a", 1))
    assert (lost.losses, lost.most_inside, lost.problems) == (1, 1, [])
    kept = seen(("enter", "a", 1), ("enter", "b", 2), ("enter", "c", 3), ("lost", "a", 1))
    assert kept.problems == ["b, c are inside together"]
    late = seen(("enter", "a", 1), ("enter", "b", 2), ("exit", "b", 2), ("exit", "a", 1))
    assert late.problems == ["a, b are inside together"]


def test_a_death_excuses_who_comes_after_it_and_nobody_before() -> None:
    witness = Witness()
    dying = Statement("enter", "x", 1, "a", 1)
    witness.hear(dying)
    witness.hear(Statement("enter", "x", 1, "b", 2))
    witness.gone(dying)  # the news of it were under way
    assert not witness.problems()
    assert witness.finding("x").vanished == 1
    witness.hear(overlapping := Statement("enter", "x", 1, "c", 3))
    witness.confirm()
    witness.gone(overlapping)
    assert witness.problems() == ["x: b, c are inside together"]


def test_holders_elsewhere_are_heard_and_their_deaths_noticed() -> None:
    async def main() -> None:
        server = WitnessServer()
        where = await server.start()
        a, b = await Testimony.to(where), await Testimony.to(where)
        await a.give(Statement("enter", "x", 1, "a", 1))
        a.writer.transport.abort()
        await b.give(entry := Statement("enter", "x", 1, "b", 2))
        await eventually(lambda: server.witness.finding("x").vanished)
        assert not server.witness.problems()
        await b.give(msgspec.structs.replace(entry, event="exit"))
        await b.close()

        def from_a_thread() -> None:
            line = BlockingTestimony(where)
            line.give(Statement("enter", "x", 1, "thread", 3))
            line.give(Statement("exit", "x", 1, "thread", 3))
            line.close()

        thread = threading.Thread(target=from_a_thread)
        thread.start()
        await asyncio.to_thread(thread.join)
        found = server.witness.finding("x")
        assert (found.entries, found.exits, found.vanished, found.problems) == (3, 2, 1, [])
        server.close()

    run(main())


def test_two_holders_elsewhere_at_once_are_seen_even_if_one_dies_later() -> None:
    async def main() -> None:
        server = WitnessServer()
        where = await server.start()
        a, b = await Testimony.to(where), await Testimony.to(where)
        await a.give(Statement("enter", "x", 1, "a", 1))
        await b.give(Statement("enter", "x", 1, "b", 2))
        for fence in range(1, 20):  # long enough for the news of a death to have arrived
            await b.give(Statement("enter", "y", 1, "b", fence))
            await b.give(Statement("exit", "y", 1, "b", fence))
        a.writer.transport.abort()
        await eventually(lambda: server.witness.finding("x").vanished)
        assert "x: a, b are inside together" in server.witness.problems()
        await b.close()
        server.close()

    run(main())
