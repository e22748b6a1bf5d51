"""Renewals do not wait for the loop: a thread of its own has the sockets that they go through, at both ends.

A loop in which somebody sleeps or computes for longer than a lease must not lose what the node holds. asyncio's
transports belong to their loop, so a `Pulse` has raw sockets, a selector and timers, and nothing of it waits: a peer
that does not read loses its oldest frames, one that says nonsense loses its connection, and the others notice nothing.
What is said here may be lost. It will be said again.

Callbacks run in the thread. They must not wait either; a callback that raises is logged.
"""

from __future__ import annotations

import heapq
import logging
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

from soloist.net.link.cipher import Cipher, Plain
from soloist.net.link.connection import MALFORMED
from soloist.net.link.wire import MAX_FRAME, Frames, frame

log = logging.getLogger("soloist.net")

READ_BYTES = 64 * 1024
"""Bytes read from one peer before the others have their turn."""
MOST_QUEUED = 1024 * 1024
"""Bytes that wait for a peer that does not read; then its oldest frames go. One frame may always wait."""

OnFrame = Callable[[str, bytes], None]
OnLost = Callable[[str, str], None]


class _Line:
    """One connection."""

    def __init__(self, peer: str, sock: socket.socket, cipher: Cipher, limit: int) -> None:
        self.peer, self.socket, self.cipher = peer, sock, cipher
        self.frames = Frames(limit)
        self.queue: deque[bytes] = deque()
        self.queued = 0
        self.leaving = memoryview(b"")
        """What has begun to leave, and must leave whole."""
        self.lost = False

    def put(self, framed: bytes) -> int:
        """Gives how many frames had to go for it."""
        self.queue.append(framed)
        self.queued += len(framed)
        gone = 0
        while self.queued > MOST_QUEUED and len(self.queue) > 1:
            self.queued -= len(self.queue.popleft())
            gone += 1
        return gone

    def flush(self) -> None:
        """Send what the socket takes. May raise OSError."""
        while self.leaving or self._next():
            try:
                self.leaving = self.leaving[self.socket.send(self.leaving) :]
            except (BlockingIOError, InterruptedError):
                return

    def _next(self) -> bool:
        leaving = self.cipher.pending()
        if not leaving and self.queue and self.cipher.ready:
            framed = self.queue.popleft()
            self.queued -= len(framed)
            leaving = self.cipher.encrypt(framed)
        self.leaving = memoryview(leaving)
        return bool(leaving)

    @property
    def interest(self) -> int:
        waiting = self.leaving or (self.queue and self.cipher.ready)
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if waiting else 0)


