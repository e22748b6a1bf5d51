"""Why a site has not entered, in words: from its variables, and from what the others know and what is on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from soloist.core import INSIDE, Process, Site
from soloist.sim.system import Happening, System
from soloist.watch.trace import Stage, plain, shown

REQUESTS = ("Request", "DelegatedRequest")
FIRST = "its own request goes first"
Reason = Callable[["Reasons", Any], str]


class Reasons:
    """Looks at a whole system, which no site can."""

    def __init__(self, system: System, stage: Stage, k: int = 1) -> None:
        self.system, self.stage, self.k = system, stage, k
        self.token_kinds = set(stage.token.kinds) if stage.token else set()

    def why(self, site: Site) -> str:
        """What a waiting site waits for."""
        process: Any = self.system.ports[site].process
        for kind in type(process).__mro__:
            if kind.__name__ in REASONS:
                return REASONS[kind.__name__](self, process)
        return self.token(process) if self.token_kinds else self.something(process)

    def moves_token(self, h: Happening) -> bool:
        kinds = [type(flight.message).__name__ for flight in (*h.sent, *([h.flight] if h.flight else ()))]
        return not self.token_kinds.isdisjoint(kinds)

    # What the others have to do with it.

    def under_way(self, sender: Site, to: Site, kinds: Iterable[str] = ()) -> str | None:
        """The kind of the first such message from one site to another."""
        kinds = tuple(kinds)
        for flight in self.system.flights:
            kind = type(flight.message).__name__
            if (flight.sender, flight.to) == (sender, to) and (not kinds or kind in kinds):
                return kind
        return None

    def of(
        self,
        asker: Site,
        others: Iterable[Site],
        kinds: Iterable[str] = (),
        holds_back: Iterable[str] | str = "",
    ) -> str:
        """Those who have not answered, and why not: `0 and 2 (inside), 3 (its Reply is on its way)`."""
        others, kinds = list(others), tuple(kinds)
        words = [holds_back] * len(others) if isinstance(holds_back, str) else holds_back
        groups: dict[str, list[Site]] = {}
        for other, word in zip(others, words, strict=True):
            groups.setdefault(self._not_yet(asker, other, kinds, word), []).append(other)
        return "; ".join(listed(sites) + (f" ({why})" if why else "") for why, sites in groups.items())

    def _not_yet(self, asker: Site, other: Site, kinds: tuple[str, ...], holds_back: str) -> str:
        if kind := self.under_way(other, asker, kinds):
            return f"{kind} on its way"
        if other in self.system.down:
            return "crashed"
        if other in self.system.paused:
            return "paused"
        if kind := self.under_way(asker, other, REQUESTS):
            return f"{kind} on its way there"
        return "inside" if self.phase(other) is INSIDE else holds_back

    def phase(self, site: Site) -> Any:
        return self.system.ports[site].process.phase

    def token(self, process: Process) -> str:
        """Where the token is, and what stands before this site."""
        several = self.k > 1
        for flight in self.system.flights:
            if (kind := type(flight.message).__name__) in self.token_kinds:
                if flight.to == process.me:
                    return f"waits for the token, which is on its way from {flight.sender} ({kind})"
                if not several:
                    return f"waits for the token, which is on its way from {flight.sender} to {flight.to}"
        if several:
            having = [
                f"{each.me} ({'inside' if each.phase is INSIDE else 'not inside'})" for each in self.holders()
            ]
            return f"waits for one of the tokens; they are at {listed(having) or 'no site'}"
        holder = next((each for each in self.holders() if each.me != process.me), None)
        if holder is None:
            return "waits for the token, which nobody has: it is lost"
        return f"waits for the token, which {holder.me} has{self._what_about_it(holder, process)}"

    def holders(self) -> list[Process]:
        """Those who have a token."""
        processes = [port.process for port in self.system.ports]
        inside = [process for process in processes if process.phase is INSIDE]
        field = self.stage.token.field if self.stage.token else None
        if field is None:
            pointing = [process for process in processes if getattr(process, "holder", None) == process.me]
            return [*inside, *pointing]
        has = [process for process in processes if process.fields()[field] not in (False, None, [])]
        return [*inside, *(process for process in has if process not in inside)]

    def _what_about_it(self, holder: Process, process: Process) -> str:
        where = ", inside" if holder.phase is INSIDE else ""
        if holder.me in self.system.down:
            return ", and it has crashed"
        if holder.me in self.system.paused:
            where += ", paused"
        queue = getattr(holder, self.stage.queue, None) if self.stage.queue else None
        sites = [each[0] if isinstance(each, tuple) else each for each in queue or ()]
        if process.me in sites:
            place = sites.index(process.me)
            before = f"behind {listed(sites[:place])}" if place else "first"
            return f"{where}; it is {before} in {self.stage.queue}"
        if asked := next((f for f in self.system.flights if asks_for(f.message, f.sender, process.me)), None):
            return f"{where}; its request is on its way from {asked.sender} to {asked.to}"
        after = next(
            (p.process.me for p in self.system.ports if getattr(p.process, "next", None) == process.me), None
        )
        return f"{where}; it comes after {after}" if after is not None else where

    def something(self, process: Process) -> str:
        """Of an algorithm of which nothing is known here."""
        coming = [flight for flight in self.system.flights if flight.to == process.me]
        if coming:
            return f"waits; on its way to it: {listed(f'{type(f.message).__name__} of {f.sender}' for f in coming)}"
        if timers := sorted(name for site, name in self.system.timers if site == process.me):
            return f"waits until its timer runs out: {listed(timers)}"
        asked = [flight for flight in self.system.flights if flight.sender == process.me]
        if asked:
            return (
                f"waits; on its way from it: {listed(f'{type(f.message).__name__} to {f.to}' for f in asked)}"
            )
        values = ", ".join(f"{name}={shown(plain(value))}" for name, value in process.fields().items())
        return f"waits with {values or 'no variables'}, and nothing is on its way to or from it"


def asks_for(message: Any, sender: Site, site: Site) -> bool:
    """Whether a message is a request, made for this site by itself or passed on for it."""
    if type(message).__name__ != "Request":
        return False
    names = ("i", "origin", "k", "Y")
    return next((getattr(message, name) for name in names if hasattr(message, name)), sender) == site


def listed(things: Iterable[object]) -> str:
    """1, 2 and 3."""
    words = [str(thing) for thing in things]
    if len(words) > 6:
        words = [*words[:5], f"{len(words) - 5} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def ricart_agrawala(all: Reasons, p: Any) -> str:
    others = [
        j
        for j in p.others
        if p.me in getattr(all.system.ports[j].process, "deferred", ())
        or all.under_way(j, p.me, ["Reply"])
        or all.under_way(p.me, j, ["Request"])
    ]
    named = all.of(p.me, others, ["Reply"], FIRST)
    return f"waits for {p.outstanding} REPLY{'s' * (p.outstanding > 1)}" + (f": of {named}" if named else "")


def carvalho_roucairol(all: Reasons, p: Any) -> str:
    missing = [j for j in p.others if j not in p.A]
    return f"waits for the REPLY of {all.of(p.me, missing, ['Reply'], FIRST)}"


def raymond_k(all: Reasons, p: Any) -> str:
    owing = [j for j in p.others if p.owe[j]]
    named = all.of(p.me, owing, ["Reply"], FIRST)
    few = f"fewer than {p.k}" if p.k > 1 else "none"
    return f"waits until {few} of the others owe it a REPLY; now {len(owing)} do: {named}"


def lamport(all: Reasons, p: Any) -> str:
    mine = p.timestamp()
    if earlier := sorted((t, j) for j, t in p.q.items() if (t, j) < mine):
        return (
            f"waits for the RELEASE of {listed(j for _, j in earlier)}: requests with earlier times are in q"
        )
    silent = [j for j in p.others if mine >= (p.last[j], j)]
    kinds = ["Ack", "Request", "Release"]
    return f"waits for something later than its request from {all.of(p.me, silent, kinds)}"


def lodha_kshemkalyani(all: Reasons, p: Any) -> str:
    mine = p.timestamp()
    silent = [j for j in range(p.n) if j not in p.RV]
    before = [j for sn, j in p.LRQ if (sn, j) < mine]
    parts = []
    if silent:
        parts.append(f"waits for a REPLY or REQUEST of {all.of(p.me, silent)}")
    if before:
        flush = next((j for j in p.others if all.under_way(j, p.me, ["Flush", "NumberedFlush"])), None)
        coming = f" (the FLUSH of {flush} is on its way)" if flush is not None else ""
        parts.append(
            f"{'' if silent else 'waits: '}in LRQ {listed(before)} {'comes' if len(before) == 1 else 'come'} before it{coming}"
        )
    return "; ".join(parts) or all.something(p)


def arbiter(all: Reasons, p: Any) -> str:
    asked = [j for j in p.S if j not in p.got]
    if not asked:
        return all.something(p)
    locks = [all.system.ports[j].process.lock for j in asked]
    taken = [f"granted to {lock[1]}" if lock and lock[1] != p.me else "" for lock in locks]
    return f"waits for the GRANT of {all.of(p.me, asked, ['Grant'], taken)}"


def central(all: Reasons, p: Any) -> str:
    queue = all.system.ports[0].process.queue  # type: ignore[attr-defined]
    if p.me in queue:
        place = queue.index(p.me)
        before = f", behind {listed(queue[:place])}" if place else ""
        return f"waits in the queue of the coordinator{before}; somebody is inside"
    return f"waits for the GRANT of the coordinator, {all.of(p.me, [0], ['Grant'])}"


def partitioned(all: Reasons, p: Any) -> str:
    group = [j for j in range(p.n) if j % p.k == p.me % p.k]
    inside = [j for j in group if all.phase(j) is INSIDE]
    state = f"{listed(inside)} is inside" if inside else "nobody is inside"
    return f"waits for its turn in its group, {listed(group)}: {state}"


def raynal(all: Reasons, p: Any) -> str:
    if (p.me, "poll") in all.system.timers:
        return "waits until it asks again: it was not its turn when all had answered"
    missing = [j for j in p.others if j not in p.seen]
    return f"waits for the REPLY of {all.of(p.me, missing, ['Reply'])}"


def raynal_inform(all: Reasons, p: Any) -> str:
    return f"waits for its turn: as far as it knows the turns passed on are {listed(p.r)} (modulo 3), site by site"


REASONS: dict[str, Reason] = {
    "Arbiter": arbiter,
    "CarvalhoRoucairol": carvalho_roucairol,
    "Central": central,
    "Lamport": lamport,
    "LodhaKshemkalyani": lodha_kshemkalyani,
    "Partitioned": partitioned,
    "RaymondK": raymond_k,
    "Raynal": raynal,
    "RaynalInform": raynal_inform,
    "RicartAgrawala": ricart_agrawala,
}
"""By the class of the process, nearest base first. A site that waits for a token says where that is."""
