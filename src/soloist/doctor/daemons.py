"""The daemons of a cluster: what those that run here have to say, and whether the others answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from soloist.core import SoloistError
from soloist.doctor.finding import Finding
from soloist.net.client import operator
from soloist.net.errors import LockError
from soloist.net.link.security import address
from soloist.net.service.config import Member

REACH_SECONDS = 3.0
ANSWER_SECONDS = 5.0


def said_by(member: Member) -> Finding:
    """What a daemon of this host says of itself, as `soloist status` shows it."""
    name = f"{member.name} daemon"
    try:
        trouble = asyncio.run(_trouble(member.control))
    except TimeoutError:
        said = f"it does not answer within {ANSWER_SECONDS:g} s: it hangs, or the machine is overloaded"
        return Finding("cluster", name, "problem", said, "look at its log; if it hangs, restart it")
    except (LockError, SoloistError, OSError) as error:
        return Finding("cluster", name, "problem", str(error), "look at its log; restart it")
    if trouble:
        remedy = "docs/operating.md, At three in the morning, has what each of these means"
        return Finding("cluster", name, "warning", trouble, remedy)
    return Finding("cluster", name, "ok", "nothing keeps callers waiting")


async def _trouble(control: Path) -> str:
    async with asyncio.timeout(ANSWER_SECONDS):
        async with operator.operate(control, "soloist doctor") as client:
            return (await operator.status(client)).trouble


def stopped(member: Member, path: Path) -> Finding:
    """A node that does not run, though others of its cluster do."""
    said = "it does not run, though others do: one failure less is survived"
    remedy = f"soloist node --config {path} --name {member.name}"
    return Finding("cluster", f"{member.name} daemon", "warning", said, remedy)


def reached(others: list[Member]) -> list[Finding]:
    """Whether nodes elsewhere answer at their addresses: all are asked at once."""

    async def ask() -> list[Finding]:
        return await asyncio.gather(*(_reach(member) for member in others))

    return asyncio.run(ask()) if others else []


async def _reach(member: Member) -> Finding:
    where = address(member.address)
    try:
        async with asyncio.timeout(REACH_SECONDS):
            _, writer = await asyncio.open_connection(where.host, where.port)
    except TimeoutError:
        why = f"no answer within {REACH_SECONDS:g} s: a firewall, or the host is down"
    except ConnectionRefusedError:
        why = "nobody listens there"
    except OSError as error:
        why = error.strerror or str(error)
    else:
        writer.close()
        return Finding("cluster", member.name, "ok", f"somebody answers at {where}")
    remedy = f"start node {member.name}, or mend the way to it"
    return Finding("cluster", member.name, "warning", f"{where}: {why}", remedy)
