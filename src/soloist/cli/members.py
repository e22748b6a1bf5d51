"""`soloist members`, `join`, `leave`, `init`: who belongs to a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from soloist.cli.arguments import Json
from soloist.cli.cluster import ConfigFile, NodeName, ask, find_member, membership, read_config, read_path
from soloist.cli.output import print_json, print_table
from soloist.core import UsageError
from soloist.durations import duration
from soloist.net.client import operator
from soloist.net.client.client import Client
from soloist.net.member.anew import begin_anew
from soloist.net.member.home import default_directory
from soloist.net.member.origin import DataDirectory
from soloist.net.service import logs
from soloist.net.service.config import load
from soloist.net.service.dialogue import Status


def members(
    config: ConfigFile = None,
    name: NodeName = None,
    add_voter: Annotated[
        str | None, typer.Option("--add-voter", metavar="NODE", help="Let that node vote from now on.")
    ] = None,
    remove_voter: Annotated[
        str | None, typer.Option("--remove-voter", metavar="NODE", help="Let that node vote no more.")
    ] = None,
    json: Json = False,
) -> None:
    """Show who is a member and who votes, as a node of the cluster sees it; or change who votes.

    Voters change one at a time. When this returns, a majority of the new
    voters knows of it: only then switch off one that was removed.

    Examples:

        soloist members

        soloist members --add-voter d

        soloist members --remove-voter c --json
    """
    if add_voter is not None and remove_voter is not None:
        raise UsageError("give --add-voter or --remove-voter, not both: voters change one at a time")
    _, member = find_member(config, name)

    async def talk(client: Client) -> Status:
        if add_voter is not None:
            await operator.change(client, "add", add_voter)
        if remove_voter is not None:
            await operator.change(client, "remove", remove_voter)
        return await operator.status(client)

    found = ask(member, talk)
    if json:
        facts = ("cluster", "epoch", "lease", "members", "voters", "trouble")
        print_json({key: msgspec.to_builtins(getattr(found, key)) for key in facts})
        return
    print(f"cluster {found.cluster}: {membership(found) or 'it has not begun'}\n")
    rows = [(m.name, m.address, m.role, "yes" if m.connected else "NO") for m in found.members]
    print_table("Members", ("node", "address", "role", "connected"), rows)
    if found.trouble:
        print(f"\n{found.trouble}")


def join(
    name: Annotated[
        str, typer.Option("--name", metavar="NODE", envvar="SOLOIST_NODE", help="What to be called.")
    ],
    config: ConfigFile = None,
    join: Annotated[
        list[str] | None,
        typer.Option(
            "--join",
            metavar="NODE=HOST:PORT",
            help="A member to ask; may be repeated. Otherwise all nodes of the file.",
            show_default=False,
        ),
    ] = None,
    address: Annotated[
        str | None, typer.Option("--address", metavar="HOST:PORT", help="Where others find this node.")
    ] = None,
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="HOST:PORT", help="Where to listen, if elsewhere.")
    ] = None,
    log: Annotated[str, typer.Option("--log", metavar="text|json", help="How to log.")] = "text",
    log_level: Annotated[str, typer.Option("--log-level", metavar="LEVEL", help="debug, info, …")] = "info",
    grace: Annotated[
        str, typer.Option("--grace", metavar="TIME", help="What holders get to finish, once told to stop.")
    ] = "10s",
) -> None:
    """Join a cluster that is there, and be a member of it until told to stop.

    As `soloist node`, for a node that the cluster's file need not name. The
    file is that of the others: it says which cluster, lease and keys. A
    member that is asked tells of all others.

    Examples:

        soloist join --name d --address d.example:7400

        soloist join --name d --listen 0.0.0.0:7400 --address d.example:7400 --join a=10.0.0.1:7400
    """
    from soloist.net.service import daemon  # nobody else needs all that it loads

    path = read_path(config)
    newcomer: dict[str, Any] = {"join": _seeds(join) or _everybody(path, name)}
    if not (address or listen) and name not in load(path).members:
        raise UsageError(f"{path} does not name {name}; say where others find it: --address HOST:PORT")
    newcomer |= {"address": address or listen} if address or listen else {}
    newcomer |= {"listen": listen} if listen else {}
    found = load(path, {name: newcomer})
    seconds = duration(grace, "--grace")
    logs.configure(log, log_level, {"cluster": found.cluster, "node": name})
    daemon.serve(found, name, seconds)


def _seeds(given: list[str] | None) -> dict[str, str]:
    found = {}
    for each in given or ():
        node, equals, where = each.partition("=")
        if not (node and equals and where):
            raise UsageError(f"--join should read NODE=HOST:PORT, not {each!r}")
        found[node] = where
    return found


def _everybody(path: Path, name: str) -> dict[str, str]:
    there = {each.name: each.address for each in load(path).members.values() if each.join is None}
    if not (others := {node: where for node, where in there.items() if node != name}):
        raise UsageError(f"{path} names no other node; give --join NODE=HOST:PORT")
    return others


def leave(config: ConfigFile = None, name: NodeName = None, json: Json = False) -> None:
    """Let the node that runs here leave its cluster for good, and end.

    If it is a voter, it votes no more first. Those who hold something through
    it have its --grace to finish. To restart a node, just stop it and start
    it again.

    Examples:

        soloist leave --name d
    """
    _, member = find_member(config, name)
    epoch = ask(member, lambda client: operator.change(client, "leave"))
    print_json({"node": member.name, "epoch": epoch}) if json else print(f"{member.name} is leaving")


def init(
    epoch: Annotated[
        int,
        typer.Option("--epoch", metavar="N", help="Above all that were ever handed out, as far as you know."),
    ],
    name: Annotated[
        str, typer.Option("--name", metavar="NODE", envvar="SOLOIST_NODE", help="Which node, on this host.")
    ],
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Let a stopped node forget its votes: where disks are lost or damaged.

    A cluster begins by itself only if no vote file of its nodes is damaged. If
    a majority of voters is lost for good, stop all nodes, run this for each of
    them, and start them again: fences go on above epoch N. Of one node alone,
    it is as if its disk was new; the others go on without its vote. The old
    file stays beside, as votes.bad.

    Examples:

        soloist init --name c --epoch 1600000
    """
    found = read_config(config)
    member = found.member(name)
    path = member.data_dir or default_directory(found.cluster, name)
    begin_anew(DataDirectory(path, found.cluster, name), epoch)
    said = f"{name} has forgotten its votes, and begins above epoch {epoch} ({path})"
    print_json({"node": name, "epoch": epoch, "data_dir": str(path)}) if json else print(said)
