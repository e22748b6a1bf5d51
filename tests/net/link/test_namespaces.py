"""Nodes on two hosts, as far as the network can tell, and a cable between them that is pulled.

Hosts are network namespaces of this machine: that takes root, and `ip`. Where there is neither, this is not run, and
says so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from queue import Queue
from typing import Any

import pytest

from tests.net.helpers import ROOT

SECONDS = 60.0
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


class Keeper:
    """A node in one of the namespaces; see `keeper.py`."""

    def __init__(self, namespace: str, name: str) -> None:
        task = json.dumps({"name": name, "peers": PEERS, "options": {"insecure": True}})
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, "-m", "tests.net.keeper", task],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()
        assert self.answer() == "started"

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)

    def ask(self, words: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        return json.loads(self.lines.get(timeout=SECONDS))

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()


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
    with ExitStack() as stack:
        keepers = {name: Keeper(hosts[name], name) for name in PEERS}
        for keeper in keepers.values():
            stack.callback(keeper.stop)
        names = [f"n{number}" for number in range(8)]
        keepers[speaker].ask(f"grab {' '.join(names)} {SECONDS}")
        keepers[speaker].answer()
        keepers[speaker].ask(f"free {' '.join(names)} 0")
        keepers[speaker].answer()
        keepers[listener].ask(f"grab {' '.join(names)} {SECONDS}")
        assert all(isinstance(fence, int) for fence in keepers[listener].answer().values())
        time.sleep(1)  # so that nothing is under way, not even an acknowledgement
        pull(hosts)
        keepers[speaker].ask(
            f"grab {' '.join(names)} 15"
        )  # which it says into the void, until its system gives up
        assert all("not granted" in words for words in keepers[speaker].answer().values())
        plug_in(hosts)
        keepers[listener].ask(f"free {' '.join(names)} 0")
        keepers[listener].answer()
        keepers[speaker].ask(f"grab {' '.join(names)} {SECONDS}")
        assert all(isinstance(fence, int) for fence in keepers[speaker].answer().values())
