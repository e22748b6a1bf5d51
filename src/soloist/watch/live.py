"""The files that the nodes of a cluster have recorded, put together by the numbers of messages and replayed.

Clocks of hosts do not agree, so times only choose among steps of which none has to be first. What a node wrote down in its order stays
in that order, and nothing arrives before it was sent. The replay adds what no node wrote: variables, lines, and who waits for what. It
also is a test: a step that the algorithm would not have taken ends it. Only at its end may a file lack something: its node was killed, or goes on.

One lock in one epoch is one run: in the next epoch everything begins anew.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from soloist.algorithms import Card, find
from soloist.core import Message, Process, Site, UsageError
from soloist.sim.system import Flight, Happening, System
from soloist.watch.recording import Recording, fields
from soloist.watch.trace import VERSION, Trace, bytes_of, plain

CAUSES = ("request", "deliver", "exit", "timeout")


class Impossible(UsageError):
    """A step that the algorithm would not have taken."""


class HalfWritten(Exception):
    """The last step of a site lacks messages that it sent: its file ends in the middle of it."""

    def __init__(self, site: Site) -> None:
        self.site = site


class Event(msgspec.Struct):
    """A step of a site as it was recorded: its cause, and what it sent."""

    site: Site
    node: str
    what: str
    time: float
    where: str
    """File and line."""
    id: str | None = None
    peer: Site | None = None
    message: dict[str, Any] = {}
    timer: str | None = None
    sent: list[dict[str, Any]] = []
    chose: list[str] = []
    enter: bool = False
    fence: str | None = None


class Log(msgspec.Struct):
    """What the files have of one lock in one epoch."""

    lock: str
    epoch: int
    algorithm: str
    k: int
    hosts: list[str]
    snapshots: dict[Site, bytes] = {}
    mail: list[dict[str, Any]] = []
    events: dict[Site, list[Event]] = {}
    steps: int = 0

    @property
    def name(self) -> str:
        return self.lock.partition(":")[2]


class Files:
    """Reads them, and sorts by lock and epoch."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.logs: dict[tuple[str, int], Log] = {}
        self.nodes: set[str] = set()
        self.views: dict[str, list[tuple[int, str]]] = defaultdict(list)
        """For each node the epochs that it saw begin, and why."""
        for path in paths:
            self._read(path)

    def _read(self, path: Path) -> None:
        lines = bytes_of(path).splitlines()
        for number, line in enumerate(lines, 1):
            where = f"{path.name}:{number}"
            try:
                self._take(msgspec.json.decode(line, type=dict[str, Any]), where)
            except UsageError:
                raise
            except msgspec.ValidationError as error:
                raise UsageError(f"{where} is no step of a trace: {error}") from None
            except msgspec.MsgspecError:
                if number == len(lines):
                    return  # cut off: the node was still writing, or was killed
                raise UsageError(f"{where} is no step of a trace: it is no JSON") from None
            except KeyError as error:
                raise UsageError(f"{where} is no step of a trace: it has no {error}") from None
            except (AttributeError, TypeError, ValueError) as error:
                raise UsageError(f"{where} is no step of a trace: {error}") from None

    def _take(self, record: dict[str, Any], where: str) -> None:
        match record.get("soloist"):
            case "trace":
                if record["version"] != VERSION:
                    raise UsageError(
                        f"{where}: a trace of version {record['version']}; this program reads {VERSION}"
                    )
                self.nodes.add(record["node"])
            case "lock":
                self._begin(record)
            case "view":
                self.views[record["node"]].append((record["epoch"], ", ".join(record["reasons"])))
            case "hold":
                self._hold(record)
            case None:
                self._step(record, where)
            case other:
                raise ValueError(f"unknown record {other!r}")

    def _begin(self, record: dict[str, Any]) -> None:
        key = record["lock"], record["epoch"]
        if key not in self.logs:
            self.logs[key] = Log(*key, record["algorithm"], record["k"], record["hosts"])
        log = self.logs[key]
        log.snapshots.update({int(site): bytes.fromhex(state) for site, state in record["snapshots"].items()})
        log.mail += record["mail"]

    def _step(self, record: dict[str, Any], where: str) -> None:
        log = self.logs.get((record["lock"], record["epoch"]))
        if log is None:
            raise ValueError(f"nothing says how {record['lock']} begins")
        site, kind = record["site"], record["kind"]
        events = log.events.setdefault(site, [])
        if (
            kind in CAUSES or not events
        ):  # the beginning is the cause of messages that are sent before any other
            what = kind if kind in CAUSES else "begin"
            about = (record.get("id"), record.get("peer"), record.get("message", {}), record.get("name"))
            if what == "begin":
                about = (None, None, {}, None)
            events.append(Event(site, record["node"], what, record["time"], where, *about))
            log.steps += 1
        if kind == "send":
            events[-1].sent.append({"id": record["id"], "to": record["peer"], "message": record["message"]})
        elif kind == "choose":
            events[-1].chose.append(record["name"])
        elif kind == "enter":
            events[-1].enter = True

    def _hold(self, record: dict[str, Any]) -> None:
        """The fence of the newest entry at this node, where it has one site for the lock."""
        logs = [log for (lock, _), log in self.logs.items() if lock == record["lock"] and log.k == 1]
        if logs:
            mine = [
                each
                for events in logs[-1].events.values()
                for each in events[::-1]
                if each.node == record["node"]
            ]
            entry = next((each for each in mine if each.enter), None)
            if entry and entry.fence is None:
                entry.fence = record["fence"]

    def choose(self, lock: str | None, epoch: int | None) -> Log:
        """The one that was asked for, or the one of which there is most."""
        if not self.logs:
            raise UsageError("the traces have no lock: nobody asked for one while they were recorded")
        found = [
            log
            for log in self.logs.values()
            if lock in (None, log.lock, log.name) and epoch in (None, log.epoch)
        ]
        if not found:
            known = ", ".join(sorted(f"{log.name} in epoch {log.epoch}" for log in self.logs.values()))
            raise UsageError(
                f"the traces have no lock {lock or ''} in epoch {epoch or 'any'}; they have {known}"
            )
        return max(found, key=lambda log: log.steps)


