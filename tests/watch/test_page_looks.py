"""The page on other screens, for other eyes, on paper, and when something is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from soloist.watch.export import PAGE, html, script, shared_files
from tests.watch.conftest import DRAWN, Open, golden
from tests.watch.serving import PATIENCE

BASE = "http://127.0.0.1:9/"


def test_a_phone_stacks_the_panels(opened: Open) -> None:
    page = opened(golden("naimi-trehel"), "#step=4", viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = [
        page.locator(f"#panel-{name}").bounding_box() for name in ("stage", "score", "inspector", "source")
    ]
    for above, below in pairwise(boxes):
        assert above["y"] + above["height"] <= below["y"]
        assert above["width"] > 350
    play = page.locator("#play").bounding_box()
    assert play["y"] + play["height"] <= 844


def luminance(page: Any, selector: str, what: str) -> float:
    colour = page.locator(selector).first.evaluate(f"e => getComputedStyle(e).{what}")
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_kinds_stand_out_from_the_ground(opened: Open, scheme: str) -> None:
    page = opened(golden("naimi-trehel"), "#step=3", color_scheme=scheme)
    ground = luminance(page, ".panel", "backgroundColor")
    assert (ground > 0.8) == (scheme == "light")

    def contrast(other: float) -> float:
        return (max(ground, other) + 0.05) / (min(ground, other) + 0.05)

    assert contrast(luminance(page, "#sentence", "color")) > 12
    assert contrast(luminance(page, ".about", "color")) > 4.5
    for i in range(8):
        colour = page.evaluate(
            f"getComputedStyle(document.documentElement).getPropertyValue('--kind-{i}').trim()"
        )
        page.evaluate("c => document.querySelector('.about').style.color = c", colour)
        assert contrast(luminance(page, ".about", "color")) > 3


def test_motion_is_only_for_those_who_want_it(opened: Open) -> None:
    trace = golden("naimi-trehel")
    still = opened(trace)
    still.keyboard.press("ArrowRight")
    assert still.evaluate("soloistPage.player.position") == 1
    moving = opened(trace, reduced_motion="no-preference")
    assert moving.evaluate("(soloistPage.player.go(1), soloistPage.player.glide !== null)")
    moving.wait_for_function("() => soloistPage.player.position === 1")
    moving.locator("#motion").click()
    moving.evaluate("soloistPage.player.go(2)")
    assert moving.evaluate("soloistPage.player.position") == 2


def test_paper_is_light_and_has_no_buttons(opened: Open) -> None:
    page = opened(golden("naimi-trehel"), "#step=3", color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert luminance(page, ".panel", "backgroundColor") > 0.8
    assert page.locator(".transport").is_hidden()
    assert page.locator("#panel-score").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert luminance(page, ".panel", "backgroundColor") < 0.2


HEAD = {"soloist": "trace", "version": 2, "algorithm": "x", "nodes": 2}
BEGIN = {"n": 0, "site": 0, "what": "begin"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"head": {"some": "log"}, "steps": []}, "no trace of Soloist"),
        ({"head": {**HEAD, "version": 1}, "steps": [BEGIN]}, "version 1; this page reads version 2"),
        ({"head": HEAD, "steps": []}, "no steps"),
        ({"head": {**HEAD, "nodes": "many"}, "steps": [BEGIN]}, "number of nodes"),
        ({"head": HEAD, "steps": [{"n": 0, "site": 5, "what": "begin"}]}, "site 5; sites are 0 to 1"),
        ({"head": HEAD, "steps": [BEGIN, {"n": 1, "site": 1, "what": "deliver", "message": 7}]}, "message 7, which nobody has sent"),
        ({"head": HEAD, "steps": [{}]}, "does not say what happened"),
        (["not", "an", "object"], "no trace of Soloist"),
        ({"gzip": "bm90IGd6aXA="}, "what this file carries is damaged"),
        ({"gzip": "H4sI%%%"}, "what this file carries is damaged"),
        ({"head": HEAD, "steps": [{**BEGIN, "sent": 5}]}, "went wrong"),
        ({"head": {**HEAD, "nodes": 10**9}, "steps": [BEGIN]}, "this page shows 10000 at most"),
        ({"head": {**HEAD, "stage": {"layout": "tree", "edges": [[0, 9]]}}, "steps": [BEGIN]}, "has site 9; sites are 0 to 1"),
        ({"head": {**HEAD, "stage": {"quorums": [[0, 7], [1]]}}, "steps": [BEGIN]}, "has site 7; sites are 0 to 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_said(blank: Any, tmp_path: Path, data: Any, words: str) -> None:
    text = html(golden("naimi-trehel"))
    begin = text.index("window.SOLOIST = ")
    path = tmp_path / "broken.html"
    path.write_text(
        text[:begin] + f"window.SOLOIST = {json.dumps(data)};" + text[text.index("</script>", begin) :]
    )
    blank.goto(f"file://{path}")
    blank.wait_for_selector("#error:not([hidden])")
    assert words in blank.locator("#error").inner_text()


@pytest.mark.parametrize("part", ["the run", "the run, in shared pages", "the code"])
def test_a_file_that_is_cut_off_is_no_blank_page(blank: Any, tmp_path: Path, part: str) -> None:
    shared = part.endswith("pages")
    for name, code in shared_files().items() if shared else ():
        (tmp_path / name).write_text(code)
    text = html(golden("naimi-trehel"), shared=shared)
    path = tmp_path / "cut.html"
    if part == "the code":  # also where the script of shared pages is missing
        path.write_text(text[: text.index("<script>\n(() =>") + 5000])
    else:
        begin = text.index("window.SOLOIST = ") + 200
        path.write_text(text[:begin] + "\n" + text[begin + 1 :])
    blank.goto(f"file://{path}")
    if part == "the code":
        blank.wait_for_function(
            "() => getComputedStyle(document.querySelector('.late')).visibility === 'visible'"
        )
        assert "the file is cut off or damaged" in blank.locator(".loading").inner_text()
    else:
        blank.wait_for_selector("#error:not([hidden])")
        assert "it is cut off or damaged" in blank.locator("#error").inner_text()


def test_an_error_later_is_shown_above_what_still_works(blank: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(html(golden("naimi-trehel")))
    blank.goto(f"file://{path}")
    blank.wait_for_function("() => window.soloistPage")
    blank.evaluate("setTimeout(() => { throw new Error('the sky fell') })")
    blank.wait_for_selector("#error:not([hidden])")
    assert "the sky fell" in blank.locator("#error").inner_text()
    assert blank.locator("h1").inner_text() == "Naimi-Trehel"


def test_pages_may_share_what_is_the_same_in_all(opened: Open, tmp_path: Path) -> None:
    trace = golden("naimi-trehel")
    for name, text in shared_files().items():
        (tmp_path / name).write_text(text)
    page = opened(trace, "#step=3", shared=True)
    assert page.locator("h1").inner_text() == "Naimi-Trehel"
    assert page.locator("#play").bounding_box()["height"] < 60
    assert len(html(trace, shared=True)) < len(html(trace)) / 5


def test_one_script_declares_every_name_once() -> None:
    text = script()
    assert "import " not in {line[:7] for line in text.splitlines()}
    names = [
        line.split("(")[0].split("=")[0].split("{")[0].replace("async ", "").split()[1]
        for line in text.splitlines()
        if line.startswith(("function ", "async function ", "const ", "let ", "class "))
    ]
    assert len(names) == len(set(names)) > 50
    assert {path.name for path in PAGE.glob("*.js")} >= {"main.js", "score.js", "stage.js"}


class Fake:
    """A server of play mode: what the page asks, and answers as a real one would give them."""

    def __init__(self) -> None:
        self.trace = json.loads(json.dumps({"head": {**HEAD, "title": "Played", "sites": ["0", "1"]}, "steps": [
            {**BEGIN, "states": {"0": {"x": 0}, "1": {"x": 0}}},
            {"n": 1, "site": 0, "what": "request", "phase": "waiting", "sent": [{"id": 1, "to": 1, "kind": "Ask"}]},
        ]}))  # fmt: skip
        self.asked: list[tuple[str, Any]] = []
        self.branches = [{"id": "a", "title": "first"}]

    def play(self, branch: str = "a") -> dict[str, Any]:
        actions = [
            {"id": "deliver:1", "what": "deliver", "site": 1, "message": 1, "text": "deliver Ask 0 → 1"},
            {"id": "lose:1", "what": "lose", "site": 1, "message": 1, "text": "drop Ask 0 → 1"},
        ]
        puzzle = {
            "id": "p",
            "title": "Beat it.",
            "goal": "Make two enter.",
            "best": 6,
            "used": len(self.asked),
            "solved": False,
        }
        lights = [{"name": "exclusion", "text": "at most one inside", "state": "holds"}]
        return {
            "branch": branch,
            "branches": self.branches,
            "actions": actions,
            "properties": lights,
            "puzzle": puzzle,
            "puzzles": [puzzle],
            "before": 0,
        }

    def answer(self, name: str, body: Any) -> tuple[int, str]:
        steps = self.trace["steps"]
        self.asked.append((name, body))
        match name:
            case "act" if body["at"] == len(steps) - 1:
                what = "deliver" if body["action"].startswith("deliver") else "lose"
                steps.append({"n": len(steps), "site": 1, "what": what, "message": 1, "changed": {"x": 1}})
                return 200, json.dumps({"steps": steps, "play": {**self.play(), "actions": []}})
            case "act":
                self.branches.append({"id": "b", "title": "second"})
                other = [
                    *steps[: body["at"] + 1],
                    {"n": body["at"] + 1, "site": 1, "what": "lose", "message": 1},
                ]
                return 200, json.dumps({"steps": other, "play": self.play("b")})
            case "state":
                return 200, json.dumps({"play": self.play()})
            case "hint":
                return 200, json.dumps({"text": "Deliver it.", "action": "deliver:1"})
            case "search":
                return 200, json.dumps({"text": "No bad run within 200000 states.", "steps": None})
            case "branch":
                return 200, json.dumps({"steps": steps, "play": self.play(body["branch"])})
        return 404, f"there is no {name}"


@pytest.fixture
def played(browser: Any) -> Iterator[tuple[Any, Fake]]:
    """The page as modules, from a server that is made up."""
    fake = Fake()
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)

    def serve(route: Any) -> None:
        name = route.request.url.removeprefix(BASE).split("#")[0] or "page.html"
        if name == "api/run":
            route.fulfill(json={**fake.trace, "play": fake.play()})
        elif name.startswith("api/"):
            status, text = fake.answer(name[4:], json.loads(route.request.post_data))
            route.fulfill(status=status, body=text)
        else:
            kind = {"js": "text/javascript", "css": "text/css", "html": "text/html"}[name.rsplit(".", 1)[1]]
            route.fulfill(body=(PAGE / name).read_text(), content_type=kind)

    context.route(f"{BASE}**", serve)
    page = context.new_page()
    page.goto(BASE)
    page.wait_for_function(DRAWN)
    yield page, fake
    context.close()


def test_a_click_on_a_message_delivers_it(played: tuple[Any, Fake]) -> None:
    page, fake = played
    page.keyboard.press("End")
    page.wait_for_selector("[data-action='lose:1']")
    assert page.get_by_role("group", name="What can happen next").get_by_role("button").count() == 2
    page.locator("#panel-stage .flight").click()
    page.wait_for_function("() => document.getElementById('where').textContent === '2 / 2'")
    assert fake.asked[-1] == ("act", {"branch": "a", "at": 1, "action": "deliver:1"})
    assert "receives Ask from 0" in page.locator("#sentence").inner_text()
    assert page.locator(".lights li").inner_text() == "● exclusion: holds"
    assert page.locator(".actions button").count() == 0


def test_shift_and_click_drops_it(played: tuple[Any, Fake]) -> None:
    page, fake = played
    page.keyboard.press("End")
    page.wait_for_selector("[data-action='lose:1']")  # what is possible here has been asked
    page.locator("#panel-stage .flight").click(modifiers=["Shift"])
    page.wait_for_function("() => document.getElementById('where').textContent === '2 / 2'")
    assert fake.asked[-1][1]["action"] == "lose:1"


def test_an_earlier_step_begins_another_branch(played: tuple[Any, Fake]) -> None:
    page, fake = played
    page.keyboard.press("End")
    page.locator("[data-action='deliver:1']").click()
    page.wait_for_function("() => document.getElementById('where').textContent === '2 / 2'")
    page.keyboard.press("ArrowLeft")
    page.locator("[data-action='lose:1']").click()
    page.wait_for_selector("text=second")
    assert ("state", {"branch": "a", "at": 1}) in fake.asked
    assert "is lost" in page.locator("#sentence").inner_text()
    page.get_by_role("tab", name="first").click()
    page.wait_for_function("() => document.getElementById('sentence').textContent.includes('receives')")


def test_hints_searches_and_refusals_are_said(played: tuple[Any, Fake]) -> None:
    page, fake = played
    page.keyboard.press("End")
    page.wait_for_selector("[data-action='deliver:1']")
    page.locator("#hint").click()
    page.wait_for_selector(".hinted")
    assert page.locator(".said").inner_text() == "Deliver it."
    page.locator("#bad-run").click()
    page.wait_for_selector("text=No bad run within 200000 states.")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => soloistPage.game.shownAt === 0")
    assert fake.asked[-1] == ("state", {"branch": "a", "at": 0})
    assert page.locator(".said").inner_text() == "No bad run within 200000 states.", (
        "it stays until the next answer"
    )
    assert "Best known: 6 steps" in page.locator(".puzzle p").inner_text()
    page.locator(".puzzle select").select_option("p")
    page.wait_for_selector("text=there is no new")
    assert page.locator("h1").inner_text() == "Played"
