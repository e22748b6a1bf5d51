"""The others: lock servers that are installed on this machine, and how their users take a lock.

Each is used the way its own documentation shows, with its defaults. A server is started in a directory that
goes away afterwards, at a free port, and stopped by its process id.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import msgspec

from soloist.bench import lock_central, lock_clients, lock_redis
from soloist.testing import free_ports

START_SECONDS = 60.0


class Caller(Protocol):
    """The caller of a lock. Where a library blocks, so does the coroutine: nobody else is in its process."""

    def acquire(self) -> Coroutine[Any, Any, Any]:
        """What it gives is given back to `release`."""

    def release(self, held: Any) -> Coroutine[Any, Any, None]: ...


class Client(Caller, Protocol):
    """A client of a lock server."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...


class Postgres:
    host = "127.0.0.1"

    def __init__(self, where: str, name: str) -> None:
        self.where, self.key = where, (zlib.crc32(name.encode()),)

    async def open(self) -> None:
        import psycopg

        self.connection = psycopg.connect(
            host=self.host, port=int(self.where), user="bench", dbname="postgres", autocommit=True
        )
        self.cursor = self.connection.cursor()

    async def acquire(self) -> None:
        self.cursor.execute("select pg_advisory_lock(%s)", self.key)

    async def release(self, held: None) -> None:
        self.cursor.execute("select pg_advisory_unlock(%s)", self.key)

    async def close(self) -> None:
        self.connection.close()


class PostgresSocket(Postgres):
    """Through its Unix socket."""

    host = tempfile.gettempdir()


class Etcd:
    """etcd's lock service through its JSON gateway; one lease a client, on one connection."""

    LEASE_SECONDS = 600

    def __init__(self, where: str, name: str) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", int(where))
        self.name = b64encode(name.encode()).decode()

    def call(self, path: str, **body: Any) -> dict[str, Any]:
        self.http.request("POST", f"/v3/{path}", json.dumps(body))
        reply: dict[str, Any] = json.load(self.http.getresponse())
        return reply

    async def open(self) -> None:
        self.http.connect()
        assert self.http.sock
        self.http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lease = self.call("lease/grant", TTL=self.LEASE_SECONDS)["ID"]

    async def acquire(self) -> None:
        self.key = self.call("lock/lock", name=self.name, lease=self.lease)["key"]

    async def release(self, held: None) -> None:
        self.call("lock/unlock", key=self.key)

    async def close(self) -> None:
        self.http.close()


class ZooKeeper:
    def __init__(self, where: str, name: str) -> None:
        from kazoo.client import KazooClient

        self.client = KazooClient(hosts=f"127.0.0.1:{where}")
        self.name = name

    async def open(self) -> None:
        self.client.start()
        self.lock = self.client.Lock(f"/bench/{self.name}")

    async def acquire(self) -> None:
        self.lock.acquire()

    async def release(self, held: None) -> None:
        self.lock.release()

    async def close(self) -> None:
        self.client.stop()
        self.client.close()


# Servers.


def etcd_command(directory: Path, port: int) -> list[str]:
    here, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_ports(1)[0]}"
    options = {
        "name": "bench",
        "data-dir": str(directory / "data"),
        "listen-client-urls": here,
        "advertise-client-urls": here,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"bench={peer}",
    }
    return ["etcd", *(part for key, value in options.items() for part in (f"--{key}", value))]


def zookeeper_command(directory: Path, port: int) -> list[str]:
    settings = {
        "tickTime": 2000,
        "dataDir": directory,
        "clientPort": port,
        "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
    }
    config = directory / "zoo.cfg"
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    return ["java", "-Xmx256m", "-cp", ZOOKEEPER_JAR, main, str(config)]


def postgres_command(directory: Path, port: int) -> list[str]:
    data = str(directory / "data")
    initdb = [str(_postgres_bin() / "initdb"), "-D", data, "-U", "bench", "-A", "trust"]
    subprocess.run(initdb, check=True, capture_output=True, **_unprivileged())
    listen = ["-h", "127.0.0.1", "-p", str(port), "-k", f"{directory},{tempfile.gettempdir()}"]
    return [str(_postgres_bin() / "postgres"), "-D", data, *listen]


def central_command(directory: Path, port: int) -> list[str]:
    return [sys.executable, "-m", lock_central.__name__, str(port), "asyncio"]


def central_uvloop_command(directory: Path, port: int) -> list[str]:
    return [sys.executable, "-m", lock_central.__name__, str(port), "uvloop"]


ZOOKEEPER_JAR = "/usr/share/java/zookeeper.jar"


def _postgres_bin() -> Path:
    """Debian keeps the server out of the search path, one folder a version."""
    if found := shutil.which("postgres"):
        return Path(found).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/nowhere"))


