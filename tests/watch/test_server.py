"""The local server: who is let in, what is served, how it ends; and a puzzle played in a real browser."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from soloist.watch.puzzles import puzzles
from soloist.watch.setup import Setup, fragment, unpacked
from soloist.watch.trace import read
from soloist.watch.validate import validate
from tests.watch.conftest import SETTLED, simulated
from tests.watch.serving import PATIENCE, Served, served


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served("suzuki-kasami", "--nodes", "3", "--entries", "4") as started:
        yield started


def test_nobody_is_let_in_without_the_token(server: Served) -> None:
    for path in ("/", "/main.js", "/api/run", "/?token=wrong"):
        status, text, _ = server.ask(path, cookie="")
        assert (status, "token" in text) == (403, True), path
    assert server.ask("/api/act", {}, cookie=f"soloist-{server.port}=wrong")[0] == 403
    status, _, headers = server.ask(server.address.partition(f"{server.port}")[2], cookie="")
    assert status == 303
    assert headers["location"] == "/"
    assert "HttpOnly" in headers["set-cookie"]


def test_a_foreign_name_or_page_is_refused(server: Served) -> None:
    assert server.ask("/api/run", host="evil.example:80")[0] == 403
    assert server.ask("/api/run", origin="http://evil.example")[0] == 403
    assert server.ask("/api/run", origin=f"http://127.0.0.1:{server.port}")[0] == 200


def test_only_the_files_of_the_page_are_served(server: Served) -> None:
    status, text, headers = server.ask("/")
    assert (status, "main.js" in text) == (200, True)
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in headers["content-security-policy"]
    for path in ("/../server.py", "/..%2fserver.py", "/server.py", "/puzzles.json", "//etc/passwd", "/page/"):
        assert server.ask(path)[0] == 404, path


@pytest.mark.parametrize(
    ("call", "body", "said"),
    [
        ("act", {}, "branch must be a whole number"),
        ("act", {"branch": 0, "at": 0, "action": 7}, "action must be a text"),
        ("act", {"branch": 0, "at": 0, "action": "dance 1"}, "dance"),
        ("act", {"branch": 9, "at": 0, "action": "acquire 1"}, "there is no branch 9"),
        ("act", {"branch": 0, "at": 99999, "action": "acquire 1"}, "step 99999 is not in this run"),
        ("state", {"branch": True, "at": 0}, "branch must be a whole number"),
        ("new", {"algorithm": "lamprot"}, "lamport"),
        ("new", {"algorithm": "lamport", "nodes": "many"}, "no run to begin"),
        ("new", {"algorithm": "lamport", "nodes": 3000}, "at most 30 sites"),
        ("new", {"algorithm": "lamport", "disk": 1}, "disk"),
        ("new", {"algorithm": "raymond-k", "k": 2, "beside": "lamport"}, "k must be 1, not 2"),
        ("new", {"algorithm": "lamport", "beside": "lamprot"}, "lamport"),
        ("new", {"shared": "nonsense"}, "no fragment"),
        ("search", "not json", "not a question"),
    ],
)
def test_a_wrong_question_gets_one_line_and_changes_nothing(
    server: Served, call: str, body: Any, said: str
) -> None:
    before = server.ask("/api/run")[1]
    status, text, _ = server.ask(f"/api/{call}", body)
    assert status == 400
    assert said in text
    assert "\n" not in text
    assert server.ask("/api/run")[1] == before


def test_only_json_is_read_and_not_too_much_of_it(server: Served) -> None:
    assert server.ask("/api/act", {}, content_type="text/plain")[0] == 400
    status, text, _ = server.ask("/api/act", json.dumps({"action": "x" * 1_100_000}))
    assert status == 400
    assert "at most" in text


def test_it_ends_with_one_line() -> None:
    with served("token-ring", "--nodes", "3", "--entries", "3") as started:
        assert started.ask("/api/run")[0] == 200
        code, out, err = started.end()
    assert (code, out, err) == (130, "", "soloist: interrupted\n")


def test_it_ends_in_the_middle_of_a_search_too() -> None:
    with served("--open", fragment(Setup("maekawa", 9))) as started:
        body = {"branch": 0, "at": 0, "states": 200_000}
        with ThreadPoolExecutor() as pool:
            searching = pool.submit(started.ask, "/api/search", body)
            while "one thing at a time" not in started.ask("/api/state", {"branch": 0, "at": 0})[1]:
                if searching.done():  # it came while the other question was answered
                    assert "one thing at a time" in searching.result()[1]
                    searching = pool.submit(started.ask, "/api/search", body)
            assert started.end() == (130, "", "soloist: interrupted\n")
            if not searching.exception():
                status, text, _ = searching.result()
                assert status == 500 or "end of the server" in text, "it was cut off"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--open", "nonsense"], "no fragment"),
        (["--puzzle", "nonsense"], "puzzle"),
        (["lamport", "--port", "99999"], "--port must be from 0 to 65535"),
        (["lamport", "--beside", "lamprot"], "unknown algorithm 'lamprot'; did you mean lamport?"),
    ],
)
def test_bad_arguments_get_one_line(arguments: list[str], said: str) -> None:
    command = [sys.executable, "-m", "soloist", "watch", *arguments, "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def expected(said: str) -> bool:
    """A question that was refused, or a server that is gone, perhaps in the middle of an answer: the page tells both."""
    return "400" in said or "net::ERR_" in said


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """One that must not complain of anything, nor ask anybody but its server."""
    context, wrong = browser.new_context(reduced_motion="reduce"), []
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console",
        lambda said: wrong.append(said.text) if said.type == "error" and not expected(said.text) else None,
    )
    page.on(
        "request",
        lambda asked: (
            None if "//127.0.0.1:" in asked.url or asked.url.startswith("data:") else wrong.append(asked.url)
        ),
    )
    yield page
    context.close()
    assert not wrong


def opened(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_function("() => window.soloistPage || !document.getElementById('error').hidden")


def test_a_puzzle_is_played_to_its_end(page: Any) -> None:
    """By clicks on what the hints mark; then the erratum is explained, and the run can be shared."""
    best = puzzles()["ricart-agrawala-r1"].best
    with served("--puzzle", "ricart-agrawala-r1") as started:
        opened(page, started.address)
        assert "token" not in page.url
        for step in range(len(best)):
            page.wait_for_selector(f"text=yours so far: {step}.")
            page.locator("#hint").click()
            page.locator(".hinted").click()
        page.wait_for_selector(".solved")
        assert "Beaten. Against" in page.locator(".solved").inner_text()
        assert page.locator(".lights .broken").inner_text() == "✕ exclusion: broken"
        assert page.locator("#panel-stage .site.bad").count() == 2
        page.locator("#share").click()
        command = page.get_by_label("This run as a command").input_value()
        assert "127.0.0.1" not in command
    shared = command.removeprefix("soloist watch --open ")
    with served("--open", shared) as again:
        opened(page, again.address)
        page.wait_for_selector(".solved")


def test_one_goes_back_branches_and_asks_the_checker(page: Any) -> None:
    word = fragment(Setup("suzuki-kasami", 3, steps=("acquire 1", "deliver 1>0")))
    with served("--open", word) as started:
        opened(page, started.address)
        page.locator("#safe").click()
        page.wait_for_selector("text=Still safe: nothing bad follows from here")
        page.locator("#undo").click()
        page.locator("[data-action^='deliver 1>2']").click()
        page.wait_for_selector(".tabs button:has-text('run 2')")
        page.get_by_text("What may go wrong").click()
        page.locator("[data-action='crash 0']").click()
        page.wait_for_function("() => soloistPage.player.runs[0].steps.some((step) => step.what === 'crash')")
        page.locator("#safe").click()
        page.wait_for_selector("text=0 has crashed: restart it, or go back")


def test_another_run_begins_beside_one_of_another_algorithm(page: Any) -> None:
    with served("--open", fragment(Setup("suzuki-kasami", 3))) as started:
        opened(page, started.address)
        page.get_by_text("Another run").click()
        page.locator("[name=algorithm]").select_option("lamport")
        page.locator("[name=beside]").select_option("maekawa")
        page.locator("[name=chance]").fill("12")
        page.get_by_role("button", name="Begin").click()
        page.wait_for_function("() => soloistPage.player.runs.length === 2")
        assert page.locator("h1").all_inner_texts() == ["Lamport", "Maekawa"]
        page.get_by_text("Another run").click()
        page.locator("[name=chance]").fill("0")
        page.locator("[name=workload]").select_option("always")
        page.get_by_role("button", name="Begin").click()
        page.wait_for_function("() => soloistPage.player.runs[0].entries.length === 10")


def holding(page: Any, call: str) -> list[Any]:
    """From now on answers to this call are kept back: the list has them, to be let go."""
    held: list[Any] = []
    page.route(f"**/api/{call}", lambda route: held.append(route))
    return held


def until(page: Any, condition: Callable[[], bool]) -> None:
    """What is waited for happens in this process, while the browser's events are read."""
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends
        page.wait_for_timeout(20)


