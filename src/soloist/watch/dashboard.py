"""A live cluster, looked at: who is a member, who holds what and who waits, as the daemons on this host say.

It asks through the control sockets of the nodes, so only who may open these sees anything, and it asks nothing that changes anything. What
happens between two looks and is over by the second is not seen.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from soloist.core import SoloistError
from soloist.net.client import operator
from soloist.net.link.wire import LockState
from soloist.net.service.config import Config, Member
from soloist.net.service.dialogue import Holders, Status

EVERY = 0.5
"""Seconds between two looks."""
PATIENCE = 3.0
"""Seconds that a daemon gets to answer."""
EVENTS = 100
MOST_STREAMS = 8
PERCENTILES = (50, 90, 99)


class Seen(msgspec.Struct):
    """One look."""

    at: float
    statuses: dict[str, Status]
    silent: dict[str, str]
    """Nodes on this host that did not answer, and why."""
    holders: Holders | None


class Watcher:
    """Looks at a cluster now and then, and remembers what has changed."""

    def __init__(self, config: Config, member: Member) -> None:
        self.config, self.member = config, member
        self.events: deque[dict[str, Any]] = deque(maxlen=EVENTS)
        self.streams = 0
        self.before: Seen | None = None

    async def look(self) -> dict[str, Any]:
        seen = await self._see()
        if self.before:
            for text in changes(self.before, seen):
                self.events.append({"at": seen.at, "text": text})
        answer = displayed(self.config.cluster, self.before, seen)
        self.before = seen
        return {**answer, "events": list(self.events)}

    async def _see(self) -> Seen:
        """All daemons that run here are asked; one of them is asked for the holders everywhere."""
        known = dict(self.config.members)
        for status in self.before.statuses.values() if self.before else ():
            known |= {
                each.name: self.config.guest(each.name) for each in status.members if each.name not in known
            }
        here = [each for each in known.values() if each.control.exists()] or [self.member]
        answers = await asyncio.gather(*(_said_by(each) for each in here))
        named = list(zip((each.name for each in here), answers, strict=True))
        statuses = {name: answer for name, answer in named if isinstance(answer, Status)}
        silent = {name: answer for name, answer in named if isinstance(answer, str)}
        holders = None
        for name in sorted(statuses, key=lambda name: name != self.member.name):
            if isinstance(found := await _said_by(known[name], holders=True), Holders):
                holders = found
                break
        return Seen(time.time(), statuses, silent, holders)


async def _said_by(member: Member, holders: bool = False) -> Status | Holders | str:
    """What a daemon says, or why it says nothing."""
    try:
        async with (
            asyncio.timeout(PATIENCE),
            operator.operate(member.control, f"soloist watch (process {os.getpid()})") as client,
        ):
            return await (operator.holders(client) if holders else operator.status(client))
    except TimeoutError:
        return f"it did not answer within {PATIENCE:g} s"
    except (SoloistError, OSError) as error:
        return " ".join(str(error).split())


def displayed(cluster: str, before: Seen | None, seen: Seen) -> dict[str, Any]:
    """A look as the page shows it."""
    held = seen.holders.views if seen.holders else []
    members = {each.name: each for status in seen.statuses.values() for each in status.members}
    newest = max(seen.statuses.values(), key=lambda status: status.epoch, default=None)
    if newest:  # who is a member is what the newest view says
        members = {name: each for name, each in members.items() if name in {m.name for m in newest.members}}
    return {
        "cluster": cluster,
        "at": seen.at,
        "epoch": newest.epoch if newest else None,
        "lease": newest.lease if newest else None,
        "algorithms": [newest.algorithm, newest.semaphore_algorithm] if newest else [],
        "voters": newest.voters if newest else {},
        "members": [
            {
                "name": name,
                "address": each.address,
                "role": each.role,
                "member": "member" in each.role,
                "reached": _reached(name, seen),
                **_own(name, before, seen),
            }
            for name, each in sorted(members.items())
        ],
        "holders": [_row(view) for view in held if view.holding or view.lost],
        "waiters": [_row(view) for view in held if view.waiting],
        "unreachable": seen.holders.unreachable if seen.holders else [],
        "troubles": sorted(
            {f"{name}: {status.trouble}" for name, status in seen.statuses.items() if status.trouble}
            | {f"{name}: {why}" for name, why in seen.silent.items()}
        ),
        "rate": _rate(before, seen),
        "waits": percentiles([wait for status in seen.statuses.values() for wait in status.waits]),
        "asked": sorted(seen.statuses),
    }


def _reached(name: str, seen: Seen) -> bool:
    """Whether it answers us, or the others are connected to it."""
    return name in seen.statuses or any(
        each.connected for status in seen.statuses.values() for each in status.members if each.name == name
    )


def _own(name: str, before: Seen | None, seen: Seen) -> dict[str, Any]:
    """What only the node itself can say."""
    if not (status := seen.statuses.get(name)):
        return {}
    return {"pid": status.pid, "uptime": status.uptime, "entries": status.entries, "epoch": status.epoch}


def _rate(before: Seen | None, seen: Seen) -> float | None:
    """Entries per second of the nodes that answered both times and were not started again."""
    if not before or seen.at <= before.at:
        return None
    entered = [
        status.entries - then.entries
        for name, status in seen.statuses.items()
        if (then := before.statuses.get(name)) and then.pid == status.pid
    ]
    return sum(entered) / (seen.at - before.at) if entered else None


def _row(view: LockState) -> dict[str, Any]:
    kind, _, lock = view.lock.partition(":")
    return {
        "lock": lock,
        "kind": kind,
        "node": view.node,
        "holding": view.holding,
        "waiting": view.waiting,
        "fence": str(view.fence),  # it passes 2^53
        "age": view.held_for,
        "note": view.lost or view.note,
    }


def percentiles(waits: list[float]) -> dict[str, Any]:
    """Of how many waits, and the value that so many per cent of them did not exceed."""
    ordered = sorted(waits)
    return {
        "of": len(ordered),
        **{str(each): ordered[-(-each * len(ordered) // 100) - 1] for each in PERCENTILES if ordered},
    }


def changes(before: Seen, seen: Seen) -> list[str]:
    """What is different since the last look, in words."""
    found = []
    then, now = (displayed("", None, each) for each in (before, seen))
    if now["epoch"] and now["epoch"] != then["epoch"]:
        found.append(f"epoch {now['epoch']} has begun")
    were = {each["name"]: each["reached"] for each in then["members"] if each["member"]}
    are = {each["name"]: each["reached"] for each in now["members"] if each["member"]}
    if were and are:
        found += [f"{name} is a member" for name in are if name not in were]
        found += [f"{name} is no member any more" for name in were if name not in are]
        found += [
            f"{name} is {'back' if here else 'not reached'}"
            for name, here in are.items()
            if were.get(name, here) != here
        ]
    if before.holders and seen.holders:
        found += _handed_on(then, now)
    return found


def _handed_on(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Of a node that cannot be asked it is not known whether it still holds what it held."""
    had, has = ({(row["lock"], row["node"]) for row in each["holders"]} for each in (then, now))
    gone = [
        f"{node} held {lock}: whether it still does is not known"
        if node in now["unreachable"]
        else f"{node} holds {lock} no more"
        for lock, node in sorted(had - has)
    ]
    return [*gone, *(f"{node} holds {lock}" for lock, node in sorted(has - had))]


def routes(watcher: Watcher) -> list[Route]:
    async def stream(request: Request) -> Response:
        if watcher.streams >= MOST_STREAMS:
            return PlainTextResponse(f"{MOST_STREAMS} pages look already: close one", 503)
        return StreamingResponse(_looks(watcher), media_type="text/event-stream")

    return [Route("/api/stream", stream)]


async def _looks(watcher: Watcher) -> AsyncIterator[bytes]:
    watcher.streams += 1
    try:
        while True:
            yield b"data: " + msgspec.json.encode(await watcher.look()) + b"\n\n"
            await asyncio.sleep(EVERY)
    finally:
        watcher.streams -= 1
