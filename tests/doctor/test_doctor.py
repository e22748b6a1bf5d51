"""`soloist doctor`: what it finds, what it says is to be done, and that it changes nothing."""

from __future__ import annotations

import errno
import json
import os
import resource
import socket
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from soloist.cli import main
from soloist.cli.doctor import told
from soloist.core import UsageError
from soloist.doctor import Finding, cluster, daemons, disk, examine, exit_code, machine, software, summary
from soloist.net.service.keys import make_keys, make_secret
from soloist.testing import until
from soloist.testing.ports import ports
from tests.cli.terminal import in_terminal

ROOT = Path(__file__).parents[2]
THREE = '[nodes]\na = "{a}"\nb = "{b}"\nc = "{c}"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory and a place to stand that nobody else has."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_STATE_HOME", "STATE_DIRECTORY", "SOLOIST_CONFIG", "SOLOIST_NODE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def named(found: list[Finding], name: str) -> Finding:
    (one,) = [each for each in found if each.name == name]
    return one


def looked_at(text: str, name: str | None = None) -> list[Finding]:
    Path("cluster.toml").write_text(text)
    return list(cluster.examine_cluster(Path("cluster.toml"), name))


# What is installed.


def test_every_extra_is_known_with_what_it_is_for() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert {*project["optional-dependencies"]} == {*software.EXTRAS}
    found = software.requirements()
    assert {*found} == {"", *software.EXTRAS}
    assert {*found[""]} == {line.partition(">=")[0] for line in project["dependencies"]}
    assert "uvloop" in found["fast"]


def test_what_is_not_installed_comes_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    there = software.installed
    monkeypatch.setattr(software, "installed", lambda name: None if name == "uvloop" else there(name))
    one = named(list(software.examine_software()), "fast")
    assert (one.state, one.remedy) == ("absent", "pip install 'soloist[fast]'")
    assert "uvloop" in one.said
    assert exit_code([one]) == 0


def test_what_everything_needs_is_a_problem_if_it_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    there = software.installed
    monkeypatch.setattr(software, "installed", lambda name: "0.9.1" if name == "msgspec" else there(name))
    one = named(list(software.examine_software()), "needed")
    assert one.state == "problem"
    assert "msgspec" in one.said
    assert exit_code([one]) == 1


def test_a_copy_that_pip_does_not_know_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(software.metadata, "requires", unknown)
    assert named(list(software.examine_software()), "packages").state == "warning"


@pytest.mark.parametrize(("have", "least", "old"), [("0.19", "0.19", False), ("0.9.9", "0.19", True), ("1.0rc1", "1.0", False), ("2024.8.0", "2024.10", True)])  # fmt: skip
def test_versions_are_compared_by_their_numbers(have: str, least: str, old: bool) -> None:
    assert software.older(have, least) is old


# The machine.


def test_this_machine_can_run_what_the_tests_run() -> None:
    assert [each for each in machine.examine_machine() if each.state == "problem"] == []


def test_a_machine_without_a_clock_for_leases_is_told_what_works() -> None:
    def none() -> machine.clock.Clock:
        raise UsageError("no clock of plan9 counts while it is suspended")

    assert machine.lease_clock(none).state == "problem"
    backwards = iter([2.0, 1.0])
    assert machine.lease_clock(lambda: lambda: next(backwards)).said == "it goes back"


def test_a_machine_that_has_slept_is_warned_about() -> None:
    one = machine.slept(lambda: 3725.0)
    assert one.state == "warning"
    assert "1:02:05" in one.said
    assert machine.slept(lambda: 0.01).state == "ok"


def test_a_clock_before_the_first_fence_is_a_problem() -> None:
    assert machine.wall_clock(0).state == "problem"
    assert machine.wall_clock(1_800_000_000).state == "ok"


@pytest.mark.parametrize(
    ("soft", "state"), [(32, "problem"), (256, "warning"), (1024, "ok"), (resource.RLIM_INFINITY, "ok")]
)
def test_a_limit_on_files(soft: int, state: str) -> None:
    one = machine.files(soft, soft)
    assert one.state == state
    assert ("ulimit" in one.remedy) is (state != "ok")


