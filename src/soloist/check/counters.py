"""Where the numbers are that grow without end: read from the types of the fields (`soloist.core.counter`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from soloist.core import Counter, Site

NEVER = -(1 << 60)
"""In place of a number that is not in use: less than any, wherever counting starts."""

Change = Callable[[Counter, Site, int], int]
"""What becomes of a number, given what it is, whose it is, and its value."""
Field = Callable[[Any, Site, Change], Any]
"""From the value of a field, the site that it belongs to and a change to the value with each of its numbers changed."""


@cache
def fields(kind: type[msgspec.Struct]) -> Mapping[str, Field]:
    """The fields of a process or message that have such numbers."""
    found = ((each.name, reader(each.type)) for each in msgspec.structs.fields(kind))
    return {name: field for name, field in found if field is not None}


@cache
def counters(kind: type[msgspec.Struct]) -> frozenset[Counter]:
    """What numbers there are in its fields."""
    return frozenset(counter for each in msgspec.structs.fields(kind) for counter in _counters(each.type))


def _counters(hint: Any) -> frozenset[Counter]:
    inner = (_counters(part) for part in get_args(hint) if not isinstance(part, Counter))
    return frozenset(part for part in get_args(hint) if isinstance(part, Counter)).union(*inner)


def reader(hint: Any) -> Field | None:
    """How the numbers in values of a type are reached; None if it has none."""
    if not _counters(hint):
        return None
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _number(next(part for part in parts if isinstance(part, Counter)))
    readers = [reader(part) or _unchanged for part in parts]
    if origin in (Union, UnionType) and len(parts) == 2 and type(None) in parts:
        return _optional(readers[parts.index(type(None)) - 1])
    if origin is dict:
        return _by_key(*readers)
    if origin is tuple and parts[-1] is not Ellipsis:
        return _in_places(readers)
    if origin in (list, tuple, set, frozenset):
        return _in_each(readers[0])
    raise TypeError(f"numbers that grow without end can not be looked for in {hint}")


def _unchanged(value: Any, site: Site, change: Change) -> Any:
    return value


def _number(counter: Counter) -> Field:
    return lambda value, site, change: change(counter, site, value)


def _optional(inner: Field) -> Field:
    return lambda value, site, change: None if value is None else inner(value, site, change)


def _by_key(key: Field, content: Field) -> Field:
    return lambda value, site, change: {
        key(j, site, change): content(each, j, change) for j, each in value.items()
    }


def _in_places(readers: list[Field]) -> Field:
    return lambda value, site, change: tuple(
        [read(each, site, change) for read, each in zip(readers, value, strict=True)]
    )


def _in_each(inner: Field) -> Field:
    return lambda value, site, change: type(value)(
        [inner(each, place, change) for place, each in enumerate(value)]
    )
