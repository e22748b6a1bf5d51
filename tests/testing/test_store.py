"""The store that checks fences: it refuses older ones, and notes what should not be."""

from __future__ import annotations

from soloist.testing.crew import Crew
from soloist.testing.store import Books, FencedStore, StoreLine, Write, keep_store
from tests.net.helpers import run


def test_it_refuses_who_comes_too_late() -> None:
    store = FencedStore()
    assert store.write(Write("x", 1, "a"))
    assert store.write(Write("x", 2, "b"))
    assert not store.write(Write("x", 1, "a"))
    assert store.write(Write("x", 2, "b"))
    assert store.write(Write("y", 1, "a")), "another lock"
    assert store.books == Books(accepted=4, refused=1)


def test_two_writers_with_one_fence_are_a_problem() -> None:
    store = FencedStore()
    assert store.write(Write("x", 5, "a"))
    assert not store.write(Write("x", 5, "b"))
    assert store.books.problems == ["x: a and b both write with fence 5"]


def test_it_is_a_process_and_can_be_reached() -> None:
    async def writes(where: tuple[str, int]) -> list[bool]:
        line = await StoreLine.to(where)
        found = [await line.write(Write("x", fence, "a")) for fence in (1, 3, 2)]
        line.close()
        return found

    with Crew() as crew:
        crew.start("store", keep_store, "127.0.0.1", None)
        assert run(writes(crew.hear("store"))) == [True, True, False]
        assert crew.ask("store", "books") == Books(accepted=2, refused=1)
