"""Steps: what happens at one site, one thing at a time, as drivers tell it. A whole run is a trace: `soloist.watch.trace`.

As text a step is a line that a reviewer can read; as JSON it is an object on a line of its own.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from soloist.core.message import Message, Site

StepKind = Literal[
    "request", "send", "deliver", "enter", "exit", "timeout", "choose",
    "crash", "restart", "pause", "lose", "duplicate", "reorder", "partition", "heal",
]  # fmt: skip
"""The second line: faults."""


class Step(msgspec.Struct, frozen=True):
    """One thing that happened at one site."""

    kind: StepKind
    site: Site
    time: float | None = None
    peer: Site | None = None
    message: Message | None = None
    name: str | None = None
    """The timer that ran out, what was chosen, the sides of a partition, `as new` of a restart, or how long a pause lasts: `until 8.5`."""

    def __str__(self) -> str:
        match self.kind:
            case "send":
                text = f"{self.site} -> {self.peer}  {self.message}"
            case "deliver":
                text = f"{self.site} <- {self.peer}  {self.message}"
            case "timeout" | "choose":
                text = f"{self.site}  {self.kind} {self.name}"
            case "lose" | "duplicate" | "reorder":
                text = f"{self.site} -> {self.peer}  {self.kind} {self.message}"
            case "partition" | "heal":
                text = f"{self.kind} {self.name}"
            case "restart" | "pause" if self.name:
                text = f"{self.site}  {self.kind} {self.name}"
            case _:
                text = f"{self.site}  {self.kind}"
        return text if self.time is None else f"{self.time:12.6f}  {text}"

    def record(self) -> dict[str, Any]:
        """The step as plain values, for JSON; fields that do not apply are left out."""
        values = msgspec.structs.asdict(self)
        if self.message is not None:
            values["message"] = {"kind": type(self.message).__name__, **msgspec.structs.asdict(self.message)}
        return {name: value for name, value in values.items() if value is not None}


class Recorder:
    """Keeps the first `limit` steps of a run, and knows whether there were more."""

    def __init__(self, limit: int = 1_000_000) -> None:
        self.limit = limit
        self.steps: list[Step] = []
        self.dropped = 0

    def add(self, step: Step) -> None:
        if len(self.steps) < self.limit:
            self.steps.append(step)
        else:
            self.dropped += 1

    def lines(self) -> list[str]:
        return [str(step) for step in self.steps]
