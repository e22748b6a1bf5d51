"""Run a sweep: on all cores, on any executor or on a Dask cluster; stop it any time and go on later."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import closing, nullcontext
from pathlib import Path
from queue import SimpleQueue

from soloist import __version__
from soloist.core import SoloistError
from soloist.lab.executors import cancel, check, opened
from soloist.lab.journal import Journal
from soloist.lab.sweep import Cell, Sweep
from soloist.lab.table import Provenance, Row, Table
from soloist.lab.work import Outcome, run_cell, situation

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
    `concurrent.futures.Executor` or `dask://HOST:PORT`; by default there are `jobs` processes (0: one a core; 1:
    this process itself). `command` is noted in the table as its origin.
    """
    check(executor, jobs)
    cells = sweep.cells()
    journal = Journal(Path(out), sweep.name, cells, fresh) if out is not None else None
    with journal or nullcontext():
        done = journal.done if journal else {}
        keys = [cell.digest() for cell in cells]
        try:
            _run_missing(cells, keys, done, journal, executor, jobs, progress)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_kept(done, cells, journal)) from None
        except (BrokenExecutor, CancelledError) as error:
            reason = str(error) or "the runs were cancelled"
            raise SweepStopped(f"{reason.rstrip('.')}: {_kept(done, cells, journal)}") from None
        return Table(Provenance.of(sweep, command), tuple(done[key] for key in keys))


def planned(sweep: Sweep) -> Table:
    """The table without its figures: to try out beforehand what will be asked of it."""
    return Table(Provenance.of(sweep), tuple(situation(cell) for cell in sweep.cells()))


def _run_missing(
    cells: Sequence[Cell],
    keys: Sequence[str],
    done: dict[str, Row],
    journal: Journal | None,
    executor: Executor | str | None,
    jobs: int,
    progress: Progress | None,
) -> None:
    missing = [(cell, key) for cell, key in zip(cells, keys, strict=True) if key not in done]
    if progress:
        progress(len(done), len(cells))
    if not missing:
        return
    with opened(executor, jobs, len(missing)) as workers, closing(_outcomes(missing, workers)) as outcomes:
        for key, outcome in outcomes:
            if outcome.soloist != __version__:
                raise SweepStopped(f"the workers have soloist {outcome.soloist}, and this is {__version__}")
            if journal:
                journal.add(key, outcome.row)
            done[key] = outcome.row
            if progress:
                progress(len(done), len(cells))


def _outcomes(
    missing: Sequence[tuple[Cell, str]], workers: Executor
) -> Generator[tuple[str, Outcome], None, None]:
    """Results as they come. What has not begun when nobody wants any more of them is cancelled."""
    finished: SimpleQueue[Future[Outcome]] = SimpleQueue()
    flying: dict[Future[Outcome], str] = {}
    waiting = iter(missing)
    more = True
    try:
        while True:
            # An executor may do the work inside of submit: what is finished comes first.
            while more and len(flying) < AHEAD and finished.empty():
                cell, key = next(waiting, (None, ""))
                if cell is None:
                    more = False
                else:
                    future = workers.submit(run_cell, cell)
                    flying[future] = key
                    future.add_done_callback(finished.put)
            if not flying:
                return
            future = finished.get()
            yield flying.pop(future), future.result()
    finally:
        cancel(workers, flying)


def _kept(done: dict[str, Row], cells: Sequence[Cell], journal: Journal | None) -> str:
    if journal is None:
        return (
            f"{len(done)} of {len(cells)} runs were done; with a directory for them they would have been kept"
        )
    return f"{len(done)} of {len(cells)} runs are kept in {journal.path.parent}; the same command goes on from there"