def test_what_is_typed_and_clicked_while_an_answer_is_on_its_way_is_not_lost(page: Any) -> None:
    steps = ("acquire 1", "deliver 1>0")
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=steps))) as started:
        opened(page, started.address)
        page.get_by_text("Another run").click()
        page.locator("[name=nodes]").fill("4")
        held = holding(page, "state")
        page.locator("#undo").click()
        until(page, lambda: bool(held))
        page.locator("[name=chance]").fill("7")
        page.locator("[name=algorithm]").select_option("lamport")
        page.get_by_role("button", name="Begin").click()
        held.pop().continue_()
        page.wait_for_function("() => soloistPage.player.runs[0].head.algorithm === 'lamport'")
        assert page.evaluate("soloistPage.player.runs[0].nodes") == 4
        assert page.evaluate("soloistPage.player.runs[0].length") > 1, "steps by chance"


def test_the_form_is_closed_while_another_run_is_on_its_way(page: Any) -> None:
    """What would be typed then would be lost; and where the run is refused, what was typed is still there."""
    with served("--open", fragment(Setup("suzuki-kasami", 3))) as started:
        opened(page, started.address)
        page.get_by_text("Another run").click()
        page.locator("[name=nodes]").evaluate("(field) => { field.max = 99; }")
        page.locator("[name=nodes]").fill("31")
        page.locator("[name=chance]").fill("12")
        page.locator("[name=seed]").fill("5")
        begin = page.get_by_role("button", name="Begin")
        held = holding(page, "new")
        begin.click()
        until(page, lambda: bool(held))
        assert page.locator("[name=chance]").is_disabled()
        held.pop().continue_()
        page.wait_for_selector("text=at most 30 sites are played with, not 31")
        assert page.locator("[name=nodes]").input_value() == "31"
        assert begin.evaluate("(button) => button === document.activeElement")
        page.locator("[name=nodes]").fill("4")
        begin.click()
        until(page, lambda: bool(held))
        held.pop().continue_()
        page.wait_for_function("() => soloistPage.player.runs[0].nodes === 4")
        given = [page.locator(f"[name={name}]").input_value() for name in ("nodes", "chance", "seed")]
        assert given == ["4", "12", "5"]


