"""Where a client finds its nodes: what a URL says.

unix:/run/soloist/a.sock                 the node of this host that listens there
soloist://host:7500,host2:7500           nodes elsewhere; shop@ in front: as the client of that name
soloist+tls://host:7500                  the same, with certificates
memory:NAME                              a node in this process, for tests
/etc/soloist/cluster.toml                the node of that file which runs here; with #a at the end, a
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from soloist.core import UsageError, shown
from soloist.net.link.security import Address, address

VARIABLE = "SOLOIST_URL"
USUAL_PORT = 7500
KINDS = "unix:/path, soloist://HOST:PORT, soloist+tls://HOST:PORT, memory:NAME or a path to cluster.toml"


class Target(msgspec.Struct, frozen=True):
    """What was meant."""

    text: str
    kind: Literal["unix", "tcp", "tls", "memory"]
    places: tuple[Address, ...] = ()
    """In the order in which they are tried."""
    client: str = ""
    name: str = ""
    """Of a node in memory."""


def target(url: str | os.PathLike[str] | None) -> Target:
    if url is None:
        url = os.environ.get(VARIABLE, "")
        if not url:
            raise UsageError(f"connect() needs a URL: give one, or set {VARIABLE}; {KINDS}")
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else None
    if not isinstance(text, str):
        raise UsageError(f"a URL must be a str or a path, not {shown(url)}; {KINDS}")
    if not text.isprintable():
        raise UsageError(f"{url!r} is no URL of a node: {KINDS}")
    if text.startswith("unix:"):
        path = text.removeprefix("unix:").removeprefix("//")
        if not path:
            raise UsageError(f"{text!r} names no socket: unix:/run/soloist/a.sock is one")
        return Target(text, "unix", (Address(path),))
    if text == "memory:":
        raise UsageError(f"{text!r} names no node: memory:a is one")
    if text.startswith("memory:"):
        return Target(text, "memory", name=text.removeprefix("memory:"))
    for scheme, kind in (("soloist://", "tcp"), ("soloist+tls://", "tls")):
        if text.startswith(scheme):
            return _remote(text, text.removeprefix(scheme).rstrip("/"), kind)  # type: ignore[arg-type]
    if "://" not in text and text.partition("#")[0].endswith(".toml"):
        return _from_file(text)
    raise UsageError(f"{text!r} is no URL of a node: {KINDS}")


def _remote(text: str, rest: str, kind: Literal["tcp", "tls"]) -> Target:
    client, _, hosts = rest.rpartition("@")
    if not hosts or "/" in hosts:
        raise UsageError(f"{text!r} names no node: soloist://HOST:PORT, or several with commas")
    return Target(text, kind, tuple(_place(text, host.strip()) for host in hosts.split(",")), client)


def _place(text: str, host: str) -> Address:
    if host.startswith("unix:"):
        raise UsageError(f"{text!r}: a Unix socket has a URL of its own, unix:/path")
    if host.count(":") > 1 and not host.startswith("["):
        raise UsageError(f"{text!r}: an IPv6 address stands in brackets, as in [::1]:{USUAL_PORT}")
    try:
        return address(host if _has_port(host) else f"{host}:{USUAL_PORT}")
    except UsageError:
        raise UsageError(f"{text!r}: {host!r} should read HOST or HOST:PORT") from None


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def _from_file(text: str) -> Target:
    from soloist.net.service.choice import choose  # who gives a socket reads no file
    from soloist.net.service.config import load

    path, _, name = text.partition("#")
    return Target(text, "unix", (Address(str(choose(load(Path(path)), name or None).control)),))
