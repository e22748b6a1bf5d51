"""The page in a real browser, from a file, with the network off: what it shows is what the trace says."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from soloist.watch import Trace, of_script
from soloist.watch.examples import find_example
from tests.watch.conftest import SETTLED, Open, golden, simulated

PATHS = "all => all.map(path => [path.textContent, path.getAttribute('d')])"
VISIBLE = "all => all.map(each => each.style.display !== 'none')"
GO = "n => soloistPage.player.go(n, {glide: false})"


def go(page: Any, n: int) -> None:
    page.evaluate(GO, n)
    page.wait_for_function("n => document.getElementById('where').textContent.startsWith(`${n} /`)", arg=n)


def cells(page: Any, site: str) -> dict[str, str]:
    """The row of a site in the inspector, by the headings of the columns."""
    heads = page.locator("#panel-inspector thead th").all_inner_texts()
    row = page.locator("#panel-inspector tbody tr", has=page.get_by_role("button", name=site, exact=True))
    return dict(zip(heads, row.locator("th, td").all_inner_texts(), strict=True))


@pytest.fixture(scope="module")
def fig_3() -> Trace:
    return golden("lodha-kshemkalyani")


@pytest.fixture(scope="module")
def turning() -> Trace:
    return golden("naimi-trehel")


def test_variables_have_the_papers_names_and_changes_are_marked(opened: Open, fig_3: Trace) -> None:
    page = opened(fig_3)
    assert page.locator("h1").inner_text() == "Lodha-Kshemkalyani"
    entry = next(step for step in fig_3.steps if step.enter)
    go(page, entry.n)
    row = cells(page, str(entry.site))
    assert row["LRQ"] == "[(1,0) (1,1) (1,2)]"
    assert row["RV"] == "[0, 1, 2]"
    assert row["My_Sequence_Number\nsn"] == "1"
    assert row["is"].endswith("inside")
    marked = page.locator("#panel-inspector td.changed")
    assert marked.count() == len(entry.changed)
    assert page.locator("#sentence").inner_text().startswith(f"Step {entry.n}")
    assert "enters" in page.locator("#sentence").inner_text()


def test_the_lines_that_ran_are_marked(opened: Open, fig_3: Trace) -> None:
    page = opened(fig_3)
    files = [source for source in (fig_3.head.source, *fig_3.head.files) if source]
    for step in fig_3.steps[:12]:
        go(page, step.n)
        shown = page.locator("#panel-source [role=tab][aria-selected=true]").inner_text()
        source = next(each for each in files if each.file == shown)
        lines = source.text.splitlines()
        ran = sorted({line for file, line in step.lines if files[file] is source})
        expected = [lines[line - source.first].rstrip() for line in ran]
        assert page.locator("#panel-source code.ran").all_text_contents() == expected
        assert bool(ran) == bool(step.lines)


def test_any_state_is_the_fold_of_the_changes(opened: Open) -> None:
    """Forwards, backwards and at random: 500 steps cross key frames."""
    trace = simulated("maekawa", entries=60)
    assert len(trace.steps) > 500
    page = opened(trace)
    expected = [{str(i): dict(fields) for i, fields in states.items()} for states in trace.states()]
    order = [*range(430), *range(430, 150, -7), 3, 399, 400, 401, 200, 199, 0, len(trace.steps) - 1]
    seen = page.evaluate(
        "order => order.map(n => soloistPage.player.run.stateAt(n).fields.map(f => ({...f})))", order
    )
    for n, fields in zip(order, seen, strict=True):
        assert {str(i): each for i, each in enumerate(fields)} == msgspec.to_builtins(expected[n])


def causes(trace: Trace) -> list[set[int]]:
    """The causal past of every step, itself included, straight from the definition."""
    last: dict[int, int] = {}
    messages = trace.messages()
    pasts: list[set[int]] = []
    for step in trace.steps:
        past = {step.n}
        if step.site in last:
            past |= pasts[last[step.site]]
        if step.what == "deliver" and step.message is not None:
            past |= pasts[messages[step.message].sent]
        last[step.site] = step.n
        pasts.append(past)
    return pasts


def test_a_selected_event_has_its_causal_past_and_future(opened: Open) -> None:
    trace = simulated("ricart-agrawala", nodes=4, entries=12)
    page = opened(trace)
    pasts = causes(trace)
    for n in (0, 7, 40, len(trace.steps) // 2, len(trace.steps) - 1):
        page.evaluate("n => soloistPage.player.select(0, n)", n)
        marks = page.evaluate("Array.from(soloistPage.player.cone(0))")
        assert {i for i, mark in enumerate(marks) if mark & 1} == pasts[n]
        assert {i for i, mark in enumerate(marks) if mark & 2} == {
            i for i, past in enumerate(pasts) if n in past
        }


def test_the_other_end_of_a_message_is_one_key_away(opened: Open, turning: Trace) -> None:
    page = opened(turning)
    received = next(m for m in turning.messages().values() if m.received is not None)
    page.evaluate("n => soloistPage.player.select(0, n)", received.received)
    page.keyboard.press("o")
    page.wait_for_function(
        "n => document.getElementById('where').textContent.startsWith(`${n} /`)", arg=received.sent
    )
    page.keyboard.press("Escape")
    assert page.evaluate("soloistPage.player.selected") is None


def test_the_stage_shows_pointers_phases_and_the_token(opened: Open, turning: Trace) -> None:
    page = opened(turning)
    before: dict[str, str] = {}
    turns = 0
    for step, states in zip(turning.steps, turning.states(), strict=True):
        go(page, step.n)
        pairs = page.locator("#panel-stage .pointers path").evaluate_all(PATHS)
        drawn: dict[str, str] = dict(pairs)
        assert set(drawn) == {
            f"{name} of {site}: {fields[name]}"
            for site, fields in states.items()
            for name in ("last", "next")
            if fields[name] is not None
        }
        for title in drawn.keys() & before.keys():
            assert drawn[title] == before[title], "a pointer that was not turned stays where it is"
        turns += len(drawn.keys() - before.keys())
        before = drawn
        seen = page.locator("#panel-stage .site .token").evaluate_all(VISIBLE)
        assert seen == [states[site]["token"] for site in range(turning.head.nodes)]
    assert turns > turning.head.nodes, "pointers were turned"
    entries = [step for step in turning.steps if step.enter]
    for step in entries:
        go(page, step.n)
        assert page.locator("#panel-stage .site.inside .name").all_text_contents() == [str(step.site)]


def test_messages_on_their_way_are_on_the_stage_and_in_the_list(opened: Open, turning: Trace) -> None:
    page = opened(turning)
    messages = turning.messages().values()
    most = 0
    for step in turning.steps:
        go(page, step.n)
        flying = [m for m in messages if m.sent <= step.n and (m.received is None or m.received > step.n)]
        most = max(most, len(flying))
        texts = page.locator("#panel-stage .flight title").all_text_contents()
        assert sorted(texts) == sorted(f"{shown(m)} from {m.sender} to {m.to}" for m in flying)
        listed = page.locator("#panel-inspector .flying button").all_inner_texts()
        assert len(listed) == len(flying)
    assert most >= 2


def shown(message: Any) -> str:
    return str(message.body).removesuffix("()")


def test_why_a_site_waits_is_said_in_words(opened: Open, turning: Trace) -> None:
    page = opened(turning)
    why: dict[str, str | None] = {}
    told = 0
    for step in turning.steps:
        why |= step.why
        go(page, step.n)
        expected = [f"{site} {text}" for site, text in sorted(why.items()) if text]
        told += len(expected)
        rows = page.locator("#panel-inspector .waiting li:not(.none)").all_inner_texts()
        assert [row for row in rows if "timer" not in row] == expected
    assert told


def test_search_finds_links_kinds_and_sites(opened: Open) -> None:
    trace = simulated("maekawa")
    page = opened(trace)
    messages = trace.messages().values()
    sender, to = next((m.sender, m.to) for m in messages if m.body.kind == "Request" and m.sender > 1)
    wanted = {
        n
        for m in messages
        if m.body.kind == "Request" and (m.sender, m.to) == (sender, to)
        for n in (m.sent, m.received)
    }
    page.keyboard.press("/")
    page.keyboard.type(f"request {sender}>{to}")
    page.wait_for_function(
        "n => document.querySelector('.count').textContent === `${n} found`", arg=len(wanted - {None})
    )
    page.keyboard.press("Enter")
    page.wait_for_function(
        "n => document.getElementById('where').textContent.startsWith(`${n} /`)", arg=min(wanted - {None})
    )
    page.locator("#search").fill("enter 2")
    entries = [step.n for step in trace.steps if step.enter and step.site == 2]
    page.wait_for_function(
        "n => document.querySelector('.count').textContent === `${n} found`", arg=len(entries)
    )
    page.locator("#search").fill("nonsense")
    page.wait_for_function("() => document.querySelector('.count').textContent === '0 found'")


def test_a_hidden_kind_is_nowhere(opened: Open) -> None:
    trace = simulated("maekawa")
    page = opened(trace, "#step=60")
    kinds = {m.body.kind for m in trace.messages().values()}
    chips = page.get_by_role("group", name="Kinds of messages").get_by_role("button")
    assert set(chips.all_inner_texts()) == kinds
    busy = next(step.n for step in trace.steps if any(sent.kind == "Request" for sent in step.sent))
    go(page, busy)
    assert page.locator("#panel-stage .flight", has_text="Request").count() > 0
    chips.filter(has_text="Request").click()
    page.wait_for_function(
        "() => ![...document.querySelectorAll('#panel-stage .flight')].some(f => f.textContent.includes('Request'))"
    )
    assert page.locator("#panel-inspector .flying button", has_text="Request").count() == 0
    page.wait_for_function("() => location.hash.includes('hide=Request')")


def test_keys_walk_through_the_run(opened: Open, turning: Trace) -> None:
    page = opened(turning)
    at = lambda: int(page.locator("#where").inner_text().split(" / ")[0])  # noqa: E731
    last = len(turning.steps) - 1
    for key, expected in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", last),
        ("ArrowRight", last),
        ("Home", 0),
        ("ArrowLeft", 0),
    ):
        page.keyboard.press(key)
        page.wait_for_function(
            "n => document.getElementById('where').textContent.startsWith(`${n} /`)", arg=expected
        )
    entries = [step.n for step in turning.steps if step.enter]
    for entry in entries:
        page.keyboard.press("]")
        page.wait_for_function(
            "n => document.getElementById('where').textContent.startsWith(`${n} /`)", arg=entry
        )
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    first = next(step.n for step in turning.steps if step.site == 1 and step.n > 0)
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function(
        "n => document.getElementById('where').textContent.startsWith(`${n} /`)", arg=first
    )
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    keys.wait_for(state="visible")
    page.keyboard.press("Escape")
    keys.wait_for(state="hidden")
    before = at()
    page.keyboard.press(" ")
    page.wait_for_function("n => parseInt(document.getElementById('where').textContent) > n", arg=before)
    page.keyboard.press(" ")


def test_an_address_leads_to_the_same_moment(opened: Open, turning: Trace) -> None:
    page = opened(turning, "#step=5&select=3&site=1&axis=step&hide=Token&closed=source&other=kept")
    assert page.locator("#where").inner_text().startswith("5 /")
    assert page.locator("#panel-source").is_hidden()
    assert page.evaluate("soloistPage.player.selected.step") == 3
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('step=6')")
    fragment = page.evaluate("location.hash")
    for word in ("select=3", "site=1", "hide=Token", "closed=source", "other=kept"):
        assert word in fragment
    again = opened(turning, fragment)
    assert again.locator("#where").inner_text().startswith("6 /")
    wild = opened(turning, "#step=99999&select=abc&site=77&axis=time&run=9&closed=nothing")
    assert wild.locator("#where").inner_text().startswith(f"{len(turning.steps) - 1} /")


def test_panels_close_and_open_again(opened: Open, turning: Trace) -> None:
    page = opened(turning)
    for name in ("score", "stage", "inspector", "source"):
        page.get_by_role("button", name=f"Close {name}").click()
        assert page.locator(f"#panel-{name}").is_hidden()
    for name in ("score", "stage", "inspector", "source"):
        page.get_by_role("button", name=f"Open {name}").click()
        box = page.locator(f"#panel-{name}").bounding_box()
        assert box["width"] > 200
        assert box["height"] > 100


def test_a_click_on_an_event_selects_it(opened: Open, turning: Trace) -> None:
    page = opened(turning)
    mark = page.evaluate("(soloistPage.scores[0].marks).find(m => m.n === 4)")
    box = page.locator(".score-canvas").bounding_box()
    page.mouse.move(box["x"] + mark["x"], box["y"] + mark["y"])
    page.wait_for_selector(".tip:not([hidden])")
    page.mouse.click(box["x"] + mark["x"], box["y"] + mark["y"])
    page.wait_for_function("() => soloistPage.player.selected && soloistPage.player.selected.step === 4")
    page.wait_for_function("() => document.getElementById('where').textContent.startsWith('4 /')")


def test_the_score_is_drawn_where_its_view_is(opened: Open, turning: Trace) -> None:
    """Colours of both kinds are on the canvas, and none of them once all is hidden."""
    page = opened(turning, "#step=9")
    count = """() => {
      const canvas = document.querySelector('.score-canvas'), look = soloistPage.look;
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      const near = (hex) => {
        const want = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
        let n = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200 && want.every((w, c) => Math.abs(w - data[i + c]) < 12)) n++;
        return n;
      };
      return [near(look.colour('Request')), near(look.colour('Token')), near(look.inside)];
    }"""
    assert all(pixels > 100 for pixels in page.evaluate(count))
    page.evaluate("soloistPage.player.hiddenSites = new Set([0, 1, 2, 3]); soloistPage.player.touch()")
    page.evaluate(SETTLED)
    requests, tokens, _ = page.evaluate(count)
    assert (requests, tokens) == (0, 0)


def test_ten_thousand_steps_need_few_elements(opened: Open) -> None:
    trace = simulated("suzuki-kasami", nodes=30, entries=320)
    assert len(trace.steps) > 10_000
    page = opened(trace)
    for n in (0, 5_000, 9_999):
        go(page, n)
        assert page.evaluate("document.querySelectorAll('*').length") < 2_000
    page.keyboard.press("f")
    page.evaluate(SETTLED)
    assert page.evaluate("document.querySelectorAll('*').length") < 2_000


def test_two_runs_have_one_playhead(opened: Open) -> None:
    one, two = (
        simulated("ricart-agrawala", nodes=3, entries=6),
        simulated("suzuki-kasami", nodes=3, entries=6),
    )
    page = opened(one, beside=two)
    assert page.locator("h1").all_inner_texts() == ["Ricart-Agrawala", "Suzuki-Kasami"]
    assert page.locator(".score-canvas").count() == page.locator(".stage svg[role=group]").count() == 2
    page.evaluate(GO, 7)
    assert page.evaluate("[soloistPage.player.at(0), soloistPage.player.at(1)]") == [7, 7]
    page.keyboard.press("t")
    moments = page.evaluate("soloistPage.player.moments.map(m => [m.at[0], m.at[1], m.t])")
    assert len(moments) == len(one.steps) + len(two.steps)
    for a, b, t in moments[2:]:
        for trace, n in ((one, a), (two, b)):
            assert n == 0 or (trace.steps[n].t or 0) <= t
            assert n == len(trace.steps) - 1 or (trace.steps[n + 1].t or 0) >= t
    page.keyboard.press("End")
    assert page.evaluate("[soloistPage.player.at(0), soloistPage.player.at(1)]") == [
        len(one.steps) - 1,
        len(two.steps) - 1,
    ]


@pytest.mark.parametrize("packed", [True, False])
def test_text_that_looks_like_markup_stays_text(opened: Open, turning: Trace, packed: bool) -> None:
    evil = "</script><img src=x onerror=alert(1)><!--"
    head = msgspec.structs.replace(turning.head, title=evil, notes=[evil])
    page = opened(Trace(head, turning.steps), packed=packed)
    assert page.locator("h1").inner_text() == evil
    assert page.locator(".note").inner_text() == evil
    assert page.locator("img").count() == 0


def test_faults_are_shown(opened: Open) -> None:
    trace = of_script(
        [
            "start ricart-agrawala nodes=3",
            "acquire 1",
            "duplicate 1>0 Request",
            "lose 1>2 Request",
            "deliver 1>0",
            "pause 2",
            "resume 2",
            "crash 0",
            "restart 0",
        ]
    )
    page = opened(trace)
    kinds = [step.what for step in trace.steps]
    go(page, kinds.index("lose"))
    assert "is lost" in page.locator("#sentence").inner_text()
    go(page, kinds.index("duplicate"))
    assert "is duplicated" in page.locator("#sentence").inner_text()
    go(page, kinds.index("pause"))
    assert page.locator("#panel-stage .site.paused .name").all_text_contents() == ["2"]
    go(page, kinds.index("crash"))
    assert page.locator("#panel-stage .site.down").count() == 1
    assert cells(page, "0")["is"].endswith("down")
    go(page, kinds.index("restart"))
    assert page.locator("#panel-stage .site.down").count() == 0


def test_two_inside_are_alarming(opened: Open) -> None:
    steps = [
        {"n": 0, "site": 0, "what": "begin", "states": {"0": {}, "1": {}}},
        {"n": 1, "site": 0, "what": "request", "enter": True, "phase": "inside"},
        {"n": 2, "site": 1, "what": "request", "enter": True, "phase": "inside", "fence": "9007199254740993"},
    ]
    head = {
        "algorithm": "x",
        "nodes": 2,
        "title": "Broken",
        "finding": {"property": "exclusion", "text": "two are inside"},
    }
    page = opened(msgspec.convert({"head": head, "steps": steps}, Trace), "#step=1")
    assert page.locator(".site.bad").count() == 0
    go(page, 2)
    assert page.locator(".site.bad").count() == 2
    assert "fence 9007199254740993" in page.locator("#sentence").inner_text()
    assert page.locator(".finding").inner_text() == "exclusion two are inside"


def test_who_has_crashed_inside_is_not_one_too_many(opened: Open) -> None:
    steps = [
        {"n": 0, "site": 0, "what": "begin", "states": {"0": {}, "1": {}}},
        {"n": 1, "site": 0, "what": "request", "enter": True, "phase": "inside"},
        {"n": 2, "site": 0, "what": "crash", "phase": "inside"},
        {"n": 3, "site": 1, "what": "request", "enter": True, "phase": "inside"},
        {"n": 4, "site": 0, "what": "restart", "phase": "inside"},
    ]
    page = opened(msgspec.convert({"head": {"algorithm": "x", "nodes": 2}, "steps": steps}, Trace))
    assert page.evaluate("soloistPage.player.run.tooMany") == [4]
    go(page, 3)
    assert page.locator(".site.bad").count() == 0
    go(page, 4)
    assert page.locator(".site.bad").count() == 2


def test_a_note_is_about_all_sites(opened: Open, fig_3: Trace) -> None:
    trace = find_example("lodha-kshemkalyani", "fig3").trace()
    note = next(step for step in trace.steps if step.what == "note")
    page = opened(trace)
    go(page, note.n)
    assert page.locator("#sentence").inner_text() == f"Step {note.n}. {note.text}"
    assert page.locator(".site.acting, tr.acting").count() == 0
    heights = page.evaluate("soloistPage.scores[0].marks.map(({n, y}) => [n, y])")
    lanes = page.evaluate("[0, 1, 2].map((site) => soloistPage.scores[0].y(site))")
    assert {n for n, y in heights if y < min(lanes)} == {
        step.n for step in trace.steps if step.what == "note"
    }


SPAN = """() => { const [score] = soloistPage.scores, {player} = soloistPage;
  return score.x(player.run.place(player.run.length - 1, player.axis)) - score.x(player.run.place(0, player.axis)) }"""


def test_time_has_a_scale_of_its_own(opened: Open) -> None:
    """A run that takes milliseconds is no heap at the left."""
    page = opened(of_script(["start lamport nodes=3", "acquire 1", "settle"]))
    assert page.evaluate(SPAN) > 300
    quick = simulated("lamport", nodes=3, entries=3)
    for step in quick.steps:
        step.t = (step.t or 0) / 1000
    page = opened(quick)
    page.keyboard.press("t")
    page.evaluate(SETTLED)
    assert page.evaluate(SPAN) > 300


def test_the_lane_of_the_step_is_in_view(opened: Open) -> None:
    trace = simulated("naimi-trehel", nodes=40)
    page = opened(trace)
    for step in trace.steps[:60]:
        go(page, step.n)
        top, y, bottom = page.evaluate(
            "site => [22, soloistPage.scores[0].y(site), soloistPage.scores[0].height]", step.site
        )
        assert top < y < bottom


def test_who_walks_by_keys_is_not_thrown_out_of_a_list(opened: Open, turning: Trace) -> None:
    """What is on its way is listed anew at each step; and a panel that closes leaves the button that opens it."""
    page = opened(turning)
    busy = max(turning.steps, key=lambda step: len(step.sent)).n
    go(page, busy)
    page.locator("#panel-inspector .flying button").first.focus()
    page.keyboard.press("Enter")
    page.evaluate(SETTLED)
    assert page.evaluate("document.activeElement.closest('.flying') !== null")
    page.get_by_role("button", name="Close source").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Open source"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Close source"


def test_everything_has_a_name_for_those_who_do_not_see_it(opened: Open, turning: Trace) -> None:
    page = opened(turning, "#step=3")
    nameless = page.evaluate("""() => [...document.querySelectorAll('button, input, select, canvas, [tabindex]')]
      .filter(e => !(e.getAttribute('aria-label') || e.textContent || e.title).trim()).map(e => e.outerHTML)""")
    assert nameless == []
    labels = page.locator("#panel-stage .site").evaluate_all(
        "all => all.map(s => s.getAttribute('aria-label'))"
    )
    assert labels[2].startswith("Site 2: waiting, ")
    assert re.match(r"step 3 of \d+", page.get_by_role("slider").get_attribute("aria-valuetext"))
    assert page.locator("[aria-live]").inner_text().startswith("Step 3.")


def test_a_site_with_a_name_has_its_number_beside_it(opened: Open) -> None:
    """Variables and reasons have numbers; and a name stays within its site."""
    run = of_script(["start central nodes=3", "acquire 1", "acquire 2"], sites=["node1", "node2", "node3"])
    page = opened(run)
    go(page, 2)
    assert page.locator(".inspector tbody th").all_inner_texts() == ["node1 (0)", "node2 (1)", "node3 (2)"]
    assert page.locator("ul.waiting b").all_inner_texts() == ["node2 (1)", "node3 (2)"]
    wide, room = page.evaluate(
        "(({group, name}) => [name.getBBox().width, 2 * group.querySelector('.body').r.baseVal.value])({"
        "group: document.querySelector('.site'), name: document.querySelector('.site .name')})"
    )
    assert wide < room
