"""Writes the pages that come from the code: one an algorithm, the errata, and the picture.

    make pages                       all of them
    python docs/generate.py lamport  the page of one algorithm
    python docs/generate.py assumptions  what they need: minutes
    soloist check views --all --json > views.json && python docs/generate.py views views.json
    python docs/generate.py index    the list of all algorithms, which is the navigation, too
    python docs/generate.py watch    the errata to look at, from the runs that are on the pages

Everything is deterministic: the same code writes the same bytes, and a test says where a page is out of date.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from stages import caption

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, Card, Size, find_any
from soloist.algorithms.printed import (
    ERRATA,
    EXAMPLES,
    NOTES,
    RECOVERY_ERRATA,
    RECOVERY_SLIPS,
    SLIPS,
    Erratum,
    Example,
    Slip,
)
from soloist.check import Report
from soloist.check.views import ALL
from soloist.cli import main
from soloist.cli.check_drop import text as cell_text
from soloist.lab.assumptions import ASSUMPTIONS, STATES, Broken, matrix
from soloist.lab.recovery_checks import SEARCHES
from soloist.lab.refute import refute
from soloist.sim import Experiment, Saturated, Thinking, simulate
from soloist.sim.faults import faults
from soloist.sim.links import Constant, Network
from soloist.sim.script import Script
from soloist.watch import Trace
from soloist.watch.export import html, shared_files
from soloist.watch.runs import of_steps
from soloist.watch.session import Session
from soloist.watch.trace import Verdict
from soloist.watch.words import plainly, waiting

DOCS = Path(__file__).parent
TRACES = DOCS.parent / "tests" / "traces"
PUZZLES = DOCS.parent / "src" / "soloist" / "watch" / "puzzles.json"
SIZES = (5, 10, 30)
PICTURE = [
    "compare",
    "lamport",
    "ricart-agrawala",
    "suzuki-kasami",
    "naimi-trehel",
    "raymond-tree",
    "--nodes",
    "15",
    "--rate",
    "0.1",
    "--saturate",
    "--latency",
    "lognormal:1ms,0.5",
    "--replications",
    "3",
]


def k_of(card: Card) -> int:
    return 2 if card.capacity == "K" else 1


def page(card: Card) -> str:
    story = inspect.getdoc(sys.modules[card.process.__module__]) or ""
    idea, _, rest = story.partition("\n")
    parts = [
        f"# {card.title}",
        f"`{card.name}`: {idea.split(': ', 1)[-1]}",
        f"*{card.paper}.* Rules as in: {card.section}.",
        picture(card),
        facts(card),
        "## Names and notes\n\n```text\n" + rest.strip() + "\n```",
        "## Measured\n\n" + figures(card),
        "## Step by step\n\n```text\n" + (TRACES / f"{card.name}.txt").read_text().strip() + "\n```",
    ]
    if errata := [e for e in (*ERRATA, *EXAMPLES, *SLIPS) if e.algorithm == card.name]:
        links = "\n".join(f"- [{e.code}](../errata.md#{anchor(e)}): {e.text}" for e in errata)
        parts.insert(6, "## Errata\n\nWhat is printed elsewhere, and fails:\n\n" + links)
    return "\n\n".join(parts) + "\n"


def links(card: Card) -> str:
    if card.channels_of_one == "any" != card.channels:
        return "FIFO; any order where K = 1"
    return "FIFO" if card.channels == "fifo" else "any order"


def picture(card: Card) -> str:
    """Its stage, which `make stages` draws, and what is to be seen there."""
    told = caption(card.name)
    return f"![{told}](../stages/{card.name}.svg)\n\nOn the [stage](../page.md) of a run: {told}."


def facts(card: Card) -> str:
    rows = {
        "family": card.family,
        "inside together": "one" if card.capacity == "1" else "K",
        "links": links(card),
        "structure": card.structure,
        "failures tolerated": card.tolerates,
        "messages per entry, at most": card.bound.text,
        "at light load": card.light.text
        if card.light
        else "unbounded: it sends messages even when nobody asks",
        "at heavy load": card.heavy.text if card.heavy else "see below",
        "order of entries": card.fairness,
        **{f"option `{option.name}`": option.help for option in card.options},
    }
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {cell(value)} |" for name, value in rows.items())


def cell(text: str) -> str:
    """A text in a table, in which a bar would end the cell."""
    return text.replace("|", "\\|")


def figures(card: Card) -> str:
    k = k_of(card)
    lines = [
        f"Messages per entry{f', K={k}' if k > 1 else ''}: theory in brackets. `sync` is the synchronisation delay in message "
        "delays.\n",
        "| N | light load (rate 0.001) | saturated | sync | words per message |",
        "|---|---|---|---|---|",
    ]
    for n in SIZES:
        size = card.size(n, k)
        network = Network(Constant(0.001), fifo=card.links(k) == "fifo")
        heavy = simulate(Experiment(card.name, n, k, workload=Saturated(), network=network, entries=1000))
        if card.light:
            light = simulate(
                Experiment(card.name, n, k, workload=Thinking(0.001), network=network, entries=1000)
            )
            rare = f"{light.messages_per_entry.mean:.2f} ({card.light(size):.2f})"
        else:
            rare = "no limit"
        under_load = f" ({card.heavy(size):.2f})" if card.heavy else ""
        sync = "-" if heavy.sync_delay.mean is None else f"{heavy.sync_delay.mean / 0.001:.2f}"
        lines.append(
            f"| {n} | {rare} | {heavy.messages_per_entry.mean:.2f}{under_load} "
            f"| {sync} | {heavy.words_per_message or 0:.2f} |"
        )
    command = (
        f"soloist simulate {card.name} --nodes 10{f' --k {k}' if k > 1 else ''} --rate 0.001 --entries 1000"
    )
    return "\n".join(lines) + f"\n\nAs `{command}` and with `--saturate`."


Entry = Erratum | Example | Slip


def heading(erratum: Entry) -> str:
    return f"### {erratum.algorithm} {erratum.code}"


def anchor(erratum: Entry) -> str:
    """Where its heading is linked to: as GitHub and MyST make an anchor of it."""
    return f"{erratum.algorithm}-{erratum.code}".lower()


def told_of(erratum: Entry, page: str) -> str:
    """What a page says under the heading of an erratum."""
    return page.partition(f"{heading(erratum)}\n")[2].partition("\n### ")[0]


RUNS = {
    "printed": "The run is one of the printed text, with all its errors.",
    "other repairs": "The run is one of the text with this error alone: its other errors are repaired.",
    "by the letter": "The run is one of a reading by the letter, which the rest of the text rules out or does not mean.",
    "not said": "The run is one of rules that no text has: it shows what is left open.",
}


def entry(each: Entry, shown: str) -> str:
    what = "What it says" if isinstance(each, Example | Slip) or each.run == "not said" else "What is printed"
    return (
        f"{heading(each)}\n\n"
        f"**Against** {each.text}.\n\n"
        f"**{what}**: {each.says}\n\n{shown}"
        f"**Repair**: {each.repair}\n"
    ).replace("**Against**", "**About**" if each in NOTES else "**Against**")


def section(erratum: Erratum, report: Report) -> str:
    """One erratum, with the shortest run that shows it."""
    steps = "\n".join(
        line
        for number, step in enumerate(report.trace, start=1)
        for line in (f"{number:>3}  {step.command}", *(f"       {event}" for event in step.events))
    )
    length = "1 step" if len(report.trace) == 1 else f"{len(report.trace)} steps"
    again = f" From step {report.loop + 1} on it repeats itself." if report.loop is not None else ""
    rounds = ",".join(map(str, report.rounds))
    printed = (
        f"A run of the printed text, with all its errors, in {len(erratum.schedule)} steps: "
        f"`{'; '.join(erratum.schedule)}`.\n\n"
        if erratum.schedule
        else ""
    )
    return entry(
        erratum,
        f"**What comes of it**: {report.property} is violated after {length} "
        f"(N={erratum.nodes}, requests {rounds}, {report.channels} links). {sentence(report.reason)}{again} "
        f"{RUNS[erratum.run]}\n\n```text\n{steps}\n```\n\n{look(erratum)}{printed}",
    )


def look(erratum: Erratum) -> str:
    """A link to the run as a page. Recovery's errata are on pages of their own, a directory further down."""
    up = "../" if erratum.algorithm in RECOVERY else ""
    return f"[Watch this run]({up}watch/{anchor(erratum)}.html)\n\n"


