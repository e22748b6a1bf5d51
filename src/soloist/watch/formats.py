"""The formats in which a trace can be had, by name."""

from __future__ import annotations

from collections.abc import Callable

from soloist.core import unknown
from soloist.watch.diagrams import mermaid, plantuml
from soloist.watch.logs import chrome, shiviz
from soloist.watch.trace import Trace

FORMATS: dict[str, Callable[[Trace], str]] = {
    "jsonl": Trace.json_lines,
    "shiviz": shiviz,
    "mermaid": mermaid,
    "plantuml": plantuml,
    "chrome": chrome,
    "perfetto": chrome,
}


def export(trace: Trace, format: str) -> str:
    """The trace in another format."""
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    return FORMATS[format](trace)
