"""Running: interrupted, killed, resumed, on any executor; the same bytes every time."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist.core import UsageError
from soloist.lab import Contender, SweepStopped, Table, read_sweep, run_sweep, runner, work
from soloist.lab.executors import InProcess
from soloist.lab.journal import NAME
from tests.lab.helpers import PLAN, contents, files, small

SOLOIST = [sys.executable, "-m", "soloist"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("plan") / "small.toml"
    file.write_text(PLAN)
    return file


@pytest.fixture(scope="module")
def uninterrupted(plan: Path) -> dict[str, bytes]:
    """The files of a sweep that nothing disturbed."""
    subprocess.run(
        [*SOLOIST, "sweep", str(plan), "--out", "whole"], cwd=plan.parent, check=True, capture_output=True
    )
    found = contents(plan.parent / "whole")
    assert set(found) == {"table.csv", "table.json", "table.parquet", "table.provenance.json"}
    return found


def lines(out: Path) -> list[str]:
    """The runs in a journal, complete ones only."""
    path = out / NAME
    return path.read_text().split("\n")[1:-1] if path.exists() else []


def run_and_disturb(plan: Path, out: Path, disturbance: signal.Signals, *more: str) -> subprocess.Popen[str]:
    """Start a sweep and, when a good part of it is done, send a signal. One process at a time, so as not to be late."""
    process = subprocess.Popen(
        [*SOLOIST, "sweep", str(plan), "--out", str(out), *more], stderr=subprocess.PIPE, text=True
    )
    while len(lines(out)) < 40:
        assert process.poll() is None, "it was over before it could be disturbed"
        time.sleep(0.002)
    process.send_signal(disturbance)
    return process


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_what_is_done_and_the_next_one_goes_on(
    plan: Path, uninterrupted: dict[str, bytes], tmp_path: Path, jobs: str
) -> None:
    process = run_and_disturb(plan, tmp_path, signal.SIGINT, "--jobs", jobs)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 130, complaint
    kept = lines(tmp_path)
    assert 40 <= len(kept) < 200
    assert (
        f"soloist: interrupted: {len(kept)} of 200 runs are kept in {tmp_path}; the same command goes on"
        in complaint
    )
    assert "Traceback" not in complaint
    assert not contents(tmp_path)

    subprocess.run([*SOLOIST, "sweep", str(plan), "--out", str(tmp_path)], check=True, capture_output=True)
    assert lines(tmp_path)[: len(kept)] == kept
    assert len(lines(tmp_path)) == 200
    assert contents(tmp_path) == uninterrupted


def test_a_killed_sweep_goes_on_where_it_was(
    plan: Path, uninterrupted: dict[str, bytes], tmp_path: Path
) -> None:
    process = run_and_disturb(plan, tmp_path, signal.SIGKILL, "--jobs", "2")
    process.communicate(
        timeout=30
    )  # returns only when the workers, which share its standard error, are gone, too
    assert process.returncode == -signal.SIGKILL
    kept = lines(tmp_path)
    assert 40 <= len(kept) < 200
    with (tmp_path / NAME).open("ab") as journal:
        journal.write(b'{"cell":"torn in the mid')

    subprocess.run([*SOLOIST, "sweep", str(plan), "--out", str(tmp_path)], check=True, capture_output=True)
    assert lines(tmp_path)[: len(kept)] == kept
    assert len(lines(tmp_path)) == 200
    assert contents(tmp_path) == uninterrupted


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A Dask scheduler and two workers, each a process of its own."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as local:
        yield local.scheduler_address.replace("tcp://", "dask://")


def test_a_dask_cluster_gives_the_same_bytes(
    plan: Path, uninterrupted: dict[str, bytes], tmp_path: Path, cluster: str
) -> None:
    arguments = ("--executor", cluster)
    process = run_and_disturb(plan, tmp_path, signal.SIGINT, *arguments)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 130, complaint
    assert "runs are kept" in complaint
    assert 40 <= len(lines(tmp_path)) < 200

    subprocess.run(
        [*SOLOIST, "sweep", str(plan), "--out", str(tmp_path), *arguments], check=True, capture_output=True
    )
    assert contents(tmp_path) == uninterrupted


def test_every_executor_gives_the_same_bytes(tmp_path: Path) -> None:
    class Backwards(Executor):
        """Does nothing until many wait, and then the last one first."""

        def __init__(self) -> None:
            self.waiting: list[tuple[Future[Any], Any, Any]] = []

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            self.waiting.append((future, fn, args))
            if len(self.waiting) == 12:
                for each, call, given in reversed(self.waiting):
                    each.set_result(call(*given))
            return future

    def written(name: str, **how: Any) -> dict[str, bytes]:
        return files(run_sweep(small(), tmp_path / name / "journal", **how), tmp_path / name)

    expected = written("pool")
    assert written("alone", jobs=1) == expected
    assert written("by hand", executor=InProcess()) == expected
    assert written("backwards", executor=Backwards()) == expected
    with ThreadPoolExecutor(2) as threads:
        assert written("threads", executor=threads) == expected


def test_nothing_is_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run_sweep(small(), tmp_path, jobs=1)
    monkeypatch.setattr(runner, "run_cell", lambda cell: pytest.fail("ran again"))
    calls: list[tuple[int, int]] = []
    assert run_sweep(small(), tmp_path, jobs=1, progress=lambda *call: calls.append(call)) == first
    assert calls == [(12, 12)]


def test_progress_is_told_after_every_run() -> None:
    calls: list[tuple[int, int]] = []
    run_sweep(small(), jobs=1, progress=lambda *call: calls.append(call))
    assert calls == [(done, 12) for done in range(13)]


def test_a_journal_of_another_plan_is_refused(tmp_path: Path) -> None:
    run_sweep(small(), tmp_path, jobs=1)
    with pytest.raises(UsageError, match=r"has runs of another plan \('tiny', 12 runs\).* --fresh"):
        run_sweep(small(seeds=(1, 2)), tmp_path, jobs=1)
    assert len(run_sweep(small(seeds=(1, 2)), tmp_path, jobs=1, fresh=True).rows) == 8
    assert len(lines(tmp_path)) == 8


def test_a_journal_of_another_version_is_refused(tmp_path: Path) -> None:
    run_sweep(small(), tmp_path, jobs=1)
    journal = tmp_path / NAME
    journal.write_text(journal.read_text().replace('"soloist":"', '"soloist":"9.', 1))
    with pytest.raises(UsageError, match=r"was written by soloist 9\.\S+, and this is .* --fresh"):
        run_sweep(small(), tmp_path, jobs=1)


@pytest.mark.parametrize("torn", [1, 20, 200])
def test_a_torn_last_line_is_run_again(tmp_path: Path, torn: int) -> None:
    whole = run_sweep(small(), tmp_path, jobs=1)
    journal = tmp_path / NAME
    journal.write_bytes(journal.read_bytes()[:-torn])
    assert len(lines(tmp_path)) == 11
    assert run_sweep(small(), tmp_path, jobs=1) == whole
    assert len(lines(tmp_path)) == 12


def test_a_torn_heading_is_no_journal_yet(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'{"soloist":"0.')
    assert len(run_sweep(small(), tmp_path, jobs=1).rows) == 12


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    run_sweep(small(), tmp_path, jobs=1)
    journal = tmp_path / NAME
    text = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([*text[:3], text[3].replace("seed", "sead"), *text[4:]]))
    with pytest.raises(UsageError, match=r"journal\.jsonl:4: the line is damaged; .* --fresh"):
        run_sweep(small(), tmp_path, jobs=1)
    journal.write_text("hello\n")
    with pytest.raises(UsageError, match=r"is no journal of a sweep; .* --fresh"):
        run_sweep(small(), tmp_path, jobs=1)


def test_two_sweeps_do_not_write_to_one_directory(plan: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time; from soloist.lab.journal import Journal; from pathlib import Path\n"
        "with Journal(Path(sys.argv[1]), 'x', []): print('locked', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(UsageError, match="another sweep is writing to"):
            run_sweep(small(), tmp_path)
    finally:
        other.kill()
        other.communicate()


def test_a_directory_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write to .*file: it is a file"):
        run_sweep(small(), tmp_path / "file")
    with pytest.raises(UsageError, match=r"cannot write .*below"):
        run_sweep(small(), tmp_path / "file" / "below")


def test_a_full_disk_loses_nothing(plan: Path, uninterrupted: dict[str, bytes], tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: the system refuses to write in the same way."""

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))

    line = [*SOLOIST, "sweep", str(plan), "--out", str(tmp_path)]
    full = subprocess.run(line, preexec_fn=small_disk, capture_output=True, text=True)
    assert full.returncode == 2
    assert full.stderr == f"soloist: cannot write {tmp_path / NAME}: File too large\n"
    kept = lines(tmp_path)
    assert 10 < len(kept) < 200
    subprocess.run(line, check=True, capture_output=True)
    assert lines(tmp_path)[: len(kept)] == kept
    assert contents(tmp_path) == uninterrupted


