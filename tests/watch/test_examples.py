"""The papers' worked examples: what they show is what the papers say."""

from __future__ import annotations

import pytest

from soloist.watch.examples import WorkedExample, examples, find_example
from soloist.watch.text import text
from soloist.watch.trace import Trace
from soloist.watch.validate import validate

ALL = [(1, 1), (1, 2), (1, 3)]
FIG_3 = {
    "t1": {1: ([0, 0, 0], []), 2: ([0, 0, 0], []), 3: ([0, 0, 0], [])},
    "t2": {1: ([1, 0, 0], [(1, 1)]), 2: ([0, 1, 0], [(1, 2)]), 3: ([0, 0, 1], [(1, 3)])},
    "t3": {1: ([1, 1, 1], ALL), 2: ([1, 1, 1], ALL), 3: ([1, 1, 1], ALL)},
    "t4": {1: ([1, 1, 1], ALL), 2: ([1, 1, 1], ALL), 3: ([1, 1, 1], ALL)},
    "t5": {2: ([1, 1, 1], ALL), 3: ([1, 1, 1], ALL)},
    "t6": {2: ([1, 1, 1], [(1, 2), (1, 3)]), 3: ([1, 1, 1], ALL)},
}
"""Lodha and Kshemkalyani 2000, section 3.4.1: RV and LRQ of each process at each instant, as the text has them."""


@pytest.fixture(scope="module")
def fig3() -> Trace:
    return find_example("lodha-kshemkalyani", "fig3").trace()


@pytest.mark.parametrize("instant", FIG_3)
def test_fig_3_has_the_queues_of_the_text(fig3: Trace, instant: str) -> None:
    (note,) = [
        step for step in fig3.steps if step.what == "note" and (step.text or "").startswith(f"{instant}:")
    ]
    states = fig3.state(note.n)
    for p, (RV, LRQ) in FIG_3[instant].items():
        state = states[p - 1]
        assert [int(q in state["RV"]) for q in range(3)] == RV, f"RV_{p}"
        assert [(sn, site + 1) for sn, site in state["LRQ"]] == LRQ, f"LRQ_{p}"


def test_fig_3_takes_eight_messages_for_three_entries(fig3: Trace) -> None:
    assert len(fig3.messages()) == 8
    assert all(message.received is not None for message in fig3.messages().values())
    assert [step.site + 1 for step in fig3.steps if step.enter] == [1, 2, 3]
    assert [message.body.kind for message in fig3.messages().values()].count("Flush") == 2


@pytest.mark.parametrize("example", examples(), ids=lambda example: f"{example.algorithm}-{example.id}")
def test_everybody_who_asks_enters(example: WorkedExample) -> None:
    trace = example.trace()
    asked = [step.site for step in trace.steps if step.what == "request"]
    entered = sorted(step.site for step in trace.steps if step.enter)
    assert entered == sorted(asked) or example.id == "fig4", "only Fig. 4 ends before all have entered"
    assert validate(trace) is None
    assert all(len(line) <= 80 for line in text(trace).splitlines())


def test_naimi_thiare_fig_3_has_the_queues_of_the_text() -> None:
    """P1, P2, P3, P4 are the sites 1, 2, 0, 3; the text has P3's queue at T6, and P1's at T7 and T9."""
    trace = find_example("naimi-thiare", "fig3").trace()
    queues, at = {}, ""
    for step in trace.steps:
        if step.what == "note":
            at = (step.text or "").partition(":")[0]
        state = trace.state(step.n)
        queues[at] = {p: [tuple(each) for each in state[site]["Q"]] for p, site in ((1, 1), (3, 0))}
    assert queues["T6"][3] == [(1, 1), (2, 2)]
    assert queues["T7"][1] == [(3, 2)]  # (4, 2) in the paper: P4 is site 3
    assert queues["T9"][1] == [(3, 2), (2, 2)]


def test_an_example_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(ValueError, match=r"unknown example of lodha-kshemkalyani 'fig9'; did you mean fig7"):
        find_example("lodha-kshemkalyani", "fig9")
    with pytest.raises(
        ValueError,
        match=r"no example of 'lamport' is known; there are some of lodha-kshemkalyani, naimi-thiare",
    ):
        find_example("lamport", "fig1")


def test_every_figure_that_the_papers_work_out_is_there() -> None:
    ids = [(each.algorithm, each.id) for each in examples()]
    figures = ["fig3", "fig4", "fig5-1", "fig5-2a", "fig5-2b", "fig5-2c", "fig6", "fig7"]
    assert ids == [
        *(("lodha-kshemkalyani", each) for each in figures),
        ("naimi-thiare", "fig2"),
        ("naimi-thiare", "fig3"),
    ]
    assert all(each.about.startswith("Fig. ") for each in examples())
