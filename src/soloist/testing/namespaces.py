"""Hosts that are none: a network namespace for each name, joined by a bridge in one more. Linux, and only as root.

Processes in different ones do not see each other's sockets, so to our nodes they are on different machines; and nothing of it
touches the networks of this one.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Self

from soloist.core import SoloistError
from soloist.testing.cuts import Cuts

NETWORK = "198.18.0"
"""Of those that are set aside for benchmarks."""
PORT = 7400
MOST = 200
NOBODY = "02:00:00:00:00:99"
"""An address that no card has: what goes there is lost, and nobody is told."""
_CLONE_NEWNET = 0x40000000


class Namespaces(Cuts):
    """Made with `with`, and gone at its end. Cuts are between names; a program that is there `also` reaches all of them always."""

    def __init__(self, names: Iterable[str] = "abc", also: Iterable[str] = ()) -> None:
        self.names = list(names)
        self._hosts = [*self.names, *also]
        self._prefix = f"soloist-{os.getpid()}-{os.urandom(2).hex()}"
        self._held = ExitStack()
        self._astray: set[tuple[str, str]] = set()
        """Whose mail to whom is lost."""

    @staticmethod
    def missing() -> str | None:
        """Why there can be none here, or None."""
        if sys.platform != "linux":
            return "network namespaces are there on Linux only"
        if not shutil.which("ip"):
            return "apt-get install iproute2"
        return None if os.geteuid() == 0 else "only root can make network namespaces"

    def __enter__(self) -> Self:
        with ExitStack() as held:
            hub = self._made("hub", held)
            _ip("-n", hub, "link", "add", "bridge", "type", "bridge")
            _ip("-n", hub, "link", "set", "bridge", "up")
            for number, name in enumerate(self._hosts, start=1):
                own, port = self._made(name, held), f"port{number}"
                _ip("-n", own, "link", "add", "eth", "type", "veth", "peer", "name", port, "netns", hub)
                _ip("-n", hub, "link", "set", port, "master", "bridge", "up")
                _ip("-n", own, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth")
                _ip("-n", own, "link", "set", "eth", "up")
                _ip("-n", own, "link", "set", "lo", "up")
            self._held = held.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def _made(self, name: str, held: ExitStack) -> str:
        own = self.of(name)
        _ip("netns", "add", own)
        held.callback(_ip, "netns", "del", own)
        return own

    def of(self, name: str) -> str:
        """What the system calls the namespace of that name: for `enter`."""
        return f"{self._prefix}-{name}"

    @property
    def addresses(self) -> dict[str, str]:
        """Where each may listen."""
        return {name: f"{NETWORK}.{number}:{PORT}" for number, name in enumerate(self._hosts, start=1)}

    def cut_one_way(self, a: str, b: str) -> None:
        """What the first says does not get to the second any more; the other way it does."""
        self._neighbour("replace", a, b, "lladdr", NOBODY, "nud", "permanent")
        self._astray.add((a, b))

    def pull(self, name: str) -> None:
        """Take its cable out: nothing gets to that one or from it any more."""
        self._set(name, "down")

    def heal(self) -> None:
        """Join all hosts again."""
        for name in self.names:
            self._set(name, "up")
        while self._astray:
            self._neighbour("delete", *self._astray.pop())

    def _neighbour(self, what: str, a: str, b: str, *words: str) -> None:
        host = self.addresses[b].partition(":")[0]
        _ip("-n", self.of(a), "neighbour", what, host, *words, "dev", "eth")

    def _set(self, name: str, state: str) -> None:
        _ip("-n", self.of("hub"), "link", "set", f"port{1 + self.names.index(name)}", state)


def enter(namespace: str) -> None:
    """This thread is there from now on, with all threads and processes that it starts."""
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
            raise SoloistError(f"namespace {namespace}: {os.strerror(ctypes.get_errno())}")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SoloistError(f"ip {' '.join(words)}: {done.stderr.strip()}")
