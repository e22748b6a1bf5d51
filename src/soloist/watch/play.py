"""Playing against the network: what may happen next, what holds, branches, hints. The page asks; `soloist.watch.server` passes it on.

What is asked and answered is told at the head of `page/play.js`. A branch is one run. Where somebody acts after an earlier step, the
run until there goes on as a new branch, and the old one stays.
"""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from soloist.algorithms import CATALOGUE, RECOVERY, Card, find_any, taken
from soloist.check.explore import Watcher
from soloist.core import UsageError
from soloist.watch.beside import alongside, fitting
from soloist.watch.lights import Light, lights, possible
from soloist.watch.puzzles import Puzzle, check_rules, find_puzzle, puzzles
from soloist.watch.replay import session_of, setup_of
from soloist.watch.search import JUDGED, MOST_STATES, Found, search
from soloist.watch.session import Session
from soloist.watch.setup import MOST_STEPS, Setup, fragment, unpacked
from soloist.watch.trace import Trace
from soloist.watch.workloads import simulated

MOST_BRANCHES = 50
Answer = dict[str, Any]


class Branch:
    """A run that was played, or one that was given to begin with."""

    def __init__(self, title: str, session: Session | None = None, given: Trace | None = None) -> None:
        self.title, self.session, self.given = title, session, given
        self.marks = [len(session.steps)] if session else []
        """How many steps there are after each command."""

    def do(self, command: str) -> None:
        assert self.session, "a given run is replayed first"
        self.session.do(command)
        self.marks.append(len(self.session.steps))

    @property
    def before(self) -> int:
        """The step at which the command before the last one had ended: one may take several steps."""
        return self.marks[-2] - 1 if len(self.marks) > 1 else 0

    @property
    def trace(self) -> Trace:
        return self.given or self.session.trace()  # type: ignore[union-attr]


