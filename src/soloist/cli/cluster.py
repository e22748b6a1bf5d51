"""`soloist node`, `run`, `status`, `holders`: a cluster from the command line."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec
import typer

from soloist.cli import probe
from soloist.cli.arguments import Json
from soloist.cli.output import print_facts, print_json, print_table
from soloist.core import UsageError
from soloist.durations import duration
from soloist.net.arguments import OnHolderLoss, check_loss
from soloist.net.client import operator
from soloist.net.client.client import Client
from soloist.net.errors import LockError
from soloist.net.link.wire import LockState
from soloist.net.service import logs, runner
from soloist.net.service.choice import choose
from soloist.net.service.config import Config, Member, load
from soloist.net.service.dialogue import Status

DEFAULT_CONFIGS = (Path("cluster.toml"), Path("/etc/soloist/cluster.toml"))
T = TypeVar("T")

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar="SOLOIST_CONFIG",
        help="The cluster's file; otherwise cluster.toml here, or /etc/soloist/cluster.toml.",
    ),
]
NodeName = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NODE", envvar="SOLOIST_NODE", help="Which node; otherwise the one that runs here."
    ),
]


def node(
    name: Annotated[
        str, typer.Option("--name", metavar="NODE", envvar="SOLOIST_NODE", help="Which node to be.")
    ],
    config: ConfigFile = None,
    log: Annotated[str, typer.Option("--log", metavar="text|json", help="How to log.")] = "text",
    log_level: Annotated[str, typer.Option("--log-level", metavar="LEVEL", help="debug, info, …")] = "info",
    grace: Annotated[
        str, typer.Option("--grace", metavar="TIME", help="What holders get to finish, once told to stop.")
    ] = "10s",
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Append every step to it, as JSON lines.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --log json.")] = False,
) -> None:
    """Be a member of a cluster, until told to stop (SIGTERM, Ctrl-C).

    The file names all members and is the same for all of them:

        cluster = "orders"

        nodes.a = "127.0.0.1:7401"

        nodes.b = "127.0.0.1:7402"

    Told to stop, it lets nobody in any more, and those who hold something
    through it have --grace to finish; then they are told to stop. Told again,
    it ends at once. Logs go to standard error.

    Examples:

        soloist node --config cluster.toml --name a

        soloist node --config cluster.toml --name b --log json --trace b.jsonl
    """
    from soloist.net.service import daemon  # nobody else needs all that it loads

    found = read_config(config)
    member = found.member(name)
    if trace:
        changed = msgspec.structs.replace(member, trace=trace)
        found = msgspec.structs.replace(found, members={**found.members, name: changed})
    seconds = duration(grace, "--grace")
    logs.configure("json" if json else log, log_level, {"cluster": found.cluster, "node": name})
    daemon.serve(found, name, seconds)


def run(
    lock: Annotated[str, typer.Argument(metavar="LOCK", help="The name of the lock.")],
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run while holding it.")],
    config: ConfigFile = None,
    name: NodeName = None,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="TIME", help="How long to wait; 0 tries once. Otherwise for ever."),
    ] = None,
    semaphore: Annotated[
        int | None, typer.Option("--semaphore", metavar="K", help="Let K of them in together.")
    ] = None,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Shown by `holders`.")] = None,
    kill_after: Annotated[
        str,
        typer.Option("--kill-after", metavar="TIME", help="From SIGTERM to SIGKILL, where that is needed."),
    ] = "5s",
    max_hold: Annotated[
        str | None,
        typer.Option("--max-hold", metavar="TIME", help="How long it may run; then it is stopped."),
    ] = None,
    on_holder_loss: Annotated[
        str,
        typer.Option(
            "--on-holder-loss", metavar="release|hold", help="What becomes of the lock if this is lost."
        ),
    ] = "release",
    lock_delay: Annotated[
        str | None,
        typer.Option("--lock-delay", metavar="TIME", help="Then nobody gets it for so long."),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Say how it went on standard error, as JSON; stdout is the command's."),
    ] = False,
) -> None:
    """Run a command while holding a lock, as flock(1) does on one host.

    The exit code is the command's (128 + N if signal N killed it); 1 if the
    lock was not had in time, or was lost meanwhile: then the command is
    stopped. It finds SOLOIST_LOCK and SOLOIST_FENCE in its environment: hand
    the fence to what the lock protects.

    The command is its whole process group, with all that it starts: SIGINT
    and SIGTERM are passed on to all of it, should this program be killed all
    of it is, and the lock is free when the last of it has ended. What it
    leaves in the background gets --kill-after to finish, and is stopped. Only
    what calls setsid(2) escapes.

    Examples:

        soloist run nightly --timeout 10s -- ./report.sh

        soloist run gpu --semaphore 2 --note "$USER" -- python train.py

        soloist run orders --timeout 0 -- sh -c 'echo fence $SOLOIST_FENCE'
    """
    job = runner.LockedCommand(
        lock=lock,
        command=command,
        value=semaphore,
        timeout=None if timeout is None else duration(timeout, "--timeout"),
        note=note,
        kill_after=duration(kill_after, "--kill-after"),
        max_hold=None if max_hold is None else duration(max_hold, "--max-hold"),
        on_holder_loss=loss(on_holder_loss),
        lock_delay=None if lock_delay is None else duration(lock_delay, "--lock-delay"),
    )
    check_loss(job.on_holder_loss, job.lock_delay)
    if job.max_hold == 0:
        raise UsageError("--max-hold must be above 0; leave it out for no limit")
    if not lock:
        raise UsageError("LOCK is empty")
    if semaphore is not None and semaphore < 1:
        raise UsageError(f"--semaphore must be at least 1, not {semaphore}")
    _, member = find_member(config, name)
    outcome = attempt(lambda: asyncio.run(runner.run(member.control, job)))
    report(outcome, json)
    if outcome.interrupted:
        runner.pass_on(outcome.interrupted)
    raise typer.Exit(outcome.exit_code)


def loss(word: str) -> OnHolderLoss:
    if word == "hold":
        return "hold"
    if word != "release":
        raise UsageError(f"--on-holder-loss must be release or hold, not {word!r}")
    return "release"


def report(outcome: runner.CommandResult, json: bool) -> None:
    if json:
        print(msgspec.json.encode(outcome).decode(), file=sys.stderr)
    elif outcome.problem:
        complain(outcome.problem)


def status(
    config: ConfigFile = None,
    name: NodeName = None,
    live: Annotated[
        bool, typer.Option("--live", help="Only whether the daemon answers: exit code 0, or 1 and why not.")
    ] = False,
    ready: Annotated[
        bool, typer.Option("--ready", help="Only whether it would let somebody in: 0, or 1 and why not.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the members, whether they are connected, and what this node has done.

    A node is ready when it is a member, has its lease, and is not being
    stopped. One that is not may still be in order: restart it only if it is not
    --live, for a majority that is missing comes back no sooner by that.

    Examples:

        soloist status --config cluster.toml --name a

        soloist status --json

        soloist status --name a --ready
    """
    _, member = find_member(config, name)
    if live or ready:
        if why := probe.tell(ask(member, probe.asked), ready, json):
            fail(why)
        return
    found = ask(member, operator.status)
    print_json(msgspec.to_builtins(found)) if json else print_status(found)


