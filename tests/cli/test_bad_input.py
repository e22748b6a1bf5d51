"""Every option of every command with numbers and words that make no sense: one line, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from soloist.cli import main
from soloist.cli.complaints import in_words

NONSENSE = ("0", "-1", "nan", "inf", "1e400", "1e-320", "99999999999999999999", "", "x")
PLAN = 'algorithms = ["central"]\nfixed = { nodes = 2, entries = 20 }\nseeds = 1\n'
HISTORY = '{"time": 1, "process": "a", "event": "acquire"}\n{"time": 2, "process": "a", "event": "release"}\n'

SITUATION = "--nodes --k --entries --warmup --send-cost --receive-cost --latency --inside --seed --replications --jobs"
COMMANDS = {
    "simulate central --nodes 2 --entries 20": f"{SITUATION} --rate --requests --channels --option --fault",
    "compare central --nodes 2 --entries 20": f"{SITUATION} --rate --channels --option --fault --figure --plot --picture",
    "advise --nodes 2 --entries 20 --seeds 1 --jobs 1": (
        "--nodes --k --rate --latency --jitter --inside --overhead --fair --max-bytes --by --without --trace --entries "
        "--seeds --seed --jobs --executor"
    ),
    "sweep plan.toml": "--jobs --executor --plot",
    "reproduce survey": "--seeds --scale --jobs --executor",
    "check central --nodes 2 --rounds 1": (
        "--nodes --rounds --k --faults --crashes --restart --property --no-reduction --worst --states --memory --seconds "
        "--endless --option --channels --fault --timeouts"
    ),
    "history check history.jsonl": "--k --skew --bypass",
    "demo": "--nodes --entries --algorithm --semaphore-algorithm",
    "bench simulator --messages 100 --rounds 1": "--messages --rounds",
    "bench start": "--rounds",
    "bench checker": "--repeat",
    "bench locks": "--seconds --rounds --processes",
    "bench recovery": "--rounds --slow-rounds",
    "bench nemesis": "--minutes --nodes --lease --kinds",
    "bench leases": "--rounds --seconds --processes --lease",
    "node --name a": "--grace --config --log-level",
    "break lock": "--timeout --config",
    "run lock true": "--timeout --semaphore --kill-after --max-hold --config",
}
FINE = {
    ("demo", "--entries"): ("99999999999999999999",),
    ("reproduce survey", "--scale"): ("1e-320",),
    ("reproduce survey", "--jobs"): ("0", "99999999999999999999"),
    ("bench simulator --messages 100 --rounds 1", "--rounds"): ("99999999999999999999",),
}
"""These make sense after all, or end only after a while."""

CASES = [
    (command, option, value)
    for command, options in COMMANDS.items()
    for option in options.split()
    for value in NONSENSE
    if value not in FINE.get((command, option), ())
]


@pytest.mark.parametrize("command", COMMANDS)
def test_nonsense_is_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "history.jsonl").write_text(HISTORY)
    for _, option, value in (case for case in CASES if case[0] == command):
        code = main([*command.split(), option, value])
        said = capsys.readouterr().err
        shown = f"{command} {option} {value!r}: {code} {said}"
        assert code in (0, 1, 2, 3), shown
        assert said.count("\n") == (code in (1, 2)), shown


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "simulate",
            "NAME is missing: the algorithm (`soloist algorithms` lists them), or a file of yours: my_lock.py; "
            "`soloist simulate --help` has examples",
        ),
        ("node", "--name is missing: which node to be; `soloist node --help` has examples"),
        ("simulate central --node 3", "unknown option --node; did you mean --nodes"),
        ("check -x", "unknown option -x; `soloist check --help` lists all"),
        ("--versoin", "unknown option --versoin; did you mean --version?"),
        ("simulate central --nodes", "--nodes needs a value"),
        ("simulate central --nodes two", "--nodes should be a whole number, not 'two'"),
        ("check central --seconds soon", "--seconds should be a number, not 'soon'"),
        ("exercise three", "NUMBER should be a whole number, not 'three'"),
        (
            "algorithms central lamport",
            "one word too many: lamport; `soloist algorithms --help` has examples",
        ),
        ("simulate central --jobs -1", "jobs must be at least 0 (one per core), not -1"),
        ("simulate central --rate 1e-320", "rate must be above 0"),
        ("simulate central --inside 1e400", "--inside must be finite"),
        ("simulate central --entries 99999999999999999999", "entries must be at most 1e+08"),
        ("simulate central --trace - --json", "--json has standard output for itself"),
        ("compare central --rate 1 --rate x", "--rate must be numbers such as 0.001,1, not '1,x'"),
        ("compare central --picture x.png", "tables are drawn as .svg"),
        ("compare central --figure nope", "unknown figure 'nope'"),
        ("compare central --log z", "--log should be x, y or xy"),
        ("advise --nodes 5 --rate 0", "rate must be above 0"),
        ("advise --nodes 5 --seeds 99999999999", "do not fit"),
        ("check central --fault crash=1@2", "should read crash: a check tries every moment and every site"),
        ("check central --fault pause", "fault pause belongs to `simulate`"),
        ("check central --fault restart-new", "restart fresh needs a crash before it; add --fault crash"),
        ("simulate central --fault pause=1@2", "should read pause=SITE@TIME+LASTING"),
        ("compare central --fault crash=12@2", "names site 12; sites are 0 to 9"),
        ("check central --faults 1", "--faults counts losses and duplications; add --loss or --duplicate"),
        ("demo --algorithm nope", "unknown algorithm 'nope'"),
        ("demo --algorithm raynal", "raynal serves a node only while all the others ask, too"),
        ("demo --semaphore-algorithm lamport", "lamport"),
        ("bench locks --seconds -1", "--seconds must be from 0.01"),
        ("bench locks nope", "unknown system 'nope'"),
        ("bench recovery nope", "unknown system 'nope'"),
        ("bench nemesis --kinds kil", "unknown kind of fault 'kil'; did you mean kill"),
        ("bench nemesis --nodes 2", "--nodes must be from 3 to 26, not 2"),
        ("bench nemesis --seed -1", "--seed must be from 0"),
        ("bench nemesis --kinds ring --direct", "ring: nothing can be cut without proxies"),
        ("bench nemesis --kinds spoil --apart", "spoil: nothing can be spoilt without proxies"),
        ("bench nemesis --direct --apart", "direct is about nodes of one host, and apart about one for each"),
        ("bench checker --repeat 0", "--repeat must be from 1"),
    ],
)
def test_what_is_wrong_is_named(line: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert complaint in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("'two' is not a valid integer.", "--nodes should be a whole number, not 'two'"),
        ("too dear", "too dear"),
        ("Path 'a.toml' is not readable.", "cannot read a.toml: permission denied"),
    ],
)
def test_a_parser_without_pydantic_is_understood(message: str, words: str) -> None:
    parameter = SimpleNamespace(param_type_name="option", opts=["-n", "--nodes"], help="")
    error = type("BadParameter", (Exception,), {"format_message": lambda self: message})()
    error.message, error.param = message, parameter
    assert in_words(error) == words


def test_compare_takes_numbers_in_lists_and_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    line = "compare central --entries 20 --rate 0.1 --rate 0.01,1 --nodes 2 --nodes 4"
    assert main(line.split()) == 0
    titles = [each for each in capsys.readouterr().out.splitlines() if each.startswith("N=")]
    assert titles == [f"N={n}, rate {rate}" for n in (2, 4) for rate in ("0.01", "0.1", "1")]


SOLOIST = [sys.executable, "-m", "soloist"]
TRACED = [*SOLOIST, "simulate", "central", "--nodes", "2", "--requests", "1@0", "--trace"]


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_a_trace_to_standard_output_cuts_nothing_off(name: str, tmp_path: Path) -> None:
    """Redirected to a file that holds something already, as `>>` does."""
    file = tmp_path / "log"
    file.write_text("before\n")
    with file.open("a") as out:
        subprocess.run([*TRACED, name], stdout=out, check=True)
    text = file.read_text()
    assert text.startswith("before\n")
    assert "1 -> 0  Request" in text
    assert text.index("1 -> 0  Request") < text.index("messages per entry")


@pytest.mark.parametrize(
    "line", ["algorithms --json", "algorithms", "simulate central --entries 20", "--help"]
)
def test_a_full_disk_is_one_line(line: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*SOLOIST, *line.split()], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "soloist: cannot write the output: no space is left on the device\n"


@pytest.mark.parametrize(
    ("closed", "line", "code"),
    [(">&-", "algorithms", 0), (">&-", "simulate central --entries 20", 0), ("2>&-", "simulate nope", 2), ("<&- >&- 2>&-", "--help", 0)],
)  # fmt: skip
def test_a_standard_file_that_is_closed_is_no_traceback(closed: str, line: str, code: int) -> None:
    """Nor is its number given to a file or a socket that is opened later."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *SOLOIST, *line.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_a_letter_that_cannot_be_written_is_a_question_mark() -> None:
    done = subprocess.run(
        [*SOLOIST, *["compare", "central", "lamport", "--nodes", "3", "--entries", "100"]],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "?" in done.stdout


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "line",
    [
        "history check deep",
        "history check deeper.jsonl",
        "sweep deep.toml",
        "status --config deep.toml",
        "watch deep --text",
        "watch deeper.jsonl --text",
        "advise --trace deep",
        "grade exercise1.py --checks checks",
    ],
)
def test_what_is_nested_without_end_is_one_line(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checks").mkdir()
    (tmp_path / "exercise1.py").touch()
    for name in ("deep.toml", "checks/exercise1.toml"):
        (tmp_path / name).write_text(f"x = {DEEP}")
    (tmp_path / "deep").write_text(DEEP)
    (tmp_path / "deeper.jsonl").write_text(
        f'{{"time": 1, "process": "a", "event": "acquire", "x": {DEEP}}}\n'
    )
    assert main(line.split()) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_was_read_plays_no_tricks_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "history").write_text(HISTORY.replace('"a"', r'"\u001b[31mred"') * 2)
    assert main(["history", "check", str(file)]) == 2
    assert "the times of process ?[31mred go back" in capsys.readouterr().err
    line = '{"time": 1, "process": "%s", "event": "acquire"}\n'
    file.write_text(
        line % r"\u001b[31mred" + line % "b" + line.replace("acquire", "release") % r"\u001b[31mred"
    )
    main(["history", "check", str(file)])
    assert "\x1b" not in capsys.readouterr().out


def test_a_line_without_end_is_no_history(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "check", "/dev/zero"]) == 2
    assert "/dev/zero, line 1: longer than" in capsys.readouterr().err
