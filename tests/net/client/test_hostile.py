"""The port for clients of a real daemon, while others mean harm there: nobody else notices.

With sizes as in earnest: pytest -m soak tests/net/client/test_hostile.py
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from soloist.net import TLS, SyncClient, connect_sync
from soloist.net.client import operator
from soloist.net.client.operator import operate
from soloist.net.service.dialogue import Status
from soloist.net.service.keys import make_keys
from soloist.testing import ports, until
from tests.net.helpers import run, start_python, stop
from tests.net.service.daemons import Cluster, cluster

SECRETS = {"shop": "open sesame", "evil": "known as well"}
ALLOWED = {"shop": '["*"]', "evil": '["evil-*"]'}
MOST_MEGABYTES, MOST_AGAIN = 64, 24
"""More than before that a node may have after a small crowd, or after a large one has come once more. (With TLS the first large one
leaves 100 behind, which the allocator keeps for the next one: by the sixth crowd nothing is added.)"""
MOST_LINES = 1000
"""In the log of a node, for each crowd; far fewer than there were reasons."""


class Honest:
    """Somebody who keeps a lock, and takes another one again and again."""

    def __init__(self, client: SyncClient, number: int, over: threading.Event) -> None:
        self.client, self.number, self.over = client, number, over
        self.entries, self.longest = 0, 0.0
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self) -> None:
        try:
            with self.client.lock(f"held-{self.number}") as held:
                while not self.over.is_set():
                    since = time.monotonic()
                    with self.client.lock("x", timeout=60) as hold:
                        hold.check()
                    self.longest = max(self.longest, time.monotonic() - since)
                    self.entries += 1
                    held.check()
        except Exception as error:
            self.error = error


class Newcomer:
    """Somebody who comes anew each time."""

    def __init__(self, url: str, options: dict[str, object], over: threading.Event) -> None:
        self.url, self.options, self.over = url, options, over
        self.came = 0
        self.errors: list[str] = []
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self) -> None:
        while not self.over.is_set():
            try:
                with connect_sync(self.url, **self.options) as client, client.lock("new", timeout=60):  # type: ignore[arg-type]
                    self.came += 1
            except Exception as error:
                self.errors.append(str(error))


@contextmanager
def nodes(tls: bool) -> Iterator[tuple[Cluster, str]]:
    """Three, and a port for clients at the first."""
    with cluster("a", "b", "c", start=False) as found, ports("clients") as where:
        more = 'data_dir = "data-{name}"\n'
        if tls:
            make_keys(found.directory, list("abc"), clients=list(SECRETS))
            more += '[tls]\ncertificate = "{name}.pem"\nkey = "{name}.key"\nauthority = "ca.pem"\n'
        else:
            (found.directory / "secret").write_text("of nodes")
            more += 'secret_file = "secret"\n'
        for name, secret in SECRETS.items():
            (found.directory / name).write_text(secret)
            more += f"[client.{name}]\nallow = {ALLOWED[name]}\n" + (
                "" if tls else f'secret_file = "{name}"\n'
            )
        addresses = dict(found.addresses)
        first = f'a = {{ address = "{addresses.pop("a")}", clients = "{where["clients"]}" }}\n'
        others = "".join(f'{name} = "{address}"\n' for name, address in addresses.items())
        (found.directory / "cluster.toml").write_text(f'cluster = "t"\n{more}[nodes]\n{first}{others}')
        for name in "abc":
            found.daemon(name)
        found.ready(*"abc")
        yield found, where["clients"]


def status(found: Cluster, name: str = "a") -> Status:
    async def ask() -> Status:
        async with operate(found.directory / f"t-{name}.sock") as client:
            return await operator.status(client)

    return run(ask())


def megabytes(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def attack(asked: dict[str, Any]) -> dict[str, int]:
    """By a process of its own. What it has done."""
    hostile = start_python("tests.net.client.hostile", json.dumps(asked))
    try:
        said, _ = hostile.communicate(timeout=500)
    finally:
        stop(hostile)
    return json.loads(said)  # type: ignore[no-any-return]


@pytest.mark.parametrize("tls", [False, True], ids=["secrets", "certificates"])
@pytest.mark.parametrize(
    ("frames", "crowd", "waves"), [(3000, 150, 1), pytest.param(100_000, 5000, 2, marks=pytest.mark.soak)]
)
def test_who_means_harm_harms_nobody_else(frames: int, crowd: int, waves: int, tls: bool) -> None:
    if tls:
        pytest.importorskip("cryptography")
    seed, over = random.randrange(10**9), threading.Event()
    with nodes(tls) as (found, where):
        folder = found.directory

        def keys(name: str) -> list[str]:
            return [str(folder / file) for file in (f"client-{name}.pem", "ca.pem", f"client-{name}.key")]

        url = f"soloist+tls://{where}" if tls else f"soloist://shop@{where}"
        options: dict[str, object] = {"tls": TLS(*keys("shop"))} if tls else {"secret": SECRETS["shop"]}
        with (
            connect_sync(f"unix:{folder}/t-a.sock") as near,
            connect_sync(url, **options) as far,  # type: ignore[arg-type]
            connect_sync(f"unix:{folder}/t-b.sock") as other,
        ):
            honest = [Honest(client, number, over) for number, client in enumerate((near, far, other))]
            until(lambda: all(each.entries for each in honest), "all are at work")
            before, pid = status(found), found.daemons["a"].pid
            open_before = files(pid)
            newcomer = Newcomer(url, options, over)
            asked = {"where": where, "frames": frames, "connections": crowd, "seed": seed}
            asked |= {"secret": SECRETS["evil"], "tls": keys("evil") if tls else None}
            for _ in range(waves):
                least = megabytes(pid)
                done = attack(asked)
                assert done["frames"] >= frames, done
                assert done["connections"] == crowd, done
                assert done["admitted"] > 0, done
            since, came = [each.entries for each in honest], newcomer.came
            assert came > 0, newcomer.errors
            until(lambda: all(now.entries > then for now, then in zip(honest, since, strict=True)))
            over.set()
            for each in (*honest, newcomer):
                each.thread.join(60)
            print(
                f"{done}; entries {since}, longest {[round(each.longest, 2) for each in honest]} s; came {came}"
            )
            assert [each.error for each in honest] == [None] * 3, f"seed {seed}"
            assert newcomer.errors == [], f"seed {seed}"
            until(lambda: status(found).clients == before.clients, "nothing of it stays behind")
            after = status(found)
            assert (after.epoch, after.reconnects) == (before.epoch, before.reconnects)
            assert after.held == 0
            until(lambda: files(pid) <= open_before + 2, f"files: {open_before}, then {files(pid)}")
            assert megabytes(pid) < least + (MOST_MEGABYTES if waves == 1 else MOST_AGAIN)
            assert found.log("a").count("\n") < MOST_LINES * waves, found.log("a")[-2000:]
