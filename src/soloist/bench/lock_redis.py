"""Locks of redis-py and python-redis-lock, as their documentation shows them, and a Redis to go with them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any


class RedisPy:
    """redis-py's own lock: polls, every 100 ms unless told otherwise."""

    def __init__(self, where: str, name: str) -> None:
        import redis

        self.client = redis.Redis(port=int(where))
        self.lock = self._lock(name)

    def _lock(self, name: str) -> Any:
        return self.client.lock(name)

    async def open(self) -> None:
        self.client.ping()

    async def acquire(self) -> None:
        self.lock.acquire()

    async def release(self, held: None) -> None:
        self.lock.release()

    async def close(self) -> None:
        self.client.close()


class RedisPySocket(RedisPy):
    """Through its Unix socket."""

    def __init__(self, where: str, name: str) -> None:
        import redis

        self.client = redis.Redis(unix_socket_path=str(redis_socket(where)))
        self.lock = self._lock(name)


class RedisPyFast(RedisPy):
    def _lock(self, name: str) -> Any:
        return self.client.lock(name, sleep=0.001)


class PythonRedisLock(RedisPy):
    """Waits with BLPOP for the release."""

    def _lock(self, name: str) -> Any:
        import redis_lock

        return redis_lock.Lock(self.client, name)


def redis_command(directory: Path, port: int) -> list[str]:
    options = [
        "--save",
        "",
        "--appendonly",
        "no",
        "--bind",
        "127.0.0.1",
        "--unixsocket",
        str(redis_socket(port)),
    ]
    return ["redis-server", "--port", str(port), "--dir", str(directory), *options]


def redis_socket(port: int | str) -> Path:
    return Path(tempfile.gettempdir(), f"soloist-bench-redis-{port}.sock")
