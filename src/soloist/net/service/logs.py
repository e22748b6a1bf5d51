"""Logs of a daemon: lines for people, or one JSON object a line for machines. Always on standard error."""

from __future__ import annotations

import logging
import time
from typing import Any, Literal

import msgspec

from soloist.core import UsageError, unknown

Style = Literal["text", "json"]
LEVELS = ("debug", "info", "warning", "error")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Time, level, logger and message, what is always so (`constant`), and what the caller gave as `extra`."""

    def __init__(self, constant: dict[str, Any]) -> None:
        super().__init__()
        self.constant = constant

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            **self.constant,
            "message": record.getMessage(),
        }
        line.update((key, value) for key, value in vars(record).items() if key not in _STANDARD)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def timestamp(seconds: float) -> str:
    """Coordinated universal time to the millisecond, as ISO 8601."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds * 1000) % 1000:03d}Z"


def configure(style: str, level: str, constant: dict[str, Any]) -> None:
    """Set up the logging of this process. A library must not do this; a daemon must."""
    if style not in ("text", "json"):
        raise UsageError(f"--log must be text or json, not {style!r}")
    if level not in LEVELS:
        raise unknown("log level", level, LEVELS)
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonLines(constant)
        if style == "json"
        else logging.Formatter("%(asctime)s %(levelname)-7s %(message)s")
    )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