def test_a_run_that_was_replaced_neither_asks_nor_listens(page: Any) -> None:
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=("acquire 1",)))) as started:
        opened(page, started.address)
        asked = page.evaluate(
            """async () => {
              const old = soloistPage, asked = [], {call} = old.game;
              old.game.call = (name, body) => { asked.push(name); return call(name, body); };
              old.player.goTo(0, 0);
              old.player.draw(performance.now());  // from here on it would ask what can be done there
              await old.game.begin({algorithm: 'lamport', nodes: 2});
              await new Promise((done) => setTimeout(done, 300));  // a timer that was set before has run out before
              location.hash = '#step=0&closed=source';
              await new Promise((done) => addEventListener('hashchange', done, {once: true}));
              return [asked, old.closed, soloistPage.closed];
            }"""
        )
    assert asked == [["new"], [], ["source"]]


def test_where_one_looks_while_an_answer_is_on_its_way_there_are_actions_in_the_end(page: Any) -> None:
    steps = ("acquire 1", "deliver 1>0", "deliver 1>2")
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=steps))) as started:
        opened(page, started.address)
        held = holding(page, "hint")
        page.locator("#hint").click()
        until(page, lambda: bool(held))
        page.locator("#undo").click()
        page.wait_for_selector(".actions button", state="detached")
        with page.expect_event("requestfinished", lambda asked: asked.url.endswith("hint")):
            page.wait_for_function(
                "() => soloistPage.game.askedAt === null"
            )  # it would have asked what can be done there
            held.pop().continue_()
        page.wait_for_selector(".actions button[data-action^='deliver 1>2']")


