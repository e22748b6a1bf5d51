"""`soloist break`: take a lock from whoever holds it."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from soloist.cli.arguments import Json
from soloist.cli.cluster import ConfigFile, NodeName, ask, find_member
from soloist.cli.output import print_json
from soloist.core import UsageError
from soloist.durations import duration
from soloist.net.member.breaks import Broken


def break_(
    lock: Annotated[str, typer.Argument(metavar="LOCK", help="The name of the lock or semaphore.")],
    config: ConfigFile = None,
    name: NodeName = None,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="TIME", help="How long to wait for agreement. Otherwise for ever."),
    ] = None,
    json: Json = False,
) -> None:
    """Take a lock, or a semaphore, from whoever holds it: the next one is let in.

    The nodes agree on it: the holder has lost the lock before anybody else can
    have it, and every later fence is higher. A node that does not answer is
    waited for until its lease is over. What the old holder does besides is not
    undone: it is told, as after any loss. Needs a lease.

    Examples:

        soloist break nightly

        soloist break orders --timeout 30s --json
    """
    if not lock:
        raise UsageError("LOCK is empty")
    seconds = None if timeout is None else duration(timeout, "--timeout")
    _, member = find_member(config, name)
    found = ask(member, lambda client: client.break_lock(lock, seconds))
    print_json(msgspec.to_builtins(found)) if json else print(sentence(found))


def sentence(found: Broken) -> str:
    """What happened, in words."""
    lines = [f"{found.name} was taken from {taken.node} (fence {taken.fence})" for taken in found.held]
    if not lines:
        lines = [
            f"nobody held {found.name}" if not found.left_out else f"nobody that answers held {found.name}"
        ]
    if found.left_out:
        lines.append(f"no longer members, with all that they held: {', '.join(found.left_out)}")
    return "\n".join([*lines, f"epoch {found.epoch} has begun: every fence is higher from now on"])
