"""A real etcd of three members, on loopback, that tests kill and start again."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from soloist.children import die_with_parent
from soloist.net import TLS
from soloist.net.member.etcd.client import Client, Unreachable
from soloist.net.member.etcd.endpoints import Etcd
from soloist.testing import until
from soloist.testing.ports import reserved

needs_etcd = pytest.mark.skipif(
    shutil.which("etcd") is None, reason="not run: needs etcd (apt-get install etcd-server)"
)


class Etcds:
    """Started with `with`; members have numbers. With keys of `soloist keys` they talk to nobody without a certificate."""

    def __init__(self, count: int = 3, keys: Path | None = None) -> None:
        self.numbers, self.keys = range(count), keys
        self.tls = keys and TLS(str(keys / "node.pem"), str(keys / "ca.pem"), str(keys / "node.key"))
        self._held = ExitStack()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.folder = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="etcd-")))
        ports = self._held.enter_context(reserved(2 * len(self.numbers)))
        self._listen = [f"127.0.0.1:{port}" for port in ports[: len(self.numbers)]]
        self.endpoints = [f"http://{where}" for where in self._listen]
        if self.keys:
            self.endpoints = [f"https://localhost:{port}" for port in ports[: len(self.numbers)]]
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
        options: dict[str, Any] = {
            "name": f"m{number}",
            "data-dir": self.folder / str(number),
            "listen-client-urls": f"{'https' if self.keys else 'http'}://{self._listen[number]}",
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": members,
        }
        if self.keys:
            options["cert-file"], options["key-file"] = (
                self.keys / "localhost.pem",
                self.keys / "localhost.key",
            )
            options["trusted-ca-file"], options["client-cert-auth"] = self.keys / "ca.pem", "true"
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

    def await_all(self) -> None:
        """Until all members follow one leader. One that was started a moment ago is none to rely on yet."""
        until(self._whole, "all members of etcd are there")

    def _whole(self) -> bool:
        said = [self._status(number) for number in self._processes]
        leaders = {each.get("leader", "0") if each else "0" for each in said}
        return len(said) == len(self.numbers) and len(leaders) == 1 and "0" not in leaders

    def leader_known(self) -> bool:
        return bool(self._leader())

    def _leader(self) -> int:
        for number in self._processes:
            said = self._status(number)
            if said and said.get("leader", "0") != "0" and said["leader"] == said["header"]["member_id"]:
                return number + 1
        return 0

    def _status(self, number: int) -> dict[str, Any] | None:
        client = Client(Etcd((self.endpoints[number],), self.tls), 1.0)
        try:
            found: dict[str, Any] = client.call("/v3/maintenance/status", {})
            return found
        except Unreachable:
            return None
        finally:
            client.disconnect()

    def client(self, seconds: float = 5.0) -> Client:
        client = Client(Etcd(tuple(self.endpoints)), seconds)
        self._held.callback(client.disconnect)
        return client
