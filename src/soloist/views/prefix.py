"""The canonical prefix: how a fresh system comes to have its holders inside, worked out in one place.

An epoch starts every algorithm afresh, but a lock that is held must start with its holders inside. So each node plays
the beginning of the new system by itself: begin() at all sites; then the holders ask one after another, and what is sent is
delivered, first in first out, until all is quiet. A node keeps its own sites as they are then. The steps are legal ones, so
this is a state that the algorithm can be in by itself, and every proof speaks of it; and everybody plays the same steps, so
the parts fit together.

It depends only on the algorithm, its options, N, K, and the holders' slots (`None` where they do not matter):

- A holder asks at the first site that works: the one that lets it in, with its slot. For slot s that is tried first at
  site s, and else at site 0, 1, ...; so most algorithms need no message at all. Where quorums of holders would meet
  (`kakugawa`) later sites are tried, and if need be other ones for the holders before.
- The first one asks before anything that begin() sent is delivered. So a token that goes round and round (`token-ring`,
  `raynal-inform`) comes to rest with it.
- A free choice of a holder that asks falls on its slot, if that is one of the options (`bulgannawar-vaidya`).
- Timers run out only where no mail is under way, in the order in which they were set.
- What never rests (`partitioned` over `token-ring`, with a group that has no holder) is cut after so many deliveries. What
  is under way then is part of the prefix: each node really sends what its own sites have sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import msgspec

from soloist.algorithms import Card
from soloist.core import Message, Outbox, Port, Process, Send, Site, UsageError
from soloist.core.process import first

Slots = tuple[int | None, ...]


class Flight(msgspec.Struct, frozen=True):
    """A message under way."""

    sender: Site
    to: Site
    message: Message


class Prefix(msgspec.Struct, frozen=True):
    """A system with its holders inside."""

    holders: tuple[Site, ...]
    """Where the holders are, in the order of their slots as they were given."""
    kind: type[Process]
    snapshots: tuple[bytes, ...]
    """Of all sites."""
    mail: tuple[Flight, ...]
    """What is under way, oldest first; nothing, unless the algorithm never rests."""
    timers: tuple[tuple[Site, str, float], ...]
    """Those that run, with their delays."""
    steps: tuple[str, ...]
    """What has happened since begin(), in the language of scripts."""

    def process(self, site: Site) -> Process:
        """A copy of a site's process, which the caller may change."""
        return _decoder(self.kind).decode(self.snapshots[site])


def prefix(
    card: Card, n: int, k: int = 1, slots: Sequence[int | None] = (), options: Mapping[str, Any] | None = None
) -> Prefix:
    """The system of N sites with one holder for each slot inside. It is worked out once, and then remembered."""
    return _prefix(card, n, k, tuple(slots), tuple(sorted((options or {}).items())))


@lru_cache(maxsize=256)
def _prefix(card: Card, n: int, k: int, slots: Slots, options: tuple[tuple[str, Any], ...]) -> Prefix:
    size = card.size(n, k, dict(options))
    fresh = System([card.start_one(size, site) for site in range(n)])
    for port in fresh.ports:
        fresh.perform(port.begin())
    found = seated(fresh, (), slots)
    if found is None:
        raise UsageError(f"{card.name} with {n} sites and K = {k} cannot have {len(slots)} inside together")
    return found


def seated(system: System, taken: tuple[Site, ...], slots: Slots) -> Prefix | None:
    """The system with holders of these slots inside as well, besides those that are; None if no sites work."""
    if not slots:
        return system.as_prefix(taken)
    slot, *rest = slots
    n = len(system.ports)
    wish = () if slot is None else (slot % n,)
    before = system.remember()
    for site in dict.fromkeys((*wish, *range(n))):
        if site not in taken:
            if system.enter(site, slot) and (found := seated(system, (*taken, site), tuple(rest))):
                return found
            system.go_back(before)
    return None


class Moment(NamedTuple):
    """A system as it was."""

    snapshots: tuple[bytes, ...]
    mail: tuple[Flight, ...]
    timers: Mapping[tuple[Site, str], float]
    steps: int


