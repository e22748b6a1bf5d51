"""Which source an algorithm runs, as a digest: two nodes that run one lock must run the same."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from linecache import getlines
from types import ModuleType

from soloist.core import Process
from soloist.core.syntax import dump

OURS = ("soloist.algorithms.", "soloist.structures.")
NOT_RUN = ("soloist.algorithms._card",)
"""Modules that say something about algorithms, and are no part of them."""


@lru_cache(maxsize=64)
def source_digest(kind: type[Process]) -> str:
    """Of its module and those that this one uses of the catalogue, or of its own package; empty if there is no source.

    Comments, docstrings and the card do not count. What they stand on does not, either: that is the protocol's version.
    """
    if kind.__module__ == "__main__":
        return ""  # a script of each node's own
    modules = _modules(kind)
    texts = {name: "".join(getlines(module.__file__ or "")) for name, module in modules.items()}
    if not all(texts.values()):
        return ""
    said = [f"{name}: {dump(_without_card(ast.parse(texts[name])))}" for name in sorted(texts)]
    return sha256("\n".join(said).encode()).hexdigest()[:32]


def _modules(kind: type[Process]) -> dict[str, ModuleType]:
    found: dict[str, ModuleType] = {}
    own = kind.__module__.split(".")[0]
    prefixes = OURS if own == "soloist" else (*OURS, f"{own}.")
    queue = [kind.__module__]
    for name in queue:
        if name not in found and (module := sys.modules.get(name)):
            found[name] = module
            queue += [each for each in _used(module) if each.startswith(prefixes) and each not in NOT_RUN]
    return found


def _used(module: ModuleType) -> Iterator[str]:
    for value in vars(module).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str):
            yield name


def _without_card(tree: ast.Module) -> list[ast.stmt]:
    return [
        each
        for each in tree.body
        if not (isinstance(each, ast.Assign) and [ast.unparse(target) for target in each.targets] == ["CARD"])
    ]
