"""Where the fences of a cluster begin, so that they go on growing when it is started again as a whole.

A fence is an epoch and a counter. The epoch of a new company is the time, in minutes, or one more than the last of
which a data directory knows, whichever is larger, and at least 1: by 0 a node says that it has no epoch yet. The counter
begins at the milliseconds of that minute, far enough apart that no earlier start can have reached them. Without a data
directory, a wall clock that was set back makes fences go back.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from soloist.core import UsageError
from soloist.net.engine.ticket import FENCE_BITS
from soloist.net.member.place import Place

_BEGINNING = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1000
MAX_EPOCH = (1 << 63 - FENCE_BITS) - 1
"""Minutes, in which epochs are counted: so that a fence fits into 63 bits. Reached in 2039 by the clock."""
_COUNTERS_PER_MILLISECOND = 1 << 22
"""Entries: more than anybody makes in a millisecond."""
DRIFT = 0.02
"""Fraction by which the clocks of two machines may differ in rate, and more."""


def by_clock(now: int | None = None) -> int:
    """The fence below all those of a cluster that begins now: at so many milliseconds since 1970."""
    now = time.time_ns() // 1_000_000 if now is None else now
    milliseconds = max(0, now - _BEGINNING)
    epoch, rest = divmod(milliseconds, 60_000)
    return min(epoch + 1, MAX_EPOCH) << FENCE_BITS | rest * _COUNTERS_PER_MILLISECOND


def most_counted(seconds: float) -> int:
    """What nobody's fences can count beyond within that time."""
    return math.ceil(seconds * 1000 * (1 + DRIFT)) * _COUNTERS_PER_MILLISECOND


def epoch_of(fence: int) -> int:
    return fence >> FENCE_BITS


class _Stored(msgspec.Struct, frozen=True):
    cluster: str
    node: str
    epoch: int
    incarnation: str = ""
    """Of the process that had the directory last."""
    place: Place | None = None
    """Where the directory's `lock` lay then."""
    serves: bool = False
    """Whether other processes went on when that one ended."""
    outlived: float = 0.0
    """Seconds for which its clients elsewhere, or those of one before it, may go on believing that they hold something."""


class DataDirectory:
    """What a node remembers when it is gone: the last epoch that it took part in. One node at a time has it."""

    def __init__(self, path: str | os.PathLike[str], cluster: str, node: str) -> None:
        self.path = Path(path)
        self.cluster, self.node = cluster, node
        self.source = "a program"
        """Where the cluster that uses it is written down, for words to users: the path of a file, if there is one."""
        self.file = self.path / "epoch.json"
        self._locked: int | None = None
        self.new = True
        """Whether nobody had it before, as far as can be seen."""
        self.previous = self.incarnation = ""
        """Of the process that had it before, which has ended; and of the one that has it.

        A copy of a directory proves nothing: the owner of the original may be alive. Neither does it if others go on."""
        self.serves, self.outlives = False, 0.0
        """Whether others use what this process has, and for how long clients may outlive it."""
        self.outlived = 0.0
        """For how long those of the processes before may, whatever this one is told to be."""

    def open(self) -> int:
        """Take it. Gives the fence below all those of the next epoch."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock()
            stored = self._read()
            self.previous = stored.incarnation if self._is_original(stored) and not stored.serves else ""
            self.outlived = 0.0 if self.new else max(stored.outlived, self.outlives)
            if not self.incarnation:  # no process begins
                self.incarnation = stored.incarnation
                self.serves, self.outlives = stored.serves, stored.outlived
            self._write(stored.epoch)  # to know now, and not when it matters, whether it can be written
        except OSError as error:
            self.close()
            raise UsageError(
                f"data_dir: {self.path} cannot be used: {os.strerror(error.errno or 0)}"
            ) from None
        except BaseException:
            self.close()
            raise
        return stored.epoch + 1 << FENCE_BITS

    def store(self, epoch: int) -> None:
        """Before anybody is let in: from now on the next start takes a higher one. May raise OSError."""
        self.outlived = self.outlives  # what outlived a process before has been waited for
        self._write(epoch)

    def become(self, incarnation: str) -> None:
        """This process goes on as another incarnation. May raise OSError."""
        self.incarnation = incarnation
        self._write(self._read().epoch)

    def close(self) -> None:
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    def descriptors(self) -> list[int]:
        return [] if self._locked is None else [self._locked]

    def _lock(self) -> None:
        import fcntl  # not on every platform

        self._locked = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise UsageError(f"data_dir: {self.path} is in use by another node; give each its own") from None

    def _is_original(self, stored: _Stored) -> bool:
        assert self._locked is not None
        return stored.place is not None and not stored.place.differs(Place.of(self._locked))

    def _read(self) -> _Stored:
        try:
            stored = msgspec.json.decode(self.file.read_bytes(), type=_Stored)
            self.new = False
        except FileNotFoundError:
            return _Stored(self.cluster, self.node, 0)
        except msgspec.MsgspecError as error:
            raise UsageError(
                f"data_dir: {self.file} is damaged ({error}); remove it to begin by the clock"
            ) from None
        if (stored.cluster, stored.node) != (self.cluster, self.node):
            raise UsageError(
                f"data_dir: {self.file} belongs to node {stored.node!r} of cluster {stored.cluster!r}, "
                f"not to {self.node!r} of {self.cluster!r}"
            )
        return stored

    def _write(self, epoch: int) -> None:
        """A new file in place of the old one: whatever happens, one of them is there, and whole."""
        beside = self.file.with_suffix(".new")
        assert self._locked is not None
        place = Place.of(self._locked)
        outlived = max(self.outlived, self.outlives)
        stored = _Stored(self.cluster, self.node, epoch, self.incarnation, place, self.serves, outlived)
        body = msgspec.json.encode(stored)
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.file)
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
        directory = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
