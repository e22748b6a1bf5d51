"""Declarations are believed for the code they were proved for, and for no other."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from soloist import algorithms
from soloist.algorithms import CATALOGUE, Card, maekawa, ricart_agrawala, suzuki_kasami_bounded
from soloist.algorithms.printed import PRINTED
from soloist.check import Limits, Space, check, explore, setting, text
from soloist.check.declared import declared, withheld
from soloist.check.digest import digest
from soloist.core import Process

from .mutants_permission import AgrawalElAbbadiYoungestFirst
from .toys import ReadsWhatIsSettled, recast
from .variants import COPIES, SUBCLASSES, Copy, Variant

SOURCE = Path(algorithms.__file__).parent
USERS = {"_arbiter": "agrawal_el_abbadi", "_ring_order": "ricart_agrawala_token"}
"""An algorithm that stands on a module which has no card."""
LIMITS = Limits(states=200_000)


def load(folder: Path, name: str, text: str) -> ModuleType:
    """A user's own file as a module."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied(folder: Path, module: str, right: str = "", wrong: str = "") -> Card:
    """The card of a copy, with one place changed."""
    source = (SOURCE / f"{module}.py").read_text()
    assert right in source
    copy = load(folder, f"own_{module}", source.replace(right, wrong) if right else source)
    if module in USERS:
        user = (SOURCE / f"{USERS[module]}.py").read_text()
        copy = load(
            folder, f"own_{USERS[module]}", user.replace(f"soloist.algorithms.{module}", f"own_{module}")
        )
    card: Card = copy.CARD
    return card


def inherited(process: type[Process]) -> Card:
    """The card of the nearest algorithm that a class inherits from."""
    card = next(c for base in process.__mro__ for c in CATALOGUE.values() if c.process is base)
    return msgspec.structs.replace(card, process=process)


def assert_refuted(card: Card, nodes: int, rounds: int) -> None:
    report = check(
        card, nodes, rounds, 2 if card.capacity == "K" else 1, limits=LIMITS, endless_states=20_000
    )
    assert report.verdict == "violated", f"{card.process.__name__}: {report.verdict}"
    assert report.withheld
    assert not set(report.withheld) & set(report.reductions)


@pytest.mark.parametrize("variant", SUBCLASSES, ids=lambda v: v.process.__name__)
def test_a_broken_subclass_is_refuted(variant: Variant) -> None:
    assert_refuted(inherited(variant.process), variant.nodes, variant.rounds)


@pytest.mark.parametrize("copy", COPIES, ids=lambda c: c.name.splitlines()[0])
def test_a_changed_copy_is_refuted(copy: Copy, tmp_path: Path) -> None:
    assert_refuted(copied(tmp_path, copy.module, copy.right, copy.wrong), copy.nodes, copy.rounds)


def test_there_are_enough_of_them() -> None:
    assert len(SUBCLASSES) >= 10
    assert len(COPIES) >= 10


# Which code is meant.


def test_a_copy_is_believed_as_long_as_it_says_the_same(tmp_path: Path) -> None:
    """Comments, docstrings, lines and the names of files are not what an algorithm does."""
    source = (SOURCE / "ricart_agrawala.py").read_text()
    other = source.replace('    """REPLY: ', "    # Mine.\n\n" + '    """Our REPLY: ')
    other = other.replace("self.outstanding -= 1", "self.outstanding -= 1  # one less")
    assert other.count("\n") == source.count("\n") + 2
    kind = load(tmp_path, "own_again", other).RicartAgrawala
    assert digest(kind) == digest(ricart_agrawala.RicartAgrawala)
    assert not withheld(kind)


