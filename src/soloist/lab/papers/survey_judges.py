"""How the survey's words about cost are judged: each gives tests that fail for the nearest wrong claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2, sqrt
from statistics import fmean, linear_regression

import msgspec

from soloist.lab.report import Test, number, tells
from soloist.sim.statistics import Estimate, estimate


class Seen(msgspec.Struct, frozen=True):
    """What entries cost, by N."""

    alone: dict[int, list[int]] = {}
    """Each entry, in the order of asking: every site after every other and after itself."""
    light: dict[int, Estimate] = {}
    heavy: dict[int, list[int]] = {}
    """Each entry of all seeds."""
    rounds: dict[int, set[int]] = {}
    """What L requests of a site cost."""


Judge = Callable[[Seen], tuple[list[Test], str]]
"""The tests that make the verdict, and what was found."""


# What can be said of a cost, and how it is judged. `f` gives the published number for N.

Formula = Callable[[int], float]


def asked(costs: Sequence[float]) -> list[float]:
    """Without the entries of a site that had what it needed."""
    return [cost for cost in costs if cost]


def span(costs: Sequence[float]) -> str:
    if not costs:
        return "–"
    low, high = number(min(costs)), number(max(costs))
    return low if low == high else f"{low} to {high}"


def at_sizes(found: Mapping[int, str]) -> str:
    return ", ".join(f"{text} at N = {n}" for n, text in found.items())


def exactly(f: Formula, or_none: bool = False) -> Judge:
    """Every entry costs this, alone and under load; or nothing, where the site may have what it needs."""

    def judge(seen: Seen) -> tuple[list[Test], str]:
        def right(by_size: dict[int, list[int]]) -> bool:
            return all(
                cost == f(n) or (or_none and cost == 0) for n, costs in by_size.items() for cost in costs
            ) and all(f(n) in costs for n, costs in by_size.items())

        found = {
            n: span(asked(seen.alone[n] + seen.heavy[n]) if or_none else seen.heavy[n]) for n in seen.alone
        }
        free = ", and 0 for a site that enters again" if or_none else ""
        loads = "" if right(seen.alone) == right(seen.heavy) else f"; alone {at_sizes(spans(seen.alone))}"
        return [right(seen.alone), right(seen.heavy)], at_sizes(found) + loads + free

    return judge


def spans(by_size: dict[int, list[int]]) -> dict[int, str]:
    return {n: span(asked(costs)) for n, costs in by_size.items()}


def between(low: Formula, high: Formula, free: bool = True) -> Judge:
    """No entry costs more or less alone, nor does the mean under load cost more, and both ends are reached."""

    def judge(seen: Seen) -> tuple[list[Test], str]:
        kept = {n: [cost for cost in costs if cost or not free] for n, costs in seen.alone.items()}
        most = {n: max(*costs, *loaded(seen, n)) for n, costs in kept.items()}
        tests: list[Test] = [
            all(low(n) <= min(costs) and most[n] <= high(n) for n, costs in kept.items()),
            all(low(n) == min(costs) and most[n] == high(n) for n, costs in kept.items()),
        ]
        return tests, found(seen, kept)

    return judge


def at_most(f: Formula) -> Judge:
    """No entry costs more alone, nor does the mean under load, and some cost as much: a smaller bound is wrong."""

    def judge(seen: Seen) -> tuple[list[Test], str]:
        kept = {n: [*costs, *loaded(seen, n)] for n, costs in seen.alone.items()}
        tests: list[Test] = [
            all(max(costs) <= f(n) for n, costs in kept.items()),
            all(max(costs) >= f(n) for n, costs in kept.items()),
        ]
        return tests, found(seen, {n: asked(costs) for n, costs in seen.alone.items()})

    return judge


def loaded(seen: Seen, n: int) -> list[float]:
    """The mean under load. (There a message may serve several entries, and no single one can be said to cost so much.)"""
    return [fmean(seen.heavy[n])] if n in seen.heavy else []


def found(seen: Seen, kept: Mapping[int, Sequence[float]]) -> str:
    means = {n: number(fmean(costs)) for n, costs in seen.heavy.items()}
    return f"{at_sizes({n: span(costs) for n, costs in kept.items()})}" + (
        f"; under load {at_sizes(means)} on average" if means else ""
    )


def bounded_mean(f: Formula) -> Judge:
    """The mean does not pass the bound, in any situation that was measured."""

    def judge(seen: Seen) -> tuple[list[Test], str]:
        means = {("light", n): found.mean for n, found in seen.light.items()}
        means |= {("heavy", n): fmean(costs) for n, costs in seen.heavy.items()}
        found = "; ".join(
            f"{number(mean)} at N = {n}, {load} ({f(n):g})" for (load, n), mean in means.items()
        )
        return [all(mean <= f(n) for (_, n), mean in means.items())], found

    return judge


SHAPES: dict[str, Formula] = {"log N": log2, "sqrt N": sqrt, "N": float, "N²": lambda n: float(n * n)}


def shape(means: Mapping[int, float]) -> str:
    """Of log N, sqrt N, N and N² the one that the means follow best in a straight line."""

    def rest(f: Formula) -> float:
        xs, ys = [f(n) for n in means], list(means.values())
        slope, start = linear_regression(xs, ys)
        return sum((y - start - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))

    return min(SHAPES, key=lambda name: rest(SHAPES[name]))


def logarithmic(seen: Seen) -> tuple[list[Test], str]:
    means = {n: found.mean for n, found in seen.light.items()} or {
        n: fmean(costs) for n, costs in seen.alone.items()
    }
    found = at_sizes({n: number(mean) for n, mean in means.items()})
    return [shape(means) == "log N"], f"{found}: nearest to a line in {shape(means)}"


def both(*judges: Judge) -> Judge:
    def judge(seen: Seen) -> tuple[list[Test], str]:
        found = [each(seen) for each in judges]
        return [test for tests, _ in found for test in tests], "; ".join(text for _, text in found)

    return judge


def about(f: Formula, unit: Formula) -> Judge:
    """`approximately 3 sqrt N`: the most alone, and the mean under load, in units of sqrt N, round to 3."""

    def judge(seen: Seen) -> tuple[list[Test], str]:
        most = {n: max(costs) / unit(n) for n, costs in seen.alone.items()}
        loaded = {n: fmean(costs) / unit(n) for n, costs in seen.heavy.items()}
        tests: list[Test] = [
            all(round(value) == round(f(n) / unit(n)) for n, value in found.items())
            for found in (most, loaded)
        ]
        return tests, "in units of sqrt N: " + at_sizes(
            {n: f"{most[n]:.2f} at most alone, {loaded[n]:.2f} on average under load" for n in most}
        )

    return judge


def mean_light(f: Formula, *wrong: Formula) -> Judge:
    def judge(seen: Seen) -> tuple[list[Test], str]:
        tests = [tells(found, f(n), *(other(n) for other in wrong)) for n, found in seen.light.items()]
        found = {n: f"{number(e.mean)} ± {number(e.half_width, 2)}" for n, e in seen.light.items()}
        return [None if None in tests else all(tests)], f"light: {at_sizes(found)}"

    return judge


def mean_heavy(f: Formula, *wrong: Formula) -> Judge:
    def judge(seen: Seen) -> tuple[list[Test], str]:
        means = {n: estimate([fmean(costs)]) for n, costs in seen.heavy.items()}
        tests = [tells(found, f(n), *(other(n) for other in wrong)) for n, found in means.items()]
        return [all(tests)], "heavy: " + at_sizes({n: number(found.mean) for n, found in means.items()})

    return judge


def in_rounds(f: Formula) -> Judge:
    def judge(seen: Seen) -> tuple[list[Test], str]:
        found = {n: span(sorted(costs)) for n, costs in seen.rounds.items()}
        right = all(costs == {f(n)} for n, costs in seen.rounds.items())
        return [right], f"{at_sizes(found)}, every round of every site"

    return judge
