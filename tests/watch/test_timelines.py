"""Timelines and exports: what they show is what is in the trace."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from soloist.core import UsageError
from soloist.watch import Trace, of_script
from soloist.watch.formats import FORMATS, export
from soloist.watch.lanes import stretches
from soloist.watch.logs import SHIVIZ, clocks
from soloist.watch.svg import svg
from soloist.watch.text import text

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def trace() -> Trace:
    """With an entry, a pause, a crash and a loss."""
    return of_script(
        ["start lodha-kshemkalyani nodes=3", "# They ask.", "acquire 0", "acquire 1", "settle", "release 0", "pause 1", "crash 2",
         "acquire 0", "resume 1", "lose 0>1", "restart 2"]
    )  # fmt: skip


def test_stretches(trace: Trace) -> None:
    found = {(each.site, each.doing): (each.first, each.last, each.open) for each in stretches(trace)}
    enter = next(step.n for step in trace.steps if step.enter)
    leave = next(step.n for step in trace.steps if step.exit)
    assert found[0, "inside"] == (enter, leave, False)
    steps = {step.what: step.n for step in trace.steps}
    assert found[1, "paused"] == (steps["pause"], steps["resume"], False)
    assert found[2, "down"] == (steps["crash"], steps["restart"], False)
    assert found[1, "waiting"][2], "it waits still at the end"


def test_the_timeline_fits_and_says_who_is_where(trace: Trace) -> None:
    shown = text(trace)
    assert all(len(line) <= 80 for line in shown.splitlines())
    lines = {int(line.split()[0]): line for line in shown.splitlines() if re.match(r" +\d+  ", line)}
    enter = next(step.n for step in trace.steps if step.enter)
    assert "█<○ ·" in lines[enter]
    assert lines[enter].endswith("enters")
    assert "       # They ask." in shown
    assert "1 waits: in LRQ 0 comes before it" in shown
    assert any("z<x" in line or "z x" in line for line in lines.values())
    narrow = text(trace, 40).splitlines()
    assert max(map(len, narrow)) <= 48  # only the legend is longer than asked for
    many = of_script(["start central nodes=40", "acquire 3"])
    assert all(len(line) <= 80 for line in text(many).splitlines())


def test_the_picture_has_all_that_happened(trace: Trace) -> None:
    root = ElementTree.fromstring(svg(trace))
    messages = trace.messages().values()
    arrows = [line for line in root.iter(f"{SVG}line") if line.get("marker-end")]
    assert len(arrows) == sum(message.received is not None for message in messages)
    crosses = [path for path in root.iter(f"{SVG}path") if path.get("class") == "lost"]
    assert len(crosses) == sum(message.lost is not None for message in messages) > 0
    looks = [rect.get("class") for rect in root.iter(f"{SVG}rect")]
    assert {"inside", "waiting", "paused", "down"} <= set(looks)
    titles = [title.text or "" for circle in root.iter(f"{SVG}circle") for title in circle]
    assert len(titles) == len(trace.steps)
    assert any("LRQ = [[1, 0], [1, 1]]" in title for title in titles), "variables on hover"
    assert "http" not in svg(trace).replace("http://www.w3.org/2000/svg", ""), "it loads nothing"


def test_names_cannot_break_the_picture() -> None:
    hostile = of_script(["start central nodes=2", "acquire 1"], sites=["<script>", '"&'])
    ElementTree.fromstring(svg(hostile))
    assert "<script>" not in svg(hostile)


def test_a_notebook_shows_the_picture(trace: Trace) -> None:
    assert trace._repr_svg_() == svg(trace)
    assert trace._repr_svg_() in trace._repr_html_()


RUN_NOTEBOOK = """
import nbformat
from nbclient import NotebookClient
cells = ["from soloist.watch import of_script; of_script(['start central nodes=2', 'acquire 1'])",
         "from soloist.sim import Experiment, simulate; simulate(Experiment('central', nodes=2, entries=5))",
         "from soloist.algorithms import find; from soloist.check import check; check(find('central'), nodes=2, rounds=1)"]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
NotebookClient(book, timeout=120).execute()
for cell in book.cells:
    print(*sorted(cell.outputs[0].data))
    assert cell.outputs[0].data["text/html"].startswith("<")
