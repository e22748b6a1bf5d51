"""The file that describes a cluster, the same for all its members and for those who talk to them.

    cluster = "orders"
    algorithm = "bulgannawar-vaidya"

    [nodes]
    a = "127.0.0.1:7401"
    b = "127.0.0.1:7402"
    c = { address = "127.0.0.1:7403", metrics = 9103 }
    v = { address = "127.0.0.1:7404", voter_only = true }
    d = { address = "d.example:7400", listen = "0.0.0.0:7400", join = ["a", "b"] }

With a `lease` (seconds, "auto" or "none"), nodes vote on who is a member: those with `voter = true`, or else the first
seven by name; one that is `voter_only` has no locks. A node with `join` is not among those who begin: it asks these to take
it in, nodes of this file by name, or of another in a table of names and addresses. It may `listen` elsewhere than others
find it.

With `clients`, an address, clients come in there that are not on its host (see `soloist.net.service.client_port`).

`clients`, `client_secret_file`, `control`, `data_dir`, `metrics`, `secret_file`, `tls` and `trace` may stand at the top, for all nodes, or with a node, for that
one. In paths `{name}` is the node's name; relative ones start where the file is. Whatever is wrong is said with
file, line and key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from soloist.algorithms import load as load_card
from soloist.core import UsageError, unknown
from soloist.core.toml import Document, Keys
from soloist.net.link.security import TLS, Address, address
from soloist.net.member.company import Asked
from soloist.net.member.engines import etcd_lease
from soloist.net.member.etcd.endpoints import Etcd
from soloist.net.node import Node
from soloist.net.service.client_port import ClientPort, read_port, read_secret
from soloist.net.service.settings import EtcdSettings, NodeSettings, Table, TlsSettings, Top
from soloist.own import is_own

T = TypeVar("T")
SOCKET_PATH = 107
"""Bytes of the longest path of a Unix socket."""


# What it means.


class Member(msgspec.Struct, frozen=True):
    """One node of the cluster, as its file describes it."""

    name: str
    address: str
    control: Path
    metrics: Address | None = None
    secret_file: Path | None = None
    tls: TLS | None = None
    trace: Path | None = None
    data_dir: Path | None = None
    listen: str = ""
    join: dict[str, str] | None = None
    """Those who are to take it in; None if it is one of those who begin."""
    voter: bool = False
    voter_only: bool = False
    etcd: Etcd | None = None
    """The one that decides who is a member; None: the nodes decide."""
    port: ClientPort | None = None
    """Where clients come in that are not on its host."""

    def secret(self) -> bytes | None:
        return None if self.secret_file is None else read_secret("secret_file", self.secret_file)


class Config(msgspec.Struct, frozen=True):
    """A cluster, as its file describes it."""

    path: Path
    cluster: str
    algorithm: str | None
    """None: what the others run, or else the usual one."""
    semaphore_algorithm: str | None
    locality: int
    lease: Asked
    """Seconds after which a silent member is left out; None: never; "auto": as suits the cluster."""
    insecure: bool
    shortcut: bool
    members: dict[str, Member]
    control: str = ""
    """Where control sockets are, with `{name}` for the name of a node, if all are at such a place."""

    def guest(self, name: str) -> Member:
        """A node that the file does not name, but that may run here: one that has joined."""
        template = self.control or f"{self.cluster}-{{name}}.sock"
        return Member(name, "", self.path.absolute().parent / template.replace("{name}", name))

    def member(self, name: str) -> Member:
        if name not in self.members:
            raise UsageError(f"{self.path}: {unknown('node', name, self.members)}")
        return self.members[name]

    def node(self, name: str) -> Node:
        """The node of that name, not started yet."""
        member = self.member(name)
        beginners = [each for each in self.members.values() if each.join is None]
        voters = [each.name for each in beginners if each.voter]
        return Node(
            name,
            None if member.join else {each.name: each.address for each in beginners},
            join=member.join,
            listen=member.listen,
            address=member.address if member.join else "",
            voters=voters if voters and not member.join else None,
            voter_only=member.voter_only,
            algorithm=self.algorithm,
            semaphore_algorithm=self.semaphore_algorithm,
            cluster=self.cluster,
            lease=self.lease,
            etcd=member.etcd,
            tls=member.tls,
            secret=member.secret(),
            data_dir=None if member.data_dir is None else str(member.data_dir),
            insecure=self.insecure,
            locality=self.locality,
            shortcut=self.shortcut,
        )


def load(path: Path, newcomer: Mapping[str, Table] | None = None) -> Config:
    """Read and check a cluster's file, as if it had this node, too; if it has it, these keys go before what is there."""
    document = Document.read(path)
    nodes = document.data.get("nodes")
    for name, table in (newcomer or {}).items():
        if isinstance(nodes, dict):
            there = nodes.get(name, {})
            nodes[name] = {**(there if isinstance(there, dict) else {"address": there}), **table}
    return _Reader(document).config()


