"""The dashboard in a real browser: it follows a cluster of real daemons through a kill -9, the recovery and a join."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist.net.link.wire import LockState
from soloist.net.service.dialogue import Holders, MemberStatus, Status
from soloist.testing import ports
from soloist.watch.dashboard import Seen, changes, displayed, percentiles
from tests.net.service.daemons import cluster
from tests.watch.serving import PATIENCE, served

MORE = 'lease = 5\ndata_dir = "data-{name}"\n'
STATUS = Status("t", "a", 1, "x", "y", 1.0, [], 10, 0, 0, 0, 0, 0, 0, 0, epoch=1)


def seen(at: float, *nodes: str, entries: int = 10, epoch: int = 1, held: tuple[str, ...] = ()) -> Seen:
    members = [MemberStatus(name, "", True, 0) for name in nodes]
    status = msgspec.structs.replace(STATUS, members=members, entries=entries, epoch=epoch)
    views = [LockState("lock:x", node, 1, 0, 1 << 60, 2.5, "n") for node in held]
    return Seen(at, {"a": status}, {}, Holders(views, []))


def test_what_has_changed_is_told_in_words() -> None:
    then, now = seen(1, "a", "b", held=("b",)), seen(2, "a", "c", epoch=2, held=("a",))
    assert changes(then, now) == [
        "epoch 2 has begun",
        "c is a member",
        "b is no member any more",
        "b holds x no more",
        "a holds x",
    ]
    assert changes(now, now) == []
    now.holders = Holders([], ["a"])
    assert changes(now, now) == []
    assert changes(seen(1, "a", "c", epoch=2, held=("a",)), now) == [
        "a held x: whether it still does is not known"
    ]


def test_the_figures_are_of_what_was_seen() -> None:
    told = displayed("t", seen(1, "a", entries=10), seen(3, "a", entries=15, held=("a",)))
    assert told["rate"] == 2.5
    (row,) = told["holders"]
    assert row["fence"] == str(1 << 60), "text, since it passes 2^53"
    assert (row["age"], row["note"]) == (2.5, "n")
    again = seen(3, "a", entries=1)
    again.statuses["a"] = msgspec.structs.replace(again.statuses["a"], pid=2)
    assert displayed("t", seen(1, "a"), again)["rate"] is None, "it was started again and counts anew"


def test_percentiles_are_values_that_were_measured() -> None:
    assert percentiles([]) == {"of": 0}
    assert percentiles([0.3]) == {"of": 1, "50": 0.3, "90": 0.3, "99": 0.3}
    assert percentiles([float(n) for n in range(1, 101)]) == {"of": 100, "50": 50.0, "90": 90.0, "99": 99.0}


def test_without_a_daemon_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text('cluster = "t"\n[nodes]\na = "127.0.0.1:1"\nb = "127.0.0.1:2"\n')
    command = [sys.executable, "-m", "soloist", "watch", "--config", str(tmp_path / "cluster.toml")]
    done = subprocess.run([*command, "--no-browser"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "no node of" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context, wrong = browser.new_context(viewport={"width": 1200, "height": 900}), []
    context.set_default_timeout(PATIENCE * 1000)
    made = context.new_page()
    made.on("pageerror", lambda error: wrong.append(str(error)))
    yield made
    context.close()
    assert not wrong


def sees(page: Any, panel: str, *words: str) -> None:
    """Wait until one row or line of that panel has all these words."""
    page.wait_for_function(
        "([panel, words]) => [...document.querySelectorAll(`#board .${panel} :is(tr, li, p)`)]"
        ".some((each) => words.every((word) => each.textContent.includes(word)))",
        arg=[panel, list(words)],
    )


def assert_it_changes_what_differs(page: Any) -> None:
    """What one has selected, scrolled to or focused on stays while the figures change."""
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#board .holders td'))")
    up = page.locator("#board .members td").nth(5).inner_text()
    page.wait_for_function(
        "(up) => document.querySelectorAll('#board .members td')[5].textContent !== up", arg=up
    )
    assert page.evaluate("getSelection().toString()").strip() == "orders"


def test_it_follows_a_cluster_through_a_kill_the_recovery_and_a_join(page: Any) -> None:
    with ports("d") as own, cluster("a", "b", "c", more=MORE) as found:
        config = str(found.directory / "cluster.toml")
        with served("--config", config, "--name", "a") as started:
            page.goto(started.address)
            for name in "abc":
                sees(page, "members", name, "yes")
            found.hold("orders", "--name", "c", "--note", "nightly")
            sees(page, "holders", "orders", "c", "nightly")
            waiting = found.start("run", "orders", "--name", "a", "--", "sleep", "1000")
            sees(page, "waiters", "orders", "a")
            assert_it_changes_what_differs(page)
            epoch = int(page.locator("[data-fact=epoch]").inner_text())
            found.daemons["c"].kill()
            sees(page, "happened", "c is no member any more")
            sees(page, "holders", "orders", "a")
            assert int(page.locator("[data-fact=epoch]").inner_text()) > epoch
            found.start("join", "--name", "d", "--address", own["d"])
            sees(page, "happened", "d is a member")
            sees(page, "members", "d", "yes")
            assert page.locator(".lanes .held").count() >= 2
            if picture := os.environ.get("SOLOIST_PICTURE"):
                page.screenshot(path=picture)
            assert waiting.poll() is None
            found.daemons["a"].kill()
            sees(page, "happened", "a is not reached")  # another daemon that runs here is asked
            assert started.ask("/api/act", {})[0] == 404, "it only looks"
            code, _, err = started.end()
            assert (code, err) == (130, "soloist: interrupted\n")
            page.wait_for_selector("text=The server of this page does not answer")
            page.goto("about:blank")