def test_an_answer_about_where_one_no_longer_is_hides_no_actions(page: Any) -> None:
    steps = ("acquire 1", "deliver 1>0", "deliver 1>2")
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=steps))) as started:
        opened(page, started.address)
        last = page.locator(".actions button").all_inner_texts()
        held = holding(page, "state")
        page.keyboard.press("Home")
        until(page, lambda: bool(held))
        page.keyboard.press("End")
        page.wait_for_function("() => document.getElementById('where').textContent === '3 / 3'")
        with page.expect_event("requestfinished", lambda asked: asked.url.endswith("state")):
            held.pop().continue_()
        page.wait_for_function("() => !soloistPage.game.busy")
        page.evaluate(SETTLED)
        assert page.locator(".actions button").all_inner_texts() == last


def test_a_server_that_was_killed_is_told_and_the_run_is_not_lost(page: Any) -> None:
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=("acquire 1",)))) as started:
        opened(page, started.address)
        started.process.kill()
        started.process.wait()
    with page.expect_event("requestfailed"):
        page.locator("[data-action^='deliver 1>0']").click()
    page.wait_for_selector("text=The server of this page does not answer")
    page.locator("#share").click()
    command = page.get_by_label("This run as a command").input_value()
    assert unpacked(command.removeprefix("soloist watch --open ")).steps == ("acquire 1",)
    page.locator("#first").click()
    page.wait_for_function("() => document.getElementById('where').textContent === '0 / 1'")


def test_two_browsers_play_at_one_table(page: Any, browser: Any) -> None:
    """Each has its own cookie; a step of one is seen by the other when it asks, and is not lost."""
    with served("--open", fragment(Setup("suzuki-kasami", 3))) as started:
        opened(page, started.address)
        second = browser.new_context(reduced_motion="reduce")
        second.set_default_timeout(PATIENCE * 1000)
        other = second.new_page()
        opened(other, started.address)
        other.locator("[data-action='acquire 1']").click()
        other.wait_for_function("() => soloistPage.player.runs[0].length === 2")
        page.locator("[data-action='acquire 2']").click()  # at the step before: a branch
        page.wait_for_selector(".tabs button:has-text('run 2')")
        assert what_happened(page) == what_happened(other) == ["begin", "request"]
        second.close()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the user's, with an algorithm that nobody else knows."""
    path = tmp_path_factory.mktemp("own") / "mine.py"
    path.write_text(
        "from soloist.algorithms import CATALOGUE\n"
        "from soloist.algorithms.ricart_agrawala import RicartAgrawala\n"
        "import msgspec\n\n\n"
        "class Mine(RicartAgrawala):\n    pass\n\n\n"
        "CARD = msgspec.structs.replace(CATALOGUE['ricart-agrawala'], name='mine', title='Mine', process=Mine)\n"
    )
    return path


