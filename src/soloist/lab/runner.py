"""Run a sweep: on all cores, on any executor or on a Dask cluster; stop it any time and go on later."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import nullcontext
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar, get_type_hints

import msgspec

from soloist import __version__
from soloist.core import SoloistError
from soloist.core.checked import a
from soloist.lab.executors import cancel, check, opened
from soloist.lab.journal import Journal
from soloist.lab.sweep import Sweep, key_of
from soloist.lab.table import Provenance, Row, Table
from soloist.lab.work import SignedRow, run_cell, situation

T = TypeVar("T")
R = TypeVar("R")
V = TypeVar("V")

Progress = Callable[[int, int], None]
"""Called with runs done so far, and runs in all."""

AHEAD = 1000
"""Runs handed to the executor before the first of them is back: enough for a cluster, little enough to cancel."""


class SweepStopped(SoloistError):
    """The sweep ended early through no fault of the plan. What is done is kept."""


def run_sweep(
    sweep: Sweep,
    out: Path | str | None = None,
    executor: Executor | str | None = None,
    jobs: int = 0,
    progress: Progress | None = None,
    *,
    fresh: bool = False,
    command: str = "",
) -> Table:
    """Run what has not been run yet, and give the table of all runs, in the order of the plan.

    `out` is a directory: every finished run goes to its journal at once, so a second call goes on where the
    first one stopped, whatever stopped it. None keeps nothing. `fresh` forgets the journal. `executor` is any
    `concurrent.futures.Executor` or `dask://HOST:PORT`; by default there are `jobs` processes (0: one per core; 1:
    this process itself). `command` is noted in the table as its origin.
    """
    check(executor, jobs)
    cells = a(Sweep, "what is run", sweep).cells()
    keys = [cell.digest() for cell in cells]
    journal = Journal(Path(out), sweep.name, keys, fresh) if out is not None else None
    rows = _kept(run_cell, _row, cells, keys, journal, executor, jobs, progress)
    return Table(Provenance.of(sweep, command), tuple(rows))


def run_each(
    function: Callable[[T], R],
    items: Sequence[T],
    out: Path,
    executor: Executor | str | None = None,
    jobs: int = 0,
    progress: Progress | None = None,
    *,
    fresh: bool = False,
) -> list[R]:
    """A function over items, on the same workers and as resumable as a sweep. It says what it returns: something that
    JSON can hold."""
    check(executor, jobs)
    kind = get_type_hints(function)["return"]
    keys = [key_of((place, item)) for place, item in enumerate(items)]
    journal = Journal(out, out.name, keys, fresh, kind)

    def as_read(result: R) -> R:
        """As it will be read from the journal: it makes no difference whether it was interrupted."""
        read: R = msgspec.json.decode(msgspec.json.encode(result), type=kind)
        return read

    return _kept(function, as_read, items, keys, journal, executor, jobs, progress)


def planned(sweep: Sweep) -> Table:
    """The table without its figures: to try out beforehand what will be asked of it."""
    a(Sweep, "what is planned", sweep)
    return Table(Provenance.of(sweep), tuple(situation(cell) for cell in sweep.cells()))


def _row(outcome: SignedRow) -> Row:
    if outcome.soloist != __version__:
        raise SweepStopped(f"the workers have soloist {outcome.soloist}, and this is {__version__}")
    return outcome.row


def _kept(
    function: Callable[[T], R],
    checked: Callable[[R], V],
    items: Sequence[T],
    keys: Sequence[str],
    journal: Journal | None,
    executor: Executor | str | None,
    jobs: int,
    progress: Progress | None,
) -> list[V]:
    """What the function gives for each item, checked; what is in the journal is not run again."""
    with journal or nullcontext():
        done: dict[str, V] = dict(journal.done) if journal else {}
        missing = [(item, key) for item, key in zip(items, keys, strict=True) if key not in done]
        if progress:
            progress(len(done), len(items))
        try:
            for key, result in _results(function, missing, executor, jobs):
                done[key] = checked(result)
                if journal:
                    journal.add(key, done[key])
                if progress:
                    progress(len(done), len(items))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_how_far(len(done), len(items), journal)) from None
        except (BrokenExecutor, CancelledError) as error:
            reason = str(error) or "the runs were cancelled"
            raise SweepStopped(f"{reason.rstrip('.')}: {_how_far(len(done), len(items), journal)}") from None
    return [done[key] for key in keys]


def _results(
    function: Callable[[T], R],
    missing: Sequence[tuple[T, str]],
    executor: Executor | str | None,
    jobs: int,
) -> Generator[tuple[str, R], None, None]:
    if not missing:
        return
    with opened(executor, jobs, len(missing)) as workers:
        yield from _outcomes(function, missing, workers)


def _outcomes(
    function: Callable[[T], R], missing: Sequence[tuple[T, str]], workers: Executor
) -> Generator[tuple[str, R], None, None]:
    """Results as they come. What has not begun when nobody wants any more of them is cancelled."""
    finished: SimpleQueue[Future[R]] = SimpleQueue()
    flying: dict[Future[R], str] = {}
    waiting = iter(missing)
    more = True
    try:
        while True:
            # An executor may do the work inside of `submit`: finished runs come first.
            while more and len(flying) < AHEAD and finished.empty():
                if (following := next(waiting, None)) is None:
                    more = False
                else:
                    future = workers.submit(function, following[0])
                    flying[future] = following[1]
                    future.add_done_callback(finished.put)
            if not flying:
                return
            future = finished.get()
            yield flying.pop(future), future.result()
    finally:
        cancel(workers, flying)


def _how_far(done: int, runs: int, journal: Journal | None) -> str:
    if journal is None:
        return f"{done} of {runs} runs were done"
    return f"{journal.kept()} of {runs} runs are kept in {journal.path.parent}; the same command goes on from there"
