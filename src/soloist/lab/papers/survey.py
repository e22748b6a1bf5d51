"""The survey of 21 algorithms of 1993: Tables 1-3 and the text around them, row by row, with what entries cost.

Three situations. Alone: a site asks when all is quiet, and every site follows every other one once, so the least, the
most and the mean are exact. Light: requests are rare and come from all sites alike, for structures that depend on
what came before. Heavy: everybody asks again as soon as it has left. `survey_rows` has the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

import msgspec

from soloist.algorithms import CATALOGUE
from soloist.lab import plots
from soloist.lab.papers.survey_growth import show_growth
from soloist.lab.papers.survey_judges import Seen
from soloist.lab.papers.survey_rows import ROWS, SIZES, K, L, SurveyRow
from soloist.lab.papers.suzuki_kasami import count, rounds
from soloist.lab.report import Claim, Findings, claim, number
from soloist.lab.sweep import Contender, experiment
from soloist.lab.workbench import Workbench
from soloist.sim import Experiment, Listed
from soloist.sim.experiment import run
from soloist.sim.statistics import estimate

ABOUT = "Tables 1-3, row by row: the cost of each entry, alone, at light and at heavy load, for several N, and how it grows"

SHOWN = 13
"""Sites in the figures."""


def reproduce(bench: Workbench) -> Findings:
    report = Findings(
        "The survey's tables, measured",
        "A survey of 21 distributed mutual exclusion algorithms, 1993: Tables 1-3, and sections 4 to 6",
        """The catalogue's algorithms, most of them built from the survey's own words, with what is wrong in these
        repaired: errata of agrawal-el-abbadi, kakugawa, maekawa, mizuno-neilsen-rao, naimi-trehel, raynal, raynal-inform,
        ricart-agrawala-token, sanders, singhal-heuristic and suzuki-kasami-bounded. Srimani-Reddy is completed, with numbers
        without end; Mishra-Srimani and Nishio are without their recovery. Messages to oneself are not counted. What the
        survey has no figure for (majority voting, the token ring) is left out.""",
    )
    report.heading("How it was measured")
    report.text(
        f"""N = {", ".join(map(str, SIZES))} sites, other sizes where a row says so (K = {K} where several enter, L = {L} where
        numbers are bounded); a message takes one time unit, and so does a stay inside. Alone: a site asks when all is quiet,
        every site after every other once. Light: a site asks every 1000 time units. Heavy: again as soon as it has left."""
    )
    tables: dict[str, list[tuple[SurveyRow, Seen]]] = {}
    for row, seen in zip(ROWS, measure(bench), strict=True):
        tables.setdefault(row.table, []).append((row, seen))
        report.claims.append(judged(row, seen))
    for title, rows in tables.items():
        report.heading(title)
        report.table(
            ("algorithm", "published", ">N", ">alone", ">light", ">heavy"),
            [line for row, seen in rows for line in lines(row, seen)],
        )
    show_growth(report, [pair for rows in tables.values() for pair in rows])
    draw(bench, report)
    return report


def judged(row: SurveyRow, seen: Seen) -> Claim:
    tests, evidence = row.judge(seen)
    return claim(f"{row.label}: {row.published}", row.quote, row.where, tests, evidence, row.against)


def lines(row: SurveyRow, seen: Seen) -> list[tuple[str, str, int, str, str, str]]:
    return [
        (row.label, row.published, n, span(seen.alone.get(n)), mean(seen, n), span(seen.heavy.get(n)))
        for n in row.sizes
    ]


def span(costs: list[int] | None) -> str:
    if not costs:
        return "–"
    return f"{number(fmean(costs))} ({min(costs)} to {max(costs)})"


def mean(seen: Seen, n: int) -> str:
    found = seen.light.get(n)
    return "–" if found is None else f"{number(found.mean)} ± {number(found.half_width, 2)}"


# Measuring.


class Case(msgspec.Struct, frozen=True):
    row: int
    n: int
    situation: str
    experiment: Experiment


def measure(bench: Workbench) -> list[Seen]:
    """All rows. The runs are given out together, so that no worker is idle."""
    made = [case for place, row in enumerate(ROWS) for n in row.sizes for case in cases(bench, place, row, n)]
    found: dict[tuple[int, int, str], list[list[int]]] = {}
    for case, costs in zip(made, bench.map("entries", cost, made), strict=True):
        found.setdefault((case.row, case.n, case.situation), []).append(costs)
    seen = [Seen() for _ in ROWS]
    for (place, n, situation), runs in found.items():
        every = [each for costs in runs for each in costs]
        match situation:
            case "alone":
                seen[place].alone[n] = every
            case "light":
                seen[place].light[n] = estimate([fmean(costs) for costs in runs])
            case "heavy":
                seen[place].heavy[n] = every
            case _:
                seen[place].rounds[n] = set(every)
    return seen


def cases(bench: Workbench, place: int, row: SurveyRow, n: int) -> list[Case]:
    made = {
        "alone": lambda: [alone(row.contender, n)],
        "light": lambda: seeded(bench, row.contender, n, bench.entries(row.entries or 2000), rate=0.001),
        "heavy": lambda: seeded(bench, row.contender, n, bench.entries(300), saturate=True),
        "rounds": lambda: seeded(bench, row.contender, n, max(bench.entries(300), 4 * n * L), saturate=True),
    }
    return [Case(place, n, situation, run) for situation in row.situations for run in made[situation]()]


def cost(case: Case) -> list[int]:
    """Of each entry; of each round of a site, where that is asked for."""
    if case.situation == "rounds":
        return rounds(count(case.experiment), L)
    found = [int(each) for each in run(case.experiment, case.experiment.seed).cost]
    return found[:-1] if case.situation == "alone" else found


def one(contender: Contender, n: int, **load: object) -> Experiment:
    k = K if CATALOGUE[contender.name].capacity == "K" else 1
    return experiment(contender, {"nodes": n, "k": k, "latency": 1.0, "inside": 1.0, **load})


def seeded(bench: Workbench, contender: Contender, n: int, entries: int, **load: object) -> list[Experiment]:
    made = one(contender, n, entries=entries, **load)
    return [msgspec.structs.replace(made, seed=seed) for seed in bench.seeds]


def alone(contender: Contender, n: int) -> Experiment:
    """Far enough apart that one is over before the next. The last is there to let the one before it end."""
    apart = 10.0 * n
    asking = tuple((apart * turn, site) for turn, site in enumerate((*in_turn(n), 0)))
    return msgspec.structs.replace(one(contender, n), workload=Listed(asking))


def in_turn(n: int) -> Iterator[int]:
    """Every site after every other one, and after itself, once: a de Bruijn sequence, from its Lyndon words."""
    for a in range(n):
        yield a
        for b in range(a + 1, n):
            yield from (a, b)
    yield 0


def draw(bench: Workbench, report: Findings) -> None:
    report.heading("Of which kinds")
    several = {name for name, card in CATALOGUE.items() if card.capacity == "K"}
    shown = {row.label: row.contender for row in ROWS}
    parts: dict[str, dict[str, float]] = {}
    for k in (False, True):
        contenders = [each for each in shown.values() if (each.name in several) == k]
        fixed = {"nodes": SHOWN, "k": K if k else 1, "latency": 1.0, "inside": 1.0, "entries": 300}
        table = bench.sweep(f"heavy-{'k' if k else 'one'}", contenders, {**fixed, "saturate": True}, {})
        # One squares the number of sites; beside it nothing else could be seen.
        parts |= {
            label: kinds for label, kinds in table.by_kind().items() if sum(kinds.values()) <= 3 * SHOWN
        }
    path = bench.figure("kinds-heavy")
    title = f"Messages per entry by kind, heavy load, {SHOWN} sites"
    plots.breakdown(dict(sorted(parts.items(), key=lambda item: sum(item[1].values()))), path, title=title)
    report.figure(title + " (up to 3N)", path.name)
