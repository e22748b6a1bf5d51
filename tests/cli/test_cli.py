"""The command line, as a newcomer, a script and a careless hand would use it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from soloist.algorithms import CATALOGUE
from soloist.cli import main

ROOT = Path(__file__).parents[2]
PAPER_RUN = (
    "simulate ricart-agrawala --nodes 30 --rate 0.1 --entries 5000 --send-cost 0.1 --receive-cost 0.1 "
    "--latency 0.8 --inside 0.0002 --seed 1 --json"
)


def run(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    code = main(line.split())
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_same_command_gives_the_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    results = []
    for _ in range(2):
        code, out, _ = run(capsys, PAPER_RUN)
        assert code == 0
        results.append(json.loads(out))
        del results[-1]["wall_seconds"]
    assert results[0] == results[1]
    assert results[0]["messages_per_entry"]["mean"] == 58
    assert results[0]["messages"] == 58 * 5000


@pytest.mark.smoke
def test_simulate_json_has_the_promised_fields(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "simulate suzuki-kasami --entries 100 --json")
    result = json.loads(out)
    assert {
        "algorithm", "nodes", "k", "seed", "entries", "messages", "messages_per_entry", "by_kind", "response_time",
        "sync_delay", "words_per_message", "bytes_per_message", "fairness", "simulated_time", "events", "wall_seconds",
    } <= set(result)  # fmt: skip
    assert set(result["messages_per_entry"]) == {"mean", "ci95"}
    assert set(result["response_time"]) == {"mean", "p50", "p99", "ci95"}
    assert "mean" in result["sync_delay"]
    assert set(result["fairness"]) == {"jain", "inversions", "max_bypass"}


def test_algorithms_json_has_the_promised_fields(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "algorithms --json")
    cards = json.loads(out)
    assert [card["name"] for card in cards] == list(CATALOGUE)
    for card in cards:
        assert {"name", "title", "family", "capacity", "channels", "bound", "fairness", "paper"} <= set(card)
        assert all(card.values()) or not card["options"]


@pytest.mark.smoke
def test_the_catalogue_and_a_card_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "algorithms")
    assert all(name in out for name in CATALOGUE)
    _, out, _ = run(capsys, "algorithms raymond-tree")
    assert "topology" in out
    assert "HOLDER" in out


@pytest.mark.smoke
def test_figures_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "simulate naimi-trehel --nodes 5 --entries 200 --replications 3")
    assert code == 0
    assert "messages per entry" in out
    assert "seeds 1..3" in out
    assert err == ""


def test_compare_puts_the_cheapest_first(capsys: pytest.CaptureFixture[str]) -> None:
    line = "compare lamport naimi-trehel --nodes 5,10 --rate 0.1 --saturate --entries 100"
    code, out, _ = run(capsys, line)
    assert code == 0
    assert out.index("naimi-trehel") < out.index("lamport")
    assert all(
        title in out for title in ("N=5, rate 0.1", "N=5, saturated", "N=10, rate 0.1", "N=10, saturated")
    )
    _, out, _ = run(capsys, line + " --json")
    assert [(c["load"], c["result"]["algorithm"]) for c in json.loads(out)][:2] == [
        ("rate 0.1", "lamport"),
        ("rate 0.1", "naimi-trehel"),
    ]


@pytest.mark.parametrize(
    ("sweep", "figure"),
    [("--nodes 4,8", "time"), ("--rate 0.1,1", "messages"), ("--nodes 4,8 --rate 0.1,1", "sync")],
)
def test_compare_draws_a_sweep(
    sweep: str, figure: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "costs.svg"
    line = f"compare lamport naimi-trehel {sweep} --entries 60 --plot {file} --figure {figure}"
    assert run(capsys, line)[0] == 0
    picture = file.read_text()
    assert "naimi-trehel" in picture
    code, _, err = run(capsys, line.replace(figure, "luck"))
    assert (code, err.count("\n")) == (2, 1)
    assert "unknown figure 'luck'" in err


def test_compare_passes_an_option_to_those_that_have_it(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "compare lamport raymond-tree --entries 50 --option topology=star --json")
    options = {c["result"]["algorithm"]: c["result"]["options"] for c in json.loads(out)}
    assert options == {
        "lamport": {"acks": "always"},
        "raymond-tree": {"topology": "star", "piggyback": "no"},
    }


def test_a_trace_is_written_as_text_or_as_json_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("steps.txt", "steps.jsonl"):
        code, _, _ = run(capsys, f"simulate naimi-trehel -n 2 --requests 1@0 --trace {tmp_path / name}")
        assert code == 0
    assert "1 -> 0  Request(i=1)" in (tmp_path / "steps.txt").read_text()
    steps = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()]
    assert [step["kind"] for step in steps] == [
        "request",
        "send",
        "deliver",
        "send",
        "deliver",
        "enter",
        "exit",
    ]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("simulate ricart-agrawalla", "unknown algorithm 'ricart-agrawalla'; did you mean ricart-agrawala"),
        ("simulate zzz", "choose from agrawal-el-abbadi, agrawal-el-abbadi-recovery"),
        ("algorithms lamprot", "did you mean lamport?"),
        ("simulate lamport --nodes 0", "nodes must be at least 1, not 0"),
        ("simulate lamport --nodes many", "--nodes"),
        ("simulate lamport --send-cost -1", "--send-cost must not be negative"),
        ("simulate lamport --receive-cost -0.1", "--receive-cost must not be negative"),
        ("simulate lamport --latency -2ms", "latency must not be negative"),
        ("simulate lamport --inside -1", "--inside must not be negative"),
        ("simulate lamport --rate 1 --saturate", "--rate and --saturate exclude each other"),
        ("simulate lamport --rate -1", "rate must be above 0"),
        ("simulate lamport --k 2", "k must be 1, not 2"),
        ("simulate lamport --channels lifo", "--channels must be fifo or any"),
        ("simulate lamport --option acks", "should read KEY=VALUE"),
        ("simulate raymond-tree --option topologie=line", "did you mean topology?"),
        ("simulate raymond-tree -n 3 --option topology=0-1,1-2,2-0", "topology is no tree"),
        ("simulate lamport --requests soon", "should read SITE@TIME"),
        ("simulate lamport --trace /no/such/folder/x", "cannot write the trace"),
        ("compare lamport --nodes 3,x", "--nodes must be numbers"),
        ("compare lamport --option topology=line", "none of the algorithms has an option"),
        ("simulate", "NAME is missing"),
        ("simulat", "unknown command 'simulat'; did you mean simulate?"),
        ("simulate lamport --quickly", "unknown option --quickly; `soloist simulate --help` lists all"),
    ],
)
def test_bad_input_is_one_clear_line(line: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, line)
    assert code == 2
    assert out == ""
    assert complaint in err
    assert err.startswith("soloist: ")
    assert err.count("\n") == 1


def test_a_broken_promise_exits_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lamport without FIFO links (Lamport 1978 assumes them): with many seeds somebody is let in too early."""
    line = "simulate lamport --nodes 5 --saturate --channels any --latency exponential:1 --inside 1"
    code, out, err = run(capsys, line)
    assert code == 1
    assert out == ""
    assert "violated: lamport: " in err
    assert "(seed 1)" in err


