"""Playing against the network: actions, branches, lights, searches, puzzles, two algorithms, and runs that are shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.sim.experiment import Experiment
from soloist.watch import of_simulation
from soloist.watch.play import Game
from soloist.watch.puzzles import puzzles
from soloist.watch.setup import MOST_SITES, Setup, fragment, unpacked
from tests.pages import generate
from tests.watch.conftest import simulated


def end(game: Game, branch: int = 0) -> int:
    return len(game.branches[branch].trace.steps) - 1


def act(game: Game, *commands: str, branch: int = 0) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for command in commands:
        answer = game.act(branch, end(game, branch), command)
    return answer


def states(answer: dict[str, Any]) -> dict[str, str]:
    return {each.name: each.state for each in answer["play"]["properties"]}


def test_an_action_at_an_earlier_step_is_a_branch() -> None:
    game = Game.new({"algorithm": "suzuki-kasami", "nodes": 3})
    first = act(game, "acquire 1", "deliver 1>0 Request(n=0)")
    assert first["play"]["branch"] == 0
    second = game.act(0, 1, "deliver 1>2 Request(n=0)")
    assert second["play"]["branch"] == 1
    assert [step.what for step in second["steps"]] == ["begin", "request", "deliver"]
    assert second["steps"][-1].site == 2
    assert game.run(0)["steps"] == first["steps"], "the old branch stays"
    assert {each.id for each in game.play(0, 0)["actions"]} >= {"acquire 0", "crash 2", "pause 1"}


def test_one_goes_back_by_actions_not_by_steps() -> None:
    game = Game.new(
        {"algorithm": "suzuki-kasami", "nodes": 3, "steps": ["acquire 1", "crash 2", "deliver 1>0"]}
    )
    assert [step.what for step in game.run()["steps"]] == ["begin", "request", "crash", "lose", "deliver"]
    assert [game.play(0, at)["before"] for at in (4, 3, 1, 0)] == [3, 1, 0, 0]
    given = Game.of(simulated("lamport", nodes=3, entries=2))
    assert [given.play(0, at)["before"] for at in (5, 1, 0)] == [4, 0, 0]


def test_all_that_is_offered_can_be_done() -> None:
    game = Game.new({"algorithm": "lamport", "nodes": 3, "chance": 12, "seed": 5})
    for action in game.play(0, end(game))["actions"]:
        assert game.act(0, 8, game.play(0, 8)["actions"][0].id)["steps"]
        again = Game.new({"shared": game.play(0, end(game))["fragment"]})
        assert again.act(0, end(again), action.id)["play"]["branch"] == 0


@pytest.mark.parametrize("puzzle", puzzles().values(), ids=lambda each: each.id)
def test_every_puzzle_is_solved_by_its_hints_and_by_nothing_shorter_that_is_known(puzzle: Any) -> None:
    game = Game.new({"puzzle": puzzle.id})
    answer = game.run()
    for _ in puzzle.best:
        assert not answer["play"]["puzzle"]["solved"]
        hint = game.hint(0, end(game))
        answer = act(game, hint["action"])
    assert answer["play"]["puzzle"]["solved"]
    assert answer["play"]["puzzle"]["used"] == len(puzzle.best)
    assert states(answer)[puzzle.erratum.breaks] == "broken"


@pytest.mark.parametrize("puzzle", list(puzzles().values())[::4], ids=lambda each: each.id)
def test_from_the_middle_of_a_shortest_run_the_search_finds_its_rest(puzzle: Any) -> None:
    """The same length: neither more, nor less than the checker needs from the very beginning."""
    for kept in (0, len(puzzle.best) // 2):
        game = Game.new({"puzzle": puzzle.id, "steps": list(puzzle.best[:kept])})
        left = len(puzzle.best) - kept
        assert f"in {left} more step" in game.look(0, end(game), 200_000, show=False)["text"]


def test_the_best_runs_are_those_of_the_errata() -> None:
    assert generate.PUZZLES.read_text() == generate.puzzle_runs()


def test_off_the_known_run_the_checker_gives_the_hint() -> None:
    game = Game.new({"puzzle": "lodha-kshemkalyani-e6"})
    act(game, "acquire 1")
    hint = game.hint(0, end(game))
    assert "exclusion" in hint["text"]
    assert hint["action"] in {each.id for each in game.play(0, end(game))["actions"]}
    for _ in range(5):
        answer = act(game, game.hint(0, end(game))["action"])
    assert answer["play"]["puzzle"]["solved"]


def test_a_puzzle_has_rules() -> None:
    game = Game.new({"puzzle": "ricart-agrawala-r1"})
    offered = {each.what for each in game.play(0, 0)["actions"]}
    assert offered == {"request"}
    with pytest.raises(UsageError, match="against the rules"):
        act(game, "crash 0")
    with pytest.raises(UsageError, match="against the rules"):
        Game.new({"puzzle": "ricart-agrawala-r1", "steps": ["crash 0"]})
    act(game, "acquire 0")
    with pytest.raises(UsageError, match="by the rules of the puzzle"):
        act(game, "acquire 0")


def test_a_bad_run_is_found_from_here_and_shown() -> None:
    game = Game.new({"puzzle": "ricart-agrawala-r1"})
    act(game, "acquire 1")
    safe = game.look(0, end(game), 200_000, show=False)
    assert safe["steps"] is None
    assert "It can go wrong in 5 more steps: exclusion" in safe["text"]
    bad = game.look(0, end(game), 200_000, show=True)
    assert bad["play"]["branch"] == 1
    assert states(bad)["exclusion"] == "broken"
    assert len(bad["steps"]) == 7


def test_what_is_safe_says_how_far_and_what_is_cut_off_proves_nothing() -> None:
    game = Game.new({"algorithm": "suzuki-kasami", "nodes": 3, "steps": ["acquire 1", "pause 2"]})
    assert "Still safe" in game.look(0, end(game), 200_000, True)["text"]
    cut = game.look(0, end(game), 50, True)["text"]
    assert "proves nothing" in cut
    assert "Still safe" not in cut


def test_after_a_loss_the_checker_finds_who_waits_for_ever() -> None:
    game = Game.new({"algorithm": "suzuki-kasami", "nodes": 2, "steps": ["acquire 1", "lose 1>0"]})
    assert states(game.run())["deadlock"] == "broken"
    three = Game.new(
        {"algorithm": "ricart-agrawala", "nodes": 3, "steps": ["acquire 1", "pause 0", "lose 1>0"]}
    )
    assert states(three.run())["deadlock"] == "holds"
    found = three.look(0, end(three), 200_000, True)
    assert "deadlock" in found["text"]
    assert states(found)["deadlock"] == "broken"
    act(three, "crash 2", branch=0)
    with pytest.raises(UsageError, match="2 has crashed"):
        three.look(0, end(three), 1000, True)


def test_who_has_crashed_inside_is_not_inside() -> None:
    steps = ["acquire 0", "crash 0"]
    game = Game.new({"algorithm": "suzuki-kasami", "nodes": 2, "steps": steps})
    assert states(game.run())["exclusion"] == "holds"


def test_a_simulation_is_played_on_from_any_step() -> None:
    trace = simulated("naimi-trehel", nodes=4, entries=8)
    game = Game.of(trace)
    assert game.run()["steps"] == trace.steps
    for at in (0, 7, len(trace.steps) - 1):
        action = game.play(0, at)["actions"][0]
        answer = game.act(0, at, action.id)
        assert len(answer["steps"]) == at + 2
        kept = [(step.what, step.site, step.message, step.changed) for step in answer["steps"][: at + 1]]
        assert kept == [(step.what, step.site, step.message, step.changed) for step in trace.steps[: at + 1]]


def test_a_run_begins_with_a_workload_and_is_played_on() -> None:
    entries = {}
    for workload in ("rare", "always"):
        game = Game.new(
            {"algorithm": "lamport", "nodes": 4, "workload": workload, "seed": 3, "beside": "maekawa"}
        )
        trace = game.branches[0].trace
        entries[workload] = sum(step.enter for step in trace.steps)
        assert (trace.head.origin, trace.head.seed) == ("simulation", 3)
        answer = game.act(0, 20, game.play(0, 20)["actions"][0].id)
        assert (answer["play"]["branch"], len(answer["beside"]["steps"]) > 1) == (1, True)
        assert not unpacked(answer["play"]["fragment"]).workload, "its steps are in it"
    assert entries == {"rare": 10, "always": 10}
    all_must_ask = Game.new({"algorithm": "raynal", "workload": "rare"}).branches[0].trace
    assert sum(step.enter for step in all_must_ask.steps) == 10


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        ({"algorithm": "lamport", "workload": "often"}, "no run to begin: Invalid enum value 'often'"),
        ({"algorithm": "lamport", "workload": "rare", "chance": 3}, "choose one of the two"),
        ({"puzzle": "ricart-agrawala-r1", "workload": "rare"}, "a workload is for a run that begins"),
    ],
)
def test_a_workload_that_is_none_gets_one_line(setup: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Game.new(setup)


def test_what_is_shared_says_what_was_played_and_nothing_else() -> None:
    game = Game.new({"algorithm": "maekawa", "nodes": 4, "chance": 9, "seed": 2})
    word = game.play(0, 5)["fragment"]
    setup = unpacked(f"http://example.invalid/#step=3&play={word}&x=1")
    assert setup.steps == tuple(game.branches[0].session.commands[1:6])  # type: ignore[union-attr]
    again = Game.new({"shared": word})
    assert again.run()["steps"] == game.run()["steps"][:6]
    assert unpacked(fragment(setup)) == setup


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("", "cut off"),
        ("%%%", "no fragment"),
        ("AAAA", "no fragment"),
        (fragment(Setup("lamport", 3))[:-9], "cut off|no fragment"),
        (fragment(Setup("lamprot", 3)), "lamport"),
        (fragment(Setup("lamport", 3, steps=("dance 1",))), "dance"),
        (fragment(Setup("lamport", MOST_SITES + 1)), "at most 30 sites"),
        (fragment(Setup("lamport", 3, channels="wet")), "channels"),
        (fragment(Setup(puzzle="none")), "puzzle"),
    ],
)
def test_a_wrong_fragment_gets_one_clear_line(word: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as wrong:
        Game.new({"shared": word})
    assert "\n" not in str(wrong.value)


def test_a_fragment_that_unpacks_to_very_much_is_refused() -> None:
    import base64
    import zlib

    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 50_000_000)).decode()
    with pytest.raises(UsageError, match="far too long"):
        unpacked(bomb)


def test_two_algorithms_have_the_same_requests() -> None:
    game = Game.new({"algorithm": "suzuki-kasami", "nodes": 3, "beside": "lamport", "chance": 40, "seed": 4})
    answer = game.run()
    asked, asked_beside = (
        [step.site for step in steps if step.what == "request"]
        for steps in (answer["steps"], answer["beside"]["steps"])
    )
    assert asked_beside
    assert [site for site in asked_beside if site not in asked] == []
    assert asked_beside[0] == asked[0]
    assert answer["beside"]["head"].algorithm == "lamport"


def test_the_repair_beside_the_text_takes_the_same_steps_and_stays_safe() -> None:
    best = puzzles()["ricart-agrawala-r1"].best
    game = Game.new({"puzzle": "ricart-agrawala-r1", "beside": "ricart-agrawala", "steps": list(best)})
    answer = game.run()
    assert states(answer)["exclusion"] == "broken"
    inside = 0
    for step in answer["beside"]["steps"]:
        inside += step.enter - step.exit
        assert inside <= 1
    assert inside == 1


def test_a_live_run_is_not_played_on() -> None:
    trace = of_simulation(Experiment("central", nodes=2, entries=2, warmup=0))
    trace.head.origin = "live"
    with pytest.raises(UsageError, match="live cluster"):
        Game.of(trace)


def test_the_package_has_what_the_server_serves() -> None:
    assert (Path(generate.PUZZLES).parent / "page" / "play.js").exists()
