"""A real etcd of three members, on loopback, that tests kill and start again."""

from __future__ import annotations

import http.client
import shutil
import signal
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import pytest

from soloist.children import die_with_parent
from soloist.net.member.etcd.client import Client
from soloist.net.member.etcd.endpoints import Etcd
from soloist.testing import until
from soloist.testing.ports import reserved

needs_etcd = pytest.mark.skipif(
    shutil.which("etcd") is None, reason="not run: needs etcd (apt-get install etcd-server)"
)


class Etcds:
    """Started with `with`; members have numbers."""

    def __init__(self, count: int = 3) -> None:
        self.numbers = range(count)
        self._held = ExitStack()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.folder = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="etcd-")))
        ports = self._held.enter_context(reserved(2 * len(self.numbers)))
        self.endpoints = [f"http://127.0.0.1:{port}" for port in ports[: len(self.numbers)]]
        self._peers = [f"http://127.0.0.1:{port}" for port in ports[len(self.numbers) :]]
        try:
            for number in self.numbers:
                self.start(number)
            until(self.leader_known, "etcd has a leader")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for number in list(self._processes):
            self.kill(number)
        self._held.close()

    def start(self, number: int) -> None:
        """It goes on with its data, if it has any."""
        client, peer = self.endpoints[number], self._peers[number]
        members = ",".join(f"m{each}={self._peers[each]}" for each in self.numbers)
        options = {
            "name": f"m{number}",
            "data-dir": self.folder / str(number),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": members,
        }
        with (self.folder / f"{number}.log").open("ab") as log:
            self._processes[number] = subprocess.Popen(
                ["etcd", *(f"--{key}={value}" for key, value in options.items())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent,
            )

    def kill(self, number: int) -> None:
        process = self._processes.pop(number)
        process.kill()
        process.wait()

    def pause(self, number: int) -> None:
        self._processes[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        self._processes[number].send_signal(signal.SIGCONT)

    def leader(self) -> int:
        """The number of the one that leads."""
        return until(self._leader, "etcd has a leader") - 1

    def leader_known(self) -> bool:
        return bool(self._leader())

    def _leader(self) -> int:
        for number in self._processes:
            said = self._status(number)
            if said and said.get("leader", "0") != "0" and said["leader"] == said["header"]["member_id"]:
                return number + 1
        return 0

    def _status(self, number: int) -> dict[str, object] | None:
        import json

        parts = urlsplit(self.endpoints[number])
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=1)
        try:
            connection.request("POST", "/v3/maintenance/status", b"{}")
            found: dict[str, object] = json.loads(connection.getresponse().read())
            return found
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def client(self, seconds: float = 5.0) -> Client:
        client = Client(Etcd(tuple(self.endpoints)), seconds)
        self._held.callback(client.disconnect)
        return client
