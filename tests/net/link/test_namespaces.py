"""Nodes on two hosts, as far as the network can tell, and a cable between them that is pulled.

Hosts are network namespaces of this machine: that takes root, and `ip`. Where there is neither, this is not run, and
says so.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection

import pytest

from soloist.testing import Crew
from soloist.testing.worker import Free, Grab, work

SECONDS = 50.0
CLONE_NEWNET = 0x40000000
"""From linux/sched.h."""
NOBODY = "02:00:00:00:00:99"
PEERS = {"a": "10.213.0.1:7400", "b": "10.213.0.2:7400"}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[dict[str, str]]:
    """Two namespaces with a cable between them: the name of each, and of its end of the cable."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("not run: needs root and `ip` (apt-get install iproute2)")
    names = {name: f"soloist-{os.getpid()}-{name}" for name in PEERS}
    with ExitStack() as stack:
        for name in names.values():
            ip("netns", "add", name)
            stack.callback(ip, "netns", "delete", name)
        one, other = names.values()
        ip("link", "add", "cable", "netns", one, "type", "veth", "peer", "name", "cable", "netns", other)
        for name, where in PEERS.items():
            ip("-n", names[name], "address", "add", f"{where.partition(':')[0]}/24", "dev", "cable")
            ip("-n", names[name], "link", "set", "cable", "up")
        yield names


def work_in(namespace: str, name: str, pipe: Connection) -> None:
    """A worker in one of the namespaces."""
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    work(name, PEERS, {"insecure": True}, None, None, None, pipe)


def pull(hosts: dict[str, str]) -> None:
    """Nothing arrives any more, and nobody is told: what is sent goes to an address that no card has."""
    for name, namespace in hosts.items():
        ip(
            "-n",
            namespace,
            "neighbour",
            "replace",
            other(name),
            "lladdr",
            NOBODY,
            "dev",
            "cable",
            "nud",
            "permanent",
        )


def plug_in(hosts: dict[str, str]) -> None:
    for name, namespace in hosts.items():
        ip("-n", namespace, "neighbour", "delete", other(name), "dev", "cable")


def other(name: str) -> str:
    (address,) = (where.partition(":")[0] for each, where in PEERS.items() if each != name)
    return address


def test_a_link_that_was_cut_is_there_again_soon_after_the_cut_has_healed(hosts: dict[str, str]) -> None:
    """Only the side that is called had something to say meanwhile, and gave up; the other knew nothing of that.

    Such a link was dead for the two hours after which the system first asks an idle peer.
    """
    listener, speaker = PEERS
    names = tuple(f"n{number}" for number in range(8))
    with Crew() as crew:
        for name in PEERS:
            crew.start(name, work_in, hosts[name], name)
        for name in PEERS:
            crew.hear(name)
        crew.ask(speaker, Grab(names))
        crew.ask(speaker, Free(names))
        assert all(isinstance(fence, int) for fence in crew.ask(listener, Grab(names)).values())
        time.sleep(1)  # so that nothing is under way, not even an acknowledgement
        pull(hosts)
        told = crew.ask(speaker, Grab(names, 15))  # which it says into the void, until its system gives up
        assert all("not granted" in words for words in told.values())
        plug_in(hosts)
        crew.ask(listener, Free(names))
        assert all(isinstance(fence, int) for fence in crew.ask(speaker, Grab(names, SECONDS)).values())
