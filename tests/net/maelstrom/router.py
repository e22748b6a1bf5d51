"""Maelstrom's part, as far as a test of locks needs it: real processes, a network with delays, clients, and a history.

Each message takes a random time, so that one overtakes another. Clients lock and unlock; what they ask and hear is written
down as Maelstrom does, one operation a line.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import selectors
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

WATCHDOG_SECONDS = 120.0
SLOWEST_SECONDS = 0.01


class Client:
    """Locks, and unlocks as soon as it is in; so many times."""

    def __init__(self, router: Router, name: str, node: str, entries: int) -> None:
        self.router, self.name, self.node, self.left = router, name, node, entries
        self.next_id = count(1).__next__

    def ask(self, type_: str) -> None:
        self.router.note(self, "invoke", type_, None)
        self.router.post(self.name, self.node, {"type": type_, "msg_id": self.next_id(), "lock": "x"})

    def hear(self, body: dict[str, Any]) -> None:
        assert body["type"] in ("lock_ok", "unlock_ok"), body
        word = body["type"].removesuffix("_ok")
        self.router.note(self, "ok", word, body["fence"])
        self.left -= word == "unlock"
        if word == "lock":
            self.ask("unlock")
        elif self.left:
            self.ask("lock")


class Router:
    def __init__(self, command: list[str], nodes: int, history: Path, seed: int = 1) -> None:
        self.command, self.history, self.random = command, history.open("w"), random.Random(seed)
        self.names = [f"n{number}" for number in range(1, nodes + 1)]
        self.clients: dict[str, Client] = {}
        self.on_their_way: list[tuple[float, int, str, dict[str, Any]]] = []
        self.order = count()
        self.overtaken = 0
        self.newest: dict[tuple[str, str], int] = {}
        self.ready = 0

    def run(self, clients: int, entries: int) -> None:
        self.processes = {
            name: subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for name in self.names
        }
        try:
            with selectors.DefaultSelector() as selector:
                for name, process in self.processes.items():
                    assert process.stdout
                    selector.register(process.stdout, selectors.EVENT_READ, [name, b""])
                    self.post(
                        "c0", name, {"type": "init", "msg_id": 1, "node_id": name, "node_ids": self.names}
                    )
                for number in range(1, clients + 1):
                    name = f"c{number}"
                    self.clients[name] = Client(self, name, self.random.choice(self.names), entries)
                self._go_on(selector)
        finally:
            for process in self.processes.values():
                assert process.stdin
                process.stdin.close()
                assert process.stdout
                process.stdout.close()
            self.codes = [process.wait(WATCHDOG_SECONDS) for process in self.processes.values()]
            self.history.close()

    def _go_on(self, selector: selectors.BaseSelector) -> None:
        deadline = time.monotonic() + WATCHDOG_SECONDS
        while any(client.left for client in self.clients.values()):
            assert time.monotonic() < deadline, "the clients were not served"
            wait = self.on_their_way[0][0] - time.monotonic() if self.on_their_way else 1.0
            for key, _ in selector.select(max(wait, 0.0)):
                self._read(key)
            while self.on_their_way and self.on_their_way[0][0] <= time.monotonic():
                self._deliver(*heapq.heappop(self.on_their_way)[1:])

    def _read(self, key: selectors.SelectorKey) -> None:
        chunk = os.read(key.fd, 1 << 16)
        assert chunk, f"{key.data[0]} has ended"
        *lines, key.data[1] = (key.data[1] + chunk).split(b"\n")
        for line in lines:
            message = json.loads(line)
            assert message["src"] == key.data[0]
            self.post(message["src"], message["dest"], message["body"])

    def post(self, source: str, to: str, body: dict[str, Any]) -> None:
        arrives = time.monotonic() + self.random.uniform(0, SLOWEST_SECONDS)
        message = {"src": source, "dest": to, "body": body}
        heapq.heappush(self.on_their_way, (arrives, next(self.order), to, message))

    def _deliver(self, number: int, to: str, message: dict[str, Any]) -> None:
        link = message["src"], to
        self.overtaken += number < self.newest.get(link, number)
        self.newest[link] = max(number, self.newest.get(link, number))
        if to in self.processes:
            stdin = self.processes[to].stdin
            assert stdin
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()
        elif to in self.clients:
            self.clients[to].hear(message["body"])
        else:
            assert message["body"]["type"] == "init_ok", message
            self.ready += 1
            if self.ready == len(self.names):
                for client in self.clients.values():
                    client.ask("lock")

    def note(self, client: Client, type_: str, word: str, fence: int | None) -> None:
        operation = {
            "process": client.name,
            "type": type_,
            "f": word,
            "value": ["x", fence],
            "time": time.monotonic_ns(),
        }
        self.history.write(json.dumps(operation) + "\n")


def soloist(*words: str) -> list[str]:
    return [sys.executable, "-m", "soloist", *words]
