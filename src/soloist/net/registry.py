"""The nodes and clients of this process: by name, for locks that are unpickled; and all of them, for forks."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING
from weakref import WeakSet

from soloist.net.errors import NodeClosed

if TYPE_CHECKING:
    from soloist.net.home import Home

_ALL: WeakSet[Home] = WeakSet()
_STARTED: dict[str, Home] = {}


def guard(node: Home) -> None:
    """Make sure that it is of no use in the child of a fork."""
    _ALL.add(node)


def enter(node: Home) -> None:
    _STARTED[node.name] = node


def leave(node: Home) -> None:
    if _STARTED.get(node.name) is node:
        del _STARTED[node.name]


def local_node(name: str) -> Home:
    """What a pickled lock comes back to."""
    try:
        return _STARTED[name]
    except KeyError:
        raise NodeClosed(
            f"no node {name!r} runs in this process, nor a client of that URL; start it before unpickling its locks"
        ) from None


def _forked() -> None:
    """In the child of a fork no node is usable that was there before, and none of its connections is kept open.

    A socket that a child keeps would still seem alive when its node has gone. It is not closed but replaced: its number
    may not be used for another file while an object here believes that it is its own.
    """
    for node in _ALL:
        node.forked, node.usable = True, False
        with contextlib.suppress(OSError):
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in node.descriptors():
                os.dup2(nothing, number, inheritable=False)
            os.close(nothing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