SHOWN = re.compile(
    r"\*\*What comes of it\*\*: (\S+) is violated[^(]*\(N=\d+, requests [\d,]+, (\w+) links\)\. (.*?)\n\n```text\n(.*?)```",
    re.DOTALL,
)
COMMAND = re.compile(r"^ {0,2}\d+  (\S.*)$", re.MULTILINE)


def watch_pages() -> dict[str, str]:
    """Each erratum as a page to look at. The runs are those on the pages of the errata, which tests compare with the checker's."""
    pages = shared_files()
    for each in (*ERRATA, *NOTES, *RECOVERY_ERRATA):
        if not isinstance(each, Erratum):
            continue
        page = DOCS / (f"recovery/{each.algorithm}.md" if each.algorithm in RECOVERY else "errata.md")
        if found := SHOWN.search(told_of(each, page.read_text())):
            pages[f"{anchor(each)}.html"] = html(watched(each, *found.groups()), shared=True)
    return pages


def puzzle_runs() -> str:
    """The best runs that are known of errata, for `soloist watch`: those on the page of the errata."""
    page = (DOCS / "errata.md").read_text()
    runs = {}
    for each in (*ERRATA, *NOTES):
        if isinstance(each, Erratum) and (found := SHOWN.search(told_of(each, page))):
            runs[f"{each.algorithm} {each.code}"] = COMMAND.findall(found[4])
    return json.dumps(runs, indent=1) + "\n"


