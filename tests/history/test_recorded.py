"""What real lock services did, as it was recorded; and the script that records it."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from soloist.history import check

HISTORIES = Path(__file__).parents[2] / "examples" / "histories"
POSTGRES = shutil.which("postgres") or next(Path("/usr/lib/postgresql").glob("*/bin/postgres"), None)
HERE = {
    "redis": shutil.which("redis-server") and importlib.util.find_spec("redis"),
    "redis-expired": shutil.which("redis-server") and importlib.util.find_spec("redis"),
    "postgres": POSTGRES and importlib.util.find_spec("psycopg"),
}


@pytest.mark.parametrize("name", ["redis", "postgresql"])
def test_services_that_kept_their_promise(name: str) -> None:
    report = check([HISTORIES / f"{name}.jsonl"])
    assert (report.verdict, report.holds, report.notes) == ("holds", 24, [])


def test_a_lock_that_expired_under_its_holder_is_caught() -> None:
    """redis-py, a timeout of half a second, and a holder that was stopped for longer."""
    report = check([HISTORIES / "redis-expired.jsonl"])
    assert (report.verdict, report.property) == ("violated", "exclusion")
    example = report.properties[0].example
    assert example
    assert [hold.process for hold in example.holds] == ["a", "b"]


@pytest.mark.parametrize(
    ("what", "code"),
    [
        pytest.param(
            what,
            code,
            marks=pytest.mark.skipif(
                not HERE[what], reason="not run: needs the server, and `pip install redis 'psycopg[binary]'`"
            ),
        )
        for what, code in (("redis", 0), ("redis-expired", 1), ("postgres", 0))
    ],
)
def test_the_script_records_the_same_again(what: str, code: int, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    subprocess.run([sys.executable, HISTORIES / "record.py", what, path], check=True, timeout=120)
    assert check([path]).exit_code() == code
