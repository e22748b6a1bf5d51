"""An exercise: its text, its start file, and its checks as a TOML file; a teacher's own checks look the same."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from soloist.algorithms import Card, Formula
from soloist.check import PROPERTIES
from soloist.core import UsageError, unknown
from soloist.core.toml import Document

COUNT = 10
NUMBER = re.compile(r"exercise[-_ ]?0*(\d+)(?!\d)", re.IGNORECASE)
Positive = Annotated[int, msgspec.Meta(ge=1)]


class Promise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an answer has to keep, whatever its card says."""

    family: Literal["token", "permission"]
    fairness: Literal["timestamp", "causal", "arrival", "no-starvation", "none"]
    channels: Literal["any", "fifo"] = "any"
    capacity: Literal["1", "K"] = "1"
    prompt: bool = False
    rests: bool = True
    """Whether nothing is sent while nobody asks."""


class Orders(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="orders", tag_field="kind"):
    """Every order of events of a small system."""

    nodes: Positive = 3
    rounds: Positive | list[int] = 1
    k: Positive = 1
    channels: Literal["any", "fifo"] | None = None
    properties: list[str] | None = None
    """None: all that the exercise promises."""

    def words(self) -> str:
        each = self.rounds if isinstance(self.rounds, int) else set(self.rounds)
        asked = f"{each} each" if isinstance(each, int) else ", ".join(map(str, self.rounds))  # type: ignore[arg-type]
        links = {None: "", "any": ", links in any order", "fifo": ", links that keep order"}[self.channels]
        return f"every order of events, {_size(self.nodes, self.k)}, requests {asked}{links}"


class Messages(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="messages", tag_field="kind"):
    """What an entry costs at most on average, in a simulation."""

    at_most: float
    nodes: Positive = 10
    k: Positive = 1
    rate: float | None = None
    """Requests per site and time unit; None: everybody asks again at once."""

    def words(self) -> str:
        load = "everybody asks all the time" if self.rate is None else f"{self.rate:g} requests per site"
        return f"at most {self.at_most:g} messages per entry, {_size(self.nodes, self.k)}, {load}"


class Fairness(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="fairness", tag_field="kind"):
    """How often the unluckiest is passed while everybody asks all the time, in a simulation."""

    bypass: Annotated[int, msgspec.Meta(ge=0)]
    nodes: Positive = 6
    k: Positive = 1

    def words(self) -> str:
        return f"nobody is passed more than {self.bypass} times, {_size(self.nodes, self.k)}"


Check = Orders | Messages | Fairness
KINDS: dict[str, type[Any]] = {"orders": Orders, "messages": Messages, "fairness": Fairness}


def _size(nodes: int, k: int) -> str:
    return f"{nodes} {'site' if nodes == 1 else 'sites'}{f', K={k}' if k > 1 else ''}"


class Exercise(msgspec.Struct, frozen=True):
    number: int
    title: str
    promise: Promise
    checks: tuple[Check, ...]
    hints: dict[str, str] = {}
    """By the promise that is broken: what to think about."""
    hidden: int = 0
    """Checks, the last ones, that are the teacher's own."""

    def with_hidden(self, more: tuple[Check, ...]) -> Exercise:
        return msgspec.structs.replace(self, checks=self.checks + more, hidden=len(more))

    def held(self, own: Card) -> Card:
        """The algorithm of a hand-in, held to what the exercise asks: what its own card claims does not count."""
        free = Formula("as the exercise says", lambda size: float("inf"))
        return msgspec.structs.replace(
            own,
            name=f"exercise-{self.number}",
            family=self.promise.family,
            fairness=self.promise.fairness,
            channels=self.promise.channels,
            capacity=self.promise.capacity,
            prompt=self.promise.prompt,
            everybody_asks=False,
            bound=free,
            light=free if self.promise.rests else None,
            heavy=None,
            options=(),
        )


def exercise(number: int) -> Exercise:
    """The exercise of that number, with the checks that everybody may see."""
    document = Document.read(Path(str(_folder(number) / "checks.toml")))
    promise = document.convert(document.data["promise"], Promise, ("promise",))
    return Exercise(
        number, document.data["title"], promise, _checks(document), document.data.get("hints", {})
    )


def text(number: int) -> str:
    """What is to be done, for students."""
    return str((_folder(number) / "text.md").read_text(encoding="utf-8"))


def start(number: int) -> str:
    """The file to start from."""
    return str((_folder(number) / "start.py").read_text(encoding="utf-8"))


def _folder(number: int) -> Any:
    if not 1 <= number <= COUNT:
        raise UsageError(f"there are exercises 1 to {COUNT}, not {number}; `soloist exercise` lists them")
    return files("soloist.course") / "exercises" / f"exercise{number}"


def hidden(folder: Path, number: int) -> tuple[Check, ...]:
    """The teacher's own checks of an exercise: `exercise3.toml` in that directory, if there is one."""
    if not folder.is_dir():
        raise UsageError(f"--checks {folder} is no directory; it should hold files such as exercise3.toml")
    path = folder / f"exercise{number}.toml"
    return _checks(Document.read(path)) if path.exists() else ()


def _checks(document: Document) -> tuple[Check, ...]:
    """Each by itself, so that what is wrong is said with its line."""
    given = document.data.get("checks", [])
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        document.fail(("checks",), "should be tables, each below a line [[checks]]")
    found: list[Check] = []
    for place, each in enumerate(given):
        kind = str(each.get("kind", ""))
        if kind not in KINDS:
            document.fail(("checks", place), str(unknown("kind of check", kind, KINDS)))
        check = document.convert(each, KINDS[kind], ("checks", place))
        if isinstance(check, Orders):
            _look_at(document, ("checks", place), check)
        found.append(check)
    return tuple(found)


def _look_at(document: Document, keys: tuple[str | int, ...], check: Orders) -> None:
    for name in check.properties or ():
        if name not in PROPERTIES:
            document.fail((*keys, "properties"), str(unknown("property", name, PROPERTIES)))
    if isinstance(check.rounds, list) and len(check.rounds) != check.nodes:
        document.fail((*keys, "rounds"), f"names {len(check.rounds)} sites, but nodes = {check.nodes}")


def number_of(path: Path) -> int:
    """Which exercise a file answers, by its name."""
    found = NUMBER.search(path.name)
    if not found:
        raise UsageError(
            f"{path.name} does not say which exercise it answers; call it exercise3.py, or add --exercise 3"
        )
    return int(found[1])
