"""The command line. Each command is a module; `program` puts them together, and this one reports errors."""

from __future__ import annotations

import gc
import os
import sys
from errno import ENOSPC
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from typing import Any

COMMANDS = {
    "demo": (
        "demo",
        "Start a real cluster on this machine, let it contend, and prove exclusion from outside.",
    ),
    "algorithms": ("algorithms", "List the catalogue, or show the card of one algorithm."),
    "simulate": ("simulate", "Simulate one algorithm, and measure what an entry costs."),
    "compare": ("compare", "Compare algorithms in the same situations, with the same seeds."),
    "sweep": ("sweep", "Run each algorithm of a plan in each of its situations, with each of its seeds."),
    "reproduce": (
        "reproduce",
        "Measure again what a paper claims. The report says claim by claim what held, with figures and tables.",
    ),
    "advise": ("advise", "Simulate the catalogue in your situation, rank it, and say why."),
    "check": ("check", "Prove an algorithm for a small system, or show the shortest way it fails."),
    "export": (
        "export",
        "Write the graph of a small system: every state and every step, so that others can judge it again.",
    ),
    "new": (
        "new",
        "Begin an algorithm of your own: a file that works, with the places to fill in marked, and its test.",
    ),
    "exercise": (
        "exercise",
        "List the exercises of the course; or print the text of one, and write the file to start from.",
    ),
    "grade": (
        "grade",
        "Judge a hand-in of the course, in a process of its own; or a folder of them, as a table (CSV).",
    ),
    "watch": (
        "watch",
        "Look at a run: of the simulator, of a paper's figure, of a live cluster, or one that was written by hand.",
    ),
    "history": (
        "history",
        "Judge what any lock service did, by the lines that its users logged.",
    ),
    "maelstrom": (
        "maelstrom",
        "Be a node of Maelstrom's: messages are JSON lines on standard input and output.",
    ),
    "node": ("cluster", "Be a member of a cluster, until told to stop (SIGTERM, Ctrl-C)."),
    "run": ("cluster", "Run a command while holding a lock, as flock(1) does on one host."),
    "status": ("cluster", "Show the members, whether they are connected, and what this node has done."),
    "holders": (
        "cluster",
        "Ask all members who holds what, since when, with which note, and who waits.",
    ),
    "break": ("breaking", "Take a lock, or a semaphore, from whoever holds it: the next one is let in."),
    "members": (
        "members",
        "Show who is a member and who votes, as a node of the cluster sees it; or change who votes.",
    ),
    "join": ("members", "Join a cluster that is there, and be a member of it until told to stop."),
    "leave": ("members", "Let the node that runs here leave its cluster for good, and end."),
    "init": ("members", "Let a stopped node forget its votes: where disks are lost or damaged."),
    "keys": (
        "keys",
        "Make a certificate and a key for each node or client, and an authority for tests; or a secret.",
    ),
    "doctor": ("doctor", "Say what is installed, what is missing for what, and whether nodes can run here."),
    "bench": ("bench", "Measure our speed beside that of others, in one run, as ratios."),
}
"""Each command: the module that it is a function of, and the first sentence of its help, so that a list of commands loads
none of them."""
MAY_STAND_ALONE = {"--example": "list", "--puzzle": "list"}
"""Options of `watch` whose value may be left out, and what is meant then."""
STANDARD_ERROR = 2
FULL = "cannot write the output: no space is left on the device"
DEEP = "what was read is nested too deeply, or calls itself without end"


def load(name: str) -> Any:
    """The function of a command, or the group of its commands."""
    module, _ = COMMANDS[name]
    return getattr(import_module(f"soloist.cli.{module}"), f"{name}_" if iskeyword(name) else name)


def main(arguments: list[str] | None = None) -> int:
    """Run a command line. Whatever is wrong is said in one line: 2 for bad usage, 1 for a broken promise."""
    given = completed(sys.argv[1:] if arguments is None else arguments)
    try:
        return run(given)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; there is nobody to tell
        return 0
    except KeyboardInterrupt as stop:
        return complain(f"interrupted: {stop}" if str(stop) else "interrupted", 130)
    except Exception as error:
        if (code := explain(error)) is None:
            raise
        return code


def run(given: list[str]) -> int:
    """Nothing is loaded that is not needed: the parser takes longer to load than the catalogue to print."""
    if given == ["algorithms"]:
        from soloist.cli.catalogue import print_catalogue

        print_catalogue()
        return 0
    if given[:1] == ["bench"]:
        from soloist.children import end_as_by_ctrl_c

        end_as_by_ctrl_c()
    from soloist.cli.program import program

    return int(program().main(given, prog_name="soloist", standalone_mode=False) or 0)


def explain(error: Exception) -> int | None:
    """What is wrong, in one line, and the exit code; None if nobody expected it: a bug should look like one."""
    from typer.exceptions import TyperException

    from soloist.core import PropertyViolated, SoloistError, UsageError

    match error:
        case TyperException():
            from soloist.cli.complaints import in_words

            said = in_words(error)
            return complain(said, 2) if said else 2  # help has been shown, for want of a command
        case UsageError():
            return complain(str(error), 2)
        case PropertyViolated():
            return complain(f"{error.property} violated: {error}", 1)
        case SoloistError():
            return complain(str(error), 1)
        case OSError(errno=number) if number == ENOSPC:
            return complain(FULL, 2)
        case RecursionError():
            return complain(DEEP, 2)
    return None


def completed(arguments: list[str]) -> list[str]:
    """With the values that were left out; `help check` is `check --help`."""
    if arguments[:1] == ["help"]:
        return [*arguments[1:], "--help"]
    if arguments[:1] != ["watch"]:
        return arguments
    found = []
    for word, after in zip(arguments, [*arguments[1:], "--"], strict=True):
        alone = word in MAY_STAND_ALONE and after.startswith("-")
        found += [word, MAY_STAND_ALONE[word]] if alone else [word]
    return found


def complain(message: str, code: int) -> int:
    """On one line, and without what a file or a peer may have put into it to play with the terminal."""
    from soloist.core.errors import printable

    print(f"soloist: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code


def entry_point() -> None:
    stand_by_the_standard_files()
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()  # its reader has gone
    except OSError as error:
        drop_output()
        if not code:  # otherwise it has been said
            code = complain(
                FULL if error.errno == ENOSPC else f"cannot write the output: {error.strerror}", 2
            )
    gc.freeze()  # what a large search leaves goes with the process: to look through it would take a while
    sys.exit(code)


def stand_by_the_standard_files() -> None:
    """They are there, and take every letter, if only as a question mark.

    Where one of them is closed, the next file or socket would have its number, and what is printed would go there.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= STANDARD_ERROR:
        os.set_inheritable(number, True)
    os.close(number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def drop_output() -> None:
    """Python would flush once more at the end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
