"""What is declared about the algorithms of the catalogue is so; and for which code that has been shown.

`src/soloist/check/proved.json` has the digest of each class that these tests have passed for. The checker believes a
declaration for that code only. After a change, `make proved` runs the tests and writes the digests anew:
only those of the classes that have passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from soloist.algorithms import CATALOGUE
from soloist.check import PROPERTIES, Setting, setting
from soloist.check.declared import RECORD, declared, fingerprint, record, withheld
from soloist.check.history import History
from soloist.check.trial import differences, hasty, strays

DECLARING = [name for name, card in sorted(CATALOGUE.items()) if declared(card.process)]
OPTIONS: dict[str, list[dict[str, str]]] = {
    "bulgannawar-vaidya": [{"token": "last-seen"}, {"inform": "1"}],
    "lodha-kshemkalyani": [{"improvement": "1"}, {"improvement": "2"}, {"improvement": "1+2+3"}],
    "sanders": [{"structure": "maekawa"}],
}
"""Those that bring rules of their own."""
LONG_ONLY = {"lamport": [{"acks": "needed"}], "majority": [{"votes": "all"}], "srimani-reddy": [{"L": "2"}]}
"""The same, where the graph is too large to be walked."""
BEYOND: dict[str, list[tuple[int, Any, str]]] = {
    "lamport": [(2, 1, "any"), (3, (1, 1, 0), "fifo")],
    "ricart-agrawala": [(2, 2, "any"), (3, 1, "any"), (3, (2, 1, 0), "fifo")],
    "suzuki-kasami": [(2, 2, "any"), (3, 1, "any")],
}
HURRIED: dict[str, list[tuple[int, Any, dict[str, str]]]] = {
    "lamport": [
        (2, 3, {}),
        (2, 3, {"acks": "needed"}),
        (3, (1, 1, 0), {}),
        (3, (1, 1, 0), {"acks": "needed"}),
        (3, (2, 0, 1), {}),
        (3, 1, {}),
        (4, (1, 1, 0, 0), {}),
    ]
}
"""Where an algorithm says that messages may arrive early."""


def sized(name: str, rounds: tuple[int, ...], options: dict[str, str]) -> Setting:
    """With two entries where the algorithm has them."""
    card, n = CATALOGUE[name], len(rounds)
    return setting(card, n, rounds, min(2, n - 1) if card.capacity == "K" else 1, options=options)


def small(name: str) -> Iterator[Setting]:
    for options in ({}, *OPTIONS.get(name, [])):
        for rounds in ((2, 2), (2, 1, 0)):
            yield sized(name, rounds, options)
    for nodes, requests, channels in BEYOND.get(name, []):
        yield setting(CATALOGUE[name], nodes, requests, 1, channels)


def lossy(name: str) -> Iterator[Setting]:
    """With faults that end something; those that repeat something are searched without declarations."""
    for faults in ({"loss": True}, {"crashes": 1}, {"crashes": 1, "restart": "snapshot"}):
        yield setting(CATALOGUE[name], 2, 1, **faults)


def long(name: str) -> Iterator[Setting]:
    for options in ({}, *OPTIONS.get(name, []), *LONG_ONLY.get(name, [])):
        for n in (2, 3):
            yield sized(name, (1,) * n, options).unbounded()


def hurried(name: str) -> Iterator[tuple[Setting, History | None]]:
    for nodes, rounds, options in HURRIED.get(name, []):
        yield setting(CATALOGUE[name], nodes, rounds, options=options), None
    if name in HURRIED:
        yield (
            setting(CATALOGUE[name], 3, (1, 1, 0)),
            History(tuple(each.ghost(3) for each in PROPERTIES.values() if each.remembers)),
        )


@pytest.mark.parametrize("name", DECLARING)
def test_what_is_declared_is_so(name: str, request: pytest.FixtureRequest) -> None:
    """For every state of the unreduced graph, what can follow it is, seen through the reductions, exactly what can
    follow its image: so nothing is lost or added, for any property and any run. The same along long runs, from
    zero and from far on. What is early commutes with every other step, and goes on doing so until it is made.
    The code that has passed all this is the code that is written down."""
    process = CATALOGUE[name].process
    assert ("early" in declared(process)) == (name in HURRIED)
    for what in (*small(name), *lossy(name)):
        assert next(differences(what), None) is None
    for what in long(name):
        for steps, ahead in ((1000, 0), (200, 1000)):
            assert next(strays(what, steps, seed=what.size.n, ahead=ahead), None) is None
    for what, memory in hurried(name):
        assert next(hasty(what, memory), None) is None
    found = fingerprint(process)
    assert found, "the source of this class cannot be read"
    if request.config.getoption("--rewrite"):
        write(process.__name__, found)
    assert record().get(process.__name__) == found, "not the code that was proved: make proved"


def write(name: str, found: str) -> None:
    known = {CATALOGUE[each].process.__name__ for each in DECLARING}
    entries = {key: value for key, value in {**record(), name: found}.items() if key in known}
    text = msgspec.json.format(msgspec.json.encode(entries, order="sorted"), indent=2)
    RECORD.write_bytes(text + b"\n")
    record.cache_clear()


def test_nothing_else_is_believed() -> None:
    assert set(record()) == {CATALOGUE[name].process.__name__ for name in DECLARING}


@pytest.mark.soak
@pytest.mark.parametrize("name", DECLARING)
def test_what_is_declared_is_so_where_all_ask(name: str) -> None:
    for options in ({}, *OPTIONS.get(name, [])):
        assert next(differences(sized(name, (1, 1, 1), options)), None) is None


@pytest.mark.soak
def test_what_is_early_can_be_swapped_in_a_larger_system() -> None:
    assert next(hasty(setting(CATALOGUE["lamport"], 3, (2, 1, 1))), None) is None


@pytest.mark.smoke
@pytest.mark.parametrize("name", DECLARING)
def test_the_catalogue_is_believed(name: str) -> None:
    """On every Python: what was proved on one is the same code on another."""
    assert not withheld(CATALOGUE[name].process)
