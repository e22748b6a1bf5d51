"""Takes the pictures of the page that README and docs show: a run of Naimi and Trehel, light and dark.

    make pictures

Needs Chromium and Playwright. Browsers draw letters differently, so no test compares these pictures; look at them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from soloist.sim.experiment import Experiment
from soloist.sim.workload import Thinking
from soloist.testing.browser import browser, missing
from soloist.watch import of_simulation
from soloist.watch.export import html

DOCS = Path(__file__).parent
PICTURES = {
    "watch-light.png": ("naimi-trehel", 0.1, "light", "#step=33"),
    "watch-dark.png": ("maekawa", 1.0, "dark", "#step=96&select=96"),
}
MOST_BYTES = 200_000


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


if __name__ == "__main__":
    if lacking := missing():
        sys.exit(f"pictures are taken by a browser, driven by Playwright: {lacking}")
    take()