def watched(erratum: Erratum, property: str, channels: str, reason: str, steps: str) -> Trace:
    """Its run, with what is wrong in it and what the text says. Where it cannot go well from the beginning on, and the shortest run is
    empty, it is one in which all who may ask do."""
    size, fifo = erratum.card.size(erratum.nodes, erratum.k, erratum.options), channels == "fifo"
    commands = COMMAND.findall(steps)
    if not commands:
        commands = all_ask(erratum, size, fifo)
        reason = FROM_THE_BEGINNING.sub(
            "It is so from the beginning, whatever happens; here all who may ask do so.", reason
        )
        reason = reason.replace(NO_END, "There is no run in which everybody is served.")
    trace = of_steps(
        commands,
        erratum.card,
        size,
        fifo,
        origin="counterexample",
        printed=True,
        erratum=erratum.code,
        notes=[
            f"{erratum.algorithm} {erratum.code}, against {erratum.text}.",
            erratum.says,
            f"Repair: {erratum.repair}",
        ],
    )
    trace.head.finding = Verdict(property, plainly(reason, waiting(trace)))
    return trace


NO_END = "From here the end (everybody served) cannot be reached any more; nothing is under way."
FROM_THE_BEGINNING = re.compile(r"The run is one of .*$")


def all_ask(erratum: Erratum, size: Size, fifo: bool) -> list[str]:
    """All who may ask do; whoever gets in leaves, unless more may be inside; then each timer runs out once."""
    session = Session("start", erratum.card, size, fifo)
    rounds = erratum.rounds
    each = (rounds,) * size.n if isinstance(rounds, int) else rounds

    def do(commands: Iterable[str]) -> None:
        for command in commands:
            session.do(command)
            while due := [each for each in session.enabled() if each.startswith("deliver")]:
                session.do(due[0])

    do(f"acquire {site}" for site in range(size.n) if each[site])
    do(each for each in session.enabled() if each.startswith("release") and size.k == 1)
    do([each for each in session.enabled() if each.startswith("timeout")])
    return session.commands[1:]


def counted(example: Example) -> tuple[list[str], int, int]:
    """The lines of a script, and the messages and entries in it, of one site where that is asked for."""
    script, lines = Script(), []
    for command in example.script:
        lines += [command, *(f"       {line.strip()}" for line in script.run(command))]
    events = [line.split() for line in lines]
    who = None if example.site is None else str(example.site)
    messages = sum(words[1:2] == ["->"] and who in (None, words[0], words[2]) for words in events)
    entries = sum(words[1:] == ["enter"] and who in (None, words[0]) for words in events)
    return lines, messages, entries


def example_section(example: Example) -> str:
    lines, messages, entries = counted(example)
    count = (
        f" {messages} messages for {entries} {'entry' if entries == 1 else 'entries'}, where the text has "
        f"{example.published:g} for each."
        if example.published is not None
        else ""
    )
    text = "\n".join(lines)
    return entry(example, f"**A run** of the repaired algorithm.{count}\n\n```text\n{text}\n```\n\n")


