"""What is declared about algorithms, for the checker: where no step can tell a difference.

Each algorithm that needs any has a module here, called like its own. What is declared there about a class is a candidate
for its subclasses too; but it is believed only for exactly the code that it was proved for (see `declared`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec

from soloist.check.counters import counters
from soloist.core import Message, Process, Site

Settled = Callable[[Any], Any]
SettledMail = Callable[[Any, Site, Any], Any]
Void = Callable[[Any, Site, Message], bool]
Early = Callable[[Any, Site, Message, bool], bool]
Counts = Callable[[Any], bool]


def always(process: Process) -> bool:
    return True


def never(process: Process) -> bool:
    return False


class Declaration(msgspec.Struct, frozen=True):
    """What a search may rely on."""

    settled: Mapping[str, Settled] = {}
    """What a field may be taken to be where no later step can tell the difference, given the process."""
    settled_mail: Mapping[str, SettledMail] = {}
    """The same for a field of a message under way, given the process that it goes to, its sender and itself."""
    void: Void | None = None
    """Whether a message does nothing at all whenever it is received, now or later, given the same."""
    early: Early | None = None
    """Whether it makes no difference if a message, the next from its sender, is received now or later.

    It sends nothing, and leads to the same state before or after anything else that may happen there. If it is one of
    several that have to come before this site may enter, the others (those from other senders) send nothing either.
    Given the same and whether all is quiet: nobody asks any more, and no request is under way to this site."""
    counts: Counts = always
    """Whether the numbers in the fields are what their types say, with so many sites and these options."""


NOTHING = Declaration()
_known: dict[type[Process], Declaration] = {}


def declare(kind: type[Process], declaration: Declaration) -> None:
    """Declare something about a class (of the catalogue, or your own)."""
    _known[kind] = declaration


def declaration(kind: type[Process]) -> Declaration:
    """What is declared about a class, or else about the nearest of its bases."""
    for base in kind.__mro__:
        _look_for(base.__module__)
        if base in _known:
            return _known[base]
    return NOTHING


def has_counters(kind: type[Process]) -> bool:
    """Whether its fields have numbers that grow without end; those of some classes do not, whatever they inherit."""
    return bool(counters(kind)) and declaration(kind).counts is not never


@cache
def _look_for(module: str) -> None:
    package, _, name = module.rpartition(".")
    if package == "soloist.algorithms" and find_spec(f"{__name__}.{name}"):
        import_module(f"{__name__}.{name}")
