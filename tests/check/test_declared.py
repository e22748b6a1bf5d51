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
from soloist.check import Limits, Space, check, declarations, explore, setting, text
from soloist.check.declarations import Declaration, declaration, declare
from soloist.check.declared import declared, fingerprint, withheld
from soloist.check.digest import Reading
from soloist.core import Process

from .mutants_permission import AgrawalElAbbadiYoungestFirst
from .toys import ReadsWhatIsSettled, recast
from .variants import COPIES, SUBCLASSES, Copy, Variant

SOURCE = Path(algorithms.__file__).parent
DECLARATIONS = Path(declarations.__file__).parent
USERS = {
    "_arbiter": "agrawal_el_abbadi",
    "_lodha_kshemkalyani_fig_2": "lodha_kshemkalyani",
    "_ring_order": "ricart_agrawala_token",
}
"""An algorithm that stands on a module which has no card."""
LIMITS = Limits(states=200_000)


def load(folder: Path, name: str, text: str) -> ModuleType:
    """A user's own file as a module. A file of its own each time: what was read before of one as large and as old is kept."""
    path = folder / f"{name}-{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied(folder: Path, module: str, right: str = "", wrong: str = "") -> Card:
    """The card of a copy, with one place changed; about it is declared what is declared about the original."""
    source = (SOURCE / f"{module}.py").read_text()
    assert right in source
    copy = load(folder, f"own_{module}", source.replace(right, wrong) if right else source)
    if module in USERS:
        user = (SOURCE / f"{USERS[module]}.py").read_text()
        copy = load(folder, f"own_{USERS[module]}", as_own(user, module))
        declared_as_own(folder, USERS[module])
    declared_as_own(folder, module)
    card: Card = copy.CARD
    return card


def as_own(text: str, module: str) -> str:
    return text.replace(f"soloist.algorithms.{module} ", f"own_{module} ")


def declared_as_own(folder: Path, module: str, right: str = "", wrong: str = "") -> None:
    """What is declared about an algorithm, declared about its copy, with one place changed."""
    path = DECLARATIONS / f"{module}.py"
    if path.exists():
        text = path.read_text()
        assert right in text
        load(folder, f"declared_{module}", as_own(text.replace(right, wrong) if right else text, module))


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
    kind = load(tmp_path, "own_ricart_agrawala", other).RicartAgrawala
    assert withheld(kind) == {"clocks"}, "about this copy nothing is declared but the types of its fields"
    declared_as_own(tmp_path, "ricart_agrawala")
    assert fingerprint(kind) == fingerprint(ricart_agrawala.RicartAgrawala)
    assert not withheld(kind)


@pytest.mark.parametrize(
    ("module", "right", "wrong"),
    [
        ("ricart_agrawala", "outstanding == 0", "outstanding <= 0"),
        ("ricart_agrawala", "    sn: Clock\n", "    sn: int\n"),
        ("lamport", "self.last[j] = t", "self.last[j] = t + 0"),
        ("_arbiter", "insort(self.queue, (m.sn, j))", "self.queue.append((m.sn, j))"),
        ("_arbiter", "ReqID = tuple[Stamp, Site]", "ReqID = tuple[Clock, Site]"),
        ("makki", 'Counter(kind="round")', 'Counter(kind="entry")'),
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


@pytest.mark.parametrize(
    ("module", "right", "wrong"),
    [
        ("lamport", "return p.C - 1", "return p.C"),
        ("ricart_agrawala", "sorted(p.deferred)", "p.deferred"),
        ("singhal_heuristic", "m.sn <= p.SN[j]", "m.sn < p.SN[j]"),
        ("srimani_reddy", "not p.L", "True"),
        ("makki", "void=void", "void=None"),
    ],
)
def test_nor_is_another_declaration(module: str, right: str, wrong: str, tmp_path: Path) -> None:
    card = copied(tmp_path, module)
    assert not withheld(card.process)
    declared_as_own(tmp_path, module, right, wrong)
    assert withheld(card.process) == declared(card.process) != frozenset()


def test_a_subclass_that_changes_nothing_is_other_code() -> None:
    class Same(ricart_agrawala.RicartAgrawala): ...

    assert withheld(Same) == {"values", "clocks"}


def test_a_class_that_was_changed_after_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its source says nothing about what runs."""
    monkeypatch.setattr(maekawa.Maekawa, "acquire", lambda self: self.enter())
    assert withheld(maekawa.Maekawa)
    monkeypatch.undo()
    assert not withheld(maekawa.Maekawa)


def test_a_declaration_that_was_made_anew() -> None:
    before = declaration(maekawa.Maekawa)
    try:
        declare(maekawa.Maekawa, Declaration(settled={"H": lambda p: 0}, void=before.void))
        assert withheld(maekawa.Maekawa)
    finally:
        declare(maekawa.Maekawa, before)
    assert not withheld(maekawa.Maekawa)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_digest_is_the_same_in_every_version_of_python(name: str) -> None:
    """What `typing` keeps to itself has other names in each."""
    kind = CATALOGUE[name].process
    if declared(kind):
        assert "typing._" not in "".join(Reading(kind, declaration(kind)).lines())


def test_another_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = ricart_agrawala.RicartAgrawala
    monkeypatch.setitem(kind.handlers, ricart_agrawala.Reply, lambda self, j, m: self.enter())
    assert withheld(kind)


def test_without_a_source_nothing_is_believed() -> None:
    """As typed at a prompt."""
    prompt = sys.modules["prompt"] = ModuleType("prompt")
    exec((SOURCE / "ricart_agrawala.py").read_text(), vars(prompt))
    kind = prompt.RicartAgrawala
    declare(kind, declaration(ricart_agrawala.RicartAgrawala))
    assert fingerprint(kind) is None
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
