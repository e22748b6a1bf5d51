"""One thing that was looked at, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

State = Literal["ok", "absent", "warning", "problem"]
"""`absent`: nobody needs it but for what is said. `warning`: it works, and will hurt some day. `problem`: it does not work."""


class Finding(msgspec.Struct, frozen=True):
    topic: Literal["software", "machine", "cluster"]
    name: str
    state: State
    said: str
    remedy: str = ""
    """The line that installs it, or what to do."""


def summary(findings: Sequence[Finding]) -> str:
    """In one sentence."""
    counts = {
        state: sum(each.state == state for each in findings) for state in ("problem", "warning", "absent")
    }
    problems = _counted(counts["problem"], "problem", "problems")
    warnings = _counted(counts["warning"], "warning", "warnings")
    left_out = f"{counts['absent']} not installed or not there, which most do without"
    return f"{problems}, {warnings}; {left_out}"


def _counted(count: int, one: str, many: str) -> str:
    return f"no {one}" if not count else f"1 {one}" if count == 1 else f"{count} {many}"


def exit_code(findings: Sequence[Finding]) -> int:
    return int(any(each.state == "problem" for each in findings))
