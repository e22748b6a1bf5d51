"""On several cores a check finds what it finds on one; and what happens where one of its processes comes to grief."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist import algorithms
from soloist.algorithms import CATALOGUE, load_any
from soloist.check import Limits, Progress, Report, beside, check, judge, passes
from soloist.core import UsageError

from .test_mutants import Mutant
from .test_wide import at_once, one_for_each_property

__all__ = ["at_once"]


@pytest.fixture
def two_cores(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a check on them, from the first states on, in small pieces."""
    crew = pytest.importorskip("soloist.check.crew")
    monkeypatch.setattr(crew, "LEAST", 64)
    monkeypatch.setattr(crew, "MOST", 512)
    monkeypatch.setattr(judge, "LARGE", 1)
    monkeypatch.setattr(beside, "cores", lambda: 4)


def found(report: Report) -> dict[str, Any]:
    """All that a report says but what it cost, and what was looked at ahead."""
    said: dict[str, Any] = msgspec.to_builtins(report)
    for cost in ("seconds", "memory_mib", "vacuity"):
        del said[cost]
    for search in said["searches"]:
        del search["cpu_seconds"]
    return said


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.usefixtures("two_cores")
def test_the_same_report(name: str) -> None:
    for channels, many in (("fifo", 4), ("any", 2)):
        alone, together = (
            check(CATALOGUE[name], 2, 2, channels=channels, endless_states=2000, jobs=jobs)
            for jobs in (1, many)
        )
        assert found(together) == found(alone)
        if alone.verdict == judge.HOLDS:
            assert together.vacuity == alone.vacuity