def described(each: Entry) -> str:
    match each:
        case Erratum():
            return section(each, refute(each))
        case Example():
            return example_section(each)
        case _:
            return entry(each, "")


def sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def errata_page() -> str:
    intro = (
        "# Errata\n\nWhat the papers and the survey print, and what fails. An entry with a shortest run is an algorithm of its own, with "
        "this one error put back into the repaired version; the run is the shortest that the checker finds, and the entry says whether it is "
        "one of the printed text, too. Other entries are sentences that a run of the repaired algorithm contradicts, and slips of the pen. "
        "`soloist check NAME --printed` checks a text with all its errors. [Notes](#notes) at the end are about what the texts do not say.\n\n"
        "Sites are numbered from 0. *The survey* is the survey of 21 algorithms of 1993. "
        "Where an original paper was not at hand, the entry says so: the claim is then against the text named, and no other.\n\n## Errors\n"
    )
    every = sorted((*ERRATA, *EXAMPLES, *SLIPS), key=lambda each: each.algorithm)
    notes = "## Notes\n\nNot errors, but gaps: what the texts do not say, and what comes of it where something does.\n"
    return "\n".join([intro, *map(described, every), notes, *map(described, NOTES)])


CRASH = {"nishio-recovery": "crash=any@0..0.3+0.05", "raymond-tree-recovery": "crash-new=any@0..0.3+0.05"}
"""The fault that an algorithm with recovery is shown with, where it is not the usual one."""
USUAL_CRASH = "crash=any@0..0.3"
RUNS_WITH_A_CRASH = 30


def recovery_page(card: Card) -> str:
    """The page of an algorithm with recovery: its errata are on it, too."""
    story = inspect.getdoc(sys.modules[card.process.__module__]) or ""
    idea, _, rest = story.partition("\n")
    errata = [described(e) for e in (*RECOVERY_ERRATA, *RECOVERY_SLIPS) if e.algorithm == card.name]
    parts = [
        f"# {card.title}",
        f"`{card.name}`: {idea.split(': ', 1)[-1]}",
        f"*{card.paper}.* Rules as in: {card.section}. For `simulate`, `compare` and `check`; [locks](../locks.md) recover by "
        "[views](../views.md) instead.",
        picture(card),
        facts(card),
        "## Names and notes\n\n```text\n" + rest.strip() + "\n```",
        "## With a crash\n\n" + crash_figures(card),
        "## In every order of events\n\n" + searches(card),
    ]
    if errata:
        parts.append("## Errata\n\n" + "\n".join(errata))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def crash_figures(card: Card) -> str:
    fault = CRASH.get(card.name, USUAL_CRASH)
    lines = [
        f"One crash at a random moment, five sites; a message takes 1 ms, as does a stay inside. {RUNS_WITH_A_CRASH} seeds, none of which "
        "was unsafe or left anybody waiting.\n",
        "| | messages per entry | time to enter, mean | longest of 99 % |",
        "|---|---|---|---|",
    ]
    for what, texts in (("no fault", []), (f"`{fault}`", [fault])):
        r = simulate(
            Experiment(
                card.name,
                5,
                workload=Thinking(100.0),
                network=Network(Constant(0.001), fifo=card.channels == "fifo"),
                entries=150,
                warmup=0,
                replications=RUNS_WITH_A_CRASH,
                faults=faults(texts),
            )
        )
        lines.append(
            f"| {what} | {r.messages_per_entry.mean:.2f} | {r.response_time.mean * 1000:.2f} ms | {r.response_time.p99 * 1000:.2f} ms |"
        )
    command = f"soloist simulate {card.name} --nodes 5 --rate 100 --entries 150 --warmup 0 --replications {RUNS_WITH_A_CRASH} --fault {fault}"
    return "\n".join(lines) + f"\n\nAs `{command}`."


TIMERS = {
    "in vain": "outlast all messages, and a failure is presumed only when waiting is in vain",
    "early": "run out at any moment, so many of them; those for answers outlast all messages",
    "free": "run out at any moment, so many of them",
    "no timers": "there are none",
}


