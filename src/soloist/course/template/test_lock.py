"""Tests of template-lock: `pytest test_template_lock.py`."""

from pathlib import Path

from soloist.algorithms import load
from soloist.check import check, mistakes
from soloist.sim import Experiment, Saturated, simulate

FILE = str(Path(__file__).with_name("template_lock.py"))


def test_nothing_is_wrong_at_first_sight() -> None:
    assert mistakes(load(FILE)) == []


def test_every_order_of_events_keeps_what_the_card_promises() -> None:
    # If your numbers grow without end, as clocks do, starvation cannot be proved, and the verdict is "incomplete": then name
    # what can be, with properties=("exclusion", "deadlock").
    report = check(load(FILE), nodes=3, rounds=1)
    assert report.verdict == "holds", report.reason


def test_it_costs_no_more_than_the_card_says() -> None:
    """Both runs raise `PropertyViolated` if not, or if two are inside."""
    simulate(Experiment(FILE, nodes=10, entries=500))
    simulate(Experiment(FILE, nodes=10, entries=500, workload=Saturated()))


# FILL IN: a test of what is special about yours.