class Game:
    """All branches of one system."""

    def __init__(self, setup: Setup, given: Trace | None = None) -> None:
        given = simulated(setup) if given is None and setup.workload else given
        self.setup = setup
        self.puzzle: Puzzle | None = find_puzzle(setup.puzzle) if setup.puzzle else None
        self.card, self.size, self.fifo = setup.system()
        if setup.beside:
            fitting(self.card, setup.beside, self.size)
        first = Branch(given.head.origin, given=given) if given else self._begun(setup)
        self.branches: list[Branch] = [first]
        self.shown = 0
        """The branch that was asked for last."""
        self._at: tuple[int, int, Branch] | None = None

    @classmethod
    def of(cls, trace: Trace, beside: str | None = None) -> Game:
        """To be played from any step of a run that was recorded."""
        return cls(msgspec.structs.replace(setup_of(trace), beside=beside), trace)

    @classmethod
    def new(cls, body: Answer) -> Game:
        if "shared" in body:
            return cls(unpacked(str(body["shared"])))
        try:
            return cls(msgspec.convert(body, Setup))
        except msgspec.ValidationError as error:
            raise UsageError(f"this is no run to begin: {error}") from None

    def _begun(self, setup: Setup) -> Branch:
        branch = Branch("run 1", msgspec.structs.replace(setup, steps=()).session())
        for step in setup.steps:
            self._check(step)
            branch.do(step)
        self._by_chance(branch, setup.chance, Random(setup.seed))
        return branch

    def _check(self, command: str) -> None:
        if self.puzzle:
            check_rules(self.puzzle, command)

    # Answers.

    def run(self, branch: int | None = None) -> Answer:
        branch = self.shown if branch is None else branch
        trace = self._branch(branch).trace
        self.shown = branch
        answer: Answer = {"head": trace.head, "steps": trace.steps}
        if beside := self._beside(self._branch(branch)):
            answer["beside"] = {"head": beside.head, "steps": beside.steps}
        return {**answer, "play": self.play(branch, len(trace.steps) - 1)}

    def act(self, branch: int, at: int, action: str) -> Answer:
        self._check(action)
        if self.puzzle and action not in self._actions(self._after(branch, at)):
            raise UsageError(f"{action!r} cannot be done here by the rules of the puzzle")
        return self.run(self._go_on(branch, at, [action]))

    def state(self, branch: int, at: int) -> Answer:
        return {"play": self.play(branch, at)}

    def by_chance(self, branch: int, at: int, steps: int, seed: int) -> Answer:
        """Let sites and network go on for some steps, without faults."""
        number = self._go_on(branch, at, [])
        self._by_chance(self.branches[number], min(max(steps, 1), 200), Random(seed))
        return self.run(number)

    def look(self, branch: int, at: int, states: int, show: bool, watch: Watcher | None = None) -> Answer:
        """Can it go wrong from here? The run that does becomes a branch, if it is to be shown."""
        found = self._search(branch, at, states, watch)
        if not (found.bad and show and found.commands):
            return {"text": found.text, "steps": None, "play": self.play(branch, at)}
        self.branches.append(self._copy(branch, at))
        self.branches[-1].title = "bad run"
        for command in found.commands:
            self.branches[-1].do(command)
        return {"text": found.text, **self.run(len(self.branches) - 1)}

    def hint(self, branch: int, at: int, watch: Watcher | None = None) -> Answer:
        here = self._after(branch, at)
        assert here.session
        if known := self._next_known(here.session.commands[1:]):
            text = "The shortest run that is known goes on like this."
        else:
            found = self._search(branch, at, MOST_STATES, watch)
            known, text = next(iter(found.commands), None), found.text
        action = next(
            (each for each in self._actions(here) if known and _same(here.session, each, known)), None
        )
        return {"text": f"{text} Next: {known}." if known else text, "action": action}

    def _next_known(self, commands: list[str]) -> str | None:
        """How the best run of a puzzle goes on, if this is how it begins."""
        if not self.puzzle or len(commands) >= len(self.puzzle.best):
            return None
        again = self.setup_alone.session()
        for command, best in zip(commands, self.puzzle.best, strict=False):
            if not _same(again, command, best):
                return None
            again.do(command)
        return self.puzzle.best[len(commands)]

    def play(self, branch: int, at: int) -> Answer:
        """What is possible after a step, and what holds."""
        here = self._after(branch, at)
        assert here.session
        judged = lights(here.session, self.size.k)
        answer: Answer = {
            "branch": branch,
            "branches": [{"id": i, "title": each.title} for i, each in enumerate(self.branches)],
            "before": max(0, at - 1) if self._branch(branch).given else here.before,
            "actions": possible(here.session, self._actions(here)),
            "properties": judged,
            "fragment": fragment(self._kept(here)),
            "script": here.session.text(),
            "setup": self.setup,
            "puzzles": [
                {"id": each.id, "title": each.title, "best": len(each.best)} for each in puzzles().values()
            ],
            "algorithms": [
                {"name": name, "title": card.title, "k": card.capacity == "K"}
                for name, card in _offered(self.card.name).items()
            ],
            "own": self.card.name not in taken(),
        }
        if self.puzzle:
            answer["puzzle"] = self._progress(self.puzzle, here, judged)
        return answer

    def _progress(self, puzzle: Puzzle, here: Branch, judged: list[Light]) -> Answer:
        assert here.session
        return {
            "id": puzzle.id,
            "title": puzzle.title,
            "goal": puzzle.goal,
            "best": len(puzzle.best),
            "used": len(here.session.commands) - 1,
            "solved": any(each.name == puzzle.erratum.breaks and each.state == "broken" for each in judged),
            "explanation": puzzle.explanation,
        }

    # Runs.

    def _branch(self, number: int) -> Branch:
        if not 0 <= number < len(self.branches):
            raise UsageError(f"there is no branch {number}; there are {len(self.branches)}")
        return self.branches[number]

    def _copy(self, number: int, at: int) -> Branch:
        """The run of a branch until after a step, to go on from there."""
        branch = self._branch(number)
        if not 0 <= at < len(branch.trace.steps):
            raise UsageError(f"step {at} is not in this run of {len(branch.trace.steps)} steps")
        title = f"run {len(self.branches) + 1}"
        if branch.given:
            copy = Branch(title, session_of(branch.given, 0, self.setup))
            commands = session_of(branch.given, at, self.setup).commands[1:]
        else:
            assert branch.session
            copy = Branch(title, self.setup_alone.session())
            kept = next(i for i, steps in enumerate(branch.marks) if steps > at)
            commands = branch.session.commands[1 : kept + 1]
        for command in commands:
            copy.do(command)
        return copy

    @property
    def setup_alone(self) -> Setup:
        return msgspec.structs.replace(self.setup, steps=(), chance=0, workload=None)

    def _after(self, number: int, at: int) -> Branch:
        """As `_copy`, for looking only; the last one is remembered."""
        branch = self._branch(number)
        if branch.session and at == len(branch.session.steps) - 1:
            return branch
        if self._at is None or self._at[:2] != (number, at):
            self._at = number, at, self._copy(number, at)
        return self._at[2]

    def _go_on(self, number: int, at: int, commands: list[str]) -> int:
        """At the end of a branch it goes on; elsewhere a new one begins. The number of the one that did."""
        branch = self._branch(number)
        new = not branch.session or at != len(branch.session.steps) - 1
        if new and len(self.branches) >= MOST_BRANCHES:
            raise UsageError(f"there are {MOST_BRANCHES} branches already: begin another run")
        going = self._copy(number, at) if new else branch
        assert going.session
        if len(going.session.commands) > MOST_STEPS:
            raise UsageError(f"a played run has at most {MOST_STEPS} steps")
        for command in commands:
            going.do(command)
        if new:
            self.branches.append(going)
        self._at = None
        return len(self.branches) - 1 if new else number

    def _by_chance(self, branch: Branch, steps: int, random: Random) -> None:
        for _ in range(steps):
            if not (actions := self._actions(branch, faults=False)):
                return
            branch.do(random.choice(actions))

    def _actions(self, branch: Branch, faults: bool = True) -> list[str]:
        assert branch.session
        left = self._left(branch)
        usual = ("acquire", "release", "deliver", "timeout")
        return [
            each
            for each in branch.session.enabled()
            if (words := each.split())[0] in usual or (faults and not self.puzzle)
            if words[0] != "acquire" or not self.puzzle or left[int(words[1])] > 0
        ]

    def _left(self, branch: Branch) -> list[int]:
        """How often each site may still ask; outside of puzzles that is once more."""
        assert branch.session
        if not self.puzzle:
            return [1] * self.size.n
        commands = branch.session.commands
        return [most - commands.count(f"acquire {site}") for site, most in enumerate(self.puzzle.rounds)]

    def _search(self, number: int, at: int, states: int, watch: Watcher | None) -> Found:
        here = self._after(number, at)
        assert here.session
        if here.session.failed:
            return Found(True, f"It has gone wrong already: {here.session.failed}", "error")
        wanted = {self.puzzle.erratum.breaks} if self.puzzle else JUDGED
        return search(
            here.session.system,
            self.card,
            self.size,
            here.session.commands,
            self._left(here),
            wanted,
            states,
            watch,
        )

    def _beside(self, branch: Branch) -> Trace | None:
        if not self.setup.beside:
            return None
        session = branch.session or session_of(branch.trace, len(branch.trace.steps) - 1, self.setup)
        return alongside(session.commands[1:], self.card, self.setup.beside, self.size, self.fifo)

    def _kept(self, branch: Branch) -> Setup:
        assert branch.session
        return msgspec.structs.replace(self.setup_alone, seed=None, steps=tuple(branch.session.commands[1:]))


def _offered(name: str) -> dict[str, Card]:
    """The catalogue, and what is played now where that is a variant or from a file of the user's."""
    return {**CATALOGUE, **RECOVERY, name: find_any(name)}


def _same(session: Session, offered: str, known: str) -> bool:
    """The checker names a message only where it is not the first of its link."""
    if offered == known:
        return True
    verb, _, rest = known.partition(" ")
    if verb != "deliver" or not offered.startswith("deliver "):
        return False
    link = rest.split()[0]
    oldest = next((each for each in session.system.flights if f"{each.sender}>{each.to}" == link), None)
    return rest == link and offered == f"deliver {oldest}"
