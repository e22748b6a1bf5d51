"""What only those ask who look after a cluster: at a node's own socket, on its host."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from soloist.net.client.client import Client
from soloist.net.service.dialogue import AskHolders, AskStatus, ChangeVoters, Done, Holders, Leave, Status


def operate(control: Path, program: str | None = None) -> Client:
    """A client of the daemon that listens there. Without it there is nothing to wait for."""
    return Client(f"unix:{control}", program=program, patience=0)


async def status(client: Client) -> Status:
    found: Status = await client._query(AskStatus(client.desk.next()), Status)
    return found


async def holders(client: Client) -> Holders:
    """With those who did not answer."""
    found: Holders = await client._query(AskHolders(client.desk.next()), Holders)
    return found


async def change(client: Client, what: Literal["add", "remove", "leave"], name: str = "") -> int:
    """Let a node vote or not, or let the daemon leave for good, and end: it still has to when this returns.

    Returns once it is done for good; gives the epoch from which on it is so.
    """
    number = client.desk.next()
    asked = Leave(number) if what == "leave" else ChangeVoters(number, what, name)
    done: Done = await client._query(asked, Done)
    return done.epoch
