"""Where etcd is, as users say it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

import msgspec

from soloist.core import UsageError
from soloist.net.link.security import TLS


class Etcd(msgspec.Struct, frozen=True):
    """Where etcd is: URLs of its members, and, if they are `https`, this node's certificate and their authority."""

    endpoints: tuple[str, ...]
    tls: TLS | None = None

    @classmethod
    def of(cls, given: Endpoints) -> Etcd:
        """From what a user says: endpoints alone, or with certificates."""
        etcd = given if isinstance(given, cls) else cls(given)  # type: ignore[arg-type]
        wanted = 'a list of URLs like ["http://10.0.0.1:2379"]'
        if isinstance(etcd.endpoints, str) or not isinstance(etcd.endpoints, Sequence) or not etcd.endpoints:
            raise UsageError(f"etcd must be {wanted}, not {etcd.endpoints!r}")
        for each in etcd.endpoints:
            _check(each, wanted)
        if etcd.tls is None and any(each.startswith("https:") for each in etcd.endpoints):
            raise UsageError(
                "endpoints of etcd with https need certificates: give Etcd(endpoints, TLS(...)), or tls in a file"
            )
        return cls(tuple(each.rstrip("/") for each in etcd.endpoints), etcd.tls)


Endpoints = Etcd | Sequence[str]
"""What users may give: with certificates, or without."""


def _check(endpoint: object, wanted: str) -> None:
    with suppress(ValueError):
        parts = urlsplit(endpoint) if isinstance(endpoint, str) else None
        if (
            parts
            and parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port
            and not parts.path.strip("/")
        ):
            return
    raise UsageError(f"{endpoint!r} is no endpoint of etcd; give {wanted}")
