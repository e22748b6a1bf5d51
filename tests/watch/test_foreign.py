"""Exports in the programs that they are for: Mermaid and PlantUML draw them, and ShiViz could read the log.

Mermaid comes from npm and PlantUML needs Java, so these tests are reported as not run where they are missing.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from soloist.algorithms import CATALOGUE
from soloist.sim.experiment import Experiment
from soloist.sim.faults import faults
from soloist.sim.workload import Saturated, Thinking
from soloist.watch import Trace, of_script, of_simulation
from soloist.watch.formats import export
from soloist.watch.logs import SHIVIZ

SHAPES = {"naimi-thiare", "makki", "lodha-kshemkalyani"}
"""Algorithms whose messages have lists, pairs and nothing in them: to be drawn, which takes its time."""
OPTIONS = {"helary-plouzeau-raynal": {"topology": "0-1,0-2,1-2"}}


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """Every algorithm, with a site that is paused for a while; and a run of faults and of signs that mean something elsewhere."""
    hostile = of_script(
        ["start ricart-agrawala nodes=3", "# 50 %: [[x]] #1; <b> $y$ **z**", "acquire 1", "duplicate 1>0 Request", "lose 1>2 Request",
         "deliver 1>0", "pause 2", "resume 2", "crash 0", "restart 0", "acquire 2"],
        sites=['a"b', "c;d", "e f"],
    )  # fmt: skip
    return [hostile, *map(short, CATALOGUE)]


def short(name: str) -> Trace:
    card = CATALOGUE[name]
    return of_simulation(
        Experiment(
            name,
            nodes=3,
            k=2 if card.capacity == "K" else 1,
            entries=4,
            warmup=0,
            workload=Saturated() if card.everybody_asks else Thinking(1.0),
            inside=0.5,
            seed=3,
            options=OPTIONS.get(name, {}),
            faults=faults(["pause=1@1+3"]),
        )
    )


def some(traces: list[Trace]) -> list[Trace]:
    return [traces[0], *(each for each in traces[1:] if each.head.algorithm in SHAPES)]


def bodies(trace: Trace) -> list[str]:
    """What stands at the messages that a diagram has."""
    drawn = [m for m in trace.messages().values() if m.received is not None or m.lost is not None]
    return sorted(squeezed(str(message.body)) for message in drawn)


def squeezed(text: str) -> str:
    return "".join(text.split())


def installed_module(path: str) -> Path | None:
    """A file of what `npm install -g` has installed."""
    if not shutil.which("npm"):
        return None
    root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, timeout=60).stdout.strip()
    found = Path(root, path)
    return found if root and found.exists() else None


def test_mermaid_draws_every_message(blank: Any, traces: list[Trace]) -> None:
    script = installed_module("mermaid/dist/mermaid.min.js")
    if script is None:
        pytest.skip("NOT RUN: needs Mermaid (npm install -g mermaid)")
    blank.add_script_tag(path=script)
    for trace in some(traces):
        shown = blank.evaluate(
            """async (text) => {
              const { svg } = await mermaid.render('drawn', text);
              const picture = new DOMParser().parseFromString(svg, 'image/svg+xml');
              const texts = (name) => [...picture.querySelectorAll(name)].map((each) => each.textContent);
              return { messages: texts('.messageText'), notes: texts('.noteText'), sites: texts('text.actor'), bars: texts('rect[class^=activation]').length };
            }""",
            export(trace, "mermaid"),
        )
        drawn = sorted(map(squeezed, shown["messages"]))
        wanted = bodies(trace)
        assert [each for each in wanted if each in drawn] == wanted, trace.head.algorithm
        assert {squeezed(each) for each in shown["sites"]} == {
            squeezed(trace.name(site)) for site in range(trace.head.nodes)
        }
        assert shown["bars"] >= sum(step.enter for step in trace.steps)
        for step in trace.steps:
            if step.what == "note":
                assert squeezed(step.text or "") in map(squeezed, shown["notes"])


def test_plantuml_draws_every_message(traces: list[Trace]) -> None:
    program = shutil.which("plantuml")
    if program is None:
        pytest.skip("NOT RUN: needs PlantUML (apt-get install plantuml)")
    drawn = some(traces)
    text = "".join(export(trace, "plantuml") for trace in drawn)
    done = subprocess.run(
        [program, "-headless", "-tsvg", "-pipe", "-charset", "UTF-8"],
        input=text, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pictures = re.findall(r"<svg.*?</svg>", done.stdout, re.DOTALL)
    assert len(pictures) == len(drawn)
    for trace, picture in zip(drawn, pictures, strict=True):
        shown = squeezed(" ".join(ElementTree.fromstring(picture).itertext()).replace("\xa0", " "))
        assert "SyntaxError" not in shown
        for body in {*bodies(trace), *(squeezed(step.text or "") for step in trace.steps)}:
            assert shown.count(body) >= bodies(trace).count(body), (trace.head.algorithm, body)


def test_shiviz_finds_every_event_and_every_message(blank: Any, traces: list[Trace]) -> None:
    """By the expression that we tell people to paste, in the regular expressions of a browser, and by the rules of its graph: each host
    counts from 1 by one, and of others it knows only what they have done."""
    for trace in traces:
        events = blank.evaluate(
            "([log, expression]) => [...log.trim().matchAll(new RegExp(expression, 'gm'))].map(({groups}) => [groups.event, groups.host, JSON.parse(groups.clock)])",
            [export(trace, "shiviz"), SHIVIZ],
        )
        assert len(events) == len(trace.steps), trace.head.algorithm
        assert_counted(events)
        assert len(arrows(events)) == len(
            {(m.sent, m.received) for m in trace.messages().values() if adds(trace, events, m)}
        )


Event = tuple[str, str, dict[str, int]]


def assert_counted(events: list[Event]) -> None:
    counts: dict[str, int] = {}
    for _, host, clock in events:
        counts[host] = counts.get(host, 0) + 1
        assert clock[host] == counts[host]
        assert all(ticks <= counts[other] for other, ticks in clock.items())


def arrows(events: list[Event]) -> set[tuple[int, int]]:
    """As it finds them: where an event knows more of another host than the one before it, and not by way of a third."""
    number, counts = dict[tuple[str, int], int](), dict[str, int]()
    for n, (_, host, _) in enumerate(events):
        counts[host] = counts.get(host, 0) + 1
        number[host, counts[host]] = n
    known: dict[str, dict[str, int]] = {}
    found = set()
    for n, (_, host, clock) in enumerate(events):
        before = known.get(host, {})
        news = {number[other, t] for other, t in clock.items() if other != host and before.get(other, 0) < t}
        stale = {
            number[other, t]
            for each in news
            for other, t in events[each][2].items()
            if number[other, t] != each
        }
        found |= {(each, n) for each in news - stale}
        known[host] = clock
    return found


def adds(trace: Trace, events: list[Event], message: Any) -> bool:
    """Whether its arrival tells anything that the site had not heard yet."""
    if message.received is None:
        return False
    receiver = trace.steps[message.received].site
    before = next((n for n in range(message.received - 1, -1, -1) if trace.steps[n].site == receiver), None)
    known: dict[str, int] = {} if before is None else events[before][2]
    _, host, clock = events[message.sent]
    return known.get(host, 0) < clock[host]


def test_a_log_of_sites_with_names_is_read_too() -> None:
    run = of_script(["start central nodes=2", "acquire 1", "settle"], sites=["node a", "b"])
    lines = export(run, "shiviz").splitlines()
    assert [line.split(" ", 1)[0] for line in lines[1::2]] == ["node_a", "b", "node_a", "b"]
    assert all(line.split(" ", 1)[0] in json.loads(line.split(" ", 1)[1]) for line in lines[1::2])