class System:
    """All sites of an algorithm in one place, and what they have under way."""

    def __init__(self, processes: Sequence[Process]) -> None:
        self.kind = type(processes[0])
        self.out = Outbox(self._choose)
        self.ports = [Port(process, self.out) for process in processes]
        self.mail: deque[Flight] = deque()
        self.timers: dict[tuple[Site, str], float] = {}
        self.steps: list[str] = []
        self._wish: int | None = None
        """The slot that is asked for in this step, if one is."""
        self._answers: list[str] = []
        self._snapshots = [b""] * len(processes)
        self._changed = set(range(len(processes)))
        """Sites that have taken a step since their snapshot."""

    def remember(self) -> Moment:
        """So that a try can be given up."""
        for site in self._changed:
            self._snapshots[site] = self.ports[site].process.snapshot()
        self._changed.clear()
        return Moment(tuple(self._snapshots), tuple(self.mail), dict(self.timers), len(self.steps))

    def go_back(self, then: Moment) -> None:
        for site, snapshot in enumerate(then.snapshots):
            if site in self._changed or self._snapshots[site] is not snapshot:
                self.ports[site] = Port(_decoder(self.kind).decode(snapshot), self.out)
                self._snapshots[site] = snapshot
        self._changed.clear()
        self.mail, self.timers = deque(then.mail), dict(then.timers)
        del self.steps[then.steps :]

    def enter(self, site: Site, slot: int | None = None) -> bool:
        """A holder asks, and all is delivered until it is quiet. Whether it is inside then, with its slot."""
        port, n = self.ports[site], len(self.ports)
        self._changed.add(site)
        self._wish = slot
        self.perform(port.acquire(), f"acquire {site}")
        self._wish = None
        most = 100 + 10 * n * n  # raynal-inform tells everybody of each site that the turn comes by
        while not port.inside and most and self._step():
            most -= 1
        most = 100 + 10 * n  # the state is a legal one already; this is for those that come to rest
        while most and self._step():
            most -= 1
        return port.inside and (slot is None or port.process.slot() == slot)

    def _step(self) -> bool:
        """One delivery; a timer runs out where no mail is under way. False if there is neither."""
        if self.mail:
            flight = self.mail.popleft()
            self._changed.add(flight.to)
            sends = self.ports[flight.to].deliver(flight.sender, flight.message)
            self.perform(sends, f"deliver {flight.sender}>{flight.to}")
        elif self.timers:
            site, name = next(iter(self.timers))
            del self.timers[site, name]
            self._changed.add(site)
            self.perform(self.ports[site].timeout(name), f"timeout {site} {name}")
        else:
            return False
        return True

    def perform(self, sends: Sequence[Send], step: str = "") -> None:
        self.mail += (Flight(sender, to, message) for sender, sites, message, _ in sends for to in sites)
        for site, name, delay in self.out.timers:
            self.timers.pop((site, name), None)
            if delay is not None:
                self.timers[site, name] = delay
        self.out.timers.clear()
        self.out.entered.clear()
        if step:
            self.steps.append(f"{step} choose={','.join(self._answers)}" if self._answers else step)
        self._answers.clear()

    def _choose(self, options: Sequence[Any]) -> Any:
        answer = self._wish if self._wish is not None and self._wish in options else first(options)
        self._answers.append(str(answer))
        return answer

    def as_prefix(self, holders: tuple[Site, ...]) -> Prefix:
        now = self.remember()
        assert [port.process.me for port in self.ports if port.inside] == sorted(holders)
        return Prefix(
            holders=holders,
            kind=self.kind,
            snapshots=now.snapshots,
            mail=now.mail,
            timers=tuple((site, name, delay) for (site, name), delay in now.timers.items()),
            steps=tuple(self.steps),
        )


@cache
def _decoder(kind: type[Process]) -> msgspec.msgpack.Decoder[Process]:
    """As `Process.restore`, made once: locks are many."""
    return msgspec.msgpack.Decoder(kind, dec_hook=lambda _, __: Outbox())
