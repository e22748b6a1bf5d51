"""The ways in which histories are written down: plain lines, Jepsen's and Maelstrom's operations, and our own traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec

from soloist.history import edn
from soloist.history.events import BadLine, Event, Format, Kind, number, plain_words

EXAMPLE = '{"time": 1.5, "process": "a", "event": "acquire", "lock": "orders", "fence": 7}'
NANOSECOND = 1e-9
"""Seconds: the unit of Jepsen's times."""


class Line(msgspec.Struct):
    """A plain line."""

    time: float | str
    process: str | int
    event: Literal["request", "acquire", "release", "cancel", "end"]
    lock: str | int = ""
    fence: int | str | None = None


class Plain:
    """One event a line."""

    def __init__(self) -> None:
        self.capacity: dict[str, int] = {}
        self._decode = msgspec.json.Decoder(Line).decode

    def events(self, line: bytes, where: int) -> Iterator[Event]:
        try:
            read = self._decode(line)
        except msgspec.MsgspecError as error:
            raise BadLine(f"{plain_words(error)}; a line reads {EXAMPLE}") from None
        time = read.time if isinstance(read.time, float) else _moment(read.time)
        fence = read.fence if read.fence is None else number(read.fence)
        yield Event(time, str(read.process), read.event, str(read.lock), fence, where)


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise BadLine(f"time {text!r} is neither seconds nor a date such as 2026-01-31T12:00:00.5Z") from None


LOCK_WORDS = ("lock", "acquire")
UNLOCK_WORDS = ("unlock", "release")


class Operations:
    """Jepsen's and Maelstrom's: an operation is invoked, and completes as `ok`, `fail` or `info` (nobody knows)."""

    def __init__(self, read: Callable[[bytes], Any]) -> None:
        self.capacity: dict[str, int] = {}
        self._read = read
        self._locks: dict[str, str] = {}
        """For each process, the lock that its operation under way is about."""

    def events(self, line: bytes, where: int) -> Iterator[Event]:
        operation = self._operation(line)
        word = operation.get("f")
        if word not in (*LOCK_WORDS, *UNLOCK_WORDS):
            return  # another operation, or the nemesis
        process, time, type_ = operation.get("process"), operation.get("time"), operation.get("type")
        if process is None or isinstance(time, bool) or not isinstance(time, int | float):
            raise BadLine("an operation has a process, and a time in nanoseconds")
        kind = _kind(word in LOCK_WORDS, type_)
        lock, fence = _value(operation.get("value"))
        if lock is None:
            lock = self._locks.get(str(process), "")
        self._locks[str(process)] = lock
        if kind:
            yield Event(time * NANOSECOND, str(process), kind, lock, fence, where)

    def _operation(self, line: bytes) -> dict[Any, Any]:
        try:
            operation = self._read(line)
        except ValueError as error:  # msgspec's are such, too
            raise BadLine(f"it is no operation of a history: {error}") from None
        if not isinstance(operation, dict):
            raise BadLine("it is no operation of a history: it is no map")
        return operation


def _kind(locks: bool, type_: Any) -> Kind | None:
    """A lock counts as held from the answer on, and until its release is asked for: between the two it surely is."""
    found: dict[str, Kind | None] = (
        {"invoke": "request", "ok": "acquire", "fail": "cancel", "info": None}
        if locks
        else {"invoke": "release", "ok": None, "fail": "doubt", "info": "doubt"}
    )
    if type_ not in found:
        raise BadLine(f"the type of an operation is one of {', '.join(found)}, not {type_!r}")
    return found[type_]


def _value(value: Any) -> tuple[str | None, int | None]:
    """A lock and a fence, of which either may be missing: a fence alone, a pair, or a map."""
    if isinstance(value, dict):
        lock = value.get("lock")
        return (None if lock is None else str(lock)), number(value.get("fence"))
    if isinstance(value, list):
        lock, fence = (*value, None, None)[:2]
        return (None if lock is None else str(lock)), number(fence)
    if isinstance(value, str):
        return value, None
    return None, number(value)


