"""Processes by name: asked, paused, killed and started again; and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from soloist.core import SoloistError, UsageError
from soloist.testing import Crew, until

ROOT = Path(__file__).parents[2]


def echo(mark: str, pipe: Connection) -> None:
    """Says its mark and its process id, then whatever it is told."""
    pipe.send((mark, os.getpid()))
    while said := pipe.recv():
        pipe.send(said)


def fail(pipe: Connection) -> None:
    raise ValueError("this was not meant to be")


def stay(pipe: Connection) -> None:
    pipe.send(os.getpid())
    signal.pause()


def state(pid: int) -> str:
    """As /proc says it: R, S, T, Z; nothing for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def test_it_is_asked_paused_resumed_killed_and_started_again() -> None:
    with Crew() as crew:
        crew.start("a", echo, "first")
        mark, pid = crew.hear("a")
        assert (mark, pid) == ("first", crew.pid("a"))
        assert crew.ask("a", "hello") == "hello"

        crew.pause("a")
        assert state(pid) == "T"
        crew.tell("a", "while you slept")
        assert not crew.says("a")
        crew.resume("a")
        assert crew.hear("a") == "while you slept"

        crew.kill("a")
        assert not crew.alive("a")
        assert state(pid) == ""
        with pytest.raises(SoloistError, match="a died"):
            crew.hear("a")

        crew.restart("a")
        again, other = crew.hear("a")
        assert (again, other != pid) == ("first", True)
    assert state(other) == ""


def test_a_paused_one_can_be_killed_and_is_not_left_at_the_end() -> None:
    with Crew() as crew:
        for name in "ab":
            crew.start(name, echo, name)
            crew.hear(name)
            crew.pause(name)
        crew.kill("a")
        assert not crew.alive("a")
        left = crew.pid("b")
    assert state(left) == ""


def test_one_that_does_not_listen_is_killed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soloist.testing.crew.STOP_SECONDS", 0.01)
    with Crew() as crew:
        crew.start("a", stay)
        pid = crew.hear("a")
    assert state(pid) == ""


def test_what_fails_in_a_process_is_said_here() -> None:
    with Crew() as crew:
        crew.start("a", fail)
        with pytest.raises(SoloistError, match="a failed: ValueError: this was not meant to be"):
            crew.hear("a")


def test_wrong_names_are_told() -> None:
    with Crew() as crew:
        with pytest.raises(UsageError, match="no 'a' in the crew, only nobody yet"):
            crew.kill("a")
        crew.start("a", echo, "a")
        crew.hear("a")
        with pytest.raises(UsageError, match="a runs already"):
            crew.start("a", echo, "a")
        crew.kill("a")
        with pytest.raises(UsageError, match="a is not running"):
            crew.pause("a")


PROGRAM = """
import time
from soloist.testing import Crew
from tests.testing.test_crew import echo
if __name__ == "__main__":
    crew = Crew()
    for name in "ab":
        crew.start(name, echo, name)
        crew.hear(name)
    crew.pause("b")
    print(crew.pid("a"), crew.pid("b"), flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_none_outlives_a_parent_that_is_killed_not_even_a_paused_one(
    how: signal.Signals, tmp_path: Path
) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PROGRAM)
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout
    pids = [int(word) for word in parent.stdout.readline().split()]
    try:
        assert len(pids) == 2
        parent.send_signal(how)
        parent.wait(60)
        until(lambda: all(state(pid) in ("", "Z") for pid in pids), "its children are gone")
    finally:
        for pid in pids:
            if state(pid) == "T":  # left behind: the pipe would stay open for ever
                os.kill(pid, signal.SIGKILL)
        parent.kill()
        parent.communicate()
