"""The numbers that grow without end are found by the types of fields."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from soloist.algorithms import CATALOGUE
from soloist.check.counters import counters, fields, reader
from soloist.core import Clock, Counter, HeardNumber, Message, MyNumber, Number, Site, Stamp, encode

Turn = Annotated[int, Counter(kind="turn")]


def found(hint: object, value: object, owner: Site = 7) -> list[tuple[Counter, Site, int]]:
    """Each number in a value of a type, with what it is and whose."""
    numbers: list[tuple[Counter, Site, int]] = []

    def note(counter: Counter, site: Site, number: int) -> int:
        numbers.append((counter, site, number))
        return number

    field = reader(hint)
    assert field is not None
    assert field(value, owner, note) == value
    return numbers


CLOCK, STAMP, NUMBER = Counter(), Counter(counted="none"), Counter(per_site=True)


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (Clock, 3, [(CLOCK, 7, 3)]),
        (Number, 3, [(NUMBER, 7, 3)]),
        (list[Number], [3, 4], [(NUMBER, 0, 3), (NUMBER, 1, 4)]),
        (tuple[Number, ...], (3, 4), [(NUMBER, 0, 3), (NUMBER, 1, 4)]),
        (dict[Site, Clock], {5: 1}, [(CLOCK, 5, 1)]),
        (dict[Turn, Site], {9: 1}, [(Counter(kind="turn"), 7, 9)]),
        (set[Turn], {9}, [(Counter(kind="turn"), 0, 9)]),
        (tuple[Stamp, Site], (3, 1), [(STAMP, 7, 3)]),
        (tuple[Stamp, Site] | None, None, []),
        (tuple[Stamp, Site] | None, (3, 1), [(STAMP, 7, 3)]),
        (Stamp | None, 3, [(STAMP, 7, 3)]),
        (list[tuple[Stamp, Site]], [(3, 1), (4, 0)], [(STAMP, 0, 3), (STAMP, 1, 4)]),
        (
            list[tuple[list[Site], list[Number]]],
            [([1], [3, 4])],
            [(NUMBER, 0, 3), (NUMBER, 1, 4)],
        ),
        (tuple[tuple[tuple[Stamp, Site], tuple[Site, ...]], ...], (((3, 1), (0,)),), [(STAMP, 0, 3)]),
    ],
    ids=str,
)
def test_places(hint: object, value: object, expected: list[tuple[Counter, Site, int]]) -> None:
    assert found(hint, value) == expected


@pytest.mark.parametrize("hint", [int, Site, list[Site], dict[Site, bool], tuple[str, ...], int | None, bool])
def test_other_fields_have_none(hint: object) -> None:
    assert reader(hint) is None


def test_where_they_cannot_be_looked_for_is_said() -> None:
    with pytest.raises(TypeError, match="can not be looked for in"):
        reader(list[int] | set[Stamp])


class Plain(Message, frozen=True):
    n: int
    LN: tuple[int, ...]


class Typed(Message, frozen=True, tag="Plain"):
    n: Number
    LN: tuple[HeardNumber, ...]


def test_to_the_wire_they_are_whole_numbers() -> None:
    """Both ways, and what is no whole number is refused as ever."""
    wire = encode(Typed(3, (1, 2)))
    assert wire == encode(Plain(3, (1, 2)))
    assert msgspec.msgpack.decode(wire, type=Typed) == Typed(3, (1, 2))
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        msgspec.msgpack.decode(encode(Plain("3", ())), type=Typed)  # type: ignore[arg-type]


def test_the_numbers_of_the_catalogue() -> None:
    """A few that are easy to get wrong: in the token of a pair, in the keys of a dict, by site and not."""
    kinds = {name: card.process for name, card in CATALOGUE.items()}
    assert set(fields(kinds["srimani-reddy"])) == {"RN", "PLN", "idle", "used"}
    assert set(fields(kinds["makki"])) == {"c", "free", "turn", "r", "late"}
    assert set(fields(kinds["maekawa"])) == {"H", "sn", "lock", "queue"}
    assert set(fields(kinds["lodha-kshemkalyani"])) == {
        "H", "sn", "LRQ", "deferred", "last", "done", "inherited", "delegated", "kept",
    }  # fmt: skip
    assert not fields(kinds["naimi-trehel"])
    assert counters(kinds["srimani-reddy"]) == {
        Counter(per_site=True, counted="own"),
        Counter(per_site=True, counted="none"),
    }
    assert {MyNumber.__metadata__[0], HeardNumber.__metadata__[0]} == counters(kinds["singhal-heuristic"])  # type: ignore[attr-defined]
