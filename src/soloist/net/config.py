"""The file that describes a cluster, the same for all its members and for whoever talks to them.

    cluster = "orders"
    algorithm = "naimi-trehel"

    [nodes]
    a = "127.0.0.1:7401"
    b = "127.0.0.1:7402"
    c = { address = "127.0.0.1:7403", metrics = 9103 }

`control`, `metrics`, `secret_file`, `tls` and `trace` may stand at the top, for all nodes, or with a node, for that
one. In paths `{name}` is the node's name; relative ones start where the file is. Whatever is wrong is said with
file, line and key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from soloist.algorithms import find
from soloist.core import UsageError, unknown
from soloist.core.toml import Keys, has, line_of
from soloist.net.node import Node
from soloist.net.security import TLS, Address, address

ANYWHERE = ("control", "metrics", "secret_file", "tls", "trace")
AT_THE_TOP = (
    "cluster",
    "algorithm",
    "semaphore_algorithm",
    "locality",
    "insecure",
    "shortcut",
    "nodes",
    *ANYWHERE,
)
OF_A_NODE = ("address", *ANYWHERE)
OF_TLS = ("certificate", "authority", "key")

SOCKET_PATH = 107
"""The longest path of a Unix socket, in bytes."""


class Member(msgspec.Struct, frozen=True):
    """One node of the cluster, as its file describes it."""

    name: str
    address: str
    control: Path
    metrics: Address | None = None
    secret_file: Path | None = None
    tls: TLS | None = None
    trace: Path | None = None

    def secret(self) -> bytes | None:
        """What is in the secret's file; a line end after it is not part of it."""
        if self.secret_file is None:
            return None
        try:
            secret = self.secret_file.read_bytes().rstrip(b"\r\n")
        except OSError as error:
            raise UsageError(f"secret_file {self.secret_file}: {error.strerror}") from None
        if not secret:
            raise UsageError(f"secret_file {self.secret_file} is empty")
        return secret


class Config(msgspec.Struct, frozen=True):
    """A cluster, as its file describes it."""

    path: Path
    cluster: str
    algorithm: str
    semaphore_algorithm: str
    locality: int
    insecure: bool
    shortcut: bool
    members: dict[str, Member]

    def member(self, name: str) -> Member:
        if name not in self.members:
            raise UsageError(f"{self.path}: {unknown('node', name, self.members)}")
        return self.members[name]

    def node(self, name: str) -> Node:
        """The node of that name, not started yet."""
        member = self.member(name)
        return Node(
            name,
            {each.name: each.address for each in self.members.values()},
            algorithm=self.algorithm,
            semaphore_algorithm=self.semaphore_algorithm,
            cluster=self.cluster,
            tls=member.tls,
            secret=member.secret(),
            insecure=self.insecure,
            locality=self.locality,
            shortcut=self.shortcut,
        )