def searches(card: Card) -> str:
    lines = [
        "One crash at any moment, three sites unless it says two. *holds* is for systems of this size, and for what was judged.\n",
        "| timers | requests | links | a crash is | judged | verdict | states | transitions |",
        "|---|---|---|---|---|---|---|---|",
    ]
    commands = []
    for search in SEARCHES:
        if search.algorithm == card.name:
            r = search.run()
            limit = f" ({search.network['timeouts']})" if "timeouts" in search.network else ""
            back = {
                "never": "for ever",
                "snapshot": "or the site is back as it was",
                "fresh": "or it is back as new",
            }
            cells = (
                TIMERS[search.kind] + limit,
                ",".join(map(str, search.rounds)),
                "FIFO" if r.channels == "fifo" else "any order",
                back[search.network.get("restart", "never")],
                ", ".join(search.properties),
                r.verdict,
                f"{r.states:,}",
                f"{r.transitions:,}",
            )
            lines.append("| " + " | ".join(cells) + " |")
            commands.append(f"    {search.command}")
    return "\n".join(lines) + "\n\n" + "\n".join(commands)


ROOMS = {
    "algorithms": CATALOGUE,
    "recovery": RECOVERY,
    "variants": VARIANTS,
}
"""Where the pages of algorithms are."""


FAMILIES: dict[str, Callable[[Card], bool]] = {
    "With a token": lambda card: card.family == "token" and card.capacity == "1",
    "With permissions": lambda card: card.family == "permission" and card.capacity == "1",
    "For K entries": lambda card: card.capacity == "K",
}


def algorithms_page() -> str:
    """All algorithms, by family, with what their cards promise: also the navigation of their pages."""
    parts = [
        "# Algorithms\n\nEach has a page with its assumptions, its bound, measured figures, a run step by step and, where what is printed fails, its "
        "[errata](errata.md). *At most* is messages per entry. [What they need](assumptions.md) drops each assumption in turn."
    ]
    groups = {
        title: ("algorithms", filter(belongs, CATALOGUE.values())) for title, belongs in FAMILIES.items()
    }
    groups |= {
        "With recovery": ("recovery", RECOVERY.values()),
        "Variants": ("variants", VARIANTS.values()),
    }
    for title, (room, found) in groups.items():
        cards = sorted(found, key=lambda card: card.title)
        rows = [
            f"| [{c.title}]({room}/{c.name}.md) | `{c.name}` | {cell(c.bound.text)} | {c.fairness} |"
            for c in cards
        ]
        table = "\n".join(["| | name | at most | order of entries |", "|---|---|---|---|", *rows])
        pages = "\n".join(f"{room}/{card.name}" for card in cards)
        parts.append(f"## {title}\n\n{table}\n\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```")
    return "\n\n".join(parts) + "\n"


