"""Ctrl-C while a hand-in is graded."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.course.test_grade import hand_in


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    file = hand_in(tmp_path, "while True:\n    pass\n")
    grader = subprocess.Popen(
        [sys.executable, "-m", "soloist", "grade", str(file)], stderr=subprocess.PIPE, text=True
    )
    children = Path(f"/proc/{grader.pid}/task/{grader.pid}/children")
    until = time.monotonic() + 50
    while not (found := children.read_text().split()) and time.monotonic() < until:
        time.sleep(0.01)
    grader.send_signal(signal.SIGINT)
    _, err = grader.communicate(timeout=60)
    assert grader.returncode == 130, err
    assert err == "soloist: interrupted\n"
    while Path(f"/proc/{found[0]}").exists() and time.monotonic() < until:
        time.sleep(0.01)  # without us it would end after a minute
    assert not Path(f"/proc/{found[0]}").exists()
