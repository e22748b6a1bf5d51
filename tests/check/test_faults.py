"""Networks that lose and duplicate, and sites that crash. No algorithm of the five claims to survive them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from soloist.algorithms import CATALOGUE
from soloist.check import Limits, Report, check
from soloist.check.declared import declared
from soloist.core import ProtocolError, UsageError
from soloist.sim.script import Script

from .toys import Broken, Central, Open, card


def commands(report: Report) -> list[str]:
    """Each of them, obeyed by real processes, leads to the events that the checker saw."""
    script = Script()
    start, *found = report.script.splitlines()
    script.run(start)
    for step, command in zip(report.trace, found, strict=True):
        if step is report.trace[-1] and report.property == "error":
            with pytest.raises((ProtocolError, AssertionError, RuntimeError)):
                script.run(command)
        else:
            assert [line.strip() for line in script.run(command)] == list(step.events)
    return found


@pytest.mark.parametrize(
    "name", ["lamport", "naimi-trehel", "raymond-tree", "ricart-agrawala", "suzuki-kasami"]
)
def test_a_lost_message_is_fatal(name: str) -> None:
    report = check(CATALOGUE[name], nodes=2, rounds=1, loss=True)
    assert (report.verdict, report.property) == ("violated", "deadlock")
    assert commands(report)[-1].startswith("lose")
    assert "waits with" in report.reason


def test_faults_are_counted() -> None:
    """With no fault left the lossy network is a reliable one."""
    assert check(CATALOGUE["suzuki-kasami"], nodes=2, rounds=2, loss=True, faults=0).verdict == "holds"
    assert check(CATALOGUE["suzuki-kasami"], nodes=2, rounds=1, loss=True, faults=1).verdict == "violated"


def test_a_duplicated_token_is_fatal() -> None:
    report = check(CATALOGUE["naimi-trehel"], nodes=2, rounds=1, duplicate=True)
    assert (report.verdict, report.property) == ("violated", "error")
    assert "duplicate 0>1" in commands(report)


@pytest.mark.parametrize("channels", ["fifo", "any"])
def test_old_requests_are_harmless_to_suzuki_kasami(channels: str) -> None:
    """Numbers tell an old REQUEST from a new one; only the token must not come twice. On a FIFO link the copy
    joins the end of the queue."""
    report = check(CATALOGUE["suzuki-kasami"], nodes=2, rounds=1, duplicate=True, faults=1, channels=channels)
    assert report.verdict == "violated"
    assert "Privilege" in str(report.trace[-1].message)


def test_a_crash_stops_those_who_wait_for_the_site() -> None:
    report = check(CATALOGUE["ricart-agrawala"], nodes=2, rounds=1, crashes=1)
    assert (report.verdict, report.property) == ("violated", "deadlock")
    assert commands(report) == ["acquire 0", "crash 1"]


def test_a_crashed_site_is_neither_inside_nor_waiting() -> None:
    report = check(card(Open), nodes=1, rounds=1, crashes=1)
    assert report.verdict == "holds"


def test_coming_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was, site 0 still knows whom it let in; as it began, it has forgotten. (Its mail is lost either way,
    so that a deadlock would be found first if it were asked for.)"""
    three = {"nodes": 3, "rounds": (0, 1, 1), "crashes": 1, "properties": ["exclusion"]}
    assert check(card(Central), restart="snapshot", **three).verdict == "holds"
    wrong = card(Central)
    monkeypatch.setitem(CATALOGUE, wrong.name, wrong)
    report = check(wrong, restart="fresh", **three)
    assert report.verdict == "violated"
    assert any(re.fullmatch(r"restart \d fresh", command) for command in commands(report))


FAILING: list[dict[str, Any]] = [
    {**mail, **crash}
    for mail in ({}, {"loss": True, "duplicate": True})
    for crash in ({}, *({"crashes": 1, "restart": back} for back in ("never", "snapshot", "fresh")))
]


@pytest.mark.parametrize("faults", FAILING, ids=lambda f: "-".join(map(str, f.values())))
def test_every_run_that_faults_lead_to_can_be_repeated(faults: dict[str, Any]) -> None:
    """A search that relies on a declaration that is not so ends in a complaint about it, as that of `lamport` did where a
    site had come back as new; so does no combination of faults."""
    for each in CATALOGUE.values():
        for judged in (["exclusion", "error"], ["deadlock"]):
            report = check(each, 2, 1, properties=judged, limits=Limits(states=500), **faults)
            if faults.get("duplicate") or faults.get("restart") == "fresh":
                assert not declared(each.process) & set(report.reductions)
            if report.verdict == "violated":
                assert report.trace


def test_an_error_in_a_handler_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = card(Broken)
    monkeypatch.setitem(CATALOGUE, wrong.name, wrong)
    report = check(wrong, nodes=1, rounds=1)
    assert (report.verdict, report.property) == ("violated", "error")
    assert "RuntimeError: out of paper" in report.reason
    assert commands(report) == ["acquire 0", "release 0"]


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("lose 0>1", "no message is on its way from 0 to 1"),
        ("duplicate", "should read I>J"),
        ("crash 7", "'7' is no site"),
        ("restart 0", "site 0 has not crashed"),
        ("restart 1 soon", "should read I, or I fresh"),
        ("acquire 1", "site 1 has crashed"),
    ],
)
def test_faults_by_hand_that_cannot_be(command: str, complaint: str) -> None:
    script = Script()
    script.run("start lamport nodes=2")
    script.run("crash 1")
    with pytest.raises(UsageError, match=complaint):
        script.run(command)
