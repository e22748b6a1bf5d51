"""Limits hold for all that a check does, and whatever a process does wrong is a finding."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from soloist.algorithms import CATALOGUE
from soloist.check import Graph, Limits, Report, Space, check, explore, passes, setting, text
from soloist.check import judge as judging
from soloist.check.explore import CutOff
from soloist.core import Message, Process, Site, on

from .toys import Ask, Central, Open, card

exploring = sys.modules["soloist.check.explore"]  # the package has a function of this name

# Time.


class Clock:
    """Stands still while states are visited; then a day goes by at every look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.hurried = False
        for module in (exploring, judging):
            monkeypatch.setattr(module, "monotonic", self)

    def __call__(self) -> float:
        self.now += 86_400 * self.hurried
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def hurry_after(clock: Clock, search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time run from the end of this search on; and look at it at every state."""

    def searched(*arguments: Any, **more: Any) -> Graph:
        graph = explore(*arguments, **more)
        clock.hurried = search == (more.get("name") or arguments[5])
        return graph

    monkeypatch.setattr(exploring, "PAUSE", 1)
    monkeypatch.setattr(passes, "explore", searched)


def test_judging_ends_when_the_time_is_up(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search was in time, and livelock, starvation and bypass are left."""
    hurry_after(clock, "main search", monkeypatch)
    report = check(CATALOGUE["naimi-trehel"], 3, 1, limits=Limits(seconds=30))
    assert (report.verdict, report.property, report.exit_code()) == ("incomplete", None, 3)
    assert "judging" in report.reason
    assert "30 seconds" in report.reason
    assert report.properties["exclusion"] == "proved"
    assert report.properties["livelock"] == report.properties["starvation"] == "not judged"


def test_judging_endless_requests_ends_when_the_time_is_up(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry_after(clock, "endless search", monkeypatch)
    report = check(CATALOGUE["naimi-trehel"], 3, 1, limits=Limits(seconds=30))
    assert (report.verdict, report.exit_code()) == ("incomplete", 3)
    assert "30 seconds" in report.reason
    assert report.properties["starvation"] == "for these requests"
    assert report.properties["livelock"] == report.properties["fence"] == "proved"


@pytest.mark.parametrize("measure", ["messages", "wait"])
def test_the_worst_case_is_looked_for_within_the_time(
    measure: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry_after(clock, "with history", monkeypatch)
    wanted = ["exclusion", "fence"]
    report = check(
        CATALOGUE["naimi-trehel"], 3, 1, properties=wanted, limits=Limits(seconds=30), worst=measure
    )
    assert (report.verdict, report.worst) == ("incomplete", None)
    assert "30 seconds" in report.reason


def test_memory_is_a_limit_for_judging_too(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = explore(Space(setting(CATALOGUE["naimi-trehel"], 3, 1)), Limits(memory=1000))
    monkeypatch.setattr(exploring, "PAUSE", 1)
    monkeypatch.setattr(exploring, "memory_used", lambda: 1001)
    with pytest.raises(CutOff, match="1000 MiB of memory"):
        graph.successors(0)


def test_the_limit_that_is_named_is_the_one_that_was_given(clock: Clock) -> None:
    """Not what was left of it when the last search began."""
    clock.now, clock.hurried = 0.0, True
    report = check(CATALOGUE["ricart-agrawala"], 3, 2, limits=Limits(seconds=30))
    assert report.verdict == "incomplete"
    assert "cut off at 30 seconds" in report.reason


# Types.


class Note(Message, frozen=True):
    """A message with a number."""

    number: int


class WrongText(Open):
    """Puts text where a number belongs."""

    count: int = 0

    def release(self) -> None:
        self.count = "one"  # type: ignore[assignment]


class WrongNothing(WrongText):
    def release(self) -> None:
        self.count = None  # type: ignore[assignment]


class WrongKind(Open):
    """A list where a set belongs: read back from a snapshot it would be a set."""

    seen: set[Site] = set()

    def release(self) -> None:
        self.seen = [3, 2]  # type: ignore[assignment]


class WrongMixture(WrongKind):
    def release(self) -> None:
        self.seen = {1, "one"}  # type: ignore[arg-type]


class WrongMessage(Central):
    """Sends text where its message has a number."""

    def release(self) -> None:
        self.send(0, Note("one"))  # type: ignore[arg-type]

    @on(Note)
    def on_note(self, j: Site, m: Note) -> None: ...


class WrongList(WrongMessage):
    def release(self) -> None:
        self.send(0, Note([1]))  # type: ignore[arg-type]


class WrongAddress(Central):
    def release(self) -> None:
        self.send(7, Ask())


class WrongFromTheStart(WrongText):
    @classmethod
    def start(cls, me: Site, n: int, k: int = 1) -> WrongFromTheStart:
        return cls(me=me, n=n, count="none")  # type: ignore[arg-type]


class FailsToStart(Open):
    def begin(self) -> None:
        raise RuntimeError("no power")


def judged(kind: type[Process]) -> Report:
    report = check(card(kind), 1, 1)
    assert (report.verdict, report.property, report.exit_code()) == ("violated", "error", 1)
    assert text(report)
    return report


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (WrongText, "count of WrongText is 'one': Expected `int`, got `str`"),
        (WrongNothing, "count of WrongNothing is None: Expected `int`, got `None`"),
        (WrongKind, "seen of WrongKind is [3, 2], but its type makes it {2, 3}"),
        (WrongMixture, "'<' not supported between"),
        (WrongMessage, "number of Note is 'one': Expected `int`, got `str`"),
        (WrongList, "number of Note is [1]: Expected `int`, got `array`"),
        (WrongAddress, "a message goes to 7, but the sites are 0 to 0"),
    ],
)
def test_what_is_not_of_its_type_is_an_error_of_that_step(kind: type[Process], said: str) -> None:
    report = judged(kind)
    assert said in report.reason
    assert report.trace[-1].command == "release 0"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (WrongFromTheStart, "at the start: ProtocolError: count of WrongFromTheStart is 'none'"),
        (FailsToStart, "at the start: RuntimeError: no power"),
    ],
)
def test_a_system_that_begins_wrong(kind: type[Process], said: str) -> None:
    report = judged(kind)
    assert report.reason.startswith(said)
    assert report.trace == []