def merge(paths: Sequence[Path], lock: str | None = None, epoch: int | None = None) -> Trace:
    """One trace of the files of all nodes."""
    files = Files(paths)
    log = files.choose(lock, epoch)
    card = find(log.algorithm)
    recording, left = _replayed(card, log, files.nodes)
    _the_end(recording, log, files)
    others = sorted(f"{each.name} in epoch {each.epoch}" for each in files.logs.values() if each is not log)
    notes = [f"Epoch {log.epoch}; times are those of each host, moved where one would go backwards."]
    if others:
        notes.append(f"The files also have: {', '.join(others)}.")
    if left:
        notes.append(
            f"The files end at different moments: {left} steps that came of what one of them does not have yet are left out."
        )
    names = [f"{host}.{site}" if log.k > 1 else host for site, host in enumerate(log.hosts)]
    start = {str(site): snapshot.hex() for site, snapshot in sorted(log.snapshots.items())}
    return recording.trace(origin="live", unit="s", lock=log.name, sites=names, notes=notes, start=start)


def _replayed(card: Card, log: Log, nodes: set[str]) -> tuple[Recording, int]:
    """The run as far as the files have it, and how many steps are left out."""
    left = 0
    while True:
        order = in_order(log, nodes)
        _agree(order)
        try:
            return _replay(card, log, order), left + sum(map(len, log.events.values())) - len(order)
        except HalfWritten as half:
            log.events[half.site].pop()
            left += 1


def in_order(log: Log, nodes: set[str]) -> list[Event]:
    """All steps in an order in which each site's own stay as they were, and nothing arrives before it was sent."""
    queues = {site: deque(events) for site, events in log.events.items() if events}
    sent = {each["id"] for each in log.mail}
    found: list[Event] = []
    while queues:
        ready = [queue[0] for queue in queues.values() if queue[0].id is None or queue[0].id in sent]
        if not ready:
            stuck = [queue[0] for queue in queues.values()]
            if set(log.hosts) <= nodes and any(each.peer not in queues for each in stuck):
                break  # all is there that the sender's file has, which ends before this message
            raise _missing(log, stuck, nodes)
        event = min(ready, key=lambda each: (each.time, each.site))
        queues[event.site].popleft()
        if not queues[event.site]:
            del queues[event.site]
        sent |= {each["id"] for each in event.sent}
        found.append(event)
    return found


def _agree(order: list[Event]) -> None:
    """Times from the first step on, none before the one that it comes after."""
    first, last = min((event.time for event in order), default=0.0), 0.0
    for event in order:
        event.time = last = max(last, event.time - first)


def _missing(log: Log, stuck: list[Event], nodes: set[str]) -> UsageError:
    event = min(stuck, key=lambda each: each.time)
    absent = sorted(set(log.hosts) - nodes)
    if absent:
        return UsageError(f"the trace of {', '.join(absent)} is missing; give the files of all nodes")
    return Impossible(
        f"{event.where}: site {event.site} gets {event.message.get('kind')} (message {event.id}) of site {event.peer}, "
        "which no file has as sent"
    )


