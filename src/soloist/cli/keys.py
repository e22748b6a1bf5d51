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
    days: Annotated[
        int, typer.Option("--days", metavar="D", help="How long certificates are good.")
    ] = key_files.DAYS,
    json: Json = False,
) -> None:
    """Make a test authority, and a certificate and key for each node; or a secret.

    An authority that is in DIR already is used again, so nodes can be added.
    In the cluster's file:

        tls.certificate = "keys/{name}.pem"

        tls.key = "keys/{name}.key"

        tls.authority = "keys/ca.pem"

    or, for the secret (which proves who is who, but encrypts nothing):

        secret_file = "keys/secret"

    Examples:

        soloist keys keys a b c

        soloist keys keys d --days 30

        soloist keys keys --secret
    """
    if not nodes and not secret:
        raise UsageError("name the nodes, or give --secret: otherwise there is nothing to make")
    written = key_files.make_keys(directory, nodes, days) if nodes else []
    if secret:
        written.append(key_files.make_secret(directory))
    names = [str(path) for path in written]
    print_json({"written": names}) if json else print("\n".join(names))