class Pulse:
    """A thread that keeps connections to peers, each by its name. All methods may be called from any thread."""

    def __init__(
        self, on_frame: OnFrame, on_lost: OnLost = lambda peer, why: None, limit: int = MAX_FRAME
    ) -> None:
        """`on_frame(peer, body)`: a peer has said this; if it raises that this cannot be read, the connection ends.

        `on_lost(peer, why)`: there is no connection any more. Make a new one, and `add` it.
        """
        self._on_frame, self._on_lost, self._limit = on_frame, on_lost, limit
        self.dropped = 0
        """Frames that peers were too slow for."""
        self._lines: dict[str, _Line] = {}
        self._jobs: deque[Callable[[], None]] = deque()
        self._timers: list[tuple[float, int, float, Callable[[], None]]] = []
        self._numbers = count()
        self._cancelled: set[int] = set()
        self._closing = False
        self._selector = selectors.DefaultSelector()
        self._bell, self._rope = socket.socketpair()
        self._bell.setblocking(False)
        self._rope.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="soloist-pulse", daemon=True)
        self._thread.start()

    # What others ask.

    def add(
        self,
        peer: str,
        sock: socket.socket,
        unread: bytes = b"",
        cipher: Cipher | None = None,
        first: bytes | None = None,
    ) -> None:
        """Take over a connection to a peer that has shown who it is; one that was there before is closed.

        `unread` is what was read from it already, and is about what comes next. `first` is said before anything else.
        """
        if self._closing:
            sock.close()
            return
        sock.setblocking(False)
        line = _Line(peer, sock, cipher or Plain(), self._limit)
        if first is not None:
            line.put(frame(first))
        self.do(partial(self._add, line, unread))

    def drop(self, peer: str) -> None:
        """Close the connection to a peer; nobody is told."""
        self.do(partial(self._drop, peer))

    def send(self, peer: str, body: bytes) -> None:
        """Nothing happens if there is no connection."""
        self.do(partial(self._send, peer, frame(body)))

    def send_all(self, body: bytes) -> None:
        self.do(partial(self._send_all, frame(body)))

    def call_every(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]:
        """Call it now, and again and again; what this gives ends it. What is late is not made up for."""
        if not seconds > 0:
            raise ValueError(f"every {seconds} seconds is never, or always")
        number = next(self._numbers)
        self.do(partial(self._schedule, 0.0, number, seconds, work))
        return partial(self._cancelled.add, number)

    def do(self, job: Callable[[], None]) -> bool:
        """Let the thread do it soon, in the order of asking; at once, if it is the thread that asks. Not once closed."""
        if threading.current_thread() is self._thread:
            job()
        elif self._closing:
            return False
        else:
            self._jobs.append(job)
            self._ring()
        return True

    def peers(self) -> set[str]:
        return set(self._lines)

    def descriptors(self) -> list[int]:
        """The files that the child of a fork must not keep."""
        files: list[Any] = [self._bell, self._rope, *(line.socket for line in tuple(self._lines.values()))]
        with suppress(AttributeError, ValueError):  # a selector that is no file, or is closed
            files.append(self._selector.fileno())
        numbers = [file if isinstance(file, int) else file.fileno() for file in files]
        return [number for number in numbers if number >= 0]

    def close(self) -> None:
        """Close all connections. What is queued is not waited for."""
        self._closing = True
        self._ring()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _ring(self) -> None:
        with suppress(OSError):  # it rings already, or for nobody
            self._rope.send(b"\0")

    # What the thread does.

    def _run(self) -> None:
        try:
            while not self._closing:
                for key, events in self._selector.select(self._patience()):
                    if key.data is None:
                        with suppress(BlockingIOError):
                            self._bell.recv(READ_BYTES)
                    elif not key.data.lost:
                        self._serve(key.data, events)
                for _ in range(len(self._jobs)):
                    self._guarded(self._jobs.popleft())
                self._call_those_due()
            while self._jobs:  # a connection that was added last shall be closed, too
                self._guarded(self._jobs.popleft())
        finally:
            for line in tuple(self._lines.values()):
                self._forget(line)
            self._selector.close()
            self._bell.close()
            self._rope.close()

    def _patience(self) -> float | None:
        if self._jobs:
            return 0.0
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            log.exception("what a renewal led to has failed")

    def _schedule(self, due: float, number: int, seconds: float, work: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (due, number, seconds, work))

    def _call_those_due(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            _, number, seconds, work = heapq.heappop(self._timers)
            if number in self._cancelled:
                self._cancelled.discard(number)
                continue
            self._guarded(work)
            self._schedule(max(time.monotonic(), now) + seconds, number, seconds, work)

    def _add(self, line: _Line, unread: bytes) -> None:
        self._drop(line.peer)
        self._lines[line.peer] = line
        self._selector.register(line.socket, selectors.EVENT_READ, line)
        self._flush(line)
        self._take_in(line, unread)  # a cipher may have something, too

    def _send(self, peer: str, framed: bytes) -> None:
        if line := self._lines.get(peer):
            self.dropped += line.put(framed)
            self._flush(line)

    def _send_all(self, framed: bytes) -> None:
        for peer in tuple(self._lines):
            self._send(peer, framed)

    def _serve(self, line: _Line, events: int) -> None:
        if events & selectors.EVENT_READ:
            try:
                data = line.socket.recv(READ_BYTES)
            except (BlockingIOError, InterruptedError):
                data = None
            except OSError as error:
                self._lose(line, os.strerror(error.errno or 0))
                return
            if data == b"":
                self._lose(line, "the peer closed it")
                return
            if data:
                self._take_in(line, data)
        if not line.lost:
            self._flush(line)

    def _take_in(self, line: _Line, data: bytes) -> None:
        try:
            for body in line.frames.feed(line.cipher.decrypt(data)):
                if line.lost:
                    return
                self._deliver(line, bytes(body))
        except (*MALFORMED, OSError) as error:  # OSError: an error of TLS is one
            self._lose(line, str(error))

    def _deliver(self, line: _Line, body: bytes) -> None:
        try:
            self._on_frame(line.peer, body)
        except MALFORMED:
            raise
        except Exception:
            log.exception("what a renewal led to has failed")

    def _flush(self, line: _Line) -> None:
        """A sender need not know that a line is lost: that is told later, not in the middle of it."""
        try:
            line.flush()
            if line.interest != self._selector.get_key(line.socket).events:
                self._selector.modify(line.socket, line.interest, line)
        except OSError as error:
            self._jobs.append(partial(self._hear_out, line, os.strerror(error.errno or 0)))

    def _hear_out(self, line: _Line, why: str) -> None:
        """The peer takes nothing any more. But what it said before it went, its goodbye perhaps, is still to be read."""
        with suppress(OSError):
            while not line.lost and (data := line.socket.recv(READ_BYTES)):
                self._take_in(line, data)
        self._lose(line, why)

    def _lose(self, line: _Line, why: str) -> None:
        if not line.lost:
            with suppress(OSError):
                line.flush()  # why TLS will not go on, for the peer
            self._forget(line)
            self._guarded(partial(self._on_lost, line.peer, why))

    def _drop(self, peer: str) -> None:
        if line := self._lines.get(peer):
            self._forget(line)

    def _forget(self, line: _Line) -> None:
        line.lost = True
        del self._lines[line.peer]
        self._selector.unregister(line.socket)
        line.socket.close()
