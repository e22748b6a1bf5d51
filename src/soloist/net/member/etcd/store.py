"""What is kept in etcd, and the transactions by which it changes.

Below one prefix, as JSON:

    view                    the newest view
    change                  the epoch that somebody wants to begin: members wedge, and report
    members/INCARNATION     what one member or joiner says of itself; bound to a lease of etcd

One rule makes it safe: a view without a member is written only in a transaction in which the member's key is not there,
or after that member has reported that it holds nothing. Each key is written by its owner alone, over the revision that
it wrote last; so one that is gone does not come back, and a request that was long on its way changes nothing.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any

import msgspec

from soloist.core import SoloistError
from soloist.net.member.etcd.client import Client
from soloist.views import Eviction, Node, View
from soloist.views.messages import Report

PREFIX = "soloist"
VIEW, CHANGE, MEMBERS = "view", "change", "members/"


class Unreadable(SoloistError):
    """Somebody else, or another version, has written what is there."""


class Entry(msgspec.Struct, frozen=True):
    """What one incarnation says of itself."""

    node: Node
    origin: int = 0
    """The fence that it would have all fences lie above, if it is the first."""
    epoch: int = -1
    """Of the view that it is in; below 0 if it wants to join."""
    report: Report | None = None
    deaf: tuple[str, ...] = ()
    """Members that it has not heard for a lease."""
    evictions: tuple[Eviction, ...] = ()
    """What somebody there wants taken from its holders."""


class Snapshot(msgspec.Struct, frozen=True):
    """All of it, at one revision."""

    view: View | None = None
    revision: int = 0
    """Of the view."""
    change: int = 0
    """The epoch that somebody wants to begin."""
    entries: dict[str, Entry] = {}
    """By incarnation."""
    revisions: dict[str, int] = {}
    """Of the entries."""
    raw: dict[str, bytes] = {}
    """All values, by their keys without the prefix."""

    @property
    def evictions(self) -> tuple[Eviction, ...]:
        return tuple(sorted({each for entry in self.entries.values() for each in entry.evictions}))


class Store:
    """The keys of one cluster. Its calls wait for etcd, and may raise `Unreachable` or `Unreadable`."""

    def __init__(self, client: Client, cluster: str) -> None:
        self.client, self.prefix = client, f"{PREFIX}/{cluster}/"

    def read(self) -> Snapshot:
        """As it is now: a majority of etcd was asked."""
        return self._transact([], [])[1]

    def renew(self, entry: Entry, revision: int, seconds: int) -> tuple[bool, Snapshot]:
        """Write an entry, and bind it to a lease that begins now, whatever it was bound to before.

        Not by a keep-alive: a leader of etcd that is none any more goes on to answer these, and to end leases that
        another has prolonged (etcd's issue 15247). A lease that is never prolonged ends at no leader before its time.
        """
        lease = self.client.call("/v3/lease/grant", {"TTL": seconds})["ID"]
        return self._write(entry, revision, {"lease": lease})

    def write(self, entry: Entry, revision: int) -> tuple[bool, Snapshot]:
        """Write an entry that is there; its lease stays as it is."""
        return self._write(entry, revision, {"ignore_lease": True})

    def remove(self, incarnation: str) -> Snapshot:
        """That one has ended, or has left: its entry is gone for good."""
        return self._transact([], [{"request_delete_range": {"key": self._key(MEMBERS + incarnation)}}])[1]

    def mark(self, epoch: int, over: Snapshot) -> Snapshot:
        """Ask all members to wedge, unless there is another view by now."""
        return self._transact([self._same_view(over)], [self._put(CHANGE, str(epoch).encode())])[1]

    def decide(self, view: View, over: Snapshot, absent: Iterable[str]) -> Snapshot:
        """Make this the view after the one of `over`, if those incarnations have no entry."""
        gone = [self._compare(MEMBERS + each, "CREATE", 0) for each in absent]
        change = {"request_delete_range": {"key": self._key(CHANGE)}}
        return self._transact(
            [self._same_view(over), *gone], [self._put(VIEW, msgspec.json.encode(view)), change]
        )[1]

    def watched(self) -> dict[str, Any]:
        """What to ask for to be told of every change."""
        return {"create_request": self._everything()}

    def named(self, key: str) -> str:
        """From what etcd calls a key."""
        return b64decode(key).decode().removeprefix(self.prefix)

    # How it is said.

    def _write(self, entry: Entry, revision: int, lease: dict[str, Any]) -> tuple[bool, Snapshot]:
        key = MEMBERS + entry.node.incarnation
        put = self._put(key, msgspec.json.encode(entry), **lease)
        return self._transact([self._compare(key, "MOD", revision)], [put])

    def _transact(
        self, compare: list[dict[str, Any]], success: list[dict[str, Any]]
    ) -> tuple[bool, Snapshot]:
        """Whether it was done, and what is there then."""
        look = {"request_range": self._everything()}
        answer = self.client.call(
            "/v3/kv/txn", {"compare": compare, "success": [*success, look], "failure": [look]}
        )
        found = answer["responses"][-1]["response_range"].get("kvs", [])
        return bool(answer.get("succeeded")), self._snapshot(found)

    def _snapshot(self, found: list[dict[str, Any]]) -> Snapshot:
        raw = {self.named(each["key"]): b64decode(each.get("value", "")) for each in found}
        at = {self.named(each["key"]): int(each["mod_revision"]) for each in found}
        members = [key for key in raw if key.startswith(MEMBERS)]
        return Snapshot(
            view=self._decoded(VIEW, raw[VIEW], View) if VIEW in raw else None,
            revision=at.get(VIEW, 0),
            change=self._decoded(CHANGE, raw[CHANGE], int) if CHANGE in raw else 0,
            entries={key.removeprefix(MEMBERS): self._decoded(key, raw[key], Entry) for key in members},
            revisions={key.removeprefix(MEMBERS): at[key] for key in members},
            raw=raw,
        )

    def _decoded(self, key: str, value: bytes, kind: Any) -> Any:
        try:
            return msgspec.json.decode(value, type=kind)
        except (msgspec.MsgspecError, SoloistError) as error:
            raise Unreadable(f"{self.prefix}{key} in etcd cannot be read: {error}") from None

    def _same_view(self, snapshot: Snapshot) -> dict[str, Any]:
        """A revision of 0: there is none yet."""
        return self._compare(VIEW, "MOD", snapshot.revision)

    def _compare(self, key: str, what: str, revision: int) -> dict[str, Any]:
        field = {"MOD": "mod_revision", "CREATE": "create_revision"}[what]
        return {"key": self._key(key), "target": what, "result": "EQUAL", field: str(revision)}

    def _put(self, key: str, value: bytes, **more: Any) -> dict[str, Any]:
        return {"request_put": {"key": self._key(key), "value": b64encode(value).decode(), **more}}

    def _key(self, key: str) -> str:
        return b64encode((self.prefix + key).encode()).decode()

    def _everything(self) -> dict[str, Any]:
        end = self.prefix[:-1] + chr(ord(self.prefix[-1]) + 1)
        return {"key": self._key(""), "range_end": b64encode(end.encode()).decode()}
