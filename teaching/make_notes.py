"""Writes the lecture notes: one a family, with timelines of the algorithms, what they cost, and questions.

    make notes

The same code writes the same bytes; a test says where a note is out of date.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from soloist.algorithms import find
from soloist.sim import Experiment, Saturated, simulate
from soloist.sim.links import Constant, Network
from soloist.watch.runs import commands_of, of_script
from soloist.watch.svg import svg

HERE = Path(__file__).parent
TRACES = HERE.parent / "tests" / "traces"
NODES, ENTRIES = 10, 500

FAMILIES: dict[str, tuple[str, str, dict[str, tuple[int, str]]]] = {
    "token": (
        "Algorithms with a token",
        "Whoever has the token may enter. So exclusion is plain: there is one token. What remains is how a request finds it, and how it finds whoever waits.",
        {
            "token-ring": (1, "What does the token cost while nobody asks?"),
            "suzuki-kasami": (5, "How does a site know that a REQUEST which comes late was served?"),
            "raymond-tree": (6, "Which tree is best for ten sites, and for whom?"),
            "naimi-trehel": (7, "Draw the arrows `last` after each step. What do they look like in the end?"),
        },
    ),
    "permission": (
        "Algorithms with permissions",
        "Who wants to enter asks, and enters when all have agreed. Of two that ask at the same time one goes first, and everybody has to see it the same way.",
        {
            "central": (2, "What happens to the others when site 0 stops?"),
            "lamport": (3, "Where does the proof use that links keep order?"),
            "ricart-agrawala": (4, "Which of Lamport's messages are saved, and why are they not missed?"),
            "lodha-kshemkalyani": (10, "When does a REQUEST serve as an answer?"),
        },
    ),
    "quorums": (
        "Algorithms with quorums",
        "It is enough to ask some, if every two that ask have somebody in common. Each arbiter agrees to one request at a time; so two that wait for each other's arbiters have to be helped.",
        {
            "maekawa": (9, "Which of the five kinds of messages are there only because of deadlock?"),
            "agrawal-el-abbadi": (9, "How large are the sets if some sites are down?"),
        },
    ),
    "entries": (
        "Algorithms for K entries",
        "Up to K sites may be inside together. To be safe is easy; the question is whether K are ever inside.",
        {
            "raymond-k": (8, "Why does an answer carry a count?"),
            "srimani-reddy": (8, "What if K tokens travel instead?"),
        },
    ),
}


def notes() -> dict[str, str]:
    """All files, by name."""
    made = {}
    for family, (title, idea, algorithms) in FAMILIES.items():
        parts = [f"# {title}", idea, costs(list(algorithms))]
        for name, (exercise, question) in algorithms.items():
            card = find(name)
            story = (inspect.getdoc(sys.modules[card.process.__module__]) or "").partition("\n")[0]
            made[f"{name}.svg"] = picture(name)
            parts += [
                f"## {card.title}",
                story,
                f"![A run of {card.title}, step by step]({name}.svg)",
                f"**Question.** {question}",
                f"**Exercise.** `soloist exercise {exercise}`",
            ]
        made[f"{family}.md"] = "\n\n".join(parts) + "\n"
    return made


def picture(name: str) -> str:
    """The run that the tests keep of it, as a timeline: up to where a second system is started."""
    commands = commands_of((TRACES / f"{name}.txt").read_text())
    starts = [place for place, command in enumerate(commands) if command.startswith("start ")]
    return svg(of_script(commands[: starts[1]] if len(starts) > 1 else commands)) + "\n"


def costs(names: list[str]) -> str:
    lines = [
        f"Messages per entry, {NODES} sites that ask all the time:",
        "",
        "| | at most | measured | order of entries |",
        "|---|---|---|---|",
    ]
    for name in names:
        card = find(name)
        k = 2 if card.capacity == "K" else 1
        network = Network(Constant(0.001), fifo=card.channels == "fifo")
        run = simulate(Experiment(name, NODES, k, workload=Saturated(), network=network, entries=ENTRIES))
        lines.append(
            f"| `{name}` | {card.bound.text} | {run.messages_per_entry.mean:.2f} | {card.fairness} |"
        )
    return (
        "\n".join(lines)
        + f"\n\nAs `soloist simulate NAME --nodes {NODES} --saturate --entries {ENTRIES}`"
        + (", with `--k 2` where several may enter.")
    )


def main() -> None:
    folder = HERE / "notes"
    folder.mkdir(exist_ok=True)
    for name, text in notes().items():
        print(f"teaching/notes/{name}")
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
