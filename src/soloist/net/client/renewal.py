"""A session is renewed by a thread of its own, with a connection that this thread owns.

A loop in which somebody sleeps or computes must not lose what its program holds.
"""

from __future__ import annotations

import math
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from soloist.core import ProtocolError
from soloist.net.client.greeting import Credentials, Greeting
from soloist.net.client.session import Session
from soloist.net.errors import NodeClosed
from soloist.net.link.security import Address
from soloist.net.link.wire import Frames, encode, frame
from soloist.net.service.dialogue import Renew, Renewed, decode_reply

LEAST_SECONDS = 0.02
MOST_SECONDS = 2.0
"""Seconds between two renewals, at most: else a third of the lease."""
LEAST_PATIENCE = 0.2
"""Seconds for an answer, at least."""
EAGER_SECONDS = 0.1
"""Seconds between two while nothing may be held yet: the node has no lease, and somebody waits for it to have one."""


class Renewal:
    """Of one session. `told` is called in the thread once something may be held in it, and at its end."""

    def __init__(
        self,
        session: Session,
        place: Address,
        who: Credentials,
        tls: ssl.SSLContext | None,
        told: Callable[[], None],
        patience: float = math.inf,
    ) -> None:
        """`patience`: seconds in which something may be held in it, or else this node is given up."""
        self.session, self.place, self.who, self.tls, self.told = session, place, who, tls, told
        self._given_up = time.monotonic() + patience
        self._stop = threading.Event()
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="soloist session", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if sock := self._socket:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def descriptors(self) -> list[int]:
        return [number for sock in [self._socket] if sock and (number := sock.fileno()) >= 0]

    # In the thread.

    def _run(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause) and self._hopeful():
            with suppress(OSError, ProtocolError, NodeClosed, msgspec.MsgspecError):
                self._converse()
            pause = self._interval() / 4
        if not self._stop.is_set():
            self.told()

    def _hopeful(self) -> bool:
        return self.session.alive() and (self.session.begun or time.monotonic() < self._given_up)

    def _interval(self) -> float:
        bound = self.session.lease or 3 * MOST_SECONDS
        if not self.session.begun:
            return min(bound / 3, EAGER_SECONDS)
        left = self.session.left() or bound
        return max(LEAST_SECONDS, min(bound / 3, left / 2, MOST_SECONDS))

    def _patience(self) -> float:
        """Seconds until an answer is given up. The first one may be far away."""
        bound = self.session.lease or 3 * MOST_SECONDS
        return max(self._interval() if self.session.begun else min(bound / 3, MOST_SECONDS), LEAST_PATIENCE)

    def _converse(self) -> None:
        with self._connect() as sock:
            self._socket = sock
            frames, first = Frames(), True
            greeting = Greeting(self.who, str(self.place), self.session.key, pulse=True)
            sock.sendall(greeting.hello())
            while greeting.welcome is None:
                for body in frames.feed(self._read(sock)):
                    sock.sendall(greeting.heard(body))
            if greeting.welcome.instance != self.session.instance:
                raise NodeClosed("there the session is another one: what is held here is not known there")
            while not self._stop.is_set() and self._hopeful():
                number = self.session.renew()
                sock.sendall(frame(encode(Renew(number))))
                while not self._acknowledged(frames, self._read(sock), number):
                    pass
                if first and self.session.begun:
                    first = False
                    self.told()
                self._stop.wait(self._interval())

    def _connect(self) -> socket.socket:
        seconds = self._patience()
        if self.place.unix:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(seconds)
            try:
                sock.connect(self.place.host)
            except BaseException:
                sock.close()
                raise
            return sock
        sock = socket.create_connection((self.place.host, self.place.port), seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.tls.wrap_socket(sock, server_hostname=self.place.host) if self.tls else sock

    def _read(self, sock: socket.socket) -> bytes:
        sock.settimeout(self._patience())
        data = sock.recv(65536)
        if not data:
            raise ProtocolError("the node hung up")
        return data

    def _acknowledged(self, frames: Frames, data: bytes, number: int) -> bool:
        """Whether the latest renewal was."""
        latest = False
        for body in frames.feed(data):
            said = decode_reply(body)
            if isinstance(said, Renewed):
                self.session.acknowledged(said.number, said.worth)
                latest |= said.number == number
        return latest
