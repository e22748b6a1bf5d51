"""Versions of the protocol: each node offers a range, and two of them use the highest that both offer.

So a cluster is upgraded node by node, as long as each release speaks what the one before it speaks. What members say to each
other in a view is of the version that the view names: it is raised by the first change after which all of them offer more.
"""

from __future__ import annotations

import os
import re

import msgspec

from soloist.core import UsageError
from soloist.net.link.wire import VERSION

OLDEST = VERSION
"""The lowest version that this program speaks; the highest is `soloist.net.link.wire.VERSION`."""
ENVIRONMENT = "SOLOIST_PROTOCOLS"
"""Says that a process offers another range, such as `2..3`: to try how two releases work together."""


class Versions(msgspec.Struct, frozen=True, array_like=True):
    """From the lowest to the highest that a node offers."""

    oldest: int = 3
    newest: int = 3
    """As those offer who do not say."""

    def __contains__(self, version: int) -> bool:
        return self.oldest <= version <= self.newest

    def common(self, other: Versions) -> int | None:
        """The highest that both offer."""
        highest = min(self.newest, other.newest)
        return highest if highest in self and highest in other else None

    def __str__(self) -> str:
        if self.oldest == self.newest:
            return f"version {self.newest}"
        return f"versions {self.oldest} to {self.newest}"


def offered() -> Versions:
    """What this process offers."""
    text = os.environ.get(ENVIRONMENT, "")
    if not text:
        return Versions(OLDEST, VERSION)
    found = re.fullmatch(r"(\d{1,6})\.\.(\d{1,6})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"{ENVIRONMENT} must be a range of versions like 3..4, not {text!r}")
    return Versions(int(found[1]), int(found[2]))
