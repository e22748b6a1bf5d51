"""Recording a live node in the common trace format: one step a line, as JSON, with the lock and the node.

Each node writes what its own sites do. Sorted by time, the files of all nodes are the trace of the cluster (as good
as the clocks of its hosts agree).
"""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import msgspec

from soloist.core import UsageError
from soloist.core.trace import Step
from soloist.net.telemetry.observer import Observer

_encode = msgspec.json.Encoder().encode


class TraceRecorder(Observer):
    """Appends every step of a node to a file. Add it to `node.observers`, and close it after the node."""

    wants_steps = True

    def __init__(self, node: str, path: Path) -> None:
        self.node = node
        try:
            self.file: TextIO = path.open("a", encoding="utf-8", buffering=1 << 16)
        except OSError as error:
            raise UsageError(f"cannot write the trace to {path}: {error.strerror}") from None

    def on_step(self, lock: str, step: Step) -> None:
        if not self.file.closed:
            self.file.write(_encode({"node": self.node, "lock": lock, **step.record()}).decode() + "\n")

    def flush(self) -> None:
        if not self.file.closed:
            self.file.flush()

    def close(self) -> None:
        self.file.close()
