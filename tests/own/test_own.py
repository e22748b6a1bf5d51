"""Algorithms of one's own: files and modules by name, at every door; and who may have written them."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from soloist import ConfigMismatch, Node, own
from soloist.algorithms import _own, find, find_any, load, load_any
from soloist.algorithms._source import source_digest
from soloist.cli import main
from soloist.core import UsageError
from soloist.course.new import new
from soloist.net.service.config import parse
from soloist.sim import Experiment, simulate
from soloist.testing import ports, tcp_cluster


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """A file that `soloist new` wrote."""
    file, _ = new("my-lock", tmp_path)
    return str(file)


# What is new.


def test_what_is_new_passes_its_own_test(mine: str, tmp_path: Path) -> None:
    test = tmp_path / "test_my_lock.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(test)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_what_is_there_is_not_overwritten(mine: str, tmp_path: Path) -> None:
    Path(mine).write_text("mine")
    with pytest.raises(UsageError, match=r"my_lock\.py is there already"):
        new("my-lock", tmp_path)
    assert Path(mine).read_text() == "mine"
    (tmp_path / "test_other.py").write_text("my test")
    with pytest.raises(UsageError, match="is there already"):
        new("other", tmp_path)
    assert not (tmp_path / "other.py").exists()


@pytest.mark.parametrize("name", ["My-Lock", "my_lock", "", "-x", "a b", "../x", "1x"])
def test_a_name_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="small letters, digits and hyphens"):
        new(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["central", "nishio-recovery", "causal-order"])
def test_a_name_that_is_taken_is_refused(name: str, mine: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"the name {name} is taken"):
        new(name, tmp_path)
    Path(mine).write_text(Path(mine).read_text().replace('name="my-lock"', f'name="{name}"'))
    with pytest.raises(UsageError, match=f"the name {name} is taken"):
        load_any(mine)


def test_the_places_to_fill_are_marked(mine: str) -> None:
    text = Path(mine).read_text()
    assert text.count("FILL IN") >= 6
    assert "emplate" not in text


# Doors.


def test_commands_take_a_file(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in (
        "algorithms my_lock.py",
        "check my_lock.py --nodes 2 --rounds 1",
        "check my_lock.py:CARD --nodes 2 --rounds 1",
        "simulate my_lock.py --entries 20 --replications 2 --jobs 2",
        "compare my_lock.py central --entries 20",
        "watch my_lock.py --entries 3 --html run.html",
        "check carry my_lock.py",
    ):
        assert main(line.split()) == 0, line
        assert "my-lock" in capsys.readouterr().out or "--html" in line
    assert "window.SOLOIST" in (tmp_path / "run.html").read_text()


def test_a_counterexample_of_a_file_becomes_a_page(mine: str, tmp_path: Path) -> None:
    Path(mine).write_text(Path(mine).read_text().replace("not self.busy", "True"))
    assert main(["check", mine, "--nodes", "2", "--html", str(tmp_path / "wrong.html")]) == 1
    assert "window.SOLOIST" in (tmp_path / "wrong.html").read_text()


def test_a_recorded_run_is_validated_by_its_file(mine: str, tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "soloist", "watch", mine, "--entries", "3", "--export", "jsonl"],
        capture_output=True,
        text=True,
        check=True,
    )
    trace.write_text(done.stdout)
    assert main(["watch", str(trace), "--validate"]) == 2  # nobody knows my-lock
    assert main(["watch", mine, str(trace), "--validate"]) == 0


def test_a_demonstration_takes_a_file(mine: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "soloist", "demo", "--nodes", "3", "--entries", "10", "--algorithm", mine],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "my-lock" in done.stdout


def test_a_lock_runs_a_file(mine: str) -> None:
    async def hold() -> None:
        async with tcp_cluster("abc", algorithm=mine) as nodes:
            for node in nodes:
                async with node.lock("orders", timeout=20) as held:
                    assert held.fence

    asyncio.run(asyncio.wait_for(hold(), 60))


def test_a_node_says_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        Node("a", {"a": "127.0.0.1:1"}, algorithm=str(tmp_path / "none.py"))


def test_a_cluster_file_names_one_beside_it(mine: str, tmp_path: Path) -> None:
    text = 'algorithm = "my_lock.py"\nnodes = { a = "127.0.0.1:7400" }\n'
    config = parse(text, tmp_path / "cluster.toml")
    assert config.node("a")
    assert config.algorithm == mine


def test_an_experiment_in_other_processes_finds_it(mine: str) -> None:
    experiment = Experiment(mine, nodes=4, entries=30, replications=2)
    assert simulate(experiment, jobs=2).messages == simulate(experiment).messages
    assert simulate(experiment).algorithm == "my-lock"


def test_a_sweep_finds_it(mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = 'algorithms = ["my_lock.py", "central"]\nfixed = { nodes = 3, entries = 20 }\nseeds = 2\n'
    (tmp_path / "plan.toml").write_text(plan)
    assert main(["sweep", "plan.toml", "--jobs", "2"]) == 0


def test_names_load_no_file(mine: str, tmp_path: Path) -> None:
    """Peers, traces and links say names: what they say must not make us run a file."""
    for search in (find, find_any):
        with pytest.raises(UsageError, match="unknown algorithm"):
            search(mine)
    script = tmp_path / "run.txt"
    script.write_text(f"start {mine} nodes=2\nacquire 0\n")
    assert main(["watch", str(script)]) == 2
    assert _own.loaded == {}
    load(mine)
    assert find("my-lock").name == "my-lock"


# One source on all nodes.


def test_the_place_of_a_file_is_no_part_of_its_source(mine: str, tmp_path: Path) -> None:
    here = source_digest(load(mine).process)
    elsewhere = tmp_path / "elsewhere" / "my_lock.py"
    elsewhere.parent.mkdir()
    elsewhere.write_text(Path(mine).read_text())
    _own.loaded.clear()
    del sys.modules["own_my_lock"]
    assert source_digest(load(str(elsewhere)).process) == here != ""
    elsewhere.write_text(Path(mine).read_text().replace("self.queue.pop(0)", "self.queue.pop()"))
    assert source_digest(load(str(elsewhere)).process) != here


def test_nodes_of_different_files_refuse_each_other(mine: str, tmp_path: Path) -> None:
    other, _ = new("other-lock", tmp_path)

    async def meet() -> None:
        with ports("a", "b") as peers:
            one = Node("a", peers, algorithm=mine, lease=None)
            two = Node("b", peers, algorithm=str(other), lease=None)
            async with one, two:
                with pytest.raises(ConfigMismatch, match="other-lock"):
                    await one.lock("x").acquire_or_raise(30)

    asyncio.run(asyncio.wait_for(meet(), 60))


def test_who_names_none_and_has_not_the_file_is_refused(mine: str) -> None:
    """In one process all have it; so the other one forgets."""

    async def meet() -> None:
        with ports("a", "b") as peers:
            one, two = Node("a", peers, algorithm=mine, lease=None), Node("b", peers, lease=None)
            _own.loaded.clear()
            async with one, two:
                with pytest.raises(ConfigMismatch, match="runs my-lock, which 'b' does not have"):
                    await two.lock("x").acquire_or_raise(30)

    asyncio.run(asyncio.wait_for(meet(), 60))


# What a file is.


BAD: dict[str, tuple[str, str]] = {
    "syntax": ("def f(:\n", r"mine\.py:1: this is no Python"),
    "an error": ("x = 1\ny = x / 0\n", r"mine\.py:2: ZeroDivisionError"),
    "an import": ("import nosuchmodule\n", "what is installed"),
    "exit": ("import sys\nsys.exit(3)\n", "ends the program while it is loaded"),
    "no card": ("x = 1\n", "has no CARD"),
    "another card": ("CARD = 3\n", "is a int, not a card"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, said = BAD[name]
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert main(["check", str(file)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert re.search(said, err), err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("none.py", "cannot read none.py: No such file or directory"),
        ("nosuchmodule:CARD", "the module nosuchmodule cannot be loaded"),
        ("a b:CARD", "should read path.py:CARD or package.module:CARD"),
        ("x.py:1", "should read path.py, path.py:CARD or package.module:CARD"),
        ("soloist.algorithms.central:CARD", "the name central is taken"),
    ],
)
def test_what_is_no_file_is_one_line(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", text]) == 2
    assert said in capsys.readouterr().err


def test_a_changed_file_is_read_again(mine: str) -> None:
    assert load(mine).title == "My lock"
    Path(mine).write_text(Path(mine).read_text().replace('title="My lock"', 'title="Better"'))
    assert load(mine).title == "Better"


def test_two_files_with_one_name_for_their_cards(mine: str, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(Path(mine).read_text())
    load(mine)
    with pytest.raises(UsageError, match=r"the name my-lock is taken by .*my_lock\.py"):
        load(str(other))


# Who may have written it.


@pytest.mark.parametrize("mode", [0o646, 0o666])
def test_a_file_that_others_may_write_is_refused(mode: int, mine: str) -> None:
    Path(mine).chmod(mode)
    with pytest.raises(UsageError, match=r"others may write the file .*my_lock\.py.*: chmod go-w"):
        load(mine)
    assert "own_my_lock" not in sys.modules


def test_a_directory_that_others_may_write_is_refused(mine: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(UsageError, match=r"others may write the directory .*: chmod go-w"):
        load(mine)
    tmp_path.chmod(0o1777)  # as /tmp: nobody may replace what is ours
    assert load(mine)


def test_a_group_of_several_is_refused(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(mine).chmod(0o664)
    monkeypatch.setattr(own, "_is_private", lambda group: False)
    with pytest.raises(UsageError, match="others may write the file"):
        load(mine)


def test_a_link_leads_to_what_is_judged(mine: str, tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to(mine)
    Path(mine).chmod(0o646)
    with pytest.raises(UsageError, match=r"others may write the file .*my_lock\.py"):
        load(str(tmp_path / "link.py"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_else_is_refused(mine: str) -> None:
    os.chown(mine, 12345, -1)
    with pytest.raises(UsageError, match=r"belongs to another user \(number 12345\)"):
        load(mine)


# Packages.


ENTRY_POINTS = f"[console_scripts]\nx = theirs:main\n\n[{_own.GROUP}]\n"


def register(site: Path, **places: str) -> None:
    """As an installer leaves it."""
    info = site / "Theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Theirs\nVersion: 1.0\n")
    lines = [f"{name.replace('_', '-')} = {place}\n" for name, place in places.items()]
    (info / "entry_points.txt").write_text(ENTRY_POINTS + "".join(lines))
    _own.installed.cache_clear()


@pytest.fixture
def package(mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package `theirs`, installed."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "__init__.py").write_text("")
    (tmp_path / "theirs" / "lock.py").write_text(Path(mine).read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    _own.installed.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "theirs"]:
        del sys.modules[name]


def test_a_package_registers_its_algorithms(
    package: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    register(tmp_path, my_lock="theirs.lock:CARD", broken="theirs.nothing:CARD")
    assert main(["algorithms"]) == 0
    out = capsys.readouterr().out
    assert "Of other packages" in out
    assert "broken (theirs.nothing:CARD) cannot be loaded: ModuleNotFoundError" in " ".join(out.split())
    assert main(["check", "my-lock", "--nodes", "2", "--rounds", "1"]) == 0
    assert find("my-lock").process.__module__ == "theirs.lock"
    with pytest.raises(UsageError, match="did you mean my-lock"):
        find("my-lok")


def test_a_module_is_named_as_it_is_imported(package: None) -> None:
    assert load("theirs.lock:CARD").name == "my-lock"


def test_a_package_is_found_in_an_archive_and_by_other_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(tmp_path, other="theirs.lock:CARD")
    assert _own.installed() == {}  # it is on no path
    archive = shutil.make_archive(str(tmp_path / "theirs"), "zip", tmp_path, "Theirs-1.0.dist-info")
    monkeypatch.syspath_prepend(archive)
    _own.installed.cache_clear()
    assert set(_own.installed()) == {"other"}
    monkeypatch.undo()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Elsewhere(tmp_path)])
    _own.installed.cache_clear()
    assert set(_own.installed()) == {"other"}
    monkeypatch.undo()
    _own.installed.cache_clear()


class Elsewhere:
    """Knows of packages that are on no path, as some tools do while a package is being written."""

    def __init__(self, site: Path) -> None:
        self.site = site

    def find_spec(self, name: str, path: object = None, target: object = None) -> None: ...

    def find_distributions(self, context: metadata.DistributionFinder.Context) -> Any:
        return metadata.MetadataPathFinder.find_distributions(
            metadata.DistributionFinder.Context(path=[str(self.site)])
        )


def test_a_card_has_the_name_it_is_registered_by(package: None, tmp_path: Path) -> None:
    register(tmp_path, other="theirs.lock:CARD")
    with pytest.raises(UsageError, match="calls it my-lock on its card"):
        find("other")
