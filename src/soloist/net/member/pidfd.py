"""A peer on the same host has ended: seen within a millisecond, and never wrongly.

The end of a connection proves nothing: living processes close theirs, and a child may keep open those of a dead one. A
pidfd does prove it. It stands for one process, whatever becomes of its number, and is readable once no thread of it
runs. It is taken at the handshake, from the Unix socket to that peer (`soloist.net.link.shortcut`).

Linux 6.5 and later name the process at the other end of a socket for certain. Before, there is its number only, which
may belong to another process by the time that it is looked up. So there the peer must state the same number itself, in
the same namespace of the same boot; and what we open counts only once the peer has answered something that we said
after we had opened it: then it was alive when we did.

It is the process that made the connection, or listens. If it hands its sockets to another one, the proof is about the
wrong process; nodes do not do that, and close their sockets in the child of a fork.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import msgspec

from soloist.net.member.place import boot_id

SO_PEERPIDFD = 77
"""The same on all platforms of Linux where Python knows no name for it, but for PA-RISC and SPARC."""
_CREDENTIALS = struct.Struct("3i")
_ALL: WeakSet[PeerProcess] = WeakSet()


class Process(msgspec.Struct, frozen=True, array_like=True):
    """What a process says of itself in the handshake."""

    pid: int
    namespace: int
    """The inode of its pid namespace: in another one, numbers mean other processes."""
    boot: str

    @classmethod
    def mine(cls) -> Process:
        return cls(os.getpid(), _namespace(), boot_id())

    def shares_numbers(self) -> bool:
        """Whether its number means to us what it means to it."""
        mine = Process.mine()
        return bool(self.boot and self.namespace) and (self.boot, self.namespace) == (
            mine.boot,
            mine.namespace,
        )


class PeerProcess:
    """The process of a peer. Call `answered` once it has answered what we said after `take`; then `watch` it."""

    def __init__(self, descriptor: int, confirmed: bool) -> None:
        self.descriptor, self.confirmed = descriptor, confirmed
        self._loop: asyncio.AbstractEventLoop | None = None
        _ALL.add(self)

    def answered(self) -> None:
        self.confirmed = True

    @property
    def gone(self) -> bool:
        """Whether it has ended for certain."""
        if not self.confirmed or self.descriptor < 0:
            return False
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(0))

    def watch(self, callback: Callable[[], None]) -> None:
        """Call back once, on the running loop, when it has ended."""
        if not self.confirmed or self.descriptor < 0:
            raise ValueError("a process is watched once its peer has answered, and until `close`")
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.descriptor, self._ended, callback)

    def _ended(self, callback: Callable[[], None]) -> None:
        gone = self.gone  # a loop also calls for errors, and those prove nothing
        self.close()
        if gone:
            callback()

    def close(self) -> None:
        if self.descriptor < 0:
            return
        if self._loop and not self._loop.is_closed():
            self._loop.remove_reader(self.descriptor)
        os.close(self.descriptor)
        self.descriptor = -1

    def descriptors(self) -> list[int]:
        return [self.descriptor] if self.descriptor >= 0 else []


def take(sock: Any, stated: Process | None) -> PeerProcess | None:
    """The process at the other end of a Unix socket, if that can be said for certain; None if not.

    `stated` is what the peer has said of itself. Take it before you say something that the peer has to answer.
    """
    if sys.platform != "linux" or sock.family != socket.AF_UNIX:
        return None
    descriptor = _named(sock)
    if descriptor is None:
        return _looked_up(sock, stated)
    if stated and stated.shares_numbers() and stated.pid != _number(sock):
        os.close(descriptor)
        return None
    return PeerProcess(descriptor, confirmed=True)


def _named(sock: Any) -> int | None:
    """By the kernel itself."""
    with contextlib.suppress(OSError):  # an older kernel; or the peer has gone already
        return int(sock.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD))
    return None


def _looked_up(sock: Any, stated: Process | None) -> PeerProcess | None:
    """By its number: to be confirmed."""
    number = _number(sock)
    if not stated or not stated.shares_numbers() or stated.pid != number:
        return None
    try:
        return PeerProcess(os.pidfd_open(number), confirmed=False)
    except OSError:
        return None


def _number(sock: Any) -> int:
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[0])


def _namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _forked() -> None:
    """Replaced, not closed: `soloist.net.registry` says why."""
    with contextlib.suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        for process in _ALL:
            process.confirmed = False
            for descriptor in process.descriptors():
                os.dup2(nothing, descriptor, inheritable=False)
        os.close(nothing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
