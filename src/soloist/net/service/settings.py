"""What the file of a cluster may say: its keys, and what kind of thing each is."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Text = Annotated[str, msgspec.Meta(min_length=1)]
Table = dict[str, Any]


class Settings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """At the top, for all nodes, or with a node."""

    control: Text | None = None
    metrics: int | Text | None = None
    secret_file: Text | None = None
    tls: Table | None = None
    trace: Text | None = None
    data_dir: Text | None = None
    clients: Text | None = None
    client_secret_file: Text | None = None


class KnownClient(msgspec.Struct, forbid_unknown_fields=True):
    """A client with a name: in the table [client.NAME]."""

    secret_file: Text | None = None
    allow: list[Text] | None = None


class Top(Settings):
    cluster: Text = "soloist"
    algorithm: Text | None = None
    semaphore_algorithm: Text | None = None
    locality: Annotated[int, msgspec.Meta(ge=0)] = 1
    lease: Annotated[float, msgspec.Meta(ge=0.5)] | str = "auto"
    etcd: list[Text] | Table | None = None
    insecure: bool = False
    shortcut: bool = True
    nodes: Table | None = None
    session_lease: Annotated[float, msgspec.Meta(ge=0.5)] = 10.0
    allow: list[Text] | None = None
    client: dict[str, KnownClient] = {}


class NodeSettings(Settings):
    address: Text
    listen: Text | None = None
    join: list[Text] | Table | None = None
    voter: bool = False
    voter_only: bool = False


class TlsSettings(msgspec.Struct, forbid_unknown_fields=True):
    certificate: Text
    authority: Text
    key: Text | None = None


class EtcdSettings(msgspec.Struct, forbid_unknown_fields=True):
    endpoints: list[Text]
    tls: Table
