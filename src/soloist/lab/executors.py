"""Who does the runs: a pool of processes, this process, somebody's executor, or a Dask cluster."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from soloist.children import OwnPool, process_pool
from soloist.core import UsageError

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 8
"""Seconds to wait for a scheduler to answer."""


def check(executor: Executor | str | None, jobs: int) -> None:
    """Say what could not work, even where there is nothing left to run."""
    if isinstance(executor, str) and not re.fullmatch(r"dask://.+:\d+", executor):
        raise UsageError(f"executor {executor!r} should read dask://HOST:PORT")
    if jobs < 0:
        raise UsageError(f"jobs must be at least 0 (one per core), not {jobs}")


@contextmanager
def opened(executor: Executor | str | None, jobs: int, runs: int) -> Iterator[Executor]:
    """An executor to use; what is made here is also put away here."""
    if isinstance(executor, Executor):
        yield executor
    elif executor is not None:
        with dask_cluster(executor) as cluster:
            yield cluster
    elif jobs == 1:
        yield InProcess()
    else:
        with process_pool(min(jobs or os.cpu_count() or 1, runs)) as pool:
            yield pool


class InProcess(Executor):
    """Does the work when it is handed in: the slow and simple way, good for a debugger."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def cancel(executor: Executor, futures: Iterable[Future[Any]]) -> None:
    """Take back what has not begun. Not from a pool of ours, which says why."""
    if not isinstance(executor, OwnPool):
        for future in futures:
            future.cancel()


@contextmanager
def dask_cluster(address: str) -> Iterator[Executor]:
    """The executor of the Dask scheduler at dask://HOST:PORT."""
    place = address.removeprefix("dask://")
    try:
        import distributed
    except ImportError:
        raise UsageError("Dask is not installed: pip install 'soloist[dask]'") from None
    with _quiet("distributed"):
        client = _connected(distributed, place)
        try:
            if not client.scheduler_info(n_workers=-1)["workers"]:
                raise UsageError(
                    f"the Dask scheduler at {place} has no workers; start some: dask worker {place}"
                )
            executor: Executor = client.get_executor()
            yield executor
        except CancelledError:  # by nobody here
            raise BrokenExecutor(f"the Dask scheduler at {place} has gone") from None
        except distributed.scheduler.KilledWorker:
            raise BrokenExecutor(f"the workers of {place} died of a run, again and again") from None
        finally:
            client.close()  # and the scheduler forgets the runs that still wait at it


def _connected(distributed: Any, place: str) -> Any:
    try:
        _knock(place)
        return distributed.Client(f"tcp://{place}", timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
        raise UsageError(f"no Dask scheduler answers at {place}: {reason}") from None


def _knock(place: str) -> None:
    """Whether Dask is there at all: its client would try again and again, and wait for ever for a web server.

    Who is called speaks first in Dask's protocol: the number of frames, in eight bytes.
    """
    host, _, port = place.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE / 2) as line:
        try:
            greeting = line.recv(8, socket.MSG_WAITALL)
        except TimeoutError:
            greeting = b""
    if len(greeting) < 8 or int.from_bytes(greeting, "little") > 1000:
        raise ValueError("something else than Dask listens there")


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """A library's log would put pages around our one line. Its parts have levels of their own."""
    logs = [logging.getLogger(each) for each in logging.root.manager.loggerDict if each.split(".")[0] == name]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)
