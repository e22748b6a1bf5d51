"""The public API is typed: mypy finds in `api.py` what is written there, and the mistakes that are marked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def mypy(path: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    options = ["--strict", "--warn-unused-ignores", "--cache-dir", str(cache), "--config-file", ""]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(path)],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_public_api_is_typed(tmp_path: Path) -> None:
    done = mypy(HERE / "api.py", tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (
        0,
        ["Success: no issues found in 1 source file"],
    ), done.stdout
    wrong = tmp_path / "wrong.py"  # and mypy would tell
    wrong.write_text(
        (HERE / "api.py").read_text().replace("assert_type(hold.fence, int)", "assert_type(hold.fence, str)")
    )
    assert mypy(wrong, tmp_path).returncode == 1
