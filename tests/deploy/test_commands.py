"""The very commands of the files in `deploy/`, run: three nodes on loopback, probed, killed, started again and stopped."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from soloist import TLS, connect_sync
from soloist.cli import main
from soloist.net.service.keys import CLIENT_SECRET, SECRET, make_keys, make_secret
from soloist.testing import ports, until
from tests.deploy.test_files import DEPLOY, UNIT, compose, of_kind

SOLOIST = [sys.executable, "-m", "soloist"]
SECONDS = 60
HOST = "worker-7.example"
LEASE = 3.0
"""Seconds. The files leave it as it is; here each kill is out-waited."""


class Stand:
    """One node as a file has it: what starts it, with which variables, and what probes it."""

    def __init__(
        self, words: list[str], variables: Mapping[str, str], probes: Mapping[str, list[str]]
    ) -> None:
        program, *self.words = words
        assert Path(program).name == "soloist"
        self.variables, self.probes = dict(variables), probes


class Hosts:
    """Each node in a directory of its own, as if that was its host or its container."""

    def __init__(
        self, root: Path, config: str, stands: Mapping[str, Stand], where: Mapping[str, str]
    ) -> None:
        self.root, self.stands, self.where = root, stands, where
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.heard: dict[str, socket.socket] = {}
        for file in (SECRET, CLIENT_SECRET):
            make_secret(root, file)
        make_keys(root, [*stands, HOST], clients=["shop"])
        for name in stands:
            (root / name / "run").mkdir(parents=True)
            (root / name / "cluster.toml").write_text(self._local(config, name, where))
            self.heard[name] = told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            told.bind(str(root / name / "notify"))
            told.setblocking(False)

    def _local(self, config: str, name: str, where: Mapping[str, str]) -> str:
        """The same file, with paths below our directory, addresses of this host, and a shorter lease."""
        config = f"lease = {LEASE}\n{config}"
        for node, address in where.items():
            if node in self.stands:
                line = re.search(rf"^{node} = .*$", config, re.MULTILINE)
                assert line
                listen = f', listen = "{address}"' if "listen" in line[0] else ""
                config = config.replace(line[0], f'{node} = {{ address = "{address}"{listen} }}')
        for key, address in (("metrics", where[f"metrics-{name}"]), ("clients", where[f"clients-{name}"])):
            config = self._changed(config, rf"^{key} = .*$", f'{key} = "{address}"')
        for there, here in (("/run/soloist/", "run"), ("/var/lib/soloist/", "votes")):
            config = self._changed(config, f'"{there}', f'"{self.root / name / here}/')
        if "[tls]" in config:
            return config.replace('"/etc/soloist/keys/', f'"{self.root}/')
        for key, file in (("secret_file", SECRET), ("client_secret_file", CLIENT_SECRET)):
            config = self._changed(config, rf'^{key} = "/.*"$', f'{key} = "{self.root / file}"')
        return config

    @staticmethod
    def _changed(text: str, old: str, new: str) -> str:
        text, count = re.subn(old, new, text, flags=re.MULTILINE)
        assert count == 1, old
        return text

    def environment(self, name: str) -> dict[str, str]:
        said = self.stands[name].variables
        assert said["SOLOIST_CONFIG"] == "/etc/soloist/cluster.toml"
        assert said["SOLOIST_NODE"] == name
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SOLOIST_")}
        return {**clean, **said, "SOLOIST_CONFIG": str(self.root / name / "cluster.toml")}

    def start(self, *names: str) -> None:
        for name in names:
            with (self.root / name / "log").open("a") as log:
                self.processes[name] = subprocess.Popen(
                    [*SOLOIST, *self.stands[name].words],
                    env={
                        **self.environment(name),
                        "NOTIFY_SOCKET": str(self.root / name / "notify"),
                        "WATCHDOG_USEC": "3000000",
                    },
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )

    def say(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*SOLOIST, *words],
            env=self.environment(name),
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def probe(self, name: str, kind: str) -> subprocess.CompletedProcess[str]:
        program, *words = self.stands[name].probes[kind]
        assert program == "soloist"
        return self.say(name, *words)

    def would_say(self, name: str, kind: str) -> int:
        """The exit code of a probe, without a process for it: to wait for something to be so."""
        with (
            mock.patch.dict(os.environ, self.environment(name)),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            return main(self.stands[name].probes[kind][1:])

    def ready(self, *names: str) -> None:
        for name in names:
            until(lambda name=name: self.would_say(name, "ready") == 0, f"{name}: {self.log(name)}")

    def fence(self, name: str) -> int:
        found = self.say(name, "run", "x", "--", "sh", "-c", "echo $SOLOIST_FENCE")
        assert found.returncode == 0, found.stderr
        return int(found.stdout)

    def log(self, name: str) -> str:
        return (self.root / name / "log").read_text()

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def terminate(self, *names: str) -> None:
        """What a manager does: SIGTERM; and all end well."""
        for name in names:
            self.processes[name].send_signal(signal.SIGTERM)
        for name in names:
            assert self.processes[name].wait(SECONDS) == 0, self.log(name)

    def notices(self, name: str) -> list[str]:
        """What a service manager has heard of that node since it was last asked."""
        found = []
        while True:
            try:
                found += self.heard[name].recv(65536).decode().splitlines()
            except BlockingIOError:
                return found


@contextmanager
def hosts(config: str, stands: dict[str, Stand]) -> Iterator[Hosts]:
    with (
        TemporaryDirectory(prefix="hosts-", dir="/tmp") as root,  # short: the path of a socket is
        ports(*stands, *(f"{what}-{name}" for what in ("metrics", "clients") for name in stands)) as where,
    ):
        found = Hosts(Path(root), config, stands, where)
        try:
            yield found
        finally:
            for process in found.processes.values():
                process.kill()
                process.wait()
            for told in found.heard.values():
                told.close()


def of_systemd() -> tuple[str, dict[str, Stand]]:
    settings = dict(re.findall(r"^(\w+)=(.+)$", UNIT.read_text(), re.MULTILINE))

    def stand(name: str) -> Stand:
        said = {key: value.replace("%i", name) for key, value in settings.items()}
        variables = dict(word.split("=", 1) for word in shlex.split(said["Environment"]))
        return Stand(shlex.split(said["ExecStart"]), variables, {"ready": ["soloist", "status", "--ready"]})

    return (DEPLOY / "systemd" / "cluster.toml").read_text(), {name: stand(name) for name in "abc"}


def of_kubernetes() -> tuple[str, dict[str, Stand]]:
    (container,) = of_kind("StatefulSet")["spec"]["template"]["spec"]["containers"]

    def stand(name: str) -> Stand:
        fields = {"metadata.name": name}
        variables = {
            each["name"]: each.get("value") or fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
            for each in container["env"]
        }
        probes = {kind: container[f"{kind}nessProbe"]["exec"]["command"] for kind in ("live", "readi")}
        return Stand(
            ["soloist", *container["args"]], variables, {"live": probes["live"], "ready": probes["readi"]}
        )

    config = of_kind("ConfigMap")["data"]["cluster.toml"]
    return config, {f"soloist-{number}": stand(f"soloist-{number}") for number in range(3)}


def of_compose() -> tuple[str, dict[str, Stand]]:
    def stand(service: dict[str, Any]) -> Stand:
        kind, *probe = service["healthcheck"]["test"]
        assert kind == "CMD"
        image = re.search(r"SOLOIST_CONFIG=(\S+)", (DEPLOY / "Dockerfile").read_text())
        assert image
        variables = {"SOLOIST_CONFIG": image[1], **service["environment"]}
        return Stand(["soloist", *service["command"]], variables, {"ready": probe})

    config = (DEPLOY / "compose" / "cluster.toml").read_text()
    return config, {name: stand(service) for name, service in compose()["services"].items()}


def test_kubernetes() -> None:
    """Start, probe, kill, probe, start again; a host joins and leaves; stop."""
    with hosts(*of_kubernetes()) as found:
        first, second, third = found.stands
        found.start(first)
        until(lambda: found.would_say(first, "live") == 0, "it answers")
        alone = found.probe(first, "ready")
        assert (alone.returncode, alone.stdout) == (1, "")
        assert "not seen yet: soloist-1, soloist-2" in alone.stderr
        found.start(second, third)
        found.ready(first, second, third)
        for kind, word in (("live", "live\n"), ("ready", "ready\n")):
            said = found.probe(first, kind)
            assert (said.returncode, said.stdout, said.stderr) == (0, word, "")
        before = found.fence(first)
        a_host_joins(found)
        url = "soloist+tls://" + ",".join(found.where[f"clients-{name}"] for name in (third, first, second))
        shop = TLS(
            certificate=f"{found.root}/client-shop.pem",
            key=f"{found.root}/client-shop.key",
            authority=f"{found.root}/ca.pem",
        )
        with connect_sync(url, tls=shop) as client:
            with client.lock("x") as hold:
                assert hold.fence > before
            found.kill(third)  # which it talks to
            with client.lock("x") as later:
                assert later.fence > hold.fence
        assert found.probe(third, "live").returncode == 1
        found.ready(first, second)
        found.kill(second)
        until(lambda: found.would_say(first, "ready") == 1, "one of three is no majority")
        assert "voters are heard" in found.probe(first, "ready").stderr
        assert found.would_say(first, "live") == 0  # a restart would not help
        found.start(second, third)
        found.ready(first, second, third)
        assert found.fence(third) > before
        found.terminate(first, second, third)


def a_host_joins(found: Hosts) -> None:
    """What the DaemonSet starts on a machine, which leaves at SIGTERM."""
    (container,) = of_kind("DaemonSet")["spec"]["template"]["spec"]["containers"]
    with ports("host", "metrics", "clients") as free:
        folder, name = found.root / "host", HOST
        (folder / "run").mkdir(parents=True)
        text = (found.root / "soloist-0" / "cluster.toml").read_text()
        text = re.sub(rf"{found.root}/soloist-0/(run|votes)", rf"{folder}/\1", text)
        for key in ("metrics", "clients"):
            text = re.sub(rf"^{key} = .*$", f'{key} = "{free[key]}"', text, flags=re.MULTILINE)
        (folder / "cluster.toml").write_text(text)
        assert {each["name"] for each in container["env"]} == {"SOLOIST_NODE", "POD_IP", "SOLOIST_CONFIG"}
        words = [
            re.sub(r"^(\$\(POD_IP\)|0\.0\.0\.0):7400$", free["host"], word) for word in container["args"]
        ]
        probe = container["readinessProbe"]["exec"]["command"]
        variables = {"SOLOIST_NODE": name, "SOLOIST_CONFIG": "/etc/soloist/cluster.toml"}
        found.stands[name] = Stand(["soloist", *words], variables, {"ready": probe})
        (found.root / name).symlink_to(folder)
        found.start(name)
        found.ready(name)
        found.terminate(name)


def test_systemd() -> None:
    """What it is told; and a node that is killed is started again on the same data, with fences that go on growing."""
    config, stands = of_systemd()
    with hosts(config, stands) as found:
        found.start(*stands)
        found.ready(*stands)
        said = found.notices("a")
        assert "READY=1" in said
        until(
            lambda: any(re.fullmatch(r"STATUS=ready, epoch \d+", each) for each in said + found.notices("a"))
        )
        until(lambda: "WATCHDOG=1" in found.notices("a"), "it says that it lives")
        found.processes["b"].send_signal(signal.SIGSTOP)
        found.notices("b")
        fences = [found.fence("a")]
        assert found.notices("b") == []  # so it would be killed, which this does
        found.kill("b")
        found.start("b")
        found.ready("b")
        fences.append(found.fence("b"))
        for name in stands:
            found.kill(name)
        found.start(*stands)
        found.ready(*stands)
        fences.append(found.fence("c"))
        assert fences == sorted(set(fences))
        found.notices("a")
        found.terminate(*stands)
        assert "STOPPING=1" in found.notices("a")


def test_compose() -> None:
    with hosts(*of_compose()) as found:
        found.start(*found.stands)
        found.ready(*found.stands)
        assert found.probe("a", "ready").returncode == 0
        url = f"soloist://{found.where['clients-a']},{found.where['clients-b']}"
        secret = (found.root / CLIENT_SECRET).read_bytes().strip()
        with connect_sync(url, secret=secret) as client, client.lock("x") as hold:
            assert hold.fence
        found.terminate(*found.stands)


def test_a_daemon_that_hangs_is_not_live() -> None:
    config, stands = of_kubernetes()
    name = next(iter(stands))
    with hosts(config, stands) as found:
        found.start(name)
        until(lambda: found.would_say(name, "live") == 0, "it answers")
        found.processes[name].send_signal(signal.SIGSTOP)
        dead = found.probe(name, "live")
        assert dead.returncode == 1
        assert "does not answer" in dead.stderr


def test_a_wrong_file_is_not_tried_again_and_again() -> None:
    """Exit code 2 is in the unit as the one that no restart mends."""
    assert re.search(r"^RestartPreventExitStatus=2$", UNIT.read_text(), re.MULTILINE)
    config, stands = of_systemd()
    with hosts(config.replace("cluster =", "clutser ="), stands) as found:
        found.start("a")
        assert found.processes["a"].wait(SECONDS) == 2
        assert "clutser" in found.log("a")