def assumptions_page() -> str:
    """What all algorithms need: the matrix, and the shortest run for each thing that breaks."""
    names = [name for room in ROOMS.values() for name in room]
    found = matrix(names, jobs=os.cpu_count() or 1)
    wants = "\n".join(f"- **{name}**: {says}." for name, (says, _) in ASSUMPTIONS.items())
    intro = (
        "# What algorithms need\n\nEvery algorithm without one of its assumptions, in every order of events of a system of two sites, then of "
        f"three, with one request each, up to {STATES:,} states a search.\n\n{wants}\n\nFor loss, duplication and crashes it takes one. Where an algorithm has timers, "
        "they run out only when nothing is under way, as if they were long enough, and without the last assumption at any moment. Safety is judged first "
        "(*two inside*; *fails*: a step raises an error, such as a second token for a site that is inside), then whether it goes on (*deadlocks*; *token lost*: a deadlock in which "
        "nobody alive has the token; where sites come back or timers run: *starves*, for there is a state from which not all can be served). So what deadlocks is safe, as far "
        "as was searched; a question mark: the search for something unsafe was cut off. *open*: so was the search for anything. *holds* says no more than that nothing breaks in "
        "systems of this size. `soloist check drop --all` makes this matrix, and `soloist check drop lamport order` one cell with its run.\n"
    )
    parts = [intro.strip()]
    titles = ("The catalogue", "With recovery, as published", "Variants")
    for (room, cards), title in zip(ROOMS.items(), titles, strict=True):
        parts.append(f"## {title}\n\n" + assumptions_table(room, list(cards), found))
    parts.append("## Runs\n\nThe shortest for each, in the language of scripts (`soloist.sim.script`).")
    for name in names:
        broken = [cell for cell in found if cell.algorithm == name and cell.script]
        lines = [f"- {c.assumption}, {c.outcome}: `{'; '.join(c.script.splitlines())}`" for c in broken]
        parts.append(f"### {name}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def assumptions_table(room: str, names: list[str], found: list[Broken]) -> str:
    rows = ["| algorithm | " + " | ".join(ASSUMPTIONS) + " |", "|---" * (len(ASSUMPTIONS) + 1) + "|"]
    for name in names:
        cells = [cell_text(cell) for cell in found if cell.algorithm == name]
        rows.append(f"| [{name}]({room}/{name}.md) | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def settings_table(reports: list[dict[str, Any]]) -> str:
    """What `soloist check views` has found: all of it, and nothing but what holds."""
    found = {report["setting"]: report for report in reports}
    if wrong := [each.name for each in ALL if found.get(each.name, {}).get("verdict") != "holds"]:
        raise SystemExit(f"not shown to hold: {', '.join(wrong)}")
    rows = ["| setting | what may happen | states | depth | progress from |", "|---|---|---:|---:|---:|"]
    for each in ALL:
        report = found[each.name]
        counts = f"{report['states']:,} | {report['depth']} | {report['progress_tried']:,}"
        rows.append(f"| `{each.name}` | {each.says} | {counts} |")
    states = sum(found[each.name]["states"] for each in ALL)
    return "\n".join([*rows, f"| | **in all** | **{states:,}** | | |"])


def teeth_table() -> str:
    """The deliberate mistakes, as the tests have them; `tests/views/test_teeth.py` runs them all."""
    sys.path.insert(0, str(DOCS.parent))
    from tests.views.breaks import BREAKS
    from tests.views.registrations import REGISTRATIONS
    from tests.views.teeth import TEETH
    from tests.views.without_lease import WITHOUT_LEASE

    rows = ["| mistake | caught in | by | steps |", "|---|---|---|---:|"]
    return "\n".join(
        [
            *rows,
            *(
                f"| {t.name} | `{t.setting.name}` | {t.property} | {t.steps} |"
                for t in (*TEETH, *BREAKS, *REGISTRATIONS, *WITHOUT_LEASE)
            ),
        ]
    )


def with_table(page: str, name: str, table: str) -> str:
    """The page with this table in its place."""
    before, begin, rest = page.partition(f"<!-- {name}: made by docs/generate.py views -->\n")
    _, end, after = rest.partition("<!-- end -->\n")
    assert begin
    assert end
    return f"{before}{begin}\n{table}\n\n{end}{after}"


def write_views(paths: list[str]) -> None:
    reports = [report for path in paths for report in json.loads(Path(path).read_text())["settings"]]
    page = with_table((DOCS / "views.md").read_text(), "settings", settings_table(reports))
    (DOCS / "views.md").write_text(with_table(page, "mistakes", teeth_table()))


def write(names: list[str]) -> None:
    if names[:1] == ["views"]:
        print("docs/views.md")
        write_views(names[1:])
        return
    if names == ["assumptions"]:
        print("docs/assumptions.md")
        (DOCS / "assumptions.md").write_text(assumptions_page())
        return
    if names == ["index"]:
        print("docs/algorithms.md")
        (DOCS / "algorithms.md").write_text(algorithms_page())
        return
    if names == ["watch"]:
        (DOCS / "watch").mkdir(exist_ok=True)
        for name, text in watch_pages().items():
            print(f"docs/watch/{name}")
            (DOCS / "watch" / name).write_text(text)
        PUZZLES.write_text(puzzle_runs())
        return
    for name in names or (*CATALOGUE, *RECOVERY, *VARIANTS):
        room = next((room for room, cards in ROOMS.items() if name in cards), "algorithms")
        make = recovery_page if room == "recovery" else page
        (DOCS / room).mkdir(exist_ok=True)
        print(f"docs/{room}/{name}.md")
        (DOCS / room / f"{name}.md").write_text(make(find_any(name)))
    if not names:
        print("docs/errata.md")
        (DOCS / "errata.md").write_text(errata_page())
        write(["index"])
        write(["watch"])
        write(["assumptions"])
        main([*PICTURE, "--picture", str(DOCS / "comparison.svg")])


if __name__ == "__main__":
    write(sys.argv[1:])