def parse(text: str, path: Path) -> Config:
    return _Reader(Document(text, path)).config()


class _Reader:
    """Turns tables into a `Config`, and complains with file, line and key."""

    def __init__(self, document: Document) -> None:
        self.document, self.path, self.fail = document, document.path, document.fail
        self.top = document.convert(document.data, Top)

    def config(self) -> Config:
        top = self.top
        if top.nodes is None:
            raise UsageError(
                f'{self.path}: the table [nodes] is missing; it has a line like a = "host:7401" for each'
            )
        if not top.nodes:
            self.fail(("nodes",), 'names no node; it has a line like a = "host:7401" for each')
        config = Config(
            path=self.path,
            cluster=self._name(top.cluster, ("cluster",)),
            algorithm=self._algorithm("algorithm", several=False),
            semaphore_algorithm=self._algorithm("semaphore_algorithm", several=True),
            locality=top.locality,
            lease=self._lease(),
            insecure=top.insecure,
            shortcut=top.shortcut,
            members={name: self._member(name, value) for name, value in top.nodes.items()},
            control=top.control or "",
        )
        self._check_addresses(config)
        return config

    def _member(self, name: str, value: Any) -> Member:
        keys: Keys = ("nodes", self._name(name, ("nodes", name)))
        short = isinstance(self.document.convert(value, str | Table, keys), str)  # type: ignore[arg-type]
        own = self.document.convert({"address": value} if short else value, NodeSettings, keys)

        def setting(key: str) -> tuple[Any, Keys]:
            """The node's own, or everybody's; and where it stands."""
            mine = getattr(own, key)
            return (mine, (*keys, key)) if mine is not None else (getattr(self.top, key), (key,))

        def file(key: str) -> Path | None:
            text, _ = setting(key)
            return None if text is None else self._path(text, name)

        self._checked(own.address, keys if short else (*keys, "address"), address)
        self._check_part(own, keys)
        tls = self._tls(*setting("tls"), name)
        return Member(
            name=name,
            address=own.address,
            control=self._control(file("control"), name, setting("control")[1]),
            metrics=self._metrics(*setting("metrics")),
            secret_file=file("secret_file"),
            tls=tls,
            trace=file("trace"),
            data_dir=file("data_dir"),
            listen=own.listen or "",
            join=self._join(own.join, name, keys),
            voter=own.voter,
            voter_only=own.voter_only,
            etcd=self._etcd(name),
            port=read_port(self.document, self.top, setting("clients"), file, tls),
        )

    def _check_part(self, own: NodeSettings, keys: Keys) -> None:
        """Whether what it is to do fits together."""
        if own.listen is not None:
            self._checked(own.listen, (*keys, "listen"), address)
        parts = [key for key in ("voter", "voter_only") if getattr(own, key)]
        if parts and self.top.lease == "none":
            self.fail(
                (*keys, parts[0]),
                'needs a lease, as in lease = 10 or "auto": without one all members vote',
            )
        if own.voter and own.join is not None:
            self.fail(
                (*keys, "voter"),
                f"who joins becomes a voter by `soloist members --add-voter {keys[-1]}`; leave this out",
            )
        if own.join is not None and address(own.address).anywhere:
            self.fail(
                (*keys, "address"), f"{own.address} is no address that others could call; that is for listen"
            )

    def _join(self, said: list[str] | Table | None, name: str, keys: Keys) -> dict[str, str] | None:
        """Those who are to take it in, with their addresses."""
        if said is None:
            return None
        keys = (*keys, "join")
        if not said or name in said:
            self.fail(keys, f"should name nodes that are there, other than {name}")
        if isinstance(said, dict):
            return {each: self._seed(where, (*keys, each)) for each, where in said.items()}
        nodes = self.top.nodes or {}
        for each in said:
            if each not in nodes:
                self.fail(keys, str(unknown("node", each, nodes)))
        found = {each: nodes[each] for each in said}
        return {
            each: self._seed(value.get("address") if isinstance(value, dict) else value, keys)
            for each, value in found.items()
        }

    def _seed(self, where: Any, keys: Keys) -> str:
        text = self.document.convert(where, str, keys)
        self._checked(text, keys, address)
        return text

    def _control(self, path: Path | None, name: str, keys: Keys) -> Path:
        """By default beside the file: both the daemon and its clients read that, so they always agree."""
        path = path or self._path(f"{self.top.cluster}-{name}.sock", name)
        if len(bytes(path)) > SOCKET_PATH:
            raise UsageError(
                f"{self.document.where(keys)}: control: {path} is too long for a socket ({len(bytes(path))} bytes, "
                f"{SOCKET_PATH} are allowed); set control to a shorter path"
            )
        return path

    def _metrics(self, value: int | str | None, keys: Keys) -> Address | None:
        """A port on this host, or HOST:PORT for those who want to be asked from elsewhere."""
        if value is None:
            return None
        found = self._checked(f"127.0.0.1:{value}" if isinstance(value, int) else value, keys, address)
        if found.unix:
            self.fail(keys, f"should be a port or HOST:PORT, not {value!r}")
        return found

    def _tls(self, table: Table | None, keys: Keys, name: str) -> TLS | None:
        if table is None:
            return None
        found = self.document.convert(table, TlsSettings, keys)
        paths = {
            key: str(self._path(text, name)) for key, text in msgspec.structs.asdict(found).items() if text
        }
        return TLS(**paths)

    def _etcd(self, name: str) -> Etcd | None:
        """A list of endpoints, or a table that has certificates, too."""
        given, keys = self.top.etcd, ("etcd",)
        if given is None:
            return None
        if isinstance(given, list):
            return self._checked(given, keys, Etcd.of)
        found = self.document.convert(given, EtcdSettings, keys)
        tls = self._tls(found.tls, (*keys, "tls"), name)
        return self._checked(Etcd(tuple(found.endpoints), tls), keys, Etcd.of)

    def _lease(self) -> Asked:
        words: dict[str | float, Asked] = {"auto": "auto", "none": None}
        said = self.top.lease
        if isinstance(said, str) and said not in words:
            self.fail(("lease",), f'should be a number of seconds, "auto" or "none", not {said!r}')
        lease = words[said] if isinstance(said, str) else said
        if self.top.etcd is not None:
            self._checked(lease, ("lease",), etcd_lease)
        return lease

    def _check_addresses(self, config: Config) -> None:
        seen: dict[str, str] = {}
        for name, member in config.members.items():
            if other := seen.get(member.address):
                self.fail(("nodes", name), f"has the address of {other}, {member.address}")
            seen[member.address] = name
        far = [
            name
            for name, member in config.members.items()
            if not all(address(each).local for each in (member.address, member.listen) if each)
        ]
        bare = [name for name, m in config.members.items() if m.tls is None and m.secret_file is None]
        if far and bare and not config.insecure:
            self.fail(
                ("nodes", far[0]),
                f"is not on this host, and {bare[0]} has neither tls nor secret_file; give one of them, "
                "or insecure = true if everybody there is trusted",
            )

    def _algorithm(self, key: str, several: bool) -> str | None:
        name: str | None = getattr(self.top, key)
        if name is None:
            return None
        if is_own(name):
            name = str(self.path.absolute().parent / name) if ".py" in name else name
        card = self._checked(name, (key,), load_card)
        if several and card.capacity == "1":
            self.fail((key,), f"{name} is for locks")
        return name

    def _name(self, name: str, keys: Keys) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            self.fail(keys, f"{name!r} is no good name; use letters, digits, '.', '-' and '_'")
        return name

    def _path(self, text: str, name: str) -> Path:
        return self.path.absolute().parent / text.replace("{name}", name)

    def _checked(self, text: Any, keys: Keys, check: Callable[[Any], T]) -> T:
        try:
            return check(text)
        except UsageError as error:
            self.fail(keys, str(error))
