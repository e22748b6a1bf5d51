"""`soloist keys`: keys for a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soloist.cli.arguments import Json
from soloist.cli.output import print_json
from soloist.core import UsageError
from soloist.net.service import keys as key_files


def keys(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put them.")],
    nodes: Annotated[
        list[str] | None, typer.Argument(metavar="NODE", help="The names of the nodes.", show_default=False)
    ] = None,
    secret: Annotated[bool, typer.Option("--secret", help="Write a secret for all nodes, too.")] = False,
    client: Annotated[
        list[str] | None,
        typer.Option("--client", metavar="NAME", help="A certificate for that client; give it for each."),
    ] = None,
    client_secret: Annotated[
        bool, typer.Option("--client-secret", help="Write a secret for clients, too.")
    ] = False,
    days: Annotated[
        int, typer.Option("--days", metavar="D", help="How long certificates are good.")
    ] = key_files.DAYS,
    json: Json = False,
) -> None:
    """Make a certificate and a key for each node or client, and an authority for tests; or a secret.

    An authority that is in DIR already is used again, so nodes can be added.
    In the cluster's file:

        tls.certificate = "keys/{name}.pem"

        tls.key = "keys/{name}.key"

        tls.authority = "keys/ca.pem"

    or, for the secret (which proves who is who, but encrypts nothing):

        secret_file = "keys/secret"

    Clients that are not on a node's host have certificates of their own, or a
    secret of their own (client_secret_file); neither makes them members.

    Examples:

        soloist keys keys a b c

        soloist keys keys d --days 30

        soloist keys keys --secret --client-secret

        soloist keys keys --client shop --client reports
    """
    if not (nodes or secret or client or client_secret):
        raise UsageError("name the nodes, or give --secret: otherwise there is nothing to make")
    some = bool(nodes or client)
    written = key_files.make_keys(directory, nodes or [], days, client or []) if some else []
    if secret:
        written.append(key_files.make_secret(directory))
    if client_secret:
        written.append(key_files.make_secret(directory, key_files.CLIENT_SECRET))
    names = [str(path) for path in written]
    print_json({"written": names}) if json else print("\n".join(names))