def _replay(card: Card, log: Log, order: list[Event]) -> Recording:
    size = card.size(len(log.hosts), log.k if card.capacity == "K" else 1)
    choices: deque[str] = deque()

    def choose(options: Sequence[Any]) -> Any:
        wanted = choices.popleft() if choices else str(options[0])
        return next((option for option in options if str(option) == wanted), options[0])

    def make(site: Site) -> Process:
        if site in log.snapshots:
            return card.process.restore(log.snapshots[site])
        return card.start_one(size, site)

    system = System(choose)
    recording = Recording(system, card, size, card.links(size.k) == "fifo")
    recording.time = 0.0
    ids = _begin(system, log, make, order)
    for event in order:
        if event.what == "begin":
            continue
        recording.time, recording.fence = event.time, event.fence
        choices.extend(event.chose)
        happening = _repeat(system, event, ids)
        if _is_half(event, happening, log):
            raise HalfWritten(event.site)
        _assert_same(event, happening, ids)
    return recording


def _is_half(event: Event, happening: Happening, log: Log) -> bool:
    """Whether a file ends in the middle of this step: what it has of it is right."""
    recorded, expected = _messages(event, happening)
    cut = len(recorded) < len(expected) or (happening.entered and not event.enter)
    last = event is log.events[event.site][-1]
    return last and cut and recorded == expected[: len(recorded)] and happening.entered >= event.enter


def _begin(
    system: System, log: Log, make: Callable[[Site], Process], order: list[Event]
) -> dict[str, Flight]:
    """Sites as they were, with what they had under way. Only those begin that were seen to do so: a lock that was carried
    over into this epoch had begun long before."""
    began = {event.site: event for event in order if event.what == "begin"}
    under_way: dict[Site, list[Any]] = {site: [] for site in range(len(log.hosts)) if site not in began}
    kinds = {kind.__name__: kind for kind in make(0).handlers}
    for each in log.mail:
        kind, *values = each["message"].values()
        message: Message = msgspec.convert([kind, *values], kinds[kind])
        under_way[each["from"]].append((each["from"], (each["to"],), message, -1))
    ids: dict[str, Flight] = {}
    for happening in system.begin(len(log.hosts), make, make, False, under_way):
        if happening.site in began:
            _assert_same(began[happening.site], happening, ids)
        else:
            mine = (each["id"] for each in log.mail if each["from"] == happening.site)
            ids.update(zip(mine, happening.sent, strict=True))
    return ids


def _repeat(system: System, event: Event, ids: dict[str, Flight]) -> Happening:
    try:
        match event.what:
            case "request":
                return system.acquire(event.site)
            case "exit":
                return system.release(event.site)
            case "timeout":
                return system.timeout(event.site, event.timer or "")
            case _:
                return system.deliver(ids.pop(event.id or ""))
    except KeyError:
        raise Impossible(f"{event.where}: message {event.id} is not on its way") from None
    except UsageError as error:
        raise Impossible(f"{event.where}: {error}") from None


def _assert_same(event: Event, happening: Happening, ids: dict[str, Flight]) -> None:
    """What was recorded is what the algorithm does; then the numbers of the messages are known, too."""
    recorded, expected = _messages(event, happening)
    if recorded != expected or event.enter != happening.entered:
        raise Impossible(
            f"{event.where}: at this {event.what} site {event.site} {_told(recorded, event.enter)}; "
            f"the algorithm {_told(expected, happening.entered)}"
        )
    for each, flight in zip(event.sent, happening.sent, strict=True):
        ids[each["id"]] = flight


def _messages(event: Event, happening: Happening) -> tuple[list[Any], list[Any]]:
    """What a step was recorded to send, and what the algorithm sends."""
    expected = [(f.to, {"kind": type(f.message).__name__, **fields(f.message)}) for f in happening.sent]
    return plain([(each["to"], each["message"]) for each in event.sent]), plain(expected)


def _told(sent: list[Any], enters: bool) -> str:
    kinds = Counter(f"{message['kind']} to {to}" for to, message in sent)
    return f"sends {', '.join(kinds) or 'nothing'}{' and enters' if enters else ''}"


def _the_end(recording: Recording, log: Log, files: Files) -> None:
    """What became of the epoch: a node that did not see the next one begin, while others did, has crashed or left."""
    later = {node: [why for epoch, why in views if epoch > log.epoch] for node, views in files.views.items()}
    if not any(later.values()):
        return
    for site, host in enumerate(log.hosts):
        if host in files.nodes and not later.get(host):
            recording.text = f"{host} did not see the next epoch begin"
            recording.system.crash(site)
    why = next(reasons[0] for reasons in later.values() if reasons)
    recording.note("note", 0, f"the epoch ends: {why}")
