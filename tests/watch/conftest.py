"""A browser that the tests of the page share, and pages that say when something went wrong in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from soloist.sim.experiment import Experiment
from soloist.sim.workload import Thinking
from soloist.testing import browser as browsers
from soloist.watch import Trace, of_script, of_simulation
from soloist.watch.export import html
from soloist.watch.runs import commands_of
from tests.watch.serving import PATIENCE

SETTLED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Whatever was asked to be drawn is drawn."""
GOLDEN = Path(__file__).parents[1] / "traces"

DRAWN = (
    "() => performance.getEntriesByName('soloist-drawn').length || !document.getElementById('error').hidden"
)

Open = Callable[..., Any]


def golden(name: str) -> Trace:
    """The first run of a golden trace."""
    commands = commands_of((GOLDEN / f"{name}.txt").read_text())
    begins = [i for i, command in enumerate(commands) if command.startswith("start")] + [len(commands)]
    return of_script(commands[: begins[1]])


def simulated(name: str, nodes: int = 5, entries: int = 25, seed: int = 3) -> Trace:
    workload = Thinking(0.1)
    return of_simulation(
        Experiment(name, nodes=nodes, entries=entries, warmup=0, workload=workload, inside=2.0, seed=seed)
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if lacking := browsers.missing():
        pytest.skip(f"NOT RUN: needs a browser ({lacking})")
    with browsers.browser() as started:
        yield started


@pytest.fixture
def blank(browser: Any) -> Iterator[Any]:
    """A page of which nothing is asserted but what the test does."""
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)
    yield context.new_page()
    context.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a trace as a file, with the network off. At the end nothing must have gone wrong in any of the pages."""
    contexts, wrong = [], []

    def open_page(trace: Trace | str, fragment: str = "", **settings: Any) -> Any:
        path = tmp_path / f"{len(contexts)}.html"
        keys = ("beside", "packed", "shared")
        options = {key: settings.pop(key) for key in keys if key in settings}
        path.write_text(html(trace, **options) if isinstance(trace, Trace) else trace, encoding="utf-8")
        context = browser.new_context(**{"reduced_motion": "reduce", **settings})
        context.set_offline(True)
        context.set_default_timeout(PATIENCE * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(asked.url),
        )
        page.goto(f"file://{path}{fragment}")
        page.wait_for_function(DRAWN)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong
