"""The worst case by search (docs/checking.md, "The worst case")."""

from __future__ import annotations

import pytest

from soloist.algorithms import CATALOGUE
from soloist.check import Report, check
from soloist.sim.script import Script


def worst(name: str, measure: str, rounds: tuple[int, ...], **network: str) -> Report:
    report = check(CATALOGUE[name], nodes=len(rounds), rounds=rounds, worst=measure, **network)
    assert report.verdict == "holds"
    assert report.worst is not None
    return report


@pytest.mark.parametrize(
    ("name", "rounds", "cost"),
    [
        ("ricart-agrawala", (1, 1, 1), 12),  # 2(N-1) for each entry, always
        ("lamport", (1, 1), 6),  # 3(N-1)
        ("suzuki-kasami", (1, 1, 1), 9),  # 0 or N
        ("suzuki-kasami", (1, 0, 0), 0),  # the token is there
        ("naimi-trehel", (0, 1, 0), 2),
        ("naimi-trehel", (1, 1, 1), 7),
        ("raymond-tree", (0, 1, 1), 6),  # 4 and then 2 on a tree of depth 1
    ],
    ids=str,
)
def test_most_messages(name: str, rounds: tuple[int, ...], cost: int) -> None:
    report = worst(name, "messages", rounds)
    assert report.worst is not None
    assert report.worst.cost == cost
    sent = sum(" -> " in event for step in report.trace for event in step.events)
    assert sent == cost


@pytest.mark.parametrize("name", ["ricart-agrawala", "naimi-trehel", "suzuki-kasami"])
def test_longest_wait_is_the_bypass_bound_within_the_rounds(name: str) -> None:
    report = worst(name, "wait", (1, 2, 1))
    assert report.worst is not None
    site = report.worst.site
    waiting = entries = most = 0
    for step in report.trace:
        if step.site == site:
            waiting = not step.enters and (waiting or step.action == "acquire")
            entries = entries if waiting else 0
        elif step.enters and waiting:
            entries += 1
        most = max(most, entries)
    assert most == report.worst.cost


def test_it_can_be_replayed() -> None:
    report = worst("naimi-trehel", "messages", (1, 2, 1))
    script = Script()
    for step, command in zip([None, *report.trace], report.script.splitlines(), strict=True):
        answer = [line.strip() for line in script.run(command)]
        assert step is None or answer == list(step.events)
