"""Processes that we start: they leave Ctrl-C to us, and do not outlive us, not even where we are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h."""
LAST_SECONDS = 0.5
"""Seconds that the end of a process takes, at most."""


@contextmanager
def deaf() -> Iterator[None]:
    """Put Ctrl-C off. A process that is started meanwhile never hears it: not even before `obey_parent`.

    A mask is what children inherit, but it keeps nothing from us: if we have other threads, one of these is told, and our
    handler runs here all the same, perhaps between starting a process and telling it what to do.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it is started with the first child, and lets Ctrl-C through again then
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread() and callable(handler)
    heard: list[int] = []
    try:
        if ours:
            signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if heard:
            signal.raise_signal(signal.SIGINT)


def obey_parent() -> None:
    """To be called first of all in a child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if parent := multiprocessing.parent_process():

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


def die_with_parent() -> None:
    """To be called in a child that may be paused: what is paused cannot follow its parent by itself.

    Linux kills it, with the thread that started it. Elsewhere `obey_parent` is all there is.
    """
    if sys.platform != "linux":
        return
    import ctypes  # here, as few need it

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if (parent := multiprocessing.parent_process()) and not parent.is_alive():
        os._exit(1)


def end_as_by_ctrl_c() -> None:
    """SIGTERM ends this program as Ctrl-C does, so that the servers which it has started are ended, too."""

    def told(number: int, frame: object) -> None:
        raise KeyboardInterrupt("SIGTERM")

    signal.signal(signal.SIGTERM, told)


@contextmanager
def obedient() -> Iterator[None]:
    """The whole life of a child. What fails because all around it is being killed is nobody's concern."""
    obey_parent()
    try:
        yield
    except Exception:
        if parent := multiprocessing.parent_process():
            parent.join(LAST_SECONDS)  # its sockets may have been closed before that by which we know
            if not parent.is_alive():
                os._exit(1)
        raise


class OwnPool(ProcessPoolExecutor):
    """A pool that we may end by ending its processes."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with deaf():  # this is where processes are started
            return super().submit(fn, *args, **kwargs)


@contextmanager
def process_pool(workers: int) -> Iterator[Executor]:
    """A pool that is gone at once when something stops us: a run may take hours to end by itself.

    Do not cancel its futures, nor use its `map`, which does: when its processes are ended, it marks all futures as
    broken, and its thread fails, with a traceback, on one that is cancelled.
    """
    others = set(multiprocessing.active_children())
    pool = OwnPool(workers, initializer=obey_parent)
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown()
