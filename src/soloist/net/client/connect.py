"""`connect` and `connect_sync`: a URL, and there are locks."""

from __future__ import annotations

import os

from soloist.net.client.client import Client
from soloist.net.client.sync import SyncClient
from soloist.net.link.security import TLS


def connect(
    url: str | os.PathLike[str] | None = None,
    *,
    program: str | None = None,
    lease: float | None = None,
    secret: str | bytes | None = None,
    tls: TLS | None = None,
) -> Client:
    """The locks of a node, for asyncio: `async with connect(url) as client:`.

    `url`: `unix:/path`, `soloist://HOST:PORT,HOST:PORT`, `soloist+tls://HOST:PORT`, `memory:NAME`, or the path of a cluster's
    file; None: what SOLOIST_URL says. `program`: what the node calls it in its log. `lease`: seconds after which a client that
    is silent loses what it holds, if that is to be less than its node says; clients on the node's own host need none.
    `secret`: that of the node's `client_secret_file`, for a client elsewhere; or `tls`, with a certificate of
    `soloist keys --client NAME`.
    """
    return Client(url, program=program, lease=lease, secret=secret, tls=tls)


def connect_sync(
    url: str | os.PathLike[str] | None = None,
    *,
    program: str | None = None,
    lease: float | None = None,
    secret: str | bytes | None = None,
    tls: TLS | None = None,
) -> SyncClient:
    """The same for threads: `with connect_sync(url) as client:`."""
    return SyncClient(url, program=program, lease=lease, secret=secret, tls=tls)
