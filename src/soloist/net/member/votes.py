"""The vote file: what a voter must never forget, kept so that it is there after any crash, or known to be bad.

One file has it all, with a checksum. A store writes a new one beside it, syncs it, puts it in the old one's place and
syncs the directory; so whatever happens, one of the two is there, and whole. Each store makes a new inode, so it is the
inode of the directory's `lock` file that tells a copy of the directory from the original: that file is made once and
never replaced. What no inode can tell is an older vote file put back into the same directory: its edition is for that,
which grows with each store and which peers remember (`soloist.net.member.editions`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Protocol

import msgspec

from soloist.core import SoloistError
from soloist.net.member.origin import DataDirectory
from soloist.net.member.place import Place
from soloist.views.effects import VoteFile

NAME, BESIDE, ASIDE = "votes", "votes.new", "votes.bad"
HEADER = "soloist votes 1"
POINTS = ("begun", "written", "synced", "renamed", "stored")
"""The moments of a store at which a crash can leave something else behind."""


class CannotStore(SoloistError):
    """The vote file cannot be written. Nothing that depends on it may be said, and this voter votes no more."""


class Votes(Protocol):
    """Where a voter's file is kept."""

    file: VoteFile
    """As it was stored last; of a voter to be, if there has never been one."""
    bad: str
    """Why the file that is there is no good, in words; then there is no vote."""
    place: str
    loaded: int
    """The edition that was read; 0 if there was none."""
    edition: int
    """The one that is there now."""

    def knows(self, edition: int) -> bool:
        """Whether this can be an edition of the file that we read, or have written since."""

    def store(self, file: VoteFile) -> None:
        """Once this returns, it is there for good. Raises `CannotStore`, and from then on always."""

    def begin_anew(self) -> None:
        """Put a bad file aside and be a voter to be, under another id."""

    def descriptors(self) -> list[int]: ...

    def close(self) -> None: ...


def new_voter(cluster: str, node: str) -> VoteFile:
    """A voter that has never voted. Its id is new: one that has lost its file must not be taken for what it was."""
    return VoteFile(cluster=cluster, voter=f"{node}#{os.urandom(4).hex()}")


class MemoryVotes:
    """A vote file for clusters that live in one process: it lives as long as this object."""

    place = "memory"
    loaded = edition = 0

    def __init__(self, cluster: str, node: str) -> None:
        self.cluster, self.node = cluster, node
        self.file = new_voter(cluster, node)
        self.bad = ""

    def knows(self, edition: int) -> bool:
        return True

    def store(self, file: VoteFile) -> None:
        if self.bad:
            raise CannotStore(self.bad)
        self.file = file
        self.edition += 1

    def begin_anew(self) -> None:
        self.file, self.bad = new_voter(self.cluster, self.node), ""

    def descriptors(self) -> list[int]:
        return []

    def close(self) -> None:
        pass


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """What the file says."""

    node: str
    peers: dict[str, str]
    source: str
    """Where these peers were written down, for words to users."""
    place: Place
    file: VoteFile
    edition: int = 0


