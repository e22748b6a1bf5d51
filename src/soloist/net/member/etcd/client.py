"""How etcd is spoken to: JSON over HTTP, as its gateway takes it, to one endpoint after the other."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from soloist.core import SoloistError
from soloist.net.member.etcd.endpoints import Etcd

MOST_LINE = 64 * 1024 * 1024
"""Bytes of one event of a watch."""

_FAILURES = (OSError, http.client.HTTPException, ValueError)
"""No connection, no answer, or none that is HTTP and JSON."""


class Unreachable(SoloistError):
    """No endpoint has answered; whether one of them has done what was asked is not known."""


class Client:
    """One thread's way to etcd. Only `interrupt` and `descriptors` may be called from others."""

    def __init__(self, etcd: Etcd, seconds: float, most: float = 0.0) -> None:
        """Each endpoint has so many seconds to answer. Where none does, or one took long, each has twice as many next time,
        up to `most`: one that has been lost is passed over soon, and one that is slow is heard in the end."""
        self.endpoints, self.seconds = etcd.endpoints, seconds
        self.patience, self._most = seconds, max(seconds, most)
        self.troubles: dict[str, str] = {}
        """Why endpoints did not answer when they were last asked."""
        self.closed = False
        self._context = etcd.tls.client() if etcd.tls else None
        self._at = 0
        self._connection: http.client.HTTPConnection | None = None

    def call(self, path: str, body: object) -> Any:
        """Ask one endpoint; if it does not answer, the next; each once. Raises `Unreachable`."""
        for _ in self.endpoints:
            if self.closed:
                break
            begun = time.monotonic()
            try:
                answer = json.loads(self._answer(path, body).read())
            except _FAILURES as error:
                self._fail(error)
            else:
                self.troubles.pop(self.endpoint, None)
                self.patience = min(max(self.seconds, 2 * (time.monotonic() - begun)), self._most)
                return answer
        self.patience = min(2 * self.patience, self._most)
        raise Unreachable(self.trouble())

    def stream(self, path: str, body: object) -> Iterator[Any]:
        """What one endpoint says, line by line, until it says nothing for too long. Raises `Unreachable`."""
        try:
            answer = self._answer(path, body)
            self.troubles.pop(self.endpoint, None)
            while line := answer.readline(MOST_LINE):
                yield json.loads(line)
            raise ConnectionError("it ended")
        except _FAILURES as error:
            self._fail(error)
            raise Unreachable(self.trouble()) from None

    @property
    def endpoint(self) -> str:
        return self.endpoints[self._at]

    def trouble(self) -> str:
        return "; ".join(f"{endpoint}: {why}" for endpoint, why in self.troubles.items()) or "closed"

    def _answer(self, path: str, body: object) -> http.client.HTTPResponse:
        connection = self._connection = self._connection or self._connect()
        if connection.sock:  # it was made when there was more time, or less
            connection.sock.settimeout(self.patience)
        content = json.dumps(body).encode()
        try:
            connection.request("POST", path, content, {"Content-Type": "application/json"})
            if self.closed:  # `interrupt` has not seen this connection
                raise ConnectionError("closed")
            answer = connection.getresponse()
        except ValueError as error:  # closed by `interrupt`
            raise ConnectionError(str(error)) from None
        if answer.status != http.client.OK:
            raise OSError(0, _words(answer.read()))
        return answer

    def _connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.endpoint)
        host, port = str(parts.hostname), parts.port
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=self.patience, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=self.patience)

    def _fail(self, error: Exception) -> None:
        """Next time another endpoint is asked."""
        self.troubles[self.endpoint] = _reason(error)
        self.disconnect()
        self._at = (self._at + 1) % len(self.endpoints)

    def disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            connection.close()

    def interrupt(self) -> None:
        """For good: a caller that waits for an answer gets none."""
        self.closed = True
        if (connection := self._connection) and (sock := connection.sock):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def descriptors(self) -> list[int]:
        connection = self._connection
        sock = connection.sock if connection else None
        number = sock.fileno() if sock else -1
        return [number] if number >= 0 else []


def _words(body: bytes) -> str:
    try:
        said = json.loads(body)
        return str(said.get("error") or said.get("message") or "an error without words")
    except (ValueError, AttributeError):
        return "it does not speak as etcd does"


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {getattr(error, 'verify_message', '') or error.reason or 'the connection ended'}"
    if isinstance(error, OSError):
        return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return "it does not speak as etcd does"
