"""The recipes run: real libraries, real processes, one daemon, and what the page quotes is what is run."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from soloist.testing import until
from tests.net.service.daemons import Cluster, cluster

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples" / "recipes"
SECONDS = 120


@pytest.fixture(scope="module")
def daemon() -> Iterator[Cluster]:
    with cluster("a") as found:
        yield found


@pytest.fixture
def environment(daemon: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the recipes are told: where the node is, and where their files are."""
    told = {
        "SOLOIST_URL": f"unix:{daemon.directory}/t-a.sock",
        "DATABASE": str(tmp_path / "shop.sqlite"),
        "FOLDER": str(tmp_path),
        "LOG": str(tmp_path / "ticks"),
    }
    for key, value in told.items():
        monkeypatch.setenv(key, value)
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


def start(words: list[str], environment: dict[str, str], where: Path = RECIPES) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=where,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def output(process: subprocess.Popen[str]) -> str:
    try:
        said, _ = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0, said
    return said


def test_fastapi(environment: dict[str, str]) -> None:
    """Two applications, as two workers would be, and eight buyers at once for five tickets."""
    from fastapi.testclient import TestClient

    with closing(sqlite3.connect(environment["DATABASE"])) as database:
        database.execute("CREATE TABLE ticket (id INTEGER PRIMARY KEY, left INTEGER, fence INTEGER)")
        database.execute("INSERT INTO ticket VALUES (7, 5, 0)")
        database.commit()
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(8))
            found = [stack.enter_context(TestClient(load("fastapi_app").app)) for _ in range(2)]
            bought = list(pool.map(lambda number: found[number % 2].post("/tickets/7/buy"), range(8)))
            assert sorted(each.status_code for each in bought) == [200] * 5 + [410] * 3
            sold = sorted(
                (each.json() for each in bought if each.status_code == 200), key=lambda each: each["fence"]
            )
            assert [each["left"] for each in sold] == [4, 3, 2, 1, 0]
            assert database.execute("SELECT left, fence FROM ticket").fetchone() == (0, sold[-1]["fence"])
            reports = list(pool.map(lambda number: found[number % 2].post("/report"), range(4)))
            assert {each.status_code for each in reports} == {200, 409}
            assert found[0].post("/report").status_code == 200  # it was given back


def test_fastapi_gives_a_thread_another_request_while_it_holds(environment: dict[str, str]) -> None:
    """It has entered the dependency of the first, which goes on in another thread."""
    from fastapi import HTTPException
    from fastapi.testclient import TestClient

    recipe: Any = load("fastapi_app")
    with TestClient(recipe.app):
        request = SimpleNamespace(app=recipe.app)
        first, second = recipe.report_lock(request), recipe.report_lock(request)
        assert next(first).valid
        with pytest.raises(HTTPException, match="a report is being made"):
            next(second)
        first.close()


def load(name: str) -> object:
    """A recipe as a module, each time anew."""
    spec = importlib.util.spec_from_file_location(name, RECIPES / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its annotations are looked up there
    spec.loader.exec_module(module)
    return module


def test_django(environment: dict[str, str]) -> None:
    site = RECIPES / "django_site"
    output(start(["manage.py", "migrate", "--run-syncdb", "--verbosity", "0"], environment, site))
    said = sorted(
        output(each) for each in [start(["manage.py", "nightly"], environment, site) for _ in range(3)]
    )
    assert re.fullmatch(r"done, fence \d+\n", said[0])
    assert said[1:] == ["somebody else has done it\n"] * 2
    with closing(sqlite3.connect(environment["DATABASE"])) as database:
        assert len(database.execute("SELECT * FROM jobs_run").fetchall()) == 1


def test_celery(environment: dict[str, str], tmp_path: Path) -> None:
    """Two workers with two processes each; the broker is a directory."""
    (tmp_path / "queue").mkdir()
    (tmp_path / "control").mkdir()
    words = ["-m", "celery", "-A", "celery_tasks", "worker", "--concurrency", "2", "--pool", "prefork"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "info"]
    tasks = load("celery_tasks")
    workers = [start([*words, *quiet, "-n", f"w{number}@test"], environment) for number in range(2)]
    try:
        rebuilt = [tasks.rebuild.delay() for _ in range(2)]  # type: ignore[attr-defined]
        charged = [tasks.charge.delay(order) for order in range(6)]  # type: ignore[attr-defined]
        said = sorted(each.get(timeout=SECONDS, interval=0.1) for each in rebuilt)
        assert said[0].startswith("done, fence ")
        assert said[1] == "it is being done" or said[1].startswith("done, fence ")
        fences = [each.get(timeout=SECONDS, interval=0.1) for each in charged]
        lines = [line.split() for line in (tmp_path / "charges").read_text().splitlines()]
        assert [int(fence) for fence, _ in lines] == sorted(fences)  # in the order of their turns
        assert sorted(int(order) for _, order in lines) == list(range(6))
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            output(worker)


def test_apscheduler(environment: dict[str, str], tmp_path: Path) -> None:
    """Three hosts; the one that leads is killed."""
    log = tmp_path / "ticks"
    environment["EVERY"] = "0.1"
    hosts = {name: start(["apscheduler_job.py", name], environment) for name in ("web-1", "web-2", "web-3")}

    def ticks() -> list[tuple[int, str]]:
        lines = log.read_text().splitlines() if log.exists() else []
        return [(int(term), host) for term, host in map(str.split, lines)]

    try:
        until(lambda: len(ticks()) > 3, "somebody leads")
        first, killed = ticks()[-1]
        hosts[killed].kill()
        until(lambda: ticks()[-1][0] > first, "somebody else leads")
        later, second = ticks()[-1]
        hosts[second].send_signal(signal.SIGINT)
        assert hosts[second].wait(SECONDS) == 0
        until(lambda: ticks()[-1][0] > later, "the third one leads")
        terms = [term for term, _ in ticks()]
        assert terms == sorted(terms)
        assert len(set(ticks())) == len(set(terms)) == 3  # each term is of one host
        assert {host for _, host in ticks()} == set(hosts)
    finally:
        for host in hosts.values():
            host.kill()
            host.communicate()


def test_pytest_xdist(environment: dict[str, str], tmp_path: Path) -> None:
    clean = {key: value for key, value in environment.items() if not key.startswith(("PYTEST_", "COV_"))}
    words = ["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base")]
    said = output(start([*words, "-c", os.devnull, "--rootdir", ".", "."], clean, RECIPES / "xdist"))
    assert "20 passed" in said
    with closing(sqlite3.connect(environment["DATABASE"])) as database:
        assert database.execute("SELECT amount FROM stock").fetchone() == (20,)
        assert len(database.execute("SELECT worker FROM made_by").fetchall()) == 1


FILES = sorted(path for path in RECIPES.rglob("*.py") if path.stat().st_size)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(RECIPES).as_posix())
def test_a_recipe_says_what_it_is_and_is_on_the_page(path: Path) -> None:
    assert path.read_text().startswith('"""')
    page = (ROOT / "docs" / "recipes.md").read_text()
    assert f"../examples/recipes/{path.relative_to(RECIPES).as_posix()})" in page
