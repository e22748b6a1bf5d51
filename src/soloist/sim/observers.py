"""Observers: they watch a run from outside and keep the books. Algorithms do not know of them.

A run measures a *cohort*: the requests numbered `start` to `stop`, in the order in which they are
made. What comes before is warm-up; what comes after keeps the load up until the last request
of the cohort is served, and is not counted either. Every message is charged to one request
(`Ledger` says how), so that no half-served request blurs a figure.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, get_args, get_origin

import msgspec

from soloist.core import (
    INSIDE,
    WAITING,
    Message,
    Phase,
    Process,
    PropertyViolated,
    Send,
    Site,
    encode,
    scalar_words,
    words,
)
from soloist.core.trace import Recorder, Step


class Observer:
    """Base of all observers; each overrides what it cares for. `request` is the request's number."""

    def on_request(self, time: float, site: Site, request: int) -> None: ...

    def on_enter(self, time: float, site: Site, request: int) -> None: ...

    def on_exit(self, time: float, site: Site, request: int) -> None: ...

    def watches(self, event: str) -> bool:
        """Whether this kind of observer defines the event: the engine calls no empty method."""
        return getattr(type(self), event) is not getattr(Observer, event)


class Occupancy(Observer):
    """Who waits and who is inside. Asserts that never more than K sites are inside, and measures
    the synchronisation delay: from an exit, while others wait, to the next entry."""

    def __init__(self, k: int, start: int, stop: int) -> None:
        self.k, self.start, self.stop = k, start, stop
        self.waiting = 0
        self.inside: set[Site] = set()
        self.freed: deque[float] = deque()
        self.sync_delays: list[float] = []

    def on_request(self, time: float, site: Site, request: int) -> None:
        self.waiting += 1

    def on_enter(self, time: float, site: Site, request: int) -> None:
        self.waiting -= 1
        self.inside.add(site)
        if len(self.inside) > self.k:
            self._assert_exclusion(time)
        if self.freed:
            delay = time - self.freed.popleft()
            if self.start <= request < self.stop:
                self.sync_delays.append(delay)

    def on_exit(self, time: float, site: Site, request: int) -> None:
        self.inside.discard(site)
        if self.waiting > len(self.freed):
            self.freed.append(time)

    def on_crash(self, site: Site, phase: Phase) -> None:
        """Only the living count."""
        self.inside.discard(site)
        if phase is WAITING:
            self.waiting -= 1
            if len(self.freed) > self.waiting:
                self.freed.pop()

    def on_return(self, time: float, site: Site, phase: Phase) -> None:
        """A site comes back as it was."""
        if phase is WAITING:
            self.waiting += 1
        elif phase is INSIDE:
            self.inside.add(site)
            self._assert_exclusion(time)

    def _assert_exclusion(self, time: float) -> None:
        if len(self.inside) > self.k:
            sites = ", ".join(map(str, sorted(self.inside)))
            raise PropertyViolated("exclusion", f"sites {sites} are inside together at time {time:g}")


class Ledger(Observer):
    """Times and messages of the cohort's requests.

    A message sent when a site asks is charged to its request; one sent on delivery of another, to
    the request of that other; one sent at exit, to the request just served, unless it goes to a
    single waiting site: then it is the answer that this one has been waiting for, and is charged
    to it. (The engine puts the number of the request on the message; this class adds up.)
    """

    def __init__(self, start: int, stop: int, processes: Sequence[Process]) -> None:
        self.start, self.stop = start, stop
        self.processes = processes
        size = stop - start
        self.site = [0] * size
        self.asked = [0.0] * size
        self.entered = [0.0] * size
        self.last_exit = 0.0
        self.cost = [0] * size
        self.turn = [0] * size
        """Places in the order of entry."""
        self.priority: list[tuple[int, ...]] = [()] * size
        """Timestamps of the requests, or else their numbers."""
        self.entries = 0
        self.served = 0
        """Requests served, warm-up included: those must not starve either."""
        self.complete = False
        self.journal: list[Send] = []
        """What the engine has posted and `charge` has not seen yet."""
        self.sent = 0
        """All messages of the run, also those that are not charged to the cohort."""
        self.by_kind: defaultdict[type[Message], int] = defaultdict(int)
        self._varying_words = 0
        self._varying_bytes = 0

    def on_request(self, time: float, site: Site, request: int) -> None:
        if self.start <= request < self.stop:
            self.site[request - self.start] = site
            self.asked[request - self.start] = time

    def on_enter(self, time: float, site: Site, request: int) -> None:
        self.entries += 1
        if (index := request - self.start) >= 0 and request < self.stop:
            self.entered[index] = time
            self.turn[index] = self.entries
            self.priority[index] = self.processes[site].timestamp() or (request,)

    def on_exit(self, time: float, site: Site, request: int) -> None:
        if request < self.stop:
            self.last_exit = time
            self.served += 1
            self.complete = self.served == self.stop

    def charge(self) -> None:
        """Add up what has been sent since the last time. Answers to one request often are one and the same message, and
        follow each other: such a row is charged at once."""
        charge, copies, charged, row = self._charge, 0, -1, None
        for _, to, message, request in self.journal:
            if message is row and request == charged:
                copies += len(to)
                continue
            if row is not None:
                charge(row, copies, charged)
            row, copies, charged = message, len(to), request
        if row is not None:
            charge(row, copies, charged)
        self.journal.clear()

    def _charge(self, message: Message, copies: int, request: int) -> None:
        self.sent += copies
        if self.start <= request < self.stop:
            self.cost[request - self.start] += copies
            self.by_kind[message.__class__] += copies
            if message.__struct_fields__:
                self._measure(message, copies)

    def _measure(self, message: Message, copies: int) -> None:
        self._varying_bytes += copies * len(encode(message))
        if has_tuples(message.__class__):
            self._varying_words += copies * words(message)

    @property
    def words(self) -> int:
        fixed = (n * scalar_words(kind) for kind, n in self.by_kind.items() if not has_tuples(kind))
        return self._varying_words + sum(fixed)

    @property
    def bytes(self) -> int:
        """Bytes on the wire, without what a transport adds."""
        bare = (n * len(encode(kind())) for kind, n in self.by_kind.items() if not kind.__struct_fields__)
        return self._varying_bytes + sum(bare)


@cache
def has_tuples(kind: type[Message]) -> bool:
    """Whether the number of words depends on the content."""
    return any(_bare(field.type) not in (int, bool, float) for field in msgspec.structs.fields(kind))


def _bare(kind: Any) -> Any:
    """A type without its notes: a `Clock` is a number."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


class Tracer(Observer):
    """Writes down every step of a run."""

    def __init__(self, recorder: Recorder) -> None:
        self.add = recorder.add

    def on_request(self, time: float, site: Site, request: int) -> None:
        self.add(Step("request", site, time))

    def on_enter(self, time: float, site: Site, request: int) -> None:
        self.add(Step("enter", site, time))

    def on_exit(self, time: float, site: Site, request: int) -> None:
        self.add(Step("exit", site, time))

    def on_send(self, time: float, sends: list[Send]) -> None:
        for sender, to, message, _ in sends:
            for site in to:
                self.add(Step("send", sender, time, site, message))

    def on_deliver(self, time: float, site: Site, sender: Site, message: Message) -> None:
        self.add(Step("deliver", site, time, sender, message))

    def on_timeout(self, time: float, site: Site, name: str) -> None:
        self.add(Step("timeout", site, time, name=name))
