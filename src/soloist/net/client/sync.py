"""A client for threads: the same locks, with a loop and a thread behind them."""

from __future__ import annotations

import functools
import os

from soloist.net.client.client import Client
from soloist.net.client.url import target
from soloist.net.link.security import TLS
from soloist.net.threaded import Threaded


class SyncClient(Threaded[Client]):
    """Made by `connect_sync`. Takes what `Client` takes."""

    what = "client"

    def __init__(
        self,
        url: str | os.PathLike[str] | None = None,
        *,
        program: str | None = None,
        lease: float | None = None,
        secret: str | bytes | None = None,
        tls: TLS | None = None,
    ) -> None:
        make = functools.partial(Client, url, program=program, lease=lease, secret=secret, tls=tls)
        super().__init__(target(url).text, make)