def _unprivileged() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: then it runs as the user that its package made."""
    if os.geteuid():
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Peer(msgspec.Struct, frozen=True):
    """One way to take a lock that is not ours."""

    name: str
    setting: str
    client: Callable[[str, str], Client]
    """Called with the server's address and the lock's name."""
    command: Callable[[Path, int], list[str]]
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    install: str = ""
    loop: str = "asyncio"
    options: tuple[str, ...] = ()
    """More for the server."""

    def missing(self) -> str | None:
        """How to install what is not here, or None."""
        programs = all(shutil.which(program) or Path(program).exists() for program in self.programs)
        if programs and all(importlib.util.find_spec(module) for module in self.modules):
            return None
        return self.install

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The address of its server, while it runs."""
        with TemporaryDirectory(prefix="soloist-bench-") as folder:
            directory, port = Path(folder), free_ports(1)[0]
            as_user = _unprivileged() if self.command is postgres_command else {}
            if as_user:
                shutil.chown(directory, as_user["user"], as_user["group"])
            with (directory / "log").open("wb") as log:
                server = subprocess.Popen(
                    [*self.command(directory, port), *self.options],
                    stdout=log,
                    stderr=log,
                    cwd=directory,
                    **as_user,
                )
            try:
                _await_port(port, server, directory / "log")
                if self.command is postgres_command:
                    _await_postgres(port)
                yield str(port)
            finally:
                server.terminate()
                try:
                    server.wait(10)
                except subprocess.TimeoutExpired:
                    server.kill()
                    server.wait()


def _await_port(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    lines = log.read_text(errors="replace").strip().splitlines()
    raise RuntimeError(f"its server did not start: {lines[-1] if lines else 'it said nothing'}")


def _await_postgres(port: int) -> None:
    """It listens before it serves, and refuses clients that come in between."""
    import psycopg

    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(host="127.0.0.1", port=port, user="bench", dbname="postgres").close()
            return
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                raise RuntimeError(f"its server did not start: {error}") from None
        time.sleep(0.05)


REDIS = ("redis-server",)
REDIS_HINT = "apt-get install redis-server; pip install redis python-redis-lock"

PEERS = (
    Peer("client", "of one node, Unix socket, asyncio", lock_clients.BySocket, lock_clients.node_command),
    Peer(
        "client",
        "of one node, Unix socket, uvloop",
        lock_clients.BySocket,
        lock_clients.node_command,
        loop="uvloop",
    ),
    Peer("client-tcp", "of one node, TCP, asyncio", lock_clients.ByPort, lock_clients.node_command),
    Peer(
        "client-tcp",
        "of one node, TCP, uvloop",
        lock_clients.ByPort,
        lock_clients.node_command,
        loop="uvloop",
    ),
    Peer("central", "minimal lock server, asyncio", lock_central.Client, central_command),
    Peer("central-buffered", "the same, clients tuned", lock_central.BufferedClient, central_command),
    Peer(
        "central-uvloop",
        "the same, on uvloop",
        lock_central.Client,
        central_uvloop_command,
        modules=("uvloop",),
        install="pip install uvloop",
        loop="uvloop",
    ),
    Peer(
        "redis-py",
        "redis.lock(), polls each 100 ms",
        lock_redis.RedisPy,
        lock_redis.redis_command,
        REDIS,
        ("redis",),
        REDIS_HINT,
    ),
    Peer(
        "redis-py-unix",
        "the same, Unix socket",
        lock_redis.RedisPySocket,
        lock_redis.redis_command,
        REDIS,
        ("redis",),
        REDIS_HINT,
    ),
    Peer(
        "redis-py-1ms",
        "redis.lock(sleep=0.001)",
        lock_redis.RedisPyFast,
        lock_redis.redis_command,
        REDIS,
        ("redis",),
        REDIS_HINT,
    ),
    Peer(
        "python-redis-lock",
        "redis_lock.Lock, BLPOP",
        lock_redis.PythonRedisLock,
        lock_redis.redis_command,
        REDIS,
        ("redis", "redis_lock"),
        REDIS_HINT,
    ),
    Peer(
        "postgresql",
        "pg_advisory_lock, psycopg",
        Postgres,
        postgres_command,
        (str(_postgres_bin() / "postgres"),),
        ("psycopg",),
        "apt-get install postgresql; pip install 'psycopg[binary]'",
    ),
    Peer(
        "postgresql-unix",
        "pg_advisory_lock, psycopg",
        PostgresSocket,
        postgres_command,
        (str(_postgres_bin() / "postgres"),),
        ("psycopg",),
        "apt-get install postgresql; pip install 'psycopg[binary]'",
    ),
    Peer(
        "zookeeper",
        "kazoo Lock, 1 server",
        ZooKeeper,
        zookeeper_command,
        ("java", ZOOKEEPER_JAR),
        ("kazoo",),
        "apt-get install zookeeperd; pip install kazoo",
    ),
    Peer(
        "etcd",
        "v3lock, JSON gateway, 1 server",
        Etcd,
        etcd_command,
        ("etcd",),
        install="apt-get install etcd-server",
    ),
)
