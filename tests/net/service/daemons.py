"""Daemons as processes, and what is run with them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from soloist.net.client import operator
from soloist.net.client.operator import operate
from soloist.net.link.wire import LockState
from soloist.testing import ports, until
from tests.net.helpers import run

SOLOIST = [sys.executable, "-m", "soloist"]
SECONDS = 40.0
"""Nothing takes that long; a test that waits for it has failed."""
LOOP = "while :; do sleep 0.05; done"


class Cluster:
    """A directory with a config, and the processes that were started for it."""

    def __init__(self, directory: Path, addresses: dict[str, str], more: str = "") -> None:
        self.directory, self.addresses = directory, addresses
        nodes = "".join(f'{name} = "{where}"\n' for name, where in addresses.items())
        (directory / "cluster.toml").write_text(f'cluster = "t"\n{more}[nodes]\n{nodes}')
        self.processes: list[subprocess.Popen[str]] = []
        self.daemons: dict[str, subprocess.Popen[str]] = {}

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*SOLOIST, *words],
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={key: value for key, value in os.environ.items() if not key.startswith("SOLOIST_")},
            process_group=0,  # whoever kills it with its group does not kill us
        )
        self.processes.append(process)
        return process

    def daemon(self, name: str, *words: str) -> None:
        """Start one. Its log is read line by line, as no pipe holds more than so much."""
        log = (self.directory / f"{name}.log").open("w")
        self.daemons[name] = subprocess.Popen(
            [*SOLOIST, "node", "--name", name, *words],
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            text=True,
        )
        log.close()
        self.processes.append(self.daemons[name])

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text()

    def ready(self, *names: str) -> None:
        for name in names:
            until(lambda name=name: "ready" in self.log(name), f"{name} is ready: {self.log(name)}")

    def say(self, *words: str) -> tuple[int, str, str]:
        """Run a command to its end: exit code, output, errors."""
        return self.finish(self.start(*words))

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, str, str]:
        out, err = process.communicate(timeout=SECONDS)
        return process.returncode, out, err

    def json(self, *words: str) -> Any:
        code, out, err = self.say(*words, "--json")
        assert code == 0, err
        return json.loads(out)

    def hold(
        self, lock: str, *options: str, first: str = "", script: str = "exec sleep 1000"
    ) -> subprocess.Popen[str]:
        """`soloist run`, with a command that holds on; returns when it does."""
        command = f'{first}\necho "$$ $SOLOIST_FENCE"; {script}'
        process = self.start("run", lock, *options, "--", "sh", "-c", command)
        assert process.stdout
        line = process.stdout.readline().split()
        assert len(line) == 2, process.communicate()
        process.child, process.fence = map(int, line)  # type: ignore[attr-defined]
        return process

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()


@contextmanager
def cluster(*names: str, start: bool = True, more: str = "") -> Iterator[Cluster]:
    directory = Path(tempfile.mkdtemp(prefix="soloist-"))  # short: the path of a socket is
    with ports(*names) as addresses:
        found = Cluster(directory, addresses, more)
        try:
            if start:
                for name in names:
                    found.daemon(name)
                found.ready(*names)
            yield found
        finally:
            found.stop()
            shutil.rmtree(directory)


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def views(found: Cluster, lock: str, node: str = "a") -> list[LockState]:
    """Who holds a lock or waits for it, asked of one daemon."""

    async def ask() -> list[LockState]:
        async with operate(found.directory / f"t-{node}.sock") as client:
            return [view for view in (await operator.holders(client)).views if view.lock == f"lock:{lock}"]

    return run(ask())


def waiters(found: Cluster, lock: str) -> dict[str, int]:
    return {view.node: view.waiting for view in views(found, lock) if view.waiting}


def held(found: Cluster, lock: str) -> bool:
    return any(view.holding for view in views(found, lock))