def test_a_limit_that_is_really_set_is_seen() -> None:
    script = "ulimit -n 100; exec {} -m soloist doctor --json"
    done = subprocess.run(["sh", "-c", script.format(sys.executable)], capture_output=True, text=True)
    findings = json.loads(done.stdout)["findings"]
    assert [each["state"] for each in findings if each["name"] == "file limit"] == ["warning"]
    assert done.returncode == 0


def test_no_pidfds_is_no_problem_but_slower() -> None:
    def filtered(number: int) -> int:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    one = machine.deaths(filtered)
    assert one.state == "absent"
    assert "after its lease" in one.said


def test_no_loopback_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object, **__: object) -> None:
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    monkeypatch.setattr(machine.socket, "create_connection", down)
    assert machine.loopback("127.0.0.1", socket.AF_INET).state == "problem"
    assert machine.loopback("::1", socket.AF_INET6).state == "absent"


# The cluster.


def test_a_cluster_that_can_run_here(home: Path) -> None:
    with ports("a", "b", "c") as free:
        found = looked_at(THREE.format(**free))
    assert {each.state for each in found} == {"ok"}, found
    assert named(found, "a").said == "lease 10 s"
    assert named(found, "b port").said == f"{free['b']} is free"
    assert "not made yet" in named(found, "c data").said
    assert [*home.iterdir()] == [], "it changes nothing"
    assert sorted(each.name for each in Path().iterdir()) == ["cluster.toml", "home"]


def test_a_port_that_somebody_else_has() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        found = looked_at(f'[nodes]\na = "127.0.0.1:{port}"\n')
    assert named(found, "a port").state == "problem"
    assert f"sport = :{port}" in named(found, "a port").remedy
    assert named(found, "a").state == "warning", "one node has no lease"


def test_a_running_daemon_has_its_port() -> None:
    with ports("a") as free, socket.socket(socket.AF_UNIX) as listening:
        listening.bind("soloist-a.sock")
        listening.listen(1)
        found = looked_at(f'[nodes]\na = "{free["a"]}"\n')
    assert "the daemon of a runs" in named(found, "a port").said


def test_a_daemon_that_hangs_and_one_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemons, "ANSWER_SECONDS", 0.2)
    with ports("a") as free, socket.socket(socket.AF_UNIX) as listening:
        listening.bind("soloist-a.sock")
        listening.listen(1)  # it takes the call, and never says a word
        found = looked_at(f'[nodes]\na = "{free["a"]}"\n')
    one = named(found, "a daemon")
    assert one.state == "problem"
    assert "does not answer" in one.said


def says_who_is_missing() -> list[Finding] | None:
    found = list(cluster.examine_cluster(Path("cluster.toml"), None))
    said = [each.said for each in found if each.name == "a daemon"]
    return found if said and "not seen yet: c" in said[0] else None


def test_what_daemons_say_and_which_one_does_not_run() -> None:
    """Real ones: two of three, which lack the third."""
    with ports("a", "b", "c") as free:
        Path("cluster.toml").write_text(THREE.format(**free))
        command = [sys.executable, "-m", "soloist", "node", "--name"]
        with Path("log").open("w") as log:
            started = [subprocess.Popen([*command, name], stderr=log) for name in "ab"]
        try:
            found = until(says_who_is_missing, "a daemon that says who has not been seen")
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(60)
    assert named(found, "a daemon").state == "warning"
    assert named(found, "c daemon").state == "warning"
    assert named(found, "c daemon").remedy == "soloist node --config cluster.toml --name c"
    assert exit_code(found) == 0


def test_neighbours_that_answer_and_others() -> None:
    with ports("a", "b") as free, socket.create_server(("127.0.0.1", 0)) as there:
        answering = f"127.0.0.1:{there.getsockname()[1]}"
        found = looked_at(THREE.format(**free, c=answering), "a")
    assert named(found, "c").state == "ok"
    assert (named(found, "b").state, "nobody listens there" in named(found, "b").said) == ("warning", True)
    assert exit_code(found) == 0


def test_a_file_that_is_wrong_and_a_node_that_it_has_not() -> None:
    assert "unknown key 'x'" in looked_at("x = 1\n")[0].said
    assert "unknown node 'z'; choose from a" in looked_at('[nodes]\na = "127.0.0.1:7401"\n', "z")[0].said
    assert exit_code(looked_at("x = 1\n")) == 1