class DiskVotes:
    """The vote file in a data directory, which must be open: its lock keeps every other process out."""

    reached: Callable[[str], None] = staticmethod(lambda point: None)
    """Called with each of `POINTS`: tests end the process there."""

    def __init__(
        self, directory: DataDirectory, peers: Mapping[str, str] | None = None, source: str = ""
    ) -> None:
        """With `peers`, a file that was written for others is bad; without, it is not looked at.

        `source` says where these are written down, if not where the directory says.
        """
        self.directory, self.source = directory, source or directory.source
        self.path = directory.path / NAME
        self._peers = peers
        self.bad = self.failed = ""
        self.loaded = self.edition = self._first = 0
        self.stores, self.seconds = 0, 0.0
        """How often something was stored, and how long that took altogether."""
        self.on_store: Callable[[float], None] = lambda seconds: None
        """Called after each store with the time that it took, in whatever thread stores."""
        (self._lock,) = directory.descriptors()
        self._where = Place.of(self._lock)
        self.place = str(self._where)
        self._folder = os.open(directory.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.file = new_voter(directory.cluster, directory.node)
        self._read()

    # What is there.

    def _read(self) -> None:
        try:
            content = self._content()
        except FileNotFoundError:
            return
        except OSError as error:
            self.bad = f"{self.path} cannot be read: {os.strerror(error.errno or 0)}"
            return
        record = _decode(content)
        if record is None:
            self.bad = f"{self.path} is damaged"
        elif why := self._misplaced(record):
            self.bad = f"{self.path} {why}"
        else:
            self._peers = record.peers if self._peers is None else self._peers
            self.file = msgspec.structs.replace(record.file, place=self.place)
            self.loaded = self.edition = record.edition

    def _misplaced(self, record: _Record) -> str:
        """Why a file that is whole is not ours."""
        cluster, node = self.directory.cluster, self.directory.node
        if (record.file.cluster, record.node) != (cluster, node):
            return f"belongs to {record.node!r} of cluster {record.file.cluster!r}, not to {node!r} of {cluster!r}"
        if elsewhere := record.place.differs(self._where):
            return f"is a copy: it was written {elsewhere}"
        if self._peers is not None and not self._related(record.peers):
            of, now = (
                ("", "") if record.source == self.source else (f" of {record.source}", f" of {self.source}")
            )
            return f"was written for the peers{of} ({_shown(record.peers)}), not for those{now} ({_shown(self._peers)})"
        return ""

    def _related(self, peers: Mapping[str, str]) -> bool:
        """Whether these are the peers of the same cluster as ours, though some may have come or gone.

        The view decides who is a member. But another cluster of the same name, begun with the same directory, has
        nothing to do with that: there nobody else is the same.
        """
        assert self._peers is not None
        node, mine = self.directory.node, dict(self._peers)
        others = {name: where for name, where in peers.items() if name != node}
        same = [name for name, where in others.items() if mine.get(name) == where]
        return bool(peers == mine or same or not peers or (not others and peers[node] == mine[node]))

    def begin_anew(self) -> None:
        if self.bad:
            self.put_aside()
        self.file, self.bad = new_voter(self.directory.cluster, self.directory.node), ""

    def put_aside(self) -> None:
        """Whatever file there is is not used any more."""
        with self._or_never_again(), contextlib.suppress(FileNotFoundError):
            os.replace(NAME, ASIDE, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            _sync(self._folder)

    def knows(self, edition: int) -> bool:
        return edition <= self.loaded or self._first <= edition <= self.edition

    # What is written.

    def store(self, file: VoteFile) -> None:
        if self.bad or self.failed:
            raise CannotStore(self.bad or self.failed)
        edition = self.edition + (1 if self._first else leap())
        record = _Record(
            node=self.directory.node,
            peers=dict(self._peers or {}),
            source=self.source,
            place=self._where,
            file=file,
            edition=edition,
        )
        begun = time.perf_counter()
        with self._or_never_again():
            self._replace(_encode(record))
        self.file, self.edition = file, edition
        self._first = self._first or edition
        self.stores += 1
        took = time.perf_counter() - begun
        self.seconds += took
        self.on_store(took)
        self.reached("stored")

    def _replace(self, content: bytes) -> None:
        if not os.path.samestat(os.stat("lock", dir_fd=self._folder), os.fstat(self._lock)):
            raise OSError(0, "its lock file was replaced")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        beside = os.open(BESIDE, flags, 0o600, dir_fd=self._folder)
        with open(beside, "wb") as file:
            self.reached("begun")
            file.write(content)
            file.flush()
            self.reached("written")
            _sync(beside)
        self.reached("synced")
        os.replace(BESIDE, NAME, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self.reached("renamed")
        _sync(self._folder)
        if self._content() != content:
            raise OSError(0, "it does not read as it was written")

    def _content(self) -> bytes:
        with open(NAME, "rb", opener=partial(os.open, dir_fd=self._folder)) as file:
            return file.read()

    @contextlib.contextmanager
    def _or_never_again(self) -> Iterator[None]:
        """After a failed sync nobody knows what is on disk, and a second one would not tell: so there is no second."""
        try:
            yield
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error.strerror
            self.failed = f"{self.path} cannot be written: {why}"
            with contextlib.suppress(OSError):
                os.unlink(BESIDE, dir_fd=self._folder)
            raise CannotStore(self.failed) from None

    def close(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1
        self.failed = self.failed or f"{self.path} is closed"

    def descriptors(self) -> list[int]:
        return [self._folder] if self._folder >= 0 else []


def leap() -> int:
    """By how much the number of editions grows at a start, so that two runs from one file never agree."""
    return 1 + secrets.randbelow(1 << 32)


def _encode(record: _Record) -> bytes:
    body = msgspec.json.encode(record)
    return f"{HEADER} {_checksum(body)}\n".encode() + body


def _decode(content: bytes) -> _Record | None:
    header, _, body = content.partition(b"\n")
    if header != f"{HEADER} {_checksum(body)}".encode():
        return None
    try:
        return msgspec.json.decode(body, type=_Record)
    except (msgspec.MsgspecError, SoloistError):  # whole, but not of this version
        return None


def _checksum(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _sync(descriptor: int) -> None:
    """To the disk itself: macOS calls that something else, and its fsync leaves it to the disk when to write."""
    import fcntl  # not on every platform

    if full := getattr(fcntl, "F_FULLFSYNC", None):
        fcntl.fcntl(descriptor, full)
    else:
        os.fsync(descriptor)


def _shown(peers: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {address}".rstrip() for name, address in sorted(peers.items())[:5])