def test_an_algorithm_of_ones_own_is_played_and_shared(page: Any, own: Path) -> None:
    with served(str(own), "--nodes", "3", "--entries", "2") as started:
        opened(page, started.address)
        assert page.locator("h1").inner_text() == "Mine"
        assert page.locator("[name=algorithm]").input_value() == "mine"
        page.keyboard.press("Home")
        page.locator("[data-action='acquire 1']").click()
        page.wait_for_selector(".tabs button:has-text('run 2')")
        page.locator("#share").click()
        command = page.get_by_label("This run as a command").input_value()
    word = command.removeprefix("soloist watch FILE.py --open ")
    with served(str(own), "--open", word) as again:
        opened(page, again.address)
        assert what_happened(page) == ["begin", "request"]


def test_a_trace_of_an_unknown_algorithm_is_looked_at_only(page: Any, tmp_path: Path) -> None:
    trace = simulated("ricart-agrawala", nodes=3, entries=3)
    trace.head.algorithm, trace.head.title = "nobodys", "Nobody's"
    path = tmp_path / "trace.jsonl"
    path.write_text(trace.json_lines())
    with served(str(path)) as started:
        opened(page, started.address)
        assert page.locator("h1").inner_text() == "Nobody's"
        assert page.locator("#panel-game").count() == 0
        code, _, err = started.end()
    assert code == 130
    assert "to be looked at only: a trace of 'nobodys' cannot be replayed: unknown algorithm 'nobodys'" in err
    assert "soloist watch FILE.py TRACE" in err


def test_a_run_of_more_sites_than_are_played_with_is_looked_at_only(page: Any) -> None:
    with served("lamport", "--nodes", "40", "--entries", "2") as started:
        opened(page, started.address)
        assert page.locator("h1").inner_text() == "Lamport"
        assert page.locator("#panel-game").count() == 0
        code, _, err = started.end()
    assert code == 130
    assert "to be looked at only: at most 30 sites are played with, not 40" in err


def test_a_port_that_is_taken_gets_one_line(server: Served) -> None:
    command = [
        sys.executable,
        "-m",
        "soloist",
        "watch",
        "lamport",
        "--no-browser",
        "--port",
        str(server.port),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cannot listen on port {server.port}: Address already in use; --port 0" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_saved_of_a_puzzle_is_a_run_of_the_text_with_its_error(page: Any, tmp_path: Path) -> None:
    best = puzzles()["ricart-agrawala-r1"].best
    setup = Setup(puzzle="ricart-agrawala-r1", steps=best, beside="ricart-agrawala")
    with served("--open", fragment(setup)) as started:
        opened(page, started.address)
        assert page.locator("h1").all_inner_texts() == ["Ricart-Agrawala, as printed (R1)", "Ricart-Agrawala"]
        with page.expect_download() as saved:
            page.locator("#save").click()
        saved.value.save_as(tmp_path / "saved.jsonl")
    assert validate(read(tmp_path / "saved.jsonl")) is None


def test_a_list_of_puzzles_that_is_open_stays(page: Any) -> None:
    with served("--puzzle", "ricart-agrawala-r1") as started:
        opened(page, started.address)
        choice = page.get_by_label("Beat the paper: choose a puzzle")
        choice.focus()
        page.evaluate("soloistPage.player.touch()")
        page.evaluate(SETTLED)
        assert (
            page.evaluate("document.activeElement.getAttribute('aria-label')")
            == "Beat the paper: choose a puzzle"
        )
        other = next(each for each in puzzles().values() if each.id != "ricart-agrawala-r1")
        choice.select_option(other.id)
        page.wait_for_function(
            "(title) => document.querySelector('.puzzle b')?.textContent === title", arg=other.title
        )


def what_happened(page: Any) -> list[str]:
    found: list[str] = page.evaluate("soloistPage.player.runs[0].steps.map((step) => step.what)")
    return found


def press(page: Any, action: str, what: str) -> None:
    """One of the buttons of what can happen next; then it has happened."""
    before = page.evaluate("soloistPage.player.runs[0].length")
    page.locator(f"[data-action^='{action}']").first.click()
    page.wait_for_function(
        "([length, what]) => soloistPage.player.runs[0].length > length && soloistPage.player.runs[0].steps.at(-1).what === what",
        arg=[before, what],
    )


def test_whatever_may_go_wrong_has_its_button(page: Any) -> None:
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=("acquire 1",)))) as started:
        opened(page, started.address)
        page.get_by_text("What may go wrong").click()
        for action, what in (
            ("duplicate 1>0", "duplicate"),
            ("lose 1>2", "lose"),
            ("pause 2", "pause"),
            ("resume 2", "resume"),
            ("crash 2", "crash"),
            ("restart 2", "restart"),
            ("deliver 1>0", "deliver"),
            ("deliver 0>1 Privilege", "deliver"),
            ("release 1", "release"),
        ):
            press(page, action, what)
        page.evaluate(SETTLED)
        assert page.locator("#panel-stage .flight").count() == 1, "the copy"