"""


def test_runs_and_results_show_themselves_in_a_real_kernel() -> None:
    done = subprocess.run([sys.executable, "-c", RUN_NOTEBOOK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["image/svg+xml text/html text/plain", *["text/html text/plain"] * 2]


def test_clocks_tell_what_was_before(trace: Trace) -> None:
    found = clocks(trace)
    for message in trace.messages().values():
        if message.received is not None:
            before, after = found[message.sent], found[message.received]
            assert all(after.get(site, 0) >= ticks for site, ticks in before.items())
            assert before != after
    first = {step.site: step.n for step in reversed(trace.steps)}
    assert found[first[2]].get(2) == 1


def test_shiviz_reads_its_log(trace: Trace) -> None:
    log = export(trace, "shiviz")
    expression = re.compile(SHIVIZ.replace("(?<", "(?P<"))
    found = [(match["host"], json.loads(match["clock"])) for match in expression.finditer(log)]
    assert len(found) == len(trace.steps)
    seen: dict[str, int] = {}
    for host, clock in found:
        assert clock[host] == seen.get(host, 0) + 1, "each event ticks once"
        seen[host] = clock[host]


@pytest.mark.parametrize(("format", "arrow", "lost"), [("mermaid", "->>", "-x"), ("plantuml", " -> ", "->x")])
def test_sequence_diagrams(trace: Trace, format: str, arrow: str, lost: str) -> None:
    lines = export(trace, format).splitlines()
    messages = trace.messages().values()
    between = [line for line in lines if arrow in line and not re.search(r"s(\d+) ?->>? ?s\1\b", line)]
    assert len(between) == sum(message.received is not None for message in messages)
    assert sum(lost in line for line in lines) == sum(message.lost is not None for message in messages)
    words = [line.split()[0] for line in lines if line.strip()]
    assert words.count("activate") == words.count("deactivate") == 1
    assert words.index("activate") < words.index("deactivate")
    assert words.count("participant") == 3


def test_signs_that_mean_something_there_are_written_otherwise() -> None:
    run = of_script(
        ["start central nodes=2", '# 50 %; #1 <b> $x$ [[a]] "b" **c** d\\n'], sites=['a"b', "c;d"]
    )
    assert "Note over s0: 50 #37;#59; #35;1 #60;b> #36;x#36; [[a]]" in export(run, "mermaid")
    assert "participant s1 as c#59;d" in export(run, "mermaid")
    picture = export(run, "plantuml")
    assert "50 <U+0025>; #1 <U+003C>b> $x$ <U+005B>[a<U+005D>] <U+0022>b<U+0022> <U+002A>*c" in picture
    assert "d<U+005C>" in picture
    assert 'participant "a<U+0022>b" as s0' in picture


def test_a_bar_ends_with_a_crash_and_with_the_run() -> None:
    run = of_script(["start central nodes=3", "acquire 1", "settle", "crash 1", "restart 1", "acquire 0"])
    words = [line.split() for line in export(run, "mermaid").splitlines()]
    bars = [line for line in words if line[0] in ("activate", "deactivate")]
    assert bars[:2] == [["activate", "s1"], ["deactivate", "s1"]]
    assert len([each for each in bars if each[0] == "activate"]) * 2 == len(bars)


def assert_nested(events: list[dict[str, Any]]) -> None:
    """Slices of a thread lie within each other or apart: viewers leave out what overlaps."""
    for thread in {event["tid"] for event in events if event["ph"] == "X"}:
        open_until: list[float] = []
        slices = [
            (event["ts"], -event["dur"]) for event in events if event["ph"] == "X" and event["tid"] == thread
        ]
        for begins, length in sorted(slices):
            while open_until and open_until[-1] <= begins + 0.001:  # a nanosecond
                open_until.pop()
            assert not open_until or begins - length <= open_until[-1] + 0.001
            open_until.append(begins - length)


def test_the_viewers_of_chrome_get_slices_and_flows(trace: Trace) -> None:
    events = json.loads(export(trace, "chrome"))["traceEvents"]
    assert export(trace, "perfetto") == export(trace, "chrome")
    received = sum(message.received is not None for message in trace.messages().values())
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert len(starts) == len(ends) == received
    assert all(starts[id]["ts"] < ends[id]["ts"] for id in starts)
    assert_nested(events)
    by_thread = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert by_thread == {1: "site 0", 2: "site 1", 3: "site 2", 5: "site 1, pauses"}
    assert {"inside", "waiting", "paused", "down"} <= {
        event["name"] for event in events if event.get("cat") == "phase"
    }
    assert all(event["dur"] > 0 for event in events if event["ph"] == "X")


def test_an_unknown_format_is_answered_with_the_known_ones(trace: Trace) -> None:
    with pytest.raises(UsageError, match=r"unknown format 'pdf'; choose from .*mermaid"):
        export(trace, "pdf")
    assert set(FORMATS) == {"jsonl", "shiviz", "mermaid", "plantuml", "chrome", "perfetto"}
