"""Takes the pictures of the page that README and docs show: a run of Naimi and Trehel, light and dark, and a puzzle that is beaten.
The picture of the dashboard is taken by its test, which has a cluster.

    make pictures

Needs Chromium and Playwright. Browsers draw letters differently, so no test compares these pictures; look at them.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from soloist.sim.experiment import Experiment
from soloist.sim.workload import Thinking
from soloist.testing.browser import browser, missing
from soloist.watch import of_simulation
from soloist.watch.export import html
from soloist.watch.play import Game
from soloist.watch.puzzles import puzzles
from soloist.watch.server import Door, Table, application, game_routes, listening, serve
from soloist.watch.setup import Setup

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = Path(__file__).parent
PICTURES = {
    "watch-light.png": ("naimi-trehel", 0.1, "light", "#step=33"),
    "watch-dark.png": ("maekawa", 1.0, "dark", "#step=96&select=96"),
}
MOST_BYTES = 200_000


def take_puzzle(started: Browser, id: str = "ricart-agrawala-r1") -> None:
    """Played to its end, by the real server."""
    sock = listening()
    door = Door(port := sock.getsockname()[1])
    game = Game(Setup(puzzle=id, steps=puzzles()[id].best))
    app = application(game_routes(Table(game)), door)
    threading.Thread(target=serve, args=(app, sock), daemon=True).start()
    page = started.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"http://127.0.0.1:{port}/?token={door.token}")
    page.wait_for_selector(".solved")
    page.locator("#panel-score").get_by_role("button", name="All of the run (f)").click()
    page.wait_for_timeout(700)
    page.screenshot(path=DOCS / "watch-play.png")


def take() -> None:
    with tempfile.TemporaryDirectory() as directory, browser() as started:
        for picture, (algorithm, rate, scheme, fragment) in PICTURES.items():
            workload = Thinking(rate)
            experiment = Experiment(
                algorithm, nodes=7, entries=25, warmup=0, workload=workload, inside=2.0, seed=3
            )
            path = Path(directory, f"{algorithm}.html")
            path.write_text(html(of_simulation(experiment)), encoding="utf-8")
            page = started.new_page(
                viewport={"width": 1280, "height": 800},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            page.goto(f"file://{path}{fragment}")
            page.wait_for_function("() => performance.getEntriesByName('soloist-drawn').length")
            page.wait_for_timeout(700)
            page.screenshot(path=DOCS / picture)
            size = (DOCS / picture).stat().st_size
            assert size < MOST_BYTES, f"{picture} has {size} bytes, more than {MOST_BYTES}"
            print(f"{picture}: {size:,} bytes")
        take_puzzle(started)


if __name__ == "__main__":
    if lacking := missing():
        sys.exit(f"pictures are taken by a browser, driven by Playwright: {lacking}")
    take()
