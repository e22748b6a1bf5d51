"""An experiment plan as data: which algorithms, in which situations, with which seeds.

A plan says everything and does nothing. `Sweep.cells()` spells it out, one cell per run, and complains about
whatever could not run before anything does: a sweep of hours should not end on a typing error.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from soloist.core import UsageError, unknown
from soloist.core.toml import Keys
from soloist.durations import duration
from soloist.sim import Experiment, Saturated, Thinking
from soloist.sim.faults import Fault, faults
from soloist.sim.links import Network, delay

MOST_RUNS = 1_000_000


class PlanError(UsageError):
    """Something in a plan is wrong. `keys` says where, so that a reader of files can add the line."""

    def __init__(self, keys: Keys, problem: str) -> None:
        super().__init__(f"{'.'.join(map(str, keys))}: {problem}")
        self.keys = keys


class Contender(msgspec.Struct, frozen=True):
    """One algorithm of a comparison. Its label names it in tables and plots."""

    name: str
    label: str = ""
    options: dict[str, Any] = {}
    printed: bool | str = False
    """What a paper or the survey prints, errors and all; or with one error only, by its code in docs/errata.md."""

    def __post_init__(self) -> None:
        if not self.label:
            words = [self.name, option_text(self.options), "as printed" if self.printed else ""]
            msgspec.structs.force_setattr(self, "label", " ".join(filter(None, words)))


def option_text(options: Mapping[str, Any]) -> str:
    """`topology=star, order=fifo`: options for people."""
    return ", ".join(f"{name}={value}" for name, value in options.items())


class Seeds(msgspec.Struct, frozen=True):
    """Seeds one after another: first, first + 1, …"""

    count: int = 1
    first: int = 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.first + self.count))


class Cell(msgspec.Struct, frozen=True):
    """One run: an experiment with one seed, its label, and the parameters as the plan gives them."""

    label: str
    experiment: Experiment
    parameters: dict[str, Any]

    def digest(self) -> str:
        """What tells this run from all others."""
        return key_of(self)


class Sweep(msgspec.Struct, frozen=True):
    """A plan. Each algorithm runs in each combination of the varied values, with each seed.

    Parameters are those of `soloist simulate`: nodes, k, rate or saturate, latency, send_cost, receive_cost,
    inside, entries, warmup, channels, faults. All algorithms get the same seeds, so that they can be compared in pairs.
    """

    name: str
    algorithms: tuple[Contender, ...]
    fixed: dict[str, Any] = {}
    vary: dict[str, Sequence[Any]] = {}
    seeds: Seeds | tuple[int, ...] = Seeds()

    def __post_init__(self) -> None:
        _check_contenders(self.algorithms)
        _check_parameters(self.fixed, self.vary)
        _check_seeds(self.seeds)

    def cells(self) -> list[Cell]:
        """All runs: by situation, then algorithm, then seed. Each of them has been checked."""
        seeds = self.seeds.count if isinstance(self.seeds, Seeds) else len(self.seeds)
        runs = math.prod([seeds, len(self.algorithms), *map(len, self.vary.values())])
        if runs > MOST_RUNS:
            raise PlanError(("seeds",), f"the plan has {runs:,} runs; more than {MOST_RUNS:,} do not fit")
        return [
            _with_seed(cell, seed)
            for values in itertools.product(*self.vary.values())
            for place, contender in enumerate(self.algorithms)
            for cell in [self._cell(place, contender, dict(zip(self.vary, values, strict=True)))]
            for seed in self.seeds
        ]

    def _cell(self, place: int, contender: Contender, varied: dict[str, Any]) -> Cell:
        given = {**self.fixed, **varied}
        parameters = {name: given[name] for name in PARAMETERS if name in given}
        try:
            return Cell(contender.label, experiment(contender, parameters), parameters)
        except UsageError as error:
            situation = f" with {option_text(varied)}" if varied else ""
            raise PlanError(("algorithms", place), f"{contender.label}{situation}: {error}") from None

    def digest(self) -> str:
        """A name for the runs of this plan, in their order."""
        return digest([cell.digest() for cell in self.cells()])


def key_of(item: Any) -> str:
    """A name that another one does not have: results are kept under it."""
    return hashlib.sha256(msgspec.json.encode(item, order="deterministic")).hexdigest()[:32]


def digest(keys: Sequence[str]) -> str:
    """One name for all of them, in their order."""
    return hashlib.sha256("".join(keys).encode()).hexdigest()[:32]


def experiment(contender: Contender, parameters: Mapping[str, Any]) -> Experiment:
    """The experiment that `soloist simulate` would run with these parameters, checked, with seed 1."""
    p = {name: PARAMETERS[name](value) for name, value in parameters.items()}
    if p.get("saturate") and "rate" in p:
        raise UsageError("rate and saturate exclude each other; give one of them")
    made = Experiment(
        algorithm=contender.name,
        options=contender.options,
        printed=contender.printed,
        workload=Saturated() if p.get("saturate") else Thinking(p.get("rate", 1.0)),
        **{name: p[name] for name in ("nodes", "k", "inside", "entries", "warmup", "faults") if name in p},
    )
    costs = {name: p[name] for name in ("send_cost", "receive_cost") if name in p}
    links = Network(
        delay=p.get("latency", Network().delay),
        fifo=p.get("channels", made.card().links(made.k)) == "fifo",
        **costs,
    )
    made.size()  # complains about N, K and options
    return msgspec.structs.replace(made, network=links)


def _with_seed(cell: Cell, seed: int) -> Cell:
    return Cell(cell.label, msgspec.structs.replace(cell.experiment, seed=seed), cell.parameters)


# What a plan must be.


def _check_contenders(contenders: Sequence[Contender]) -> None:
    if not contenders:
        raise PlanError(("algorithms",), "names none; `soloist algorithms` lists them")
    seen: set[str] = set()
    for place, contender in enumerate(contenders):
        if contender.label in seen:
            raise PlanError(
                ("algorithms", place), f"two are called {contender.label!r}; give one of them another label"
            )
        seen.add(contender.label)


def _check_parameters(fixed: Mapping[str, Any], vary: Mapping[str, Sequence[Any]]) -> None:
    for table, names in (("fixed", fixed), ("vary", vary)):
        for name in names:
            if name not in PARAMETERS:
                raise PlanError((table, name), str(unknown("parameter", name, PARAMETERS)))
    for name, value in fixed.items():
        _check_value(("fixed", name), name, value)
    for name, values in vary.items():
        keys = ("vary", name)
        if name in fixed:
            raise PlanError(keys, "is in fixed, too; it is one or the other")
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise PlanError(keys, f"should be a list of values, not {values!r}")
        for place, value in enumerate(values):
            _check_value(keys, name, value)
            if value in values[:place]:
                raise PlanError(keys, f"has {value!r} twice")


def _check_value(keys: Keys, name: str, value: Any) -> None:
    try:
        PARAMETERS[name](value)
    except UsageError as error:
        raise PlanError(keys, str(error)) from None


def _check_seeds(seeds: Seeds | tuple[int, ...]) -> None:
    if isinstance(seeds, Seeds):
        if seeds.count < 1:
            raise PlanError(("seeds",), f"count must be at least 1, not {seeds.count}")
    elif not seeds:
        raise PlanError(("seeds",), "is empty; give a count such as 10, or a list")
    elif len(set(seeds)) < len(seeds):
        raise PlanError(("seeds",), "has a seed twice; it would count twice")


# What a parameter must be. Each returns the value in the form that is used, or says what is wrong.


def _whole(name: str, least: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise UsageError(f"{name} must be a whole number from {least}, not {value!r}")
        return value

    return check


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UsageError(f"rate must be a number above 0 (requests per site and time unit), not {value!r}")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"saturate must be true or false, not {value!r}")
    return value


def _time(name: str) -> Callable[[Any], float]:
    return lambda value: duration(value, name)


def _channels(value: Any) -> str:
    if value not in ("fifo", "any"):
        raise UsageError(f"channels must be fifo or any, not {value!r}")
    return str(value)


def _faults(value: Any) -> tuple[Fault, ...]:
    """`"crash=1@10 loss=0.01"`, or a list of them; an empty text is a run without faults."""
    texts = value.split() if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"faults must be text such as 'crash=1@10 loss=0.01', not {value!r}")
    return faults(texts)


PARAMETERS: dict[str, Callable[[Any], Any]] = {
    "nodes": _whole("nodes", 1),
    "k": _whole("k", 1),
    "rate": _rate,
    "saturate": _flag,
    "latency": delay,
    "send_cost": _time("send_cost"),
    "receive_cost": _time("receive_cost"),
    "inside": _time("inside"),
    "entries": _whole("entries", 1),
    "warmup": _whole("warmup", 0),
    "channels": _channels,
    "faults": _faults,
}
"""The parameters of a plan, in the order of the table's columns."""
