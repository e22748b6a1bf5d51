"""The port for clients that are not on the node's host: what the cluster's file says of it.

    clients = "10.0.0.1:7500"
    client_secret_file = "client.secret"
    session_lease = 10
    allow = ["orders/*"]

    [client.shop]
    secret_file = "shop.secret"
    allow = ["orders/*", "stock/*"]

Where there is a secret, for all clients or for some by name, clients show that they know it. Otherwise, with `tls`, they show a
certificate of the nodes' authority that names them (`soloist keys DIR --client NAME`). With neither, the address must be
on this host. None of that makes anybody a member.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from soloist.core import UsageError
from soloist.core.toml import Document, Keys
from soloist.net.link.security import TLS, Address, address
from soloist.net.member.company import check_lease
from soloist.net.service.rights import Book, Known
from soloist.net.service.settings import Top
from soloist.views import Lease


class ClientPort(msgspec.Struct, frozen=True):
    """Where, and who gets in."""

    address: Address
    lease: float
    secret_file: Path | None = None
    allow: tuple[str, ...] = ("*",)
    known: dict[str, tuple[Path | None, tuple[str, ...]]] = {}
    """The file of its secret, and what it may use, by client."""
    tls: TLS | None = None

    @property
    def secrets(self) -> bool:
        return bool(self.secret_file or any(path for path, _ in self.known.values()))

    @property
    def terms(self) -> Lease:
        """Of its sessions."""
        lease = check_lease(self.lease)
        assert lease
        return lease

    def book(self) -> Book:
        """With the secrets, as the files have them now."""
        return Book(
            self.terms,
            b"" if self.secret_file is None else read_secret("client_secret_file", self.secret_file),
            self.allow,
            {
                name: Known(b"" if path is None else read_secret(f"client.{name}: secret_file", path), allow)
                for name, (path, allow) in self.known.items()
            },
        )


def read_port(
    document: Document,
    top: Top,
    clients: tuple[Any, Keys],
    file: Callable[[str], Path | None],
    tls: TLS | None,
) -> ClientPort | None:
    said, keys = clients
    if said is None:
        return None
    try:
        where = address(said)
    except UsageError as error:
        document.fail(keys, str(error))
    if where.unix:
        document.fail(keys, "should be HOST:PORT: clients on this host use the control socket")
    base = document.path.absolute().parent
    allow = tuple(top.allow) if top.allow is not None else ("*",)
    known = {
        name: (
            None if each.secret_file is None else base / each.secret_file,
            allow if each.allow is None else tuple(each.allow),
        )
        for name, each in top.client.items()
    }
    port = ClientPort(where, top.session_lease, file("client_secret_file"), allow, known)
    if not port.secrets:
        port = msgspec.structs.replace(port, tls=tls)
        if tls is None and not (where.local or top.insecure):
            document.fail(
                keys, "is not on this host, and there is neither client_secret_file nor tls; give one of them"
            )
    return port


def read_secret(what: str, path: Path) -> bytes:
    """What is in the secret's file; a line end after it is not part of it."""
    try:
        secret = path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise UsageError(f"{what} {path}: {error.strerror}") from None
    if not secret:
        raise UsageError(f"{what} {path} is empty")
    return secret