def load(path: Path) -> Config:
    """Read and check a cluster's file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    return parse(text, path)


def parse(text: str, path: Path) -> Config:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(path, str(error)) from None
    return _Reader(text, path, data).config()


def _syntax(path: Path, message: str) -> UsageError:
    """Say where first, as compilers do."""
    if found := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL):
        what, line, column = found.groups()
        return UsageError(f"{path}:{line}:{column}: {what}")
    return UsageError(f"{path}: {message}")


class _Reader:
    """Turns tables into a `Config`, and complains with file, line and key."""

    def __init__(self, text: str, path: Path, data: dict[str, Any]) -> None:
        self.text, self.path, self.data = text, path, data

    def config(self) -> Config:
        self._known(self.data, (), AT_THE_TOP)
        if "nodes" not in self.data:
            raise UsageError(
                f'{self.path}: the table [nodes] is missing; it has a line like a = "host:7401" for each'
            )
        config = Config(
            path=self.path,
            cluster=self._name(self._get("cluster", _text, "soloist"), ("cluster",)),
            algorithm=self._algorithm("algorithm", "naimi-trehel", "1"),
            semaphore_algorithm=self._algorithm("semaphore_algorithm", "raymond-k", "K"),
            locality=self._get("locality", _count, 1),
            insecure=self._get("insecure", _flag, False),
            shortcut=self._get("shortcut", _flag, True),
            members=self._members(),
        )
        self._check_addresses(config)
        return config

    def _members(self) -> dict[str, Member]:
        nodes = self._checked(self.data["nodes"], ("nodes",), _table)
        if not nodes:
            self._fail(("nodes",), 'names no node; it has a line like a = "host:7401" for each')
        return {name: self._member(name, value) for name, value in nodes.items()}

    def _member(self, name: str, value: Any) -> Member:
        keys = ("nodes", self._name(name, ("nodes", name)))
        own = {"address": value} if isinstance(value, str) else self._checked(value, keys, _address_or_table)
        self._known(own, keys, OF_A_NODE)
        if "address" not in own:
            self._fail(keys, "has no address")

        def find_setting(key: str, check: Callable[[Any], Any]) -> Any:
            if key in own:
                return self._checked(own[key], (*keys, key), check)
            return self._get(key, check, None)

        def file(key: str) -> Path | None:
            text = find_setting(key, _text)
            return None if text is None else self._path(text, name)

        tls_keys = (*keys, "tls") if "tls" in own else ("tls",)
        return Member(
            name=name,
            address=self._checked(
                own["address"], keys if isinstance(value, str) else (*keys, "address"), _address
            ),
            control=self._control(
                file("control"), name, (*keys, "control") if "control" in own else ("control",)
            ),
            metrics=find_setting("metrics", _port),
            secret_file=file("secret_file"),
            tls=self._tls(find_setting("tls", _table), name, tls_keys),
            trace=file("trace"),
        )

    def _control(self, path: Path | None, name: str, keys: Keys) -> Path:
        """By default beside the file: both the daemon and its clients read that, so they always agree."""
        path = path or self._path(f"{self.data.get('cluster', 'soloist')}-{name}.sock", name)
        if len(bytes(path)) > SOCKET_PATH:
            where = self._where(keys) if has(self.data, keys) else str(self.path)
            raise UsageError(
                f"{where}: control: {path} is too long for a socket ({len(bytes(path))} bytes, "
                f"{SOCKET_PATH} are allowed); set control to a shorter path"
            )
        return path

    def _tls(self, table: Mapping[str, Any] | None, name: str, keys: Keys) -> TLS | None:
        if table is None:
            return None
        self._known(table, keys, OF_TLS)
        for needed in ("certificate", "authority"):
            if needed not in table:
                self._fail(keys, f"has no {needed}")
        paths = {
            key: str(self._path(self._checked(value, (*keys, key), _text), name))
            for key, value in table.items()
        }
        return TLS(**paths)

    def _check_addresses(self, config: Config) -> None:
        seen: dict[str, str] = {}
        for name, member in config.members.items():
            if other := seen.get(member.address):
                self._fail(("nodes", name), f"has the address of {other}, {member.address}")
            seen[member.address] = name
        far = [name for name, member in config.members.items() if not address(member.address).local]
        bare = [name for name, m in config.members.items() if m.tls is None and m.secret_file is None]
        if far and bare and not config.insecure:
            self._fail(
                ("nodes", far[0]),
                f"is not on this host, and {bare[0]} has neither tls nor secret_file; give one of them, "
                "or insecure = true if everybody there is trusted",
            )

    # Single values.

    def _get(self, key: str, check: Callable[[Any], Any], default: Any) -> Any:
        return self._checked(self.data[key], (key,), check) if key in self.data else default

    def _checked(self, value: Any, keys: Keys, check: Callable[[Any], Any]) -> Any:
        try:
            return check(value)
        except UsageError as error:
            self._fail(keys, str(error))

    def _known(self, table: Mapping[str, Any], keys: Keys, known: Collection[str]) -> None:
        for key in table:
            if key not in known:
                self._fail((*keys, key), str(unknown("key", key, known)))

    def _algorithm(self, key: str, default: str, capacity: str) -> str:
        name: str = self._get(key, _text, default)
        card = self._checked(name, (key,), find)
        if card.capacity != capacity:
            self._fail((key,), f"{name} is for {'semaphores' if card.capacity == 'K' else 'locks'}")
        return name

    def _name(self, name: str, keys: Keys) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            self._fail(keys, f"{name!r} is no good name; use letters, digits, '.', '-' and '_'")
        return name

    def _path(self, text: str, name: str) -> Path:
        return self.path.absolute().parent / text.replace("{name}", name)

    def _where(self, keys: Keys) -> str:
        line = line_of(self.text, keys)
        return f"{self.path}:{line}" if line else str(self.path)

    def _fail(self, keys: Keys, problem: str) -> NoReturn:
        raise UsageError(f"{self._where(keys)}: {'.'.join(map(str, keys))}: {problem}") from None


# What a value must be. Each returns it in the form that is used, or says what is wrong.


def _kind(value: Any) -> str:
    kinds = {
        bool: "true or false",
        str: "text",
        int: "a number",
        float: "a number",
        dict: "a table",
        list: "a list",
    }
    return kinds.get(type(value), "a date or time")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"should be text in quotes, not {_kind(value)}")
    if not value:
        raise UsageError("is empty")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"should be true or false, not {_kind(value)}")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"should be a whole number from 0, not {value!r}")
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"should be a table, not {_kind(value)}")
    return value


def _address_or_table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"should be an address in quotes or a table, not {_kind(value)}")
    return value


def _address(value: Any) -> str:
    address(_text(value))
    return str(value)


def _port(value: Any) -> Address:
    """A port on this host, or HOST:PORT for those who want to be asked from elsewhere."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"127.0.0.1:{value}"
    found = address(_text(value))
    if found.unix:
        raise UsageError(f"should be a port or HOST:PORT, not {value!r}")
    return found
