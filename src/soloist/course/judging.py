"""The judging of one hand-in, in the process that runs it: the file, then check by check until one fails."""

from __future__ import annotations

import ast
from pathlib import Path
from traceback import extract_tb

import msgspec

from soloist import own
from soloist.algorithms import Card, _own
from soloist.check import Limits, Report, advice, check, mistakes
from soloist.core import PropertyViolated, SoloistError, UsageError
from soloist.course.exercise import Exercise, Fairness, Messages, Orders
from soloist.course.guard import Guard, TimeUp
from soloist.course.verdict import FAILED, PASSED, THE_FILE, UNDECIDED, Judged
from soloist.sim import Experiment, Result, Saturated, Thinking, simulate
from soloist.sim.links import Network, Uniform

STATES = 90_000
"""States of one search; a hand-in that has more is not finished. Few enough for one process and a minute."""
ENTRIES = 400
TOO_LARGE = "too large"
NAMES = ("Card", "Formula")
"""What a hand-in may import of `soloist.algorithms`."""
ALONE = "write the algorithm yourself, with Card and Formula of soloist.algorithms, soloist.core and soloist.structures"


class Brief(msgspec.Struct, frozen=True):
    """All that the process which judges has to know."""

    exercise: Exercise
    name: str
    place: str
    text: str
    seconds: float
    memory: int
    page: bool
    answer: str
    """The file to write the outcomes to."""


class Wrong(Exception):
    """A hand-in is not worth a search."""

    def __init__(self, property: str, said: str, *advice: str) -> None:
        self.outcome = Judged("", FAILED, property, said, advice)