@pytest.mark.parametrize("mutant", one_for_each_property(), ids=lambda mutant: mutant.breaks)
@pytest.mark.usefixtures("two_cores")
def test_the_same_counterexample(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(algorithms.CATALOGUE, mutant.card.name, mutant.card)
    alone, two = (
        check(
            mutant.card,
            mutant.nodes,
            mutant.rounds,
            mutant.k,
            options=mutant.options,
            properties=mutant.properties,
            endless_states=3000,
            jobs=jobs,
        )
        for jobs in (1, 2)
    )
    assert (alone.verdict, alone.property) == ("violated", mutant.breaks)
    assert found(two) == found(alone)


@pytest.mark.usefixtures("two_cores")
def test_the_same_worst_case_and_the_same_limit() -> None:
    card = CATALOGUE["ricart-agrawala"]
    for more in (
        {"worst": "messages"},
        {"limits": Limits(states=500)},
        {"crashes": 1, "loss": True, "faults": 1},
    ):
        alone, two = (check(card, 3, 1, channels="any", jobs=jobs, **more) for jobs in (1, 2))  # type: ignore[arg-type]
        assert found(two) == found(alone)


@pytest.mark.usefixtures("two_cores")
def test_the_seconds_hold_for_all() -> None:
    report = check(CATALOGUE["ricart-agrawala"], 3, 2, limits=Limits(seconds=0.001), jobs=2)
    assert (report.verdict, report.exit_code()) == ("incomplete", 3)
    assert "0.001 seconds" in report.reason


def elsewhere(method: Callable[..., Any], what: Callable[[], object]) -> Callable[..., Any]:
    """The same, but in another process than this one `what` happens first."""
    here = os.getpid()

    def guarded(*arguments: Any, **named: Any) -> Any:
        if os.getpid() != here:
            what()
        return method(*arguments, **named)

    return guarded


@pytest.mark.usefixtures("two_cores")
def test_a_killed_process_is_made_up_for_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = check(CATALOGUE["ricart-agrawala"], 3, 1, jobs=1)
    killed = elsewhere(passes.Assignment.remembering, lambda: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.setattr(passes.Assignment, "remembering", killed)
    report = check(CATALOGUE["ricart-agrawala"], 3, 1, jobs=2)
    said = "the process of the search 'with history' was killed (SIGKILL); it was made again in this one"
    assert said in report.notes
    assert said in judge_text(report)
    report.notes.clear()
    assert found(report) == found(alone)


def judge_text(report: Report) -> str:
    from soloist.check import text

    return text(report)


@pytest.mark.parametrize("search", ["remembering", "endless"])
@pytest.mark.usefixtures("two_cores")
def test_an_error_beside_is_told_as_an_error_here(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise UsageError("no such thing")

    monkeypatch.setattr(passes.Assignment, search, fail)
    with pytest.raises(UsageError, match="no such thing"):
        check(CATALOGUE["ricart-agrawala"], 3, 1, jobs=2)
    assert not multiprocessing.active_children()


@pytest.fixture
def slow_history(two_cores: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], object]]:
    """The search with memory, beside, waits until it is let go on."""
    wait, go_on = os.pipe()
    slow = elsewhere(passes.Assignment.remembering, lambda: os.read(wait, 1))
    monkeypatch.setattr(passes.Assignment, "remembering", slow)
    yield lambda: os.write(go_on, b"!")
    os.close(wait)
    os.close(go_on)


def test_what_nobody_has_begun_is_searched_here(
    slow_history: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is reported in its turn all the same."""
    alone = check(CATALOGUE["ricart-agrawala"], 3, 1, jobs=1)
    endless, here = passes.Assignment.endless, []

    def noted(*arguments: Any, **named: Any) -> Any:
        here.append(os.getpid())
        slow_history()
        return endless(*arguments, **named)

    monkeypatch.setattr(passes.Assignment, "endless", noted)
    report = check(CATALOGUE["ricart-agrawala"], 3, 1, jobs=2)
    assert here == [os.getpid()]
    assert found(report) == found(alone)


def test_what_is_broken_counts_before_what_failed_here_meanwhile(
    slow_history: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does where nobody helps, and the search that fails is never made."""
    (mutant,) = (each for each in one_for_each_property() if each.breaks == "fence")
    monkeypatch.setitem(algorithms.CATALOGUE, mutant.card.name, mutant.card)

    def fail(*_: Any, **__: Any) -> None:
        slow_history()
        raise UsageError("no such thing")

    monkeypatch.setattr(passes.Assignment, "endless", fail)
    wanted = {"k": mutant.k, "options": mutant.options, "properties": ["fence", "starvation"]}
    alone, two = (check(mutant.card, mutant.nodes, mutant.rounds, jobs=jobs, **wanted) for jobs in (1, 2))  # type: ignore[arg-type]
    assert (alone.verdict, alone.property) == ("violated", "fence")
    assert found(two) == found(alone)


@pytest.mark.usefixtures("slow_history")
def test_ctrl_c_while_helping_waits_for_nobody() -> None:
    def pressed(progress: Progress) -> None:
        if progress.search == passes.ENDLESS:
            raise KeyboardInterrupt

    report = check(CATALOGUE["ricart-agrawala"], 3, 1, jobs=2, watch=pressed)
    assert (report.verdict, report.exit_code()) == ("incomplete", 3)
    assert "interrupted" in report.reason
    assert not multiprocessing.active_children()


@pytest.mark.usefixtures("two_cores")
def test_where_memory_is_short_searches_are_made_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    dismissed = []
    dismiss = beside.Beside.dismiss
    monkeypatch.setattr(beside.Beside, "memory", lambda _: 1 << 20)
    monkeypatch.setattr(
        beside.Beside, "dismiss", lambda self: (dismissed.append(bool(self.companions)), dismiss(self))
    )
    report = check(CATALOGUE["ricart-agrawala"], 3, 1, jobs=2)
    assert any(dismissed)
    assert not report.notes
    assert report.properties["fence"] == "proved"


@pytest.mark.usefixtures("two_cores")
def test_an_algorithm_of_ones_own(tmp_path: Path) -> None:
    source = Path(sys.modules[CATALOGUE["central"].process.__module__].__file__ or "").read_text()
    mine = tmp_path / "my_lock.py"
    mine.write_text(source.replace('name="central"', 'name="my-lock"'))
    card = load_any(str(mine))
    assert found(check(card, 3, 1, jobs=2)) == found(check(card, 3, 1, jobs=1))


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "cores", lambda: 2)
    assert [beside.wanted(jobs) for jobs in (0, 1, 2, 1000)] == [2, 1, 2, 2]
    with pytest.raises(UsageError, match=r"jobs must be at least 0 \(one per core\), not -1"):
        check(CATALOGUE["central"], jobs=-1)
    monkeypatch.setattr(beside, "cores", lambda: 1)
    assert beside.wanted(0) == 1


PRESSED = """
import os, signal, threading, multiprocessing
from soloist.check import beside, judge
judge.LARGE, beside.cores = 20_000, lambda: 2
begin = beside.Beside.start
def start(self, works):
    begin(self, works)
    print("children", *(child.pid for child in multiprocessing.active_children()), flush=True)
    os.killpg(0, signal.SIGINT)
beside.Beside.start = start
from soloist.cli import entry_point
entry_point()
"""


def test_ctrl_c_leaves_no_process_and_says_how_far_it_got(tmp_path: Path) -> None:
    script = tmp_path / "pressed.py"
    script.write_text(PRESSED)
    words = ["check", "ricart-agrawala", "--nodes", "4", "--rounds", "1", "--channels", "any", "--jobs", "2"]
    done = subprocess.run(
        [sys.executable, str(script), *words],
        capture_output=True,
        text=True,
        timeout=120,
        start_new_session=True,
    )
    assert done.returncode == 3, done.stderr
    assert "cut off at interrupted" in done.stdout
    assert "Traceback" not in done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("children"))
    children = [int(pid) for pid in line.split()[1:]]
    assert children
    assert not any(Path("/proc", str(pid)).exists() for pid in children)


def test_a_companion_that_is_killed_in_the_middle_of_a_word_has_said_nothing() -> None:
    class Dead:
        exitcode = -9
        pid = None

        def join(self) -> None: ...

    ours, theirs = multiprocessing.Pipe(duplex=False)
    companion = beside.Companion.__new__(beside.Companion)
    companion.connection, companion.process = ours, Dead()  # type: ignore[assignment]
    companion.errand, companion.ended = passes.ENDLESS, False
    os.write(theirs.fileno(), struct.pack("!i", 1000) + b"not all of it")
    theirs.close()
    others = beside.Beside(2)
    others.companions = [companion]
    assert list(others.said(passes.ENDLESS)) == [None]
    assert others.found == {passes.ENDLESS: "was killed (SIGKILL)"}
    ours.close()


def test_who_is_not_listened_to_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The main search may take hours: meanwhile nobody hears how far the others are."""
    monkeypatch.setattr(beside, "EVERY", 0.0)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    tell = beside._Teller(theirs)
    for states in range(10_000):
        tell(Progress(passes.WITH_HISTORY, states, 0, 0.0, 0))
    assert ours.recv().states == 0
    ours.close()
    theirs.close()
