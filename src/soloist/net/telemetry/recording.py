"""Recording a live node: one step a line, as JSON, with the lock and the node.

Each node writes what its own sites do. A link carries each message once and in order, so the third message that a site sends to
another in an epoch is the third that this one gets: by counting, both ends give it the same number, and nothing more is sent.
`soloist.watch.live` puts the files of all nodes together by these numbers, whatever the clocks of their hosts say.

Lines that are no steps begin with `soloist`: the head (one for each start of the node), how a lock begins, a view, the fence of a hold.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from soloist.core import Site, UsageError
from soloist.core.trace import Step
from soloist.net.telemetry.observer import Beginning, Change, Observer, Wait

if TYPE_CHECKING:
    from soloist.net.hold import Hold

VERSION = 2
_encode = msgspec.json.Encoder().encode
log = logging.getLogger("soloist.net")


class TraceRecorder(Observer):
    """Appends every step of a node to a file. Add it to `node.observers`, and close it after the node.

    Each line goes to the file before what it tells of leaves the node: of a node that is killed others know nothing that its file does not have.
    """

    wants_steps = True

    def __init__(self, node: str, path: Path) -> None:
        self.node = node
        self._epochs: dict[str, int] = {}
        self._sent: dict[str, Counter[tuple[Site, Site]]] = {}
        """For each lock, how many messages went over each link in this epoch."""
        self._received: dict[str, Counter[tuple[Site, Site]]] = {}
        try:
            self.file: TextIO = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise UsageError(f"cannot write the trace to {path}: {error.strerror}") from None
        head = {"soloist": "trace", "version": VERSION, "origin": "live", "node": node}
        self._write({**head, "time": time.time()})

    def on_lock(self, beginning: Beginning) -> None:
        b = beginning
        if self._epochs.get(b.lock) == b.epoch:
            return  # it has only slept
        self._epochs[b.lock] = b.epoch
        self._sent[b.lock], self._received[b.lock] = Counter(), Counter()
        mail = [
            {"from": sender, "to": to, "id": self._count(self._sent, b.lock, sender, to), "message": _plain(message)}
            for sender, sites, message, _ in b.mail
            for to in sites
        ]  # fmt: skip
        self._write(
            {
                "soloist": "lock",
                "node": self.node,
                "lock": b.lock,
                "epoch": b.epoch,
                "algorithm": b.algorithm,
                "k": b.capacity,
                "hosts": b.hosts,
                "snapshots": {str(site): snapshot.hex() for site, snapshot in b.snapshots.items()},
                "mail": mail,
            }
        )

    def on_step(self, lock: str, step: Step) -> None:
        record = {"node": self.node, "lock": lock, "epoch": self._epochs.get(lock, 0), **step.record()}
        if step.kind == "send":
            record["id"] = self._count(self._sent, lock, step.site, step.peer or 0)
        elif step.kind == "deliver":
            record["id"] = self._count(self._received, lock, step.peer or 0, step.site)
        self._write(record)

    def on_enter(self, wait: Wait, hold: Hold) -> None:
        lock, fence = (
            wait.lock.instance_name,
            str(hold.fence),
        )  # as text: it is larger than some readers' numbers
        self._write({"soloist": "hold", "node": self.node, "lock": lock, "time": time.time(), "fence": fence})

    def on_view(self, change: Change) -> None:
        about = {"epoch": change.epoch, "reasons": change.reasons, "time": time.time()}
        self._write({"soloist": "view", "node": self.node, **about})

    def _count(self, counts: dict[str, Counter[tuple[Site, Site]]], lock: str, sender: Site, to: Site) -> str:
        """The number of a message: `epoch/sender>addressee/which`."""
        links = counts.setdefault(lock, Counter())
        links[sender, to] += 1
        return f"{self._epochs.get(lock, 0)}/{sender}>{to}/{links[sender, to]}"

    def _write(self, record: dict[str, Any]) -> None:
        """A full disk ends the trace, and not the node."""
        if self.file.closed:
            return
        try:
            self.file.write(_line(record))
        except OSError as error:
            log.error("%s: the trace ends here, it cannot be written: %s", self.node, error.strerror)
            self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # what cannot be written was told
            self.file.close()


def _line(record: dict[str, Any]) -> str:
    return _encode(record).decode() + "\n"


def _plain(message: Any) -> dict[str, Any]:
    return {"kind": type(message).__name__, **msgspec.structs.asdict(message)}
