"""Celery: a task that runs once at a time, over all workers; who comes while it runs goes away, or waits its turn.

SOLOIST_URL=unix:/run/soloist/soloist.sock celery -A celery_tasks worker
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from celery import Celery, Task

import soloist

FOLDER = Path(os.environ.get("FOLDER", "."))
app = Celery(
    "celery_tasks", broker=os.environ.get("BROKER", "filesystem://"), backend=FOLDER.absolute().as_uri()
)
app.conf.broker_transport_options = {
    "data_folder_in": str(FOLDER / "queue"),
    "data_folder_out": str(FOLDER / "queue"),
    "control_folder": str(FOLDER / "control"),
}


@functools.cache
def client(process: int) -> soloist.SyncClient:
    """One for each process, made when it is first needed: after a worker has forked."""
    return soloist.connect_sync().start()


def one_at_a_time(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Of all tasks with that name one runs; the others come to nothing. The task is told its fence."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            hold = client(os.getpid()).lock(name, note=function.__name__).acquire(timeout=0)
            if hold is None:
                return "it is being done"
            try:
                return function(*args, fence=hold.fence, **options)
            finally:
                hold.release()

        return run

    return decorate


@app.task
@one_at_a_time("rebuild index")
def rebuild(fence: int) -> str:
    time.sleep(1)
    return f"done, fence {fence}"


@app.task(bind=True, max_retries=None)
def charge(self: Task, order: int) -> int:
    """In turn: who does not get the lock soon gives its place in the worker to another task, and comes back."""
    try:
        with client(os.getpid()).lock("charges", timeout=0.5) as hold:
            time.sleep(0.05)
            with (FOLDER / "charges").open("a") as charges:
                charges.write(f"{hold.fence} {order}\n")
            return hold.fence
    except soloist.AcquireTimeout as error:
        raise self.retry(exc=error, countdown=0.2) from None