@pytest.mark.parametrize(
    ("module", "right", "wrong"),
    [
        ("ricart_agrawala", "outstanding == 0", "outstanding <= 0"),
        ("ricart_agrawala", 'counters: ClassVar = {"sn": Counter()}', "counters: ClassVar = {}"),
        ("lamport", "return self.C - 1", "return self.C"),
        ("_arbiter", "insort(self.queue, (m.sn, j))", "self.queue.append((m.sn, j))"),
        ("_arbiter", 'STAMP = Counter(counted="none")', "STAMP = Counter()"),
        (
            "raynal",
            "from soloist.algorithms._primes import is_privileged",
            "def is_privileged(*_): return True",
        ),
        ("raynal", "WAIT = 0.01", "WAIT = 0.02"),
    ],
)
def test_any_other_code_is_not(module: str, right: str, wrong: str, tmp_path: Path) -> None:
    card = copied(tmp_path, module, right, wrong)
    assert withheld(card.process) == declared(card.process) != frozenset()


def test_a_subclass_that_changes_nothing_is_other_code() -> None:
    class Same(ricart_agrawala.RicartAgrawala): ...

    assert withheld(Same) == {"values", "clocks"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acquire", lambda self: self.enter()),
        ("settled", {"H": lambda p: 0}),
        ("counters", {}),
    ],
)
def test_a_class_that_was_changed_after_it_was_read(
    name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its source says nothing about what runs."""
    monkeypatch.setattr(maekawa.Maekawa, name, value)
    assert withheld(maekawa.Maekawa)
    monkeypatch.undo()
    assert not withheld(maekawa.Maekawa)


def test_another_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = ricart_agrawala.RicartAgrawala
    monkeypatch.setitem(kind.handlers, ricart_agrawala.Reply, lambda self, j, m: self.enter())
    assert withheld(kind)


def test_without_a_source_nothing_is_believed() -> None:
    """As typed at a prompt."""
    prompt = sys.modules["prompt"] = ModuleType("prompt")
    exec((SOURCE / "ricart_agrawala.py").read_text(), vars(prompt))
    kind = prompt.RicartAgrawala
    assert digest(kind) is None
    assert withheld(kind) == {"values", "clocks"}


def test_what_is_printed_is_searched_without() -> None:
    for card in PRINTED.values():
        assert withheld(card.process) == declared(card.process)


# What comes of it.


def test_a_space_of_other_code_is_not_reduced_by_what_it_says() -> None:
    what = setting(recast(ReadsWhatIsSettled), 3, 1)
    plain = explore(Space(what, ["messages", "receiver"]))
    assert len(explore(Space(what)).states) == len(plain.states)


def test_the_report_says_so() -> None:
    report = check(recast(ReadsWhatIsSettled), 3, 1)
    assert report.withheld == ("values", "clocks")
    assert report.record()["withheld"] == ("values", "clocks")
    assert "not relied on    values, clocks: what the class declares is not proved for its code" in text(
        report
    )
    assert "not relied on" not in text(check(CATALOGUE["ricart-agrawala"], 2, 1))


class NewestFirst(suzuki_kasami_bounded.SuzukiKasamiBounded):
    """The privilege goes to whoever came last. With one request a site nobody waits for ever."""

    def serve_next(self) -> None:
        self.Q += [j for j in self.others if j not in self.Q and self.is_waiting(j)]
        if self.Q:
            self.pass_privilege(self.Q.pop())


@pytest.mark.parametrize("kind", [AgrawalElAbbadiYoungestFirst, NewestFirst])
def test_the_youngest_first_does_not_pass_with_three_sites(kind: type[Process]) -> None:
    """It takes requests without end to see that the oldest is never served."""
    report = check(inherited(kind), 3, 1, endless_states=20_000)
    assert report.verdict != "holds"
    assert report.properties["starvation"] in ("violated", "for these requests")


def test_numbers_that_wrap_around_far_on_are_no_proof() -> None:
    """However long the trial of a declaration is, it is not one."""

    class WrapsAround(ricart_agrawala.RicartAgrawala):
        def acquire(self) -> None:
            super().acquire()
            if self.H == 123_456_789:
                self.H = 0

    report = check(inherited(WrapsAround), 2, 1, endless_states=3_000)
    assert (report.verdict, report.properties["starvation"]) == ("incomplete", "for these requests")
    assert report.properties["exclusion"] == "proved"