def tabs(page: Any) -> list[str]:
    found: list[str] = page.locator(".game .tabs button").all_inner_texts()
    return found


def test_a_crash_that_loses_mail_is_one_action(page: Any) -> None:
    """And whatever is sent to who has crashed is lost at once: the run goes on, and going back takes all of it back."""
    with served("--open", fragment(Setup("suzuki-kasami", 4, steps=("acquire 1",)))) as started:
        opened(page, started.address)
        page.get_by_text("What may go wrong").click()
        page.locator("[data-action='crash 2']").click()
        page.wait_for_function("() => document.getElementById('where').textContent === '3 / 3'")
        page.locator("[data-action='acquire 3']").click()
        page.wait_for_function("() => document.getElementById('where').textContent === '5 / 5'")
        page.locator("[data-action^='deliver 1>0']").click()
        page.wait_for_function(
            "() => soloistPage.player.runs[0].steps.some((step) => step.what === 'deliver')"
        )
        assert tabs(page) == ["run 1"]
        happened = what_happened(page)
        assert happened[:6] == ["begin", "request", "crash", "lose", "request", "lose"]
        at = lambda: page.evaluate("soloistPage.player.at(0)")  # noqa: E731
        before = [at()]
        while before[-1] > 1:
            page.wait_for_function("() => soloistPage.game.at === soloistPage.game.shownAt")
            page.locator("#undo").click()
            page.wait_for_function("(n) => soloistPage.player.at(0) < n", arg=before[-1])
            before.append(at())
        assert before[-3:] == [5, 3, 1], "not the crash without what it loses"
        assert page.locator(".actions details").get_attribute("open") is not None, (
            "what was opened stays open"
        )


def test_it_is_played_by_keys_alone(page: Any) -> None:
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=("acquire 1",)))) as started:
        opened(page, started.address)
        page.locator("[data-action^='deliver 1>0']").focus()
        for length in (3, 4, 5):
            page.keyboard.press("Enter")
            page.wait_for_function("(length) => soloistPage.player.runs[0].length >= length", arg=length)
            page.evaluate(SETTLED)
            assert page.evaluate("document.activeElement.matches('.actions button')")
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("() => soloistPage.game.at === soloistPage.game.shownAt")
        page.evaluate(SETTLED)
        assert page.evaluate("document.activeElement.matches('.actions button')")
        page.get_by_text("Another run").click()
        page.get_by_role("button", name="Begin").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("() => soloistPage.player.runs[0].length === 1")
        page.evaluate(SETTLED)
        assert page.evaluate("document.activeElement.matches('.actions button')")


