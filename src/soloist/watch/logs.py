"""Logs for other programs: ShiViz, and the trace viewers of Chrome and Perfetto."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from soloist.watch.lanes import stretches
from soloist.watch.trace import Trace
from soloist.watch.words import details, sentence, title

SHIVIZ = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
"""The expression by which ShiViz reads the log."""


def clocks(trace: Trace) -> list[dict[int, int]]:
    """The vector clock of each step: how many steps of each site are before it, itself included."""
    now: list[dict[int, int]] = [{} for _ in range(trace.head.nodes)]
    messages, found = trace.messages(), list[dict[int, int]]()
    for step in trace.steps:
        clock = now[step.site]
        if step.what == "deliver" and step.message is not None:
            for site, ticks in found[messages[step.message].sent].items():
                clock[site] = max(ticks, clock.get(site, 0))
        clock[step.site] = clock.get(step.site, 0) + 1
        found.append(dict(clock))
    return found


def shiviz(trace: Trace) -> str:
    """Two lines per event: what happened, then the site with its vector clock."""
    messages, lines = trace.messages(), []
    for step, clock in zip(trace.steps, clocks(trace), strict=True):
        named = {_host(trace, site): ticks for site, ticks in sorted(clock.items())}
        lines += [
            " ".join(sentence(trace, step, messages).split()),
            f"{_host(trace, step.site)} {msgspec.json.encode(named).decode()}",
        ]
    return "\n".join(lines) + "\n"


def _host(trace: Trace, site: int) -> str:
    name = "_".join(trace.name(site).split())
    return f"site{name}" if name.isdigit() else name


def chrome(trace: Trace) -> str:
    """The Trace Event Format: a thread for each site, slices for waiting and being inside, flows for messages.

    Slices of one thread must lie within each other or apart. A pause may begin while a site waits and end when it is inside, so pauses
    have a thread of their own.
    """
    events = [*_names(trace), *_slices(trace), *_steps(trace), *_flows(trace)]
    about = {"title": title(trace), "algorithm": trace.head.algorithm}
    return msgspec.json.encode({"traceEvents": events, "otherData": about}).decode() + "\n"


def _micros(trace: Trace) -> list[float]:
    """The time of each step in microseconds; steps of one instant are a little apart, so that they can be seen."""
    scale, found = (1e6 if trace.head.unit == "s" else 1000.0), list[float]()
    for step in trace.steps:
        time = scale * (step.t if step.t is not None else step.n)
        found.append(max(time, found[-1] + 1) if found else time)
    return found


def _thread(trace: Trace, site: int, doing: str = "") -> int:
    """From 1: thread 0 is what is idle in Perfetto."""
    return 1 + site + (trace.head.nodes if doing == "paused" else 0)


def _names(trace: Trace) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": title(trace)}}
    for site in range(trace.head.nodes):
        yield from _named(_thread(trace, site), f"site {trace.name(site)}", 2 * site)
    for site in sorted({each.site for each in stretches(trace) if each.doing == "paused"}):
        yield from _named(_thread(trace, site, "paused"), f"site {trace.name(site)}, pauses", 2 * site + 1)


def _named(thread: int, name: str, place: int) -> Iterator[dict[str, Any]]:
    for what, args in (("name", {"name": name}), ("sort_index", {"sort_index": place})):
        yield {"ph": "M", "pid": 1, "tid": thread, "name": f"thread_{what}", "args": args}


def _slices(trace: Trace) -> Iterator[dict[str, Any]]:
    at = _micros(trace)
    for each in stretches(trace):
        first, last, tid = at[each.first], at[each.last], _thread(trace, each.site, each.doing)
        yield {"ph": "X", "pid": 1, "tid": tid, "name": each.doing, "cat": "phase", "ts": first, "dur": last - first}  # fmt: skip


def _steps(trace: Trace) -> Iterator[dict[str, Any]]:
    messages = trace.messages()
    for step, ts in zip(trace.steps, _micros(trace), strict=True):
        about = {"what": details(trace, step, messages), **step.changed}
        yield {"ph": "X", "pid": 1, "tid": _thread(trace, step.site), "name": step.what, "cat": "step", "ts": ts, "dur": 0.5, "args": about}  # fmt: skip


def _flows(trace: Trace) -> Iterator[dict[str, Any]]:
    at = _micros(trace)
    for message in trace.messages().values():
        if message.received is None:
            continue
        about = {"pid": 1, "cat": "message", "name": str(message.body), "id": message.id}
        yield {"ph": "s", "tid": _thread(trace, message.sender), "ts": at[message.sent], **about}
        yield {"ph": "f", "bp": "e", "tid": _thread(trace, message.to), "ts": at[message.received], **about}
