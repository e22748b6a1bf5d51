"""*Beat the paper*: texts with their errors as puzzles. The player is the network, and makes it fail.

The best run that is known of each is the checker's, and shortest. It comes with the program (`puzzles.json`, written with the pages of the
errata), since some of these searches take minutes.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from soloist.algorithms.printed import ERRATA, NOTES, Erratum
from soloist.core import UsageError, unknown

GOALS = {
    "exclusion": "Let more sites be inside together than may be.",
    "deadlock": "Let a site wait for ever: nothing on its way, nobody inside.",
    "error": "Make a site fail on what it receives.",
}
"""What can be seen at the end of a run; other errata are not played."""
TRIVIAL = 3
"""Steps: a puzzle takes more of them."""


class Puzzle(msgspec.Struct, frozen=True):
    """An erratum to be shown by hand."""

    erratum: Erratum
    best: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.erratum.algorithm}-{self.erratum.code}".lower()

    @property
    def title(self) -> str:
        return f"{self.erratum.algorithm} {self.erratum.code}"

    @property
    def goal(self) -> str:
        return GOALS[self.erratum.breaks]

    @property
    def explanation(self) -> str:
        each = self.erratum
        return f"Against {each.text}. {each.says} Repair: {each.repair}"

    @property
    def rounds(self) -> tuple[int, ...]:
        """How often each site may ask: as in the search that found the best run, or in that run, where sites ask without end."""
        rounds = self.erratum.rounds
        each = (rounds,) * self.erratum.nodes if isinstance(rounds, int) else rounds
        return tuple(max(most, self.best.count(f"acquire {site}")) for site, most in enumerate(each))


@cache
def puzzles() -> dict[str, Puzzle]:
    """All of them, the shortest first."""
    text = files("soloist.watch").joinpath("puzzles.json").read_text(encoding="utf-8")
    runs = msgspec.json.decode(text, type=dict[str, tuple[str, ...]])
    made = [
        Puzzle(each, runs[key])
        for each in (*ERRATA, *NOTES)
        if isinstance(each, Erratum)
        and each.breaks in GOALS
        and len(runs.get(key := f"{each.algorithm} {each.code}", ())) > TRIVIAL
        and not any("choose=" in command for command in runs[key])  # a player cannot choose for a site
    ]
    return {each.id: each for each in sorted(made, key=lambda each: (len(each.best), each.title))}


def find_puzzle(id: str) -> Puzzle:
    if id not in puzzles():
        raise unknown("puzzle", id, puzzles())
    return puzzles()[id]


def check_rules(puzzle: Puzzle, command: str) -> None:
    """The network delivers everything, in whatever order its links allow; that is all that the text assumes."""
    if command.split()[0] not in ("acquire", "release", "deliver", "timeout"):
        raise UsageError(
            f"{command!r} is against the rules of a puzzle: everything arrives, and nobody crashes"
        )