def test_secrets(tmp_path: Path) -> None:
    text = 'secret_file = "keys/secret"\n[nodes]\na = "127.0.0.1:7401"\n'
    assert named(looked_at(text), "a secret").state == "problem"
    path = make_secret(tmp_path / "keys")
    assert named(looked_at(text), "a secret").state == "ok"
    path.chmod(0o644)
    one = named(looked_at(text), "a secret")
    assert (one.state, one.remedy.startswith("chmod 600")) == ("warning", True)


def certificate(days: int, owner: str = "a") -> Finding:
    pytest.importorskip("cryptography")
    folder = Path(f"keys-{owner}-{days}")
    make_keys(folder, [owner], days)
    tls = f'certificate = "{folder}/{owner}.pem"\nkey = "{folder}/{owner}.key"\nauthority = "{folder}/ca.pem"'
    return named(looked_at(f'[nodes]\na = "127.0.0.1:7401"\n[tls]\n{tls}\n'), "a certificate")


def test_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    assert certificate(365).state == "ok"
    assert "good for 365 days" in certificate(366).said.replace("366", "365")
    assert certificate(7).state == "warning"
    assert "is for b, not for a" in certificate(365, owner="b").said
    monkeypatch.setattr(cluster, "read_certificate", lambda path: (-3.2, ["a"]))
    assert "ended 3 days ago" in certificate(31).said
    monkeypatch.setattr(cluster, "read_certificate", lambda path: (None, None))
    assert "soloist[tls]" in certificate(32).remedy


def test_a_key_that_does_not_fit() -> None:
    pytest.importorskip("cryptography")
    make_keys(Path("keys"), ["a", "b"])
    tls = '[tls]\ncertificate = "keys/a.pem"\nkey = "keys/b.key"\nauthority = "keys/ca.pem"\n'
    one = named(looked_at(f'[nodes]\na = "127.0.0.1:7401"\n{tls}'), "a certificate")
    assert one.state == "problem"
    assert "do not fit" in one.said


# Disks.


@pytest.mark.parametrize(
    ("kind", "free", "seconds", "state"),
    [
        ("ext4", 1 << 30, 0.001, "ok"),
        ("ext4", 1 << 20, 0.001, "problem"),
        ("ext4", 1 << 30, 2.0, "warning"),
        ("tmpfs", 1 << 30, 0.001, "warning"),
        ("nfs4", 1 << 30, 0.001, "warning"),
    ],
)
def test_disks(kind: str, free: int, seconds: float, state: str) -> None:
    assert disk.judged(kind, free, seconds, 10.0)[0] == state


def test_a_directory_that_cannot_be_written() -> None:
    Path("a file").write_text("")
    found = looked_at('lease = 5\ndata_dir = "a file/votes"\n[nodes]\na = "127.0.0.1:7401"\n')
    assert named(found, "a data").state == "problem"


def test_the_longest_mount_point_counts(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"root / ext4 rw\nmemory {tmp_path} tmpfs rw\nother /nowhere nfs rw\n")
    assert disk.file_system(tmp_path / "home", mounts) == "tmpfs"
    assert disk.file_system(Path("/"), mounts) == "ext4"
    assert disk.file_system(Path("/"), tmp_path / "no mounts") == ""


# What is printed.


def test_it_fits_a_terminal_and_every_install_line_is_whole() -> None:
    shown = in_terminal(["doctor"])
    found = examine()
    assert max(len(line) for line in shown.splitlines() if sys.prefix not in line) <= 80
    assert [each.remedy for each in found if each.remedy not in shown] == []
    assert shown.strip().endswith(summary(found))


def test_marks_and_what_to_do() -> None:
    some = Finding("machine", "file limit", "problem", "32 open files", "ulimit -n 4096")
    assert list(told([some])) == [
        "Machine",
        "  PROBLEM file limit: 32 open files",
        "            ulimit -n 4096",
        "",
        "1 problem, no warning; 0 not installed or not there, which most do without",
    ]


def test_json_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {each["topic"] for each in found["findings"]} == {"software", "machine", "cluster"}
    Path("cluster.toml").write_text("x = 1\n")
    assert main(["doctor", "--json"]) == 1
    assert "1 problem" in json.loads(capsys.readouterr().out)["verdict"]
    assert main(["doctor", "--config", "nowhere.toml"]) == 2
    assert capsys.readouterr().err == "soloist: cannot read nowhere.toml: there is no such file\n"