def test_a_broken_promise_is_a_row() -> None:
    printed = Contender("ricart-agrawala", printed=True)
    table = run_sweep(small(algorithms=(printed, Contender("ricart-agrawala"))), jobs=1)
    assert {row.label for row in table.failed} == {"ricart-agrawala as printed"}
    assert len(table.failed) == 6
    assert all(row.messages_per_entry is None for row in table.failed)
    assert "seed 1" in str(table.failed[0].error)
    assert table.group("jain", "rate")["ricart-agrawala as printed"][0].failed == 3


def die(cell: object) -> None:
    os._exit(1)


def test_a_worker_that_dies_stops_the_sweep_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "run_cell", die)
    with pytest.raises(
        SweepStopped, match=r"terminated abruptly.*0 of 12 runs are kept in .*; the same command"
    ):
        run_sweep(small(), tmp_path, jobs=2)


def test_workers_with_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(cell: Any) -> work.SignedRow:
        return msgspec.structs.replace(work.run_cell(cell), soloist="9.9")

    monkeypatch.setattr(runner, "run_cell", elsewhere)
    with pytest.raises(SweepStopped, match=r"the workers have soloist 9\.9"):
        run_sweep(small(), jobs=1)


@pytest.mark.parametrize("address", ["127.0.0.1:8786", "dask://", "dask://host", "ray://host:1"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(UsageError, match="should read dask://HOST:PORT"):
        run_sweep(small(), executor=address)


def test_nobody_at_the_address() -> None:
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at 127\.0\.0\.1:9: Connection refused"):
        run_sweep(small(), executor="dask://127.0.0.1:9")


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'soloist\[dask\]'"):
        run_sweep(small(), executor="dask://127.0.0.1:9")


def test_the_table_is_in_the_order_of_the_plan(plan: Path) -> None:
    sweep = read_sweep(plan)
    table: Table = run_sweep(sweep)
    assert [(r.label, r.rate, r.seed) for r in table.rows] == [
        (c.label, float(c.parameters["rate"]), c.experiment.seed) for c in sweep.cells()
    ]
