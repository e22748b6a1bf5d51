"""Record what a lock service does, as lines for `soloist history check`.

    python record.py redis redis.jsonl            redis-py's lock, with a timeout that is longer than the work
    python record.py redis-expired expired.jsonl  the same, but a holder is stopped (SIGSTOP) for longer than its timeout
    python record.py postgres postgres.jsonl      PostgreSQL's advisory lock, each process with a session of its own

Each starts a server of its own on loopback, in a directory that goes away, and stops it afterwards. Needs `redis-server` or
PostgreSQL, and `pip install redis 'psycopg[binary]'`.

All processes are on one host and write times of one clock. `acquire` is written after the lock was granted, and `release`
before it is given back, so two holds that overlap here did overlap.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LOCK = "orders"
PROCESSES = "abc"
ENTRIES = 8
WORK_SECONDS = 0.004
EXPIRES_SECONDS = 0.5
START_SECONDS = 60.0

Note = Callable[..., None]


def notes(path: Path, process: str) -> Note:
    """Writes lines: one write each, so that those of several processes do not mix."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(event: str) -> None:
        line = {"time": round(time.monotonic(), 6), "process": process, "event": event, "lock": LOCK}
        os.write(file, (json.dumps(line) + "\n").encode())

    return note


# What each process does.


def take_turns(acquire: Callable[[], Any], release: Callable[[], Any], note: Note) -> None:
    for _ in range(ENTRIES):
        note("request")
        acquire()
        note("acquire")
        time.sleep(WORK_SECONDS)
        note("release")
        release()


def use_redis(port: int, process: str, path: Path) -> None:
    import redis

    lock = redis.Redis(port=port).lock(LOCK, timeout=30, sleep=0.001)
    take_turns(lock.acquire, lock.release, notes(path, process))


def use_postgres(port: int, process: str, path: Path) -> None:
    import psycopg

    with psycopg.connect(
        host="127.0.0.1", port=port, user="example", dbname="postgres", autocommit=True
    ) as session:
        take_turns(
            lambda: session.execute("select pg_advisory_lock(7)"),
            lambda: session.execute("select pg_advisory_unlock(7)"),
            notes(path, process),
        )


def hold_redis_for_long(port: int, process: str, path: Path) -> None:
    """Does not know how long it was stopped, and goes on as if it held the lock still."""
    import redis
    from redis.exceptions import LockNotOwnedError

    lock, note = redis.Redis(port=port).lock(LOCK, timeout=EXPIRES_SECONDS, sleep=0.001), notes(path, process)
    note("request")
    lock.acquire()
    note("acquire")
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(EXPIRES_SECONDS)  # the work that it thinks nobody else does
    note("release")
    try:
        lock.release()
    except LockNotOwnedError:
        print(f"{process}: the lock had expired, as redis-py says when it is released", file=sys.stderr)


# What is recorded.


def contend(use: Callable[[int, str, Path], None], port: int, path: Path) -> None:
    workers = [multiprocessing.Process(target=use, args=(port, each, path)) for each in PROCESSES]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0


def stop_a_holder(port: int, path: Path) -> None:
    """The first process stops itself once it is inside; it goes on when the second one has come in."""
    slow = multiprocessing.Process(target=hold_redis_for_long, args=(port, "a", path))
    slow.start()
    assert slow.pid
    os.waitpid(slow.pid, os.WUNTRACED)
    import redis

    lock, note = redis.Redis(port=port).lock(LOCK, timeout=30, sleep=0.001), notes(path, "b")
    note("request")
    lock.acquire()
    note("acquire")
    os.kill(slow.pid, signal.SIGCONT)
    slow.join()
    note("release")
    lock.release()


# Servers.


@contextmanager
def served(command: Callable[[Path, int], list[str]], as_user: dict[str, Any]) -> Iterator[int]:
    with TemporaryDirectory(prefix="soloist-record-") as folder:
        directory = Path(folder)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        if as_user:
            shutil.chown(directory, as_user["user"], as_user["group"])
        with (directory / "log").open("wb") as log:
            server = subprocess.Popen(
                command(directory, port), cwd=directory, stdout=log, stderr=log, **as_user
            )
        try:
            await_port(port, server)
            yield port
        finally:
            server.terminate()
            server.wait()


def await_port(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the server did not start")


def redis_server(directory: Path, port: int) -> list[str]:
    return ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(directory)]


def postgres_server(directory: Path, port: int) -> list[str]:
    found = shutil.which("postgres")
    programs = Path(found).parent if found else max(Path("/usr/lib/postgresql").glob("*/bin"))
    data = str(directory / "data")
    subprocess.run(
        [str(programs / "initdb"), "-D", data, "-U", "example", "-A", "trust"],
        check=True,
        capture_output=True,
        **unprivileged(),
    )
    return [str(programs / "postgres"), "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", str(directory)]


def unprivileged() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid():
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1] not in ("redis", "redis-expired", "postgres"):
        raise SystemExit("usage: record.py redis|redis-expired|postgres FILE")
    what, path = sys.argv[1], Path(sys.argv[2])
    path.unlink(missing_ok=True)
    if what == "postgres":
        with served(postgres_server, unprivileged()) as port:
            contend(use_postgres, port, path)
    else:
        with served(redis_server, {}) as port:
            contend(use_redis, port, path) if what == "redis" else stop_a_holder(port, path)


if __name__ == "__main__":
    main()
