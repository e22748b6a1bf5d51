"""What this machine can do: clocks, files, processes, its own network."""

from __future__ import annotations

import os
import platform
import resource
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from soloist.core import UsageError
from soloist.doctor.finding import Finding, State
from soloist.net.link import shortcut
from soloist.net.link.security import Address
from soloist.net.member import clock, sentinel

FENCES_SINCE = 1_704_067_200
"""Seconds: the beginning of 2024, from which the epochs of fences are counted."""
FEW_FILES, TOO_FEW_FILES = 1024, 64
"""Files: a node has some ten open, two more for each peer, and one for each program that uses its locks."""
MANY_FILES = "ulimit -n 4096; for a service LimitNOFILE=4096"


def examine_machine() -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield _found(
        "system", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}, {cores} cores"
    )
    yield lease_clock()
    yield slept()
    yield wall_clock(time.time())
    yield files(*resource.getrlimit(resource.RLIMIT_NOFILE))
    yield deaths()
    yield loopback("127.0.0.1", socket.AF_INET)
    yield loopback("::1", socket.AF_INET6)
    yield unix_sockets()
    yield temporary()


def _found(name: str, state: State, said: str, remedy: str = "") -> Finding:
    return Finding("machine", name, state, said, remedy)


def lease_clock(made: Callable[[], clock.Clock] = clock.lease_clock) -> Finding:
    """The clock of leases has to go on while the machine is suspended."""
    try:
        read = made()
        first, second = read(), read()
    except (UsageError, OSError) as error:
        return _found("lease clock", "problem", str(error), "only clusters with lease=None work here")
    if second < first:
        return _found("lease clock", "problem", "it goes back", "no lease can be trusted on this machine")
    name = "CLOCK_BOOTTIME" if sys.platform == "linux" else "mach_continuous_time"
    return _found("lease clock", "ok", f"{name}, which goes on while the machine is suspended")


def slept(elapsed: Callable[[], float] | None = None) -> Finding:
    """Whether the machine has been suspended since it was started: a node on it would have lost its lease."""
    if sys.platform != "linux" and elapsed is None:
        return _found("suspended", "ok", "not known on this system")
    seconds = (elapsed or _asleep)()
    if seconds < 1:
        return _found("suspended", "ok", "not since this machine was started")
    said = f"for {timedelta(seconds=round(seconds))} since this machine was started; a node on it loses what it holds then"
    return _found("suspended", "warning", said, "systemctl mask sleep.target, where nodes have to go on")


def _asleep() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


def wall_clock(now: float) -> Finding:
    said = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    if now < FENCES_SINCE:
        remedy = "set the clock; or give every node a data_dir, which remembers the last fences"
        return _found("wall clock", "problem", f"{said}: fences begin with the time since 2024", remedy)
    return _found(
        "wall clock", "ok", f"{said}; it counts for new fences and for certificates, never for leases"
    )


def files(soft: int, hard: int) -> Finding:
    most = "no limit" if soft == resource.RLIM_INFINITY else f"{soft} open files"
    if soft != resource.RLIM_INFINITY and soft < FEW_FILES:
        state: State = "problem" if soft < TOO_FEW_FILES else "warning"
        return _found("file limit", state, f"{most}: each peer and each client needs one or two", MANY_FILES)
    return _found("file limit", "ok", most)


def deaths(open_process: Callable[[int], int] | None = None) -> Finding:
    """Whether the end of a process can be proved, so that nobody waits for its lease."""
    remedy = "Linux 5.3 or newer, and no filter of system calls against pidfd_open"
    said = "no pidfds: what a killed node held is free after its lease, not at once"
    open_process = open_process or getattr(os, "pidfd_open", None)
    if open_process is None or not sentinel.possible():
        return _found("pidfd", "absent", said, remedy)
    try:
        os.close(open_process(os.getpid()))
    except OSError as error:
        return _found("pidfd", "absent", f"{said} ({error.strerror})", remedy)
    return _found("pidfd", "ok", "the end of a process is proved, so what it held is free at once")


def loopback(host: str, family: socket.AddressFamily) -> Finding:
    name = f"loopback {host}"
    try:
        with socket.socket(family) as server:
            server.bind((host, 0))
            server.listen(1)
            with socket.create_connection(server.getsockname()[:2], timeout=2) as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        if family is socket.AF_INET6:
            return _found(name, "absent", f"no IPv6 ({error.strerror}); IPv4 will do")
        return _found(name, "problem", f"no TCP ({error.strerror})", "ip link set lo up")
    return _found(name, "ok", "a port was had, and reached")


def unix_sockets() -> Finding:
    name = shortcut.name_of(Address("127.0.0.1", 1))
    if name is None:
        return _found("shortcut", "absent", "nodes of one host talk over TCP: other ways are for Linux")
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"{name}/doctor-{os.getpid()}")
            server.listen(1)
    except OSError as error:
        said = f"no Unix sockets without files ({error.strerror}): nodes of one host talk over TCP"
        return _found("shortcut", "absent", said)
    return _found("shortcut", "ok", "nodes of one user on one host talk through Unix sockets")


def temporary() -> Finding:
    """`soloist demo` and the tests work there."""
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x" * 65536)
            file.flush()
    except OSError as error:
        return _found("temporary", "problem", f"nothing can be written: {error.strerror}", "set TMPDIR")
    return _found("temporary", "ok", tempfile.gettempdir())