@pytest.mark.smoke
@pytest.mark.parametrize(
    "command",
    [
        *("", "demo", "algorithms", "simulate", "compare", "sweep", "reproduce", "advise", "check"),
        *(
            "node",
            "run",
            "status",
            "holders",
            "break",
            "keys",
            "bench",
            "bench start",
            "bench simulator",
            "bench checker",
            "bench locks",
            "bench recovery",
            "bench nemesis",
            "bench leases",
        ),
    ],
)
def test_help_is_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, f"{command} --help")
    assert code == 0
    assert "Usage: soloist" in out


@pytest.mark.smoke
def test_the_installed_command_and_the_module_are_the_same() -> None:
    for command in ([str(Path(sys.executable).with_name("soloist"))], [sys.executable, "-m", "soloist"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("soloist ")


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m soloist algorithms --json | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""


INSTALLED = Path(sys.executable).with_name("soloist")


@pytest.mark.parametrize("on_path", [True, False])
def test_what_the_demo_says_next_can_be_typed(on_path: bool, tmp_path: Path) -> None:
    """After `make demo` no shell finds `soloist` yet; after `pip install`, or in an active environment, it does."""
    folders = [str(INSTALLED.parent)] if on_path else []
    environment = {**os.environ, "PATH": os.pathsep.join([*folders, "/usr/bin", "/bin"])}
    here = tmp_path if on_path else INSTALLED.parents[2]

    def shell(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            shell=True,
            executable="/bin/sh",
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
        )

    done = shell(f"{INSTALLED} demo --nodes 1 --entries 1")
    assert done.returncode == 0, done.stderr
    commands = [line.strip() for line in done.stdout.split("Next:")[1].splitlines() if line.startswith("  ")][
        ::2
    ]
    assert len(commands) == 2
    assert commands[0].startswith("soloist " if on_path else f"{INSTALLED.relative_to(here)} ")
    for command in commands:
        assert shell(f"{command} --help").returncode == 0, command
    if not on_path:
        way = re.search(r"After `(.*)` the command is just `soloist`", done.stdout)
        assert way
        assert shell(f"{way[1]} && soloist --version").returncode == 0


def test_the_readme_says_how_to_call_the_command_in_a_clone() -> None:
    said = (ROOT / "README.md").read_text().split("## A lock in a few lines")[0]
    assert "`.venv/bin/soloist`" in said
    assert "`. .venv/bin/activate`" in said


def test_figures_that_come_too_soon_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree of 5000 sites after 0.1 requests per site: most of them still ask site 0, at half of what theory says."""
    line = "simulate naimi-trehel --nodes 5000 --rate 0.0001 --entries 500"
    code, out, _ = run(capsys, line)
    assert code == 0
    assert "The start may not be forgotten yet: 0.1 requests per site" in out
    assert "--warmup 25000" in out
    _, out, _ = run(capsys, line + " --json")
    early = json.loads(out)
    assert not early["warmed_up"]
    assert early["messages_per_entry"]["ci95"][1] < 0.8 * early["light_load"]
    code, out, _ = run(capsys, line + " --warmup 25000 --json")
    late = json.loads(out)
    assert late["warmed_up"]
    assert late["messages_per_entry"]["mean"] == pytest.approx(late["light_load"], rel=0.1)
    _, out, _ = run(capsys, "compare central --nodes 50 --entries 20")
    assert "The start may not be forgotten yet" in out


def test_a_mean_lies_in_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "simulate central --entries 50 --json")
    found = json.loads(out)["messages_per_entry"]
    assert found["ci95"][0] <= found["mean"] <= found["ci95"][1]