class Judging:
    """One hand-in under way: what was found so far stays, whatever comes next."""

    def __init__(self, brief: Brief, guard: Guard) -> None:
        self.brief, self.guard = brief, guard
        self.outcomes: list[Judged] = []

    def run(self) -> list[Judged]:
        try:
            self._run()
        except Wrong as wrong:
            self.outcomes.append(wrong.outcome)
        except TimeUp as late:
            self.outcomes.append(self._late(late))
        except SystemExit as error:
            said = f"{self._where(error)}ends the program; leave out sys.exit: a step ends, and the algorithm goes on"
            self.outcomes.append(Judged("", FAILED, "exit", said))
        except MemoryError as error:
            self.outcomes.append(self._full(error))
        except SoloistError as error:
            self.outcomes.append(Judged("", FAILED, "error", self._short(str(error))))
        except BaseException as error:
            said = f"{self._where(error)}{type(error).__name__}: {error}"
            self.outcomes.append(Judged("", FAILED, "error", said))
        if self.guard.forbidden and all(each.verdict == PASSED for each in self.outcomes):
            self.outcomes[-1] = Judged("", FAILED, "outside", self.guard.forbidden)
        return self.outcomes

    def _run(self) -> None:
        card = self._card()
        self.outcomes.append(Judged(THE_FILE, PASSED))
        _own.loaded[card.name] = (self.brief.name, card)
        for each in self.brief.exercise.checks:
            outcome = (
                self._orders(card, each) if isinstance(each, Orders) else self._measured(card.name, each)
            )
            self.outcomes.append(outcome)
            if outcome.verdict != PASSED:
                return

    # The file.

    def _card(self) -> Card:
        brief = self.brief
        self._look_at_imports()
        try:
            module = own.from_text(f"own_exercise{brief.exercise.number}", Path(brief.place), brief.text)
        except UsageError as error:
            if isinstance(error.__context__, TimeUp):
                raise error.__context__ from None
            if self.guard.forbidden:
                raise Wrong("outside", self.guard.forbidden) from None
            raise Wrong("error", self._short(str(error))) from None
        if not hasattr(module, own.USUAL):
            raise Wrong("error", "has no CARD; keep the end of the start file, `CARD = Card(…)`")
        found = module.CARD
        if not isinstance(found, Card):
            raise Wrong("error", f"CARD is of type {type(found).__name__}; keep the end of the start file")
        card = brief.exercise.held(found)
        try:
            _own.checked(card, brief.name, ())
        except UsageError as error:
            raise Wrong("error", str(error).removeprefix(f"{brief.name}: ")) from None
        if theirs := next((kind for kind in card.process.__mro__ if not _is_own_work(kind)), None):
            raise Wrong(
                "borrowed",
                f"{card.process.__name__} is {theirs.__module__}.{theirs.__name__}, or made from it; {ALONE}",
            )
        if wrong := mistakes(card):
            first, *rest = (f"line {each.line}: {each.text}" for each in wrong)
            raise Wrong("mistake", first, *rest)
        return card

    def _look_at_imports(self) -> None:
        """An answer that takes the algorithm from the catalogue is none."""
        try:
            tree = ast.parse(self.brief.text)
        except (SyntaxError, ValueError, RecursionError):
            return  # loading it says more
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [(alias.name, "") for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "", alias.name) for alias in node.names]
            else:
                continue
            for module, name in names:
                if module.split(".")[0] == "soloist" and not _is_allowed(module, name):
                    raise Wrong(
                        "borrowed",
                        f"line {node.lineno}: imports {module}{name and '.' + name}; {ALONE}",
                    )

    # Searches.

    def _orders(self, card: Card, each: Orders) -> Judged:
        report = check(
            card,
            nodes=each.nodes,
            rounds=each.rounds,
            k=each.k,
            channels=each.channels,
            properties=each.properties,
            limits=Limits(states=STATES, seconds=self.brief.seconds, memory=self.brief.memory),
            endless_states=STATES,
            jobs=1,  # this process has limits; others would have the same once more
        )
        if report.verdict == "holds":
            return Judged("", PASSED)
        if report.verdict != "violated":
            hint = self.brief.exercise.hints.get(TOO_LARGE, "")
            said = f"{report.reason}; do variables or messages grow without end?"
            return Judged("", UNDECIDED, TOO_LARGE, said, (hint,) if hint else ())
        if "MemoryError" in report.reason:
            return self._full(None)
        return self._broken(report, card)

    def _broken(self, report: Report, card: Card) -> Judged:
        name = report.property or ""
        said = (advice(report), self.brief.exercise.hints.get(name, ""))
        lines = []
        for number, step in enumerate(report.trace, start=1):
            if report.loop is not None and number - 1 == report.loop:
                lines.append("from here again and again:")
            lines += [f"{number:>3}  {step.command}", *(f"       {event}" for event in step.events)]
        page = _page(report, card) if self.brief.page and report.trace else ""
        tips = tuple(filter(None, said))
        return Judged("", FAILED, name, report.reason, tips, tuple(lines), len(report.trace), page)

    # Simulations.

    def _measured(self, name: str, each: Messages | Fairness) -> Judged:
        light = isinstance(each, Messages) and each.rate is not None
        try:
            result = simulate(
                Experiment(
                    name,
                    each.nodes,
                    each.k,
                    workload=Thinking(each.rate) if light else Saturated(),  # type: ignore[union-attr, arg-type]
                    network=Network(
                        Uniform(0.0005, 0.0015), fifo=self.brief.exercise.promise.channels == "fifo"
                    ),
                    entries=ENTRIES,
                )
            )
        except PropertyViolated as error:
            said = str(error).removeprefix(f"{name}: ")
            return self._failed(error.property, f"in a simulation of {each.nodes} sites, {said}")
        return self._cost(result, each) if isinstance(each, Messages) else self._fairness(result, each.bypass)

    def _cost(self, result: Result, each: Messages) -> Judged:
        mean = result.messages_per_entry.mean
        if mean <= each.at_most * (1 + 1e-9):
            return Judged("", PASSED)
        kinds = " + ".join(f"{count:.2f} {kind}" for kind, count in result.by_kind.items())
        said = f"an entry costs {mean:.2f} messages, at most {each.at_most:g} are needed: {kinds}"
        return self._failed("messages", said, "Which of these can be left out, or be sent to fewer?")

    def _fairness(self, result: Result, most: int) -> Judged:
        found = result.fairness.max_bypass
        if found <= most:
            return Judged("", PASSED)
        said = f"somebody was passed {found} times by others that asked later; {most} times is enough"
        return self._failed("fairness", said, "In which order are those that wait served?")

    def _failed(self, property: str, said: str, *tips: str) -> Judged:
        hint = self.brief.exercise.hints.get(property, "")
        return Judged("", FAILED, property, said, (*tips, hint) if hint else tips)

    # Limits.

    def _late(self, late: TimeUp) -> Judged:
        limit = f"{self.brief.seconds:g} s"
        if late.line:
            said = f"line {late.line}: still at work after {limit}; does this step end? It must not wait or loop for ever"
            return Judged("", FAILED, "time", said)
        return Judged("", UNDECIDED, "time", f"not finished after {limit} (--seconds gives it more)")

    def _full(self, error: BaseException | None) -> Judged:
        where = self._where(error) if error else "a step "
        if not where:
            return Judged(
                "", UNDECIDED, "memory", f"the checks need more than {self.brief.memory} MiB (--memory)"
            )
        said = f"{where}takes more than {self.brief.memory} MiB of memory; the variables of a site should stay small"
        return Judged("", FAILED, "memory", said)

    def _where(self, error: BaseException) -> str:
        """The line of the hand-in where an error comes from, if it does."""
        lines = [each.lineno for each in extract_tb(error.__traceback__) if each.filename == self.brief.place]
        return f"line {lines[-1]}: " if lines else ""

    def _short(self, text: str) -> str:
        """Without the directories of the grader."""
        return text.replace(self.brief.place, self.brief.name)


def _is_allowed(module: str, name: str) -> bool:
    room = ".".join(module.split(".")[:2])
    if room == "soloist.structures" or module == "soloist.core":
        return True
    return room == module == "soloist.algorithms" and name in NAMES


def _is_own_work(kind: type) -> bool:
    """Whether a class, or what it is made from, comes from no algorithm of ours, on whatever way it was had."""
    room = kind.__module__.split(".")[:2]
    return room[0] != "soloist" or room[1:] in (["core"], ["structures"])


def _page(report: Report, card: Card) -> str:
    from soloist.watch import of_report
    from soloist.watch.export import html

    return html(of_report(report, card))
