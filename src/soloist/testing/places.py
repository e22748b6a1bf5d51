"""Where the nodes of a nemesis are: on this host, with or without proxies between them, or on hosts that are none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Self

from soloist.testing.cuts import Cuts
from soloist.testing.namespaces import Namespaces
from soloist.testing.ports import ports
from soloist.testing.proxies import Proxies

STRANGER, STORE = "stranger", "store"
"""Where there is room for one that nobody was told of; and who writes down what all do, and is never cut off."""


class Places:
    """With proxies, or `direct`: then nodes of this host know at once of each other's end, and nothing can be cut."""

    host = "127.0.0.1"
    """Where the store listens."""
    options: dict[str, Any] = {}
    """That nodes need there."""
    cuts: Cuts

    def __init__(self, names: Sequence[str], seed: int, direct: bool) -> None:
        self.names, self.seed, self.direct = names, seed, direct
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as held:
            self.open(held)
            self._held = held.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._held.close()

    def open(self, held: ExitStack) -> None:
        proxies = self.cuts = held.enter_context(Proxies(self.names, self.seed, framed=True))
        self._peers = {name: proxies.direct if self.direct else proxies.peers(name) for name in self.names}
        self.addresses = {**proxies.direct, **held.enter_context(ports(STRANGER))}

    def peers(self, name: str) -> dict[str, str]:
        """What that node is told of all."""
        return self._peers[name]

    def namespace(self, name: str) -> str | None:
        """Where its process goes, if that is not where this one is. Who is unknown goes where strangers are."""
        return None


class Apart(Places):
    """Each in a network of its own; the cables between them can be cut. Linux, and only as root."""

    options = {"insecure": True}

    def open(self, held: ExitStack) -> None:
        self._hosts = self.cuts = held.enter_context(Namespaces(self.names, (STRANGER, STORE)))
        self.addresses = self._hosts.addresses
        self.host = self.addresses[STORE].partition(":")[0]

    def peers(self, name: str) -> dict[str, str]:
        return {each: self.addresses[each] for each in self.names}

    def namespace(self, name: str) -> str | None:
        return self._hosts.of(name if name in (*self.names, STORE) else STRANGER)