def membership(found: Status) -> str:
    """Who votes, and how many of them may still fail before nobody is let in any more."""
    if not found.voters:
        return f"epoch {found.epoch}, no lease: who ends without a word is waited for" if found.epoch else ""
    heard = sum(found.voters.values())
    spare = heard - (len(found.voters) // 2 + 1)
    names = ", ".join(name if here else f"{name} (missing)" for name, here in found.voters.items())
    left = f"{spare} may still fail" if spare >= 0 else "too few can vote"
    return f"epoch {found.epoch}, lease {found.lease:g} s, voters {names}: {left}"


def print_status(found: Status) -> None:
    facts = {
        "node": f"{found.node}, process {found.pid}, up {found.uptime:.0f} s",
        "algorithms": f"{found.algorithm} for locks, {found.semaphore_algorithm} for semaphores",
        "membership": membership(found),
        "protocol": f"version {found.protocol}" if found.protocol else "",
        "entries": str(found.entries),
        "messages": f"{found.messages_sent} sent, {found.messages_received} received",
        "reconnects": str(found.reconnects),
        "leaving": found.leaving,
        "trouble": found.trouble,
        "withheld": "; ".join(found.withheld),
        "names": f"{found.locks} met, {found.held} held, {found.waiting} waiting, {found.clients} clients",
    }
    print(f"cluster {found.cluster}\n")
    for fact, text in facts.items():
        if text:
            print_facts(f"  {fact:<12} {text}")
    print()
    print_table(
        "Members",
        ("node", "address", "role", "connected", ">backlog"),
        [
            (
                m.name,
                m.address,
                m.role,
                "-" if m.name == found.node else "yes" if m.connected else "NO",
                str(m.backlog),
            )
            for m in found.members
        ],
    )


def holders(
    lock: Annotated[str | None, typer.Argument(metavar="LOCK", help="Only this one.")] = None,
    config: ConfigFile = None,
    name: NodeName = None,
    json: Json = False,
) -> None:
    """Ask all members who holds what, since when, with which note, and who waits.

    Examples:

        soloist holders

        soloist holders nightly --json
    """
    _, member = find_member(config, name)
    found = ask(member, operator.holders)
    rows = [row for view in found.views if lock in (None, (row := holder(view))["lock"])]
    if json:
        print_json({"holders": rows, "unreachable": found.unreachable})
        return
    print_holders(rows)
    if found.unreachable:
        print(f"not connected, what they hold is not known: {', '.join(found.unreachable)}", file=sys.stderr)


def holder(view: LockState) -> dict[str, Any]:
    kind, _, lock = view.lock.partition(":")
    since = None if view.held_for is None else logs.timestamp(time.time() - view.held_for)
    return {
        "lock": lock,
        "kind": kind,
        "node": view.node,
        "holding": view.holding,
        "waiting": view.waiting,
        "fence": view.fence,
        "since": since,
        "held_for": view.held_for,
        "note": view.note,
        "lost": view.lost or None,
    }


def print_holders(rows: list[dict[str, Any]]) -> None:
    if not rows:
        print("nobody holds anything, and nobody waits")
        return
    print_table(
        "Holders",
        ("lock", "kind", "node", ">holds", ">waiting", ">fence", "since", ">for", "note"),
        [
            (
                row["lock"],
                row["kind"],
                row["node"],
                str(row["holding"]),
                str(row["waiting"]),
                str(row["fence"]),
                row["since"] or "-",
                "-" if row["held_for"] is None else f"{row['held_for']:.1f} s",
                row["lost"] or row["note"] or "",
            )
            for row in rows
        ],
    )


# What they share.


def read_config(path: Path | None) -> Config:
    return load(read_path(path))


def read_path(path: Path | None) -> Path:
    """The cluster's file."""
    if path is None:
        path = next((each for each in DEFAULT_CONFIGS if each.exists()), None)
    if path is None:
        raise UsageError("there is no cluster.toml here; give --config FILE, or set SOLOIST_CONFIG")
    return path


def find_member(config: Path | None, name: str | None) -> tuple[Config, Member]:
    """The cluster, and the node in it to talk to."""
    found = read_config(config)
    return found, attempt(lambda: choose(found, name))


def ask(member: Member, question: Callable[[Client], Awaitable[T]]) -> T:
    """One question to a daemon."""

    async def talk() -> T:
        async with operator.operate(member.control, f"soloist (process {os.getpid()})") as client:
            return await question(client)

    return attempt(lambda: asyncio.run(talk()))


def attempt(work: Callable[[], T]) -> T:
    """Whatever goes wrong with a lock or a daemon is said in one line, and is exit code 1."""
    try:
        return work()
    except LockError as error:
        fail(str(error))


def complain(message: str) -> None:
    print(f"soloist: {' '.join(message.split())}", file=sys.stderr)


def fail(message: str) -> NoReturn:
    complain(message)
    raise typer.Exit(1)
