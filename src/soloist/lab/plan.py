"""A plan's file.

    name = "tokens"
    seeds = 10                     # or { count = 10, first = 5 }, or [1, 2, 3]
    algorithms = ["naimi-trehel", { name = "raymond-tree", options = { topology = "star" } }]

    [fixed]
    nodes = 15

    [vary]
    rate = [0.1, 1, 10]

Whatever is wrong is said with file, line and key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from soloist.algorithms import load_any
from soloist.algorithms.printed import find_printed
from soloist.core import UsageError
from soloist.core.checked import a_path
from soloist.core.toml import Document, Keys
from soloist.lab.sweep import Contender, PlanError, Seeds, Sweep

Text = Annotated[str, msgspec.Meta(min_length=1)]
Table = dict[str, Any]


class _Plan(msgspec.Struct, forbid_unknown_fields=True):
    name: Text | None = None
    algorithms: list[Any] | None = None
    fixed: Table = {}
    vary: Table = {}
    seeds: int | list[int] | Table = 1


class _Contender(msgspec.Struct, forbid_unknown_fields=True):
    name: Text
    label: str = ""
    options: Table = {}
    printed: bool = False


class _Seeds(msgspec.Struct, forbid_unknown_fields=True):
    count: int = 1
    first: int = 1


def read_sweep(path: Path | str) -> Sweep:
    """Read a plan and check all of it, each run included."""
    document = Document.read(a_path("a plan", path))
    try:
        sweep = _sweep(document)
        sweep.cells()
    except PlanError as error:
        raise UsageError(f"{document.where(error.keys)}: {error}") from None
    return sweep


def _sweep(document: Document) -> Sweep:
    plan = document.convert(document.data, _Plan)
    if plan.algorithms is None:
        document.fail(("algorithms",), 'is missing; it is a list such as ["naimi-trehel", "raymond-tree"]')
    return Sweep(
        name=plan.name or document.path.stem,
        algorithms=tuple(
            _contender(document, value, ("algorithms", place)) for place, value in enumerate(plan.algorithms)
        ),
        fixed=plan.fixed,
        vary=plan.vary,
        seeds=_seeds(document, plan.seeds),
    )


def _contender(document: Document, value: Any, keys: Keys) -> Contender:
    given = document.convert({"name": value} if isinstance(value, str) else value, _Contender, keys)
    try:
        find_printed(given.name) if given.printed else load_any(given.name)
    except UsageError as error:
        document.fail((*keys, "name"), str(error))
    return Contender(**msgspec.structs.asdict(given))


def _seeds(document: Document, value: int | list[int] | Table) -> Seeds | tuple[int, ...]:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, int):
        return Seeds(value)
    given = document.convert(value, _Seeds, ("seeds",))
    return Seeds(given.count, given.first)
