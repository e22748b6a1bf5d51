"""Histories of lock services: what is wrong is found, what cannot be known is not held against anybody."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soloist.cli import main
from soloist.history import Review, check, text
from soloist.history.holds import Hold
from soloist.history.judges import crowds

Row = tuple[float, str, str] | tuple[float, str, str, int]


def written(path: Path, rows: list[Row], lock: str = "orders") -> Path:
    with path.open("w") as file:
        for time, process, event, *fence in rows:
            line: dict[str, Any] = {"time": time, "process": process, "event": event, "lock": lock}
            file.write(json.dumps(line | ({"fence": fence[0]} if fence else {})) + "\n")
    return path


def judged(tmp_path: Path, *rows: Row, **options: Any) -> Review:
    return check([written(tmp_path / "history.jsonl", list(rows))], **options)


def verdicts(report: Review) -> dict[str, str]:
    return {finding.property: finding.verdict for finding in report.properties}


# Overlaps.


def test_one_after_the_other(tmp_path: Path) -> None:
    report = judged(
        tmp_path, (1, "a", "acquire"), (2, "a", "release"), (2, "b", "acquire"), (3, "b", "release")
    )
    assert (report.verdict, report.property, report.exit_code()) == ("holds", None, 0)
    assert verdicts(report) == {"exclusion": "holds", "fence": "not judged", "fairness": "not judged"}


def test_two_inside_are_shown(tmp_path: Path) -> None:
    report = judged(
        tmp_path, (1, "a", "acquire"), (3, "a", "release"), (2.5, "b", "acquire"), (4, "b", "release")
    )
    assert (report.verdict, report.property, report.exit_code()) == ("violated", "exclusion", 1)
    example = report.properties[0].example
    assert example
    assert [(hold.process, hold.where) for hold in example.holds] == [("a", 1), ("b", 3)]
    assert "orders: 2 inside together, for 0.5: a (line 1) and b (line 3)" in text(report)


@pytest.mark.parametrize(("k", "verdict"), [(1, "violated"), (2, "violated"), (3, "holds")])
def test_at_most_k(tmp_path: Path, k: int, verdict: str) -> None:
    rows: list[Row] = [(at, name, "acquire") for at, name in enumerate("abc")]
    rows += [(at + 10, name, "release") for at, name in enumerate("abc")]
    assert judged(tmp_path, *rows, k=k).verdict == verdict


def test_locks_are_judged_by_themselves(tmp_path: Path) -> None:
    files = [
        written(tmp_path / f"{lock}.jsonl", [(1, lock, "acquire"), (3, lock, "release")], lock)
        for lock in "xy"
    ]
    assert check(files).verdict == "holds"


def test_a_hold_of_an_instant_inside_another_one(tmp_path: Path) -> None:
    """Nobody knows how long b was inside; that it was is known."""
    report = judged(tmp_path, (1, "a", "acquire"), (2, "b", "acquire"), (3, "a", "release"))
    assert report.verdict == "violated"


# What is not known.


def test_a_hold_without_an_end_leaves_it_open(tmp_path: Path) -> None:
    report = judged(tmp_path, (1, "a", "acquire"), (9, "b", "acquire"), (10, "b", "release"))
    assert (report.verdict, report.exit_code()) == ("undecided", 3)
    assert "a (line 1) has no known end" in text(report)
    assert any(note.startswith("Holds without a release: 1.") for note in report.notes)


def test_the_last_hold_of_a_history_needs_no_end(tmp_path: Path) -> None:
    assert judged(tmp_path, (1, "a", "acquire"), (2, "a", "release"), (3, "b", "acquire")).verdict == "holds"


def test_a_process_that_is_known_to_have_ended_holds_nothing(tmp_path: Path) -> None:
    report = judged(tmp_path, (1, "a", "acquire"), (5, "a", "end"), (9, "b", "acquire"), (10, "b", "release"))
    assert report.verdict == "holds"


def test_when_it_ended_is_only_known_from_outside(tmp_path: Path) -> None:
    """Whoever saw it dead may have been late: in between nothing is proved."""
    report = judged(tmp_path, (1, "a", "acquire"), (5, "a", "end"), (4, "b", "acquire"), (10, "b", "release"))
    assert report.verdict == "undecided"


def test_a_process_that_asks_again_had_left(tmp_path: Path) -> None:
    report = judged(
        tmp_path, (1, "a", "acquire"), (2, "a", "request"), (3, "b", "acquire"), (4, "b", "release")
    )
    assert report.verdict == "holds"


def test_an_answer_that_never_came_is_no_hold(tmp_path: Path) -> None:
    report = judged(tmp_path, (1, "a", "request"), (2, "b", "acquire"), (3, "b", "release"))
    assert report.verdict == "holds"
    assert "Requests without an answer: 1. They are not taken for holds." in report.notes


def test_a_release_without_an_acquire_counts_for_its_moment(tmp_path: Path) -> None:
    rows: list[Row] = [(2, "a", "release"), (1, "b", "acquire"), (3, "b", "release")]
    assert judged(tmp_path, *rows).verdict == "violated"
    assert judged(tmp_path, (1, "a", "release"), *rows[1:]).verdict == "holds"


@pytest.mark.parametrize(
    ("skew", "verdict"), [(0, "violated"), (0.4, "violated"), (0.5, "undecided"), (2, "undecided")]
)
def test_an_overlap_within_the_skew_is_no_verdict(tmp_path: Path, skew: float, verdict: str) -> None:
    rows: list[Row] = [(1, "a", "acquire"), (3, "a", "release"), (2.5, "b", "acquire"), (4, "b", "release")]
    assert judged(tmp_path, *rows, skew=skew).verdict == verdict


def test_a_short_hold_deep_inside_a_long_one_is_one_in_spite_of_the_skew(tmp_path: Path) -> None:
    rows: list[Row] = [(0, "a", "acquire"), (10, "a", "release"), (5, "b", "acquire"), (5.1, "b", "release")]
    assert judged(tmp_path, *rows, skew=1).verdict == "violated"


HOLDS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=2, max_size=4)


def most_inside(holds: list[tuple[int, int]], shifts: tuple[int, ...]) -> int:
    """The most that are inside at one moment, if each clock is wrong by its shift: by trying all moments, in tenths."""
    moved = [
        (10 * (start + shift), 10 * (start + length + shift))
        for (start, length), shift in zip(holds, shifts, strict=True)
    ]
    return max(sum(start < at < end or start == at == end for start, end in moved) for at in range(-50, 250))


@settings(deadline=None, max_examples=200)
@given(HOLDS, st.integers(1, 2), st.integers(0, 2))
def test_a_verdict_stands_whatever_the_clocks_say(holds: list[tuple[int, int]], k: int, skew: int) -> None:
    """A slow and obvious judge agrees: with every error of the clocks up to the skew, more than K are inside."""
    made = [Hold(str(n), s, s + d, s + d, None, None, n) for n, (s, d) in enumerate(sorted(holds))]
    found = any(crowds(made, k, float(skew)))
    shifted = [most_inside(sorted(holds), shifts) > k for shifts in product((0, skew), repeat=len(holds))]
    if found:
        assert all(shifted)
    else:
        pairs = [
            all(
                min(made[i].until - made[j].since, made[j].until - made[i].since) > skew
                for i, j in combinations(few, 2)
            )
            for few in combinations(range(len(made)), k + 1)
        ]
        assert not any(pairs)


# Fences.


def test_fences_grow(tmp_path: Path) -> None:
    rows: list[Row] = [
        (1, "a", "acquire", 1),
        (2, "a", "release"),
        (3, "b", "acquire", 5),
        (4, "b", "release"),
    ]
    assert verdicts(judged(tmp_path, *rows))["fence"] == "holds"


@pytest.mark.parametrize("newer", [4, 5])
def test_a_fence_that_does_not_grow(tmp_path: Path, newer: int) -> None:
    rows: list[Row] = [
        (1, "a", "acquire", 5),
        (2, "a", "release"),
        (3, "b", "acquire", newer),
        (4, "b", "release"),
    ]
    report = judged(tmp_path, *rows)
    assert (report.verdict, report.property) == ("violated", "fence")
    assert f"orders: fence {newer} of b (line 3) after 5 of a (line 1)" in text(report)
    assert verdicts(judged(tmp_path, *rows, skew=2))["fence"] == "undecided"


def test_a_fence_is_compared_with_all_before(tmp_path: Path) -> None:
    rows: list[Row] = [(1, "a", "acquire", 9), (2, "a", "release"), (3, "b", "acquire"), (4, "b", "release")]
    rows += [(5, "c", "acquire", 9), (6, "c", "release")]
    assert verdicts(judged(tmp_path, *rows))["fence"] == "violated"


def test_fences_of_a_semaphore_have_no_order(tmp_path: Path) -> None:
    """With K places an entry need not have heard of an earlier exit."""
    rows: list[Row] = [
        (1, "a", "acquire", 3),
        (2, "a", "release"),
        (3, "b", "acquire", 2),
        (4, "b", "release"),
    ]
    assert verdicts(judged(tmp_path, *rows))["fence"] == "violated"
    assert verdicts(judged(tmp_path, *rows, k=2))["fence"] == "not judged"


# Order.

PASSED: list[Row] = [
    (1, "a", "request"), (2, "b", "request"), (3, "b", "acquire"), (4, "b", "release"),
    (5, "b", "request"), (6, "b", "acquire"), (7, "b", "release"), (8, "a", "acquire"), (9, "a", "release"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("bypass", "verdict"), [(None, "not judged"), (0, "violated"), (1, "violated"), (2, "holds")]
)
def test_a_request_is_passed(tmp_path: Path, bypass: int | None, verdict: str) -> None:
    fairness = judged(tmp_path, *PASSED, bypass=bypass).properties[2]
    assert (fairness.verdict, fairness.figures) == (
        verdict,
        {"bypass": 2, "out_of_order": 2, "unanswered_bypass": 0},
    )


def test_requests_within_the_skew_have_no_order(tmp_path: Path) -> None:
    assert judged(tmp_path, *PASSED, skew=1, bypass=0).properties[2].figures["bypass"] == 1


def test_a_request_without_an_answer_may_have_been_given_up(tmp_path: Path) -> None:
    assert judged(tmp_path, *PASSED[:-2], bypass=1).verdict == "undecided"
    given_up: list[Row] = [*PASSED[:-2], (8, "a", "cancel")]
    assert judged(tmp_path, *given_up, bypass=1).verdict == "undecided"
    early: list[Row] = [PASSED[0], (1.5, "a", "cancel"), *PASSED[1:-2]]
    assert judged(tmp_path, *early, bypass=1).verdict == "holds"


# The command.


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "h.jsonl", [(1, "a", "acquire"), (3, "a", "release"), (2, "b", "acquire")])
    assert main(["history", "check", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["property"]) == ("violated", "exclusion")
    assert found["properties"][0]["example"] == {
        "lock": "orders",
        "holds": [
            {"process": "a", "since": 1.0, "until": 3.0, "fence": None, "line": 1, "file": "h.jsonl"},
            {"process": "b", "since": 2.0, "until": None, "fence": None, "line": 3, "file": "h.jsonl"},
        ],
    }
    assert main(["history", "check", str(path), "--skew", "2s"]) == 3
    assert main(["history", "check", str(path), "--k", "2"]) == 0


def test_nothing_is_wider_than_eighty_columns(tmp_path: Path) -> None:
    long = "worker-" + "x" * 90
    rows: list[Row] = [
        (1_700_000_000.123456, long, "acquire", 1 << 62),
        (1_700_000_009.123456, long, "release"),
        (1_700_000_002.123456, "b", "acquire", 1),
    ]
    shown = text(judged(tmp_path, *rows)).splitlines()
    assert max(map(len, shown)) <= 80


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: "),
        ('{"time": 1, "process": "a", "event": "enter", "lock": "x"}', "line 2: there is no event 'enter'; a line reads {"),
        ('{"process": "a", "event": "acquire", "lock": "x"}', "line 2: the field time is missing; a line reads {"),
        ('{"time": "noon", "process": "a", "event": "acquire"}', "line 2: time 'noon' is neither seconds nor a date"),
        ('{"time": 3, "process": "a", "event": "acquire", "fence": "x"}', "line 2: a fence is a whole number, not 'x'"),
        ('{"time": 0, "process": "a", "event": "release", "lock": "x"}', "line 2: the times of process a go back, from 1 to 0"),
        ("\xff\xfe", "line 2: "),
    ],
)  # fmt: skip
def test_a_broken_line_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    path = tmp_path / "h.jsonl"
    good = '{"time": 1, "process": "a", "event": "acquire", "lock": "x"}\n'
    path.write_bytes(good.encode() + line.encode("latin-1") + b"\n" + good.encode())
    assert main(["history", "check", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("soloist: ")
    assert error.count("\n") == 1


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "h.jsonl", [(1, "a", "acquire"), (2, "a", "release")])
    path.write_text(path.read_text() + '{"time": 3, "proc')
    report = check([path])
    assert report.holds == 1
    assert any("was cut off" in note for note in report.notes)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_history(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    (tmp_path / "h.jsonl").write_text(content)
    assert main(["history", "check", str(tmp_path / "h.jsonl")]) == 2
    assert "is empty: there is no history to check" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["missing.jsonl"], "cannot read the history missing.jsonl"),
        ([".", "--k", "0"], "k must be at least 1, not 0"),
        ([".", "--bypass", "-1"], "bypass must not be negative"),
        ([".", "--skew", "x"], "--skew must be a number"),
        (["."], "cannot read the history ."),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    assert main(["history", "check", *options]) == 2
    assert said in capsys.readouterr().err
