"""A process is killed at the very point that was named, and those that are left go on. Real processes."""

from __future__ import annotations

import pytest

from soloist.core import UsageError
from soloist.testing import Do, Worker, Workers, until
from soloist.testing.failpoints import MAIL, SENDS, STORES, die_at

FOR_EVER = 600.0
PROPOSED = ("Poll", "Prepare", "Accept", "Decided")
"""By the voter that comes first, when there is a reason for another view."""
VOTED = ("Polled", "Promise", "Accepted", "Stored", "Ack", "Report", "Renew")
"""By another."""


async def arm(worker: Worker, point: str, times: int) -> None:
    die_at(point, times)


def dies(workers: Workers, name: str, point: str, times: int = 1) -> None:
    """It dies there while a view is made; then that view is made all the same, and it comes back."""
    workers.do(name, arm, point, times)
    workers.restart("c")
    until(lambda: not workers.alive(name), f"{name} has died at {point}")
    workers.restart(name)
    for each in "abc":
        lock = f"{point} {each}"
        assert isinstance(workers.grab(each, lock)[lock], int)
        workers.free(each, lock)


@pytest.mark.parametrize(
    "chosen",
    [
        ("store.written", "store.renamed", "send.Promise", "send.Accept", "send.Decided"),
        pytest.param(
            (*STORES, *(f"send.{kind}" for kind in (*PROPOSED, *VOTED))), marks=pytest.mark.soak, id="all"
        ),
    ],
)
def test_a_crash_in_the_middle_of_a_change_is_survived(chosen: tuple[str, ...]) -> None:
    with Workers("abc", lease=FOR_EVER) as workers:
        for point in chosen:
            name = "a" if point.partition(".")[2] in PROPOSED else "b"
            dies(workers, name, point)
        assert not [each for found in workers.findings().values() for each in found.problems]


def test_it_dies_only_when_it_is_there_for_that_many_times() -> None:
    with Workers("abc", lease=FOR_EVER) as workers:
        workers.do("b", arm, MAIL, 2)
        workers.grab("b", "x")  # its token has to be asked for
        assert workers.alive("b")
        workers.tell("b", Do(arm, (MAIL, 100)))  # further points change nothing about the first
        workers.hear("b")
        workers.free("b", "x")
        with pytest.raises(Exception, match="b died"):
            workers.grab("b", "y")
        until(lambda: not workers.alive("b"), "b has died")


def test_unknown_points_are_told() -> None:
    with pytest.raises(UsageError, match=r"unknown point 'send\.Promis'; did you mean send\.Promise"):
        die_at("send.Promis")
    assert set(SENDS) >= {f"send.{kind}" for kind in (*PROPOSED, *VOTED)}
