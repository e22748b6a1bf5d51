"""Who may talk to whom: certificates, and the rule that nothing goes unprotected beyond this host."""

from __future__ import annotations

import logging
import socket
import ssl
from pathlib import Path
from typing import Any

import msgspec

from soloist.core import ProtocolError, UsageError

log = logging.getLogger("soloist.net")


class _Told(ssl.SSLObject):
    """Says in one line why there is no connection, where asyncio says nothing."""

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            if self.server_side:  # the dialler is told by the exception
                why = getattr(error, "verify_message", None) or error.reason
                log.warning("closed the connection to a stranger: %s", why)
            raise


class TLS(msgspec.Struct, frozen=True):
    """Mutual TLS: this node's certificate (with its name as DNS name), its key, and the authority.

    The key may be in the certificate's file. `soloist keys` makes a set for tests.
    """

    certificate: str
    authority: str
    key: str | None = None

    def server(self) -> ssl.SSLContext:
        """For connections that come in: the other side has to show a certificate, too."""
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def client(self) -> ssl.SSLContext:
        """For connections that go out."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT)

    def _context(self, side: ssl._SSLMethod) -> ssl.SSLContext:
        context = ssl.SSLContext(side)
        context.sslobject_class = _Told
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        for what, path in (
            ("certificate", self.certificate),
            ("authority", self.authority),
            ("key", self.key),
        ):
            if path is not None and not Path(path).is_file():
                raise UsageError(f"tls: the {what} {path} does not exist")
        try:
            context.load_cert_chain(self.certificate, self.key)
            context.load_verify_locations(self.authority)
        except ssl.SSLError as error:
            raise UsageError(
                f"tls: {self.certificate} and its key or authority do not fit: {error.reason}"
            ) from None
        return context


def check_certificate(tls: ssl.SSLObject | None, name: str) -> None:
    """The name in the hello must be the name in the certificate."""
    if tls is None:
        return
    certificate: Any = tls.getpeercert() or {}
    names = {str(value) for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
    if name not in names:
        raise ProtocolError(
            f"it calls itself {name!r}, its certificate says {', '.join(sorted(names)) or 'nothing'}"
        )


LOOPBACK = bytes(15) + b"\x01"
"""The number of ::1. (127.0.0.0/8 is the other.)"""


def _number(host: str) -> bytes:
    """The number that a host is given by, 4 or 16 bytes; none if it is a name. (To load `ipaddress` takes a
    millisecond.)"""
    for family, number in ((socket.AF_INET, host), (socket.AF_INET6, host.partition("%")[0])):
        try:
            return socket.inet_pton(family, number)
        except (OSError, ValueError):  # a name, or one that no system can read
            continue
    return b""


class Address(msgspec.Struct, frozen=True):
    """Where a node listens: `host:port`, or `unix:/path` for peers on one host."""

    host: str
    port: int = 0

    @property
    def unix(self) -> bool:
        return self.port == 0

    @property
    def anywhere(self) -> bool:
        """Whether it means all addresses of a host: good to listen at, but nobody can call it."""
        number = b"" if self.unix else _number(self.host)
        return bool(number) and not any(number)

    @property
    def local(self) -> bool:
        """Whether what is sent there stays on this host."""
        if self.unix or self.host == "localhost":
            return True
        number = _number(self.host)
        return number[:1] == b"\x7f" if len(number) == 4 else number == LOOPBACK

    def __str__(self) -> str:
        if self.unix:
            return f"unix:{self.host}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address(text: str) -> Address:
    """An address from what a user wrote: 127.0.0.1:7401, [::1]:7401, db.example:7401 or unix:/run/a.sock."""
    if text.startswith("unix:") and len(text) > 5:
        return Address(text[5:])
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not (colon and host and port.isdecimal() and 0 < int(port) < 65536):
        raise UsageError(f"address {text!r} should read HOST:PORT or unix:/path")
    return Address(host, int(port))
