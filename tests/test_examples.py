"""The examples do what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from soloist.testing import free_ports

EXAMPLES = Path(__file__).parents[1] / "examples"


def peers(*names: str) -> dict[str, str]:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(len(names))]
    return {**os.environ, "PEERS": json.dumps(dict(zip(names, addresses, strict=True)))}


def start(example: str, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(EXAMPLES / example), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )


def output(process: subprocess.Popen[str]) -> str:
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out


def test_a_nightly_job_runs_on_one_host_only() -> None:
    env = peers("a", "b", "c")
    hosts = [start("nightly_job.py", name, env=env) for name in ("a", "b", "c")]
    said = sorted(output(host).split(",")[0].strip() for host in hosts)
    assert said == ["doing the work", "somebody else does it", "somebody else does it"]


def test_a_gpu_pool_is_never_overbooked() -> None:
    out = output(start("gpu_pool.py"))
    assert out.count("runs on GPU 0") + out.count("runs on GPU 1") == 6


def test_a_fenced_write_is_refused_when_it_comes_too_late() -> None:
    out = output(start("fenced_write.py"))
    assert "refused: account 1 has seen a higher fence" in out
    assert "balance 80" in out


def test_threads_share_a_node() -> None:
    assert output(start("threads.py", env=peers("web1", "web2"))) == "5 sold, 0 left\n"


def test_every_example_is_run() -> None:
    source = Path(__file__).read_text()
    for example in EXAMPLES.glob("*.py"):
        assert f'"{example.name}"' in source, f"{example.name} is not tested"


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_says_what_it_shows(example: Path) -> None:
    assert example.read_text().startswith('"""')


RUN_NOTEBOOK = """
import sys
import nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(book, timeout=120).execute()
for cell in book.cells:
    for output in cell.get("outputs", []):
        print(output.get("text", ""), end="")
"""


def test_a_notebook_runs_in_a_real_kernel() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN_NOTEBOOK, str(EXAMPLES / "first_steps.ipynb")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"cy holds orders with fence \d+", done.stdout)
    assert done.stdout.count(" ran at ") == 6
    assert "theory says 3.96" in done.stdout
    assert "\nholds\n" in done.stdout
