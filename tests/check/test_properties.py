"""A property is one object in one table: whatever is there is judged, told and reported."""

from __future__ import annotations

import msgspec
import pytest

from soloist.algorithms import CATALOGUE
from soloist.check import PROPERTIES, Graph, Setting, check, promised, setting
from soloist.check.counterexample import Walk
from soloist.check.finding import PROVED, Finding
from soloist.check.history import Ghost
from soloist.check.local import Local
from soloist.check.parts import WAITING_COUNT
from soloist.check.properties._property import Property
from soloist.core import Site, UsageError

CARD = CATALOGUE["ricart-agrawala"]


class Alone(Property):
    """Judged on the way."""

    name = "alone"
    says = "never do two wait"
    on_the_way = True
    alarm = WAITING_COUNT & ~(1 << 8)

    def complaint(self, walk: Walk) -> str:
        return f"{len(walk.waiting)} wait" if len(walk.waiting) > 1 else ""


class Short(Property):
    """Judged on the whole graph."""

    name = "short"
    says = "there are few states"
    on_graph = True

    def judge(self, graph: Graph, finding: Finding) -> None:
        if len(graph.states) < 100:
            finding.holds[self.name] = PROVED
        else:
            finding.broken, finding.reason = self.name, f"{len(graph.states)} states"


class Ordered(Property):
    """Judged by a ghost: who has entered is heard of as the fence is."""

    name = "ordered"
    says = "site 0 is the first to enter"
    remembers = True

    def refusal(self, setting: Setting) -> str:
        return "" if setting.rounds[0] else "site 0 never asks"

    def ghost(self, sites: int) -> Ghost:
        return FirstEntry(sites)


class FirstEntry(Ghost, frozen=True):
    def news(self, site: Site) -> int:
        return 0

    def complaint(self, site: Site, local: Local) -> str:
        return f"ordered: site {site} enters first" if site else ""


def added(each: Property, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROPERTIES, each.name, each)


def test_one_that_is_judged_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    added(Alone(), monkeypatch)
    report = check(CARD, 2, 1)
    assert (report.verdict, report.property, report.reason) == ("violated", "alone", "2 wait")
    assert [step.command for step in report.trace] == ["acquire 0", "acquire 1"]
    assert check(CARD, 2, (1, 0), endless_states=100).properties["alone"] == "proved"


def test_one_that_is_judged_on_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    added(Short(), monkeypatch)
    report = check(CARD, 2, 3)
    assert (report.verdict, report.property) == ("violated", "short")
    assert check(CARD, 2, 1).properties["short"] == "proved"


def test_one_about_the_past(monkeypatch: pytest.MonkeyPatch) -> None:
    added(Ordered(), monkeypatch)
    report = check(CARD, 2, 1, properties=["ordered"])
    assert (report.property, report.reason) == ("ordered", "site 1 enters first")
    assert check(CARD, 2, (1, 0), properties=["ordered"]).properties == {"ordered": "proved"}
    with pytest.raises(UsageError, match="site 0 never asks"):
        check(CARD, 2, (0, 1), properties=["ordered"])


def test_each_says_what_it_is() -> None:
    assert list(PROPERTIES) == [
        "exclusion", "error", "deadlock", "capacity", "livelock", "starvation", "timestamp", "causal", "fence",
    ]  # fmt: skip
    for name, each in PROPERTIES.items():
        assert (each.name, bool(each.says)) == (name, True)
        assert sum((each.on_the_way, each.on_graph, each.remembers)) == 1


def test_what_is_promised() -> None:
    """All, but of the orders only the one that the card claims; and what makes no sense is not."""
    orders = {"timestamp", "causal"}
    for fairness in ("timestamp", "causal", "no-starvation"):
        card = msgspec.structs.replace(CARD, fairness=fairness)
        assert promised(setting(card, 2)) == set(PROPERTIES) - orders | orders & {fairness}
    assert "starvation" not in promised(setting(msgspec.structs.replace(CARD, fairness="none"), 2))
    assert "fence" not in promised(setting(CATALOGUE["raymond-k"], 3, k=2))
