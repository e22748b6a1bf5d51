"""Standard input, standard output and timers for a node under Maelstrom.

A thread reads, so that timers run out while nothing comes; all else is done by one thread, one event after another.
"""

from __future__ import annotations

import heapq
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from soloist.algorithms import Card
from soloist.core import SoloistError, UsageError
from soloist.net.maelstrom.node import Body, MaelstromNode

EXAMPLE = '{"src": "c1", "dest": "n1", "body": {"type": "lock", "msg_id": 1}}'
CHUNK = 1 << 16
"""Bytes per read."""


class Message(msgspec.Struct):
    """A line in either direction."""

    src: str
    dest: str
    body: dict[str, Any]


class Timer:
    """A call that is still to be made."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class Timers:
    """As an event loop's `call_later`."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Timer]] = []
        self._order = count()

    def call_later(self, delay: float, action: Callable[..., None], *arguments: Any) -> Timer:
        timer = Timer(lambda: action(*arguments))
        heapq.heappush(self._due, (time.monotonic() + delay, next(self._order), timer))
        return timer

    def wait(self) -> float | None:
        """Seconds until the next one; None if there is none."""
        while self._due and self._due[0][2].action is None:
            heapq.heappop(self._due)
        return max(0.0, self._due[0][0] - time.monotonic()) if self._due else None

    def run(self) -> None:
        """Those that are due."""
        while self._due and self._due[0][0] <= time.monotonic():
            action = heapq.heappop(self._due)[2].action
            if action:
                action()


def serve(card: Card, k: int = 1) -> None:
    """Be a node until standard input ends."""
    timers, lines = Timers(), queue.SimpleQueue[bytes | None]()
    node = MaelstromNode(card, k, lambda to, body: _write(node, to, body), timers.call_later)
    threading.Thread(target=_read, args=(sys.stdin.fileno(), lines), daemon=True).start()
    for number in count(1):
        while (line := _next(lines, timers)) == b"":
            timers.run()
            node.perform()
        if line is None:
            return
        try:
            message = msgspec.json.decode(line, type=Message)
        except msgspec.MsgspecError as error:
            said = str(error).replace("`", "")
            raise UsageError(
                f"line {number} of standard input is no message: {said}; one reads {EXAMPLE}"
            ) from None
        node.hear(message.src, message.body)


def _next(lines: queue.SimpleQueue[bytes | None], timers: Timers) -> bytes | None:
    """A line; empty, if a timer is due first; None at the end."""
    try:
        return lines.get(timeout=timers.wait())
    except queue.Empty:
        return b""


def _read(file: int, lines: queue.SimpleQueue[bytes | None]) -> None:
    """Without a buffer of Python's: this thread may be in the middle of a read when the program ends."""
    rest = b""
    while chunk := os.read(file, CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line.strip():
                lines.put(line)
    if rest.strip():
        lines.put(rest)
    lines.put(None)


def _write(node: MaelstromNode, to: str, body: Body) -> None:
    line = msgspec.json.encode(Message(node.me, to, body)) + b"\n"
    try:
        while line:
            line = line[os.write(sys.stdout.fileno(), line) :]
    except BrokenPipeError:
        raise SoloistError("standard output is closed: whoever read the node's messages has gone") from None