class Steps:
    """A trace of ours. Its steps are in order, so their numbers are the times: no clock is asked."""

    def __init__(self) -> None:
        self.capacity: dict[str, int] = {}
        self._lock, self._sites = "", list[str]()

    def events(self, line: bytes, where: int) -> Iterator[Event]:
        step = _record(line)
        if step.get("soloist") == "trace":
            self._lock = str(step.get("lock") or step.get("algorithm", ""))
            self._sites = [str(each) for each in step.get("sites", [])]
            self.capacity[self._lock] = int(step.get("k", 1))
            return
        try:
            n, site, what = float(step["n"]), int(step["site"]), step["what"]
        except (KeyError, TypeError, ValueError):
            raise BadLine("it is no step of a trace") from None
        process = self._sites[site] if 0 <= site < len(self._sites) else str(site)
        kinds: dict[str, Kind] = {"request": "request", "release": "release", "crash": "end"}
        if what in kinds:
            yield Event(n, process, kinds[what], self._lock, None, where)
        if step.get("enter"):
            yield Event(n, process, "acquire", self._lock, number(step.get("fence")), where)


class Recordings:
    """What a node of a live cluster has recorded. Its sites are let in, and a line after that has the fence of the hold."""

    KINDS: dict[str, Kind] = {"request": "request", "enter": "acquire", "exit": "release"}

    def __init__(self) -> None:
        self.capacity: dict[str, int] = {}
        self._entered: dict[tuple[str, str], Event] = {}
        """Entries whose fence has not been told, by node and lock."""

    def events(self, line: bytes, where: int) -> Iterator[Event]:
        record = _record(line)
        about, name = record.get("soloist"), str(record.get("lock", ""))
        lock = name.partition(":")[2] or name
        if about == "lock":
            self.capacity[lock] = max(self.capacity.get(lock, 1), int(record.get("k", 1)))
        elif about == "hold":
            if entry := self._entered.pop((str(record.get("node")), lock), None):
                yield entry._replace(fence=number(record.get("fence")))
        elif about is None and record.get("kind") in self.KINDS:
            yield from self._step(record, lock, where)

    def _step(self, record: dict[str, Any], lock: str, where: int) -> Iterator[Event]:
        try:
            node, kind, time = str(record["node"]), self.KINDS[record["kind"]], float(record["time"])
        except (KeyError, TypeError, ValueError):
            raise BadLine("it is no step of a recording") from None
        alone = self.capacity.get(lock, 1) == 1
        process = node if alone else f"{node}.{record.get('site')}"
        if waiting := self._entered.pop((node, lock), None):
            yield waiting
        event = Event(time, process, kind, lock, None, where)
        if kind == "acquire" and alone:  # of several sites at a node nobody says whose fence it is
            self._entered[node, lock] = event
        else:
            yield event

    def rest(self) -> Iterator[Event]:
        """Entries whose fence was never told."""
        yield from self._entered.values()
        self._entered.clear()


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = msgspec.json.decode(line)
    except msgspec.MsgspecError as error:
        raise BadLine(f"it is no JSON: {plain_words(error)}") from None
    if not isinstance(record, dict):
        raise BadLine("it is no step of a trace")
    return record


def recognise(line: bytes) -> Format:
    """The format of a history, by its first line."""
    text = line.lstrip()
    if text.startswith((b"{:", b"#")):
        return Operations(lambda each: edn.read(each.decode("utf-8", "replace")))
    try:
        first = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return Plain()
    if isinstance(first, dict) and first.get("soloist") == "trace":
        return Recordings() if "node" in first else Steps()
    if isinstance(first, dict) and {"f", "type", "process"} <= first.keys():
        return Operations(msgspec.json.decode)
    return Plain()
