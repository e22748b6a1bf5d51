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

import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from soloist.algorithms import find
from soloist.algorithms.printed import find_printed
from soloist.core import UsageError, unknown
from soloist.core.toml import Keys, line_of
from soloist.lab.sweep import Contender, PlanError, Seeds, Sweep

AT_THE_TOP = ("name", "algorithms", "fixed", "vary", "seeds")
OF_AN_ALGORITHM = ("name", "label", "options", "printed")


def read_sweep(path: Path | str) -> Sweep:
    """Read a plan and check all of it, each run included."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}{_place_first(str(error))}") from None
    try:
        sweep = _sweep(data, path.stem)
        sweep.cells()
    except PlanError as error:
        line = nearest_line(text, error.keys)
        raise UsageError(f"{path}{f':{line}' if line else ''}: {error}") from None
    return sweep


def _place_first(message: str) -> str:
    """Say where first, as compilers do."""
    if found := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL):
        what, line, column = found.groups()
        return f":{line}:{column}: {what}"
    return f": {message}"


def nearest_line(text: str, keys: Keys) -> int | None:
    """Of a key, or, where only a part of the keys is in the file (a list on one line has no keys inside), of that part."""
    parts = (keys[:length] for length in range(len(keys), 0, -1))
    return next((line for part in parts if (line := line_of(text, part))), None)


def _sweep(data: dict[str, Any], name: str) -> Sweep:
    _known(data, (), AT_THE_TOP)
    if "algorithms" not in data:
        raise PlanError(("algorithms",), 'is missing; it is a list such as ["naimi-trehel", "raymond-tree"]')
    algorithms = data["algorithms"]
    if not isinstance(algorithms, list):
        raise PlanError(("algorithms",), f'should be a list such as ["naimi-trehel"], not {algorithms!r}')
    return Sweep(
        name=_text(data.get("name", name), ("name",)),
        algorithms=tuple(_contender(value, ("algorithms", place)) for place, value in enumerate(algorithms)),
        fixed=_table(data.get("fixed", {}), ("fixed",)),
        vary=_table(data.get("vary", {}), ("vary",)),
        seeds=_seeds(data.get("seeds", 1)),
    )


def _contender(value: Any, keys: Keys) -> Contender:
    given = {"name": value} if isinstance(value, str) else _table(value, keys)
    _known(given, keys, OF_AN_ALGORITHM)
    if "name" not in given:
        raise PlanError(keys, "has no name; `soloist algorithms` lists them")
    printed = given.get("printed", False)
    if not isinstance(printed, bool):
        raise PlanError((*keys, "printed"), f"should be true or false, not {printed!r}")
    name = _text(given["name"], (*keys, "name"))
    try:
        find_printed(name) if printed else find(name)
    except UsageError as error:
        raise PlanError((*keys, "name"), str(error)) from None
    return Contender(
        name=name,
        label=_text(given["label"], (*keys, "label")) if "label" in given else "",
        options=_table(given.get("options", {}), (*keys, "options")),
        printed=printed,
    )


def _seeds(value: Any) -> Seeds | tuple[int, ...]:
    if isinstance(value, list):
        return tuple(_whole(seed, ("seeds",)) for seed in value)
    if isinstance(value, dict):
        _known(value, ("seeds",), ("count", "first"))
        return Seeds(**{key: _whole(number, ("seeds", key)) for key, number in value.items()})
    return Seeds(_whole(value, ("seeds",)))


# Single values.


def _known(table: Mapping[str, Any], keys: Keys, known: Collection[str]) -> None:
    for key in table:
        if key not in known:
            raise PlanError((*keys, key), str(unknown("key", key, known)))


def _text(value: Any, keys: Keys) -> str:
    if not isinstance(value, str) or not value:
        raise PlanError(keys, f"should be text in quotes, not {value!r}")
    return value


def _table(value: Any, keys: Keys) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PlanError(keys, f"should be a table, not {value!r}")
    return value


def _whole(value: Any, keys: Keys) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise PlanError(keys, f"should be a whole number, not {value!r}")
    return value