def test_what_was_searched_for_is_found_in_steps_that_come(page: Any) -> None:
    with served("--open", fragment(Setup("suzuki-kasami", 3))) as started:
        opened(page, started.address)
        page.locator("#search").fill("request")
        page.wait_for_function("() => document.querySelector('.count').textContent === '0 found'")
        press(page, "acquire 1", "request")
        page.wait_for_function("() => document.querySelector('.count').textContent === '1 found'")


def test_all_of_a_short_run_is_in_view_while_it_grows(page: Any) -> None:
    with served("--open", fragment(Setup("lamport", 3, steps=("acquire 1",)))) as started:
        opened(page, started.address)
        page.locator("#chance").click()
        page.wait_for_function("() => soloistPage.player.runs[0].length >= 12")
        page.evaluate(SETTLED)
        first, last, width = page.evaluate(
            "(([score]) => [score.x(0), score.x(score.run.length - 1), score.width])(soloistPage.scores)"
        )
        assert 0 < first < last <= width


def test_what_is_shared_ends_where_one_is(page: Any) -> None:
    """Also at a step of which nothing has been asked yet."""
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=("acquire 1", "acquire 2")))) as started:
        opened(page, started.address)
        page.evaluate("soloistPage.game.undo(), soloistPage.game.share()")
        page.wait_for_selector("text=This run until step 1")
        command = page.get_by_label("This run as a command").input_value()
    assert unpacked(command.removeprefix("soloist watch --open ")).steps == ("acquire 1",)


def test_messages_on_the_stage_are_delivered_and_dropped_by_a_click(page: Any) -> None:
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=("acquire 1",)))) as started:
        opened(page, started.address)
        page.locator("#panel-stage .flight path").first.click(modifiers=["Shift"])
        page.wait_for_function("() => document.querySelectorAll('#panel-stage .flight').length === 1")
        page.locator("#panel-stage .flight path").click()
        page.wait_for_function("() => soloistPage.player.runs[0].steps.at(-1).what === 'deliver'")
        assert what_happened(page) == ["begin", "request", "lose", "deliver"]


def test_it_runs_by_itself_and_what_is_saved_is_a_trace(page: Any, tmp_path: Path) -> None:
    with served("--open", fragment(Setup("naimi-trehel", 4, steps=("acquire 1",)))) as started:
        opened(page, started.address)
        before = page.evaluate("soloistPage.player.runs[0].length")
        page.locator("#chance").click()
        page.wait_for_function("(length) => soloistPage.player.runs[0].length >= length + 10", arg=before)
        length = page.evaluate("soloistPage.player.runs[0].length")
        with page.expect_download() as saved:
            page.locator("#save").click()
        saved.value.save_as(tmp_path / saved.value.suggested_filename)
    assert saved.value.suggested_filename == "naimi-trehel.jsonl"
    trace = read(tmp_path / "naimi-trehel.jsonl")
    assert len(trace.steps) == length
    assert validate(trace) is None
    with served(str(tmp_path / "naimi-trehel.jsonl")) as again:
        opened(page, again.address)
        assert page.evaluate("soloistPage.player.runs[0].length") == length
        assert page.locator("#panel-game").count() == 1


def test_a_bad_run_is_found_and_one_comes_back_from_it(page: Any) -> None:
    with served("--puzzle", "ricart-agrawala-r1") as started:
        opened(page, started.address)
        page.locator("#bad-run").click()
        page.wait_for_selector(".solved")
        page.wait_for_selector(".tabs button[aria-selected=true]:has-text('bad run')")
        page.locator(".game .tabs button").first.click()
        page.wait_for_selector(".solved", state="detached")
        page.wait_for_selector("text=yours so far: 0.")


def test_a_fragment_that_is_wrong_is_told_in_the_page(page: Any, browser: Any) -> None:
    with served("--open", fragment(Setup("lamport", 2))) as started:
        opened(page, started.address)
        other = page.context.new_page()
        opened(other, f"{started.address.partition('?')[0]}#play=nonsense")
        assert "no fragment of a played run" in other.locator("#error").inner_text()
