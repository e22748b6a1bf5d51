"""How fast the page of a run is: until it is drawn, while one steps, while one scrubs. Measured in the page, by its own frames.

The file is opened from the disk in a browser without a window and without a graphics card. A frame counts when the
browser has drawn it; browsers draw at most sixty a second.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from soloist.core import UsageError
from soloist.sim.experiment import Experiment
from soloist.sim.workload import Thinking
from soloist.testing.browser import browser, missing
from soloist.watch import Trace, of_simulation
from soloist.watch.export import html

PAINT_AIM, FRAMES_AIM = 2.0, 30.0
"""Seconds until the run is drawn; frames per second."""
MOVES = 180
"""Frames in one measurement."""
NODES = 8

FRAMES = """async ([moves, scrub]) => {
  const { player } = soloistPage;
  const frame = () => new Promise((done) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();  // its message comes when the frame has been drawn
    port1.onmessage = done;
    port2.postMessage(0);
  }));
  player.go(0, { glide: false });
  await frame();
  const times = [];
  let last = performance.now();
  for (let i = 1; i <= moves; i++) {
    if (scrub) player.go((i * 7919) % player.last, { glide: false });
    else player.step(1);
    await frame();
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times;
}"""


class Frames(msgspec.Struct, frozen=True):
    """One way to move: frames per second, and the frame that one in twenty was slower than, in milliseconds."""

    what: str
    per_second: float
    slow: float


class Measurement(msgspec.Struct, frozen=True):
    """One file in one browser."""

    browser: str
    events: int
    messages: int
    bytes: int
    plain_bytes: int
    """Of the file with the trace as text."""
    elements: int
    drawn: float
    """Seconds from opening the file until the run had been drawn: the median of all rounds."""
    frames: list[Frames]
    """The slowest round of each."""

    @property
    def met(self) -> bool:
        return self.drawn < PAINT_AIM and all(each.per_second >= FRAMES_AIM for each in self.frames)


def run_of(events: int) -> Trace:
    """A run with exactly that many steps."""
    entries = events // NODES + 10
    experiment = Experiment(
        "suzuki-kasami", nodes=NODES, entries=entries, warmup=0, workload=Thinking(0.1), inside=2.0, seed=1
    )
    trace = of_simulation(experiment, most=20 * events + 1_000)
    if len(trace.steps) < events:
        raise UsageError(f"a run of {entries} entries has only {len(trace.steps)} steps")
    return Trace(trace.head, trace.steps[:events])


def measure(
    events: int = 10_000, rounds: int = 3, progress: Callable[[int, int], None] | None = None
) -> Measurement:
    if lacking := missing():
        raise UsageError(f"a browser is needed, driven by Playwright: {lacking}")
    trace = run_of(events)
    text = html(trace)
    drawn: list[float] = []
    frames: list[list[Frames]] = []
    with tempfile.TemporaryDirectory() as directory, browser() as started:
        path = Path(directory, "run.html")
        path.write_text(text, encoding="utf-8")
        for done in range(rounds):
            page = started.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"file://{path}")
            page.wait_for_function("() => performance.getEntriesByName('soloist-drawn').length")
            drawn.append(page.evaluate("performance.getEntriesByName('soloist-drawn')[0].startTime") / 1000)
            frames.append(_frames(page))
            elements = page.evaluate("document.querySelectorAll('*').length")
            page.close()
            if progress:
                progress(done + 1, rounds)
        name = f"Chromium {started.version}"
    slowest = [min(ways, key=lambda way: way.per_second) for ways in zip(*frames, strict=True)]
    sizes = len(text.encode()), len(html(trace, packed=False).encode())
    return Measurement(name, events, len(trace.messages()), *sizes, elements, median(drawn), slowest)


def _frames(page: Any) -> list[Frames]:
    found = []
    for whole in (False, True):
        if whole:
            page.keyboard.press("f")
        for scrub in (False, True):
            times = sorted(page.evaluate(FRAMES, [MOVES, scrub]))
            what = f"{'scrubbing' if scrub else 'stepping'}{', all of the run in view' if whole else ''}"
            found.append(Frames(what, 1000 * len(times) / sum(times), times[int(0.95 * len(times))]))
    return found


def table(measured: Measurement) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = [("opened and drawn", f"{measured.drawn:.2f} s", f"< {PAINT_AIM:g} s", "")]
    for each in measured.frames:
        rows.append(
            (each.what, f"{each.per_second:.0f} frames/s", f"≥ {FRAMES_AIM:g}", f"{each.slow:.0f} ms")
        )
    per_event = f"{measured.bytes / measured.events:.0f} bytes per event"
    rows.append(("file", per_event, "", f"{measured.bytes / 1024:.0f} KiB"))
    plain = f"{measured.plain_bytes / measured.events:.0f} bytes per event"
    rows.append(("file, trace not packed", plain, "", f"{measured.plain_bytes / 1024:.0f} KiB"))
    return ("what", ">measured", ">wanted", ">1 in 20 slower than"), rows
