"""Ctrl-C and worse, with real processes: one line, exit code 130, nobody left behind, what is done is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from soloist.testing import until

SOLOIST = [sys.executable, "-m", "soloist"]
PATIENCE = 60.0
LONG = "--nodes 30 --entries 5000000"


def group(leader: int) -> list[tuple[int, str]]:
    """The living processes of a group: their numbers, and what they run."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            state, _, number = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(number) == leader and state != "Z":
                found.append((int(folder.name), (folder / "cmdline").read_text()))
        except (OSError, ValueError):  # no process, or one that has just ended
            continue
    return found


def start(line: str, cwd: Path) -> subprocess.Popen[str]:
    """In a group of its own, as a shell starts what it runs."""
    return subprocess.Popen(
        [*SOLOIST, *line.split()],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def busy(process: int, seconds: float) -> bool:
    """It has used up more time than it takes to start: it is at work."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return False
    return int(fields[11]) + int(fields[12]) > seconds * os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("line", "processes"),
    [
        (f"simulate lamport {LONG}", 1),
        (f"simulate lamport {LONG} --replications 4 --jobs 2", 3),
        (f"compare lamport {LONG} --replications 4 --jobs 2", 3),
        (f"advise {LONG} --jobs 2", 3),
        ("bench simulator --messages 10000000", 1),
        ("bench checker --repeat 1000", 1),
        ("bench locks naimi-trehel --seconds 60 --processes 2", 3),
        ("demo --nodes 2 --entries 1000000", 4),
        ("bench nemesis --nodes 3", 4),
        ("bench recovery --rounds 1000", 4),
        ("bench leases --rounds 1000", 5),
    ],
)
def test_ctrl_c_ends_a_command_with_one_line(line: str, processes: int, tmp_path: Path) -> None:
    process = start(line, tmp_path)
    try:
        until(lambda: len(group(process.pid)) >= processes, f"{processes} processes run")
        if processes == 1:
            until(lambda: busy(process.pid, 1.2), "it is at work")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        _, complaint = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, complaint
        assert complaint.startswith("soloist: interrupted")
        assert complaint.count("\n") == 1
        until(lambda: not group(process.pid), "nobody is left")
    finally:
        for number, _ in group(process.pid):
            os.kill(number, signal.SIGKILL)


def test_a_paper_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    line = "reproduce naimi-thiare --scale 0.15 --seeds 1 --jobs 2 --svg"
    process = start(f"{line} --out stopped", tmp_path)
    journal = tmp_path / "stopped" / "causal order" / "journal.jsonl"

    def kept() -> list[str]:
        return journal.read_text().splitlines()[1:] if journal.exists() else []

    until(lambda: len(kept()) > 3, "some are counted")
    os.killpg(process.pid, signal.SIGINT)
    _, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    before = kept()
    assert 3 < len(before) < 30
    folder = Path("stopped") / "causal order"
    assert complaint == (
        f"soloist: interrupted: {len(before)} of 30 runs are kept in {folder}; the same command goes on from there\n"
    )
    for out in ("stopped", "whole"):
        subprocess.run([*SOLOIST, *line.split(), "--out", out], cwd=tmp_path, check=True, capture_output=True)
    assert kept()[: len(before)] == before
    reports = [(tmp_path / out / "report.md").read_bytes() for out in ("stopped", "whole")]
    assert reports[0] == reports[1]


@pytest.mark.parametrize("line", ["demo --nodes 3 --entries 1000000", "bench clients --clients 3"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_orphans_are_left(how: signal.Signals, line: str, tmp_path: Path) -> None:
    """The signal goes to the parent alone, as from `kill`."""
    process = start(line, tmp_path)
    try:
        until(lambda: sum(busy(each, 0.3) for each, _ in group(process.pid)) >= 4, "several are at work")
        process.send_signal(how)
        _, complaint = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in complaint
        until(lambda: not group(process.pid), "nobody is left")
    finally:
        for number, _ in group(process.pid):
            os.kill(number, signal.SIGKILL)


def test_ctrl_c_is_tested_where_the_tests_run_in_the_background(tmp_path: Path) -> None:
    """As in `make test &` in a script: there the shell has it ignored, and all that is started inherits that."""
    test = f"{__file__}::{test_ctrl_c_ends_a_command_with_one_line.__name__}[simulate lamport {LONG}-1]"
    background = ["sh", "-c", 'trap "" INT QUIT; exec "$@"', "sh"]
    alone = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={tmp_path / 'theirs'}",
    ]
    done = subprocess.run(
        [*background, *alone, test],
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
