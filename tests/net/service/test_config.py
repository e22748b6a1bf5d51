"""A cluster's file: what it may say, and what is said about it when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from soloist.cli import main
from soloist.core import UsageError
from soloist.core.toml import line_of
from soloist.net import TLS, Etcd
from soloist.net.service.config import Config, load, parse

GOOD = """\
cluster = "orders"
algorithm = "ricart-agrawala"
locality = 2
metrics = 9100
secret_file = "secrets/{name}"
data_dir = "data/{name}"

[tls]
certificate = "keys/{name}.pem"
authority = "keys/ca.pem"
key = "keys/{name}.key"

[nodes]
a = "10.0.0.1:7401"
b = { address = "10.0.0.2:7401", control = "/run/b.sock", metrics = "0.0.0.0:9200", trace = "b.jsonl" }

[nodes.c]
address = "unix:/run/c"
secret_file = "/etc/other"
tls.certificate = "/c.pem"
tls.authority = "/ca.pem"
"""


def read(text: str) -> Config:
    return parse(text, Path("/somewhere/cluster.toml"))


def test_what_stands_at_the_top_is_for_all_and_a_node_may_differ() -> None:
    config = read(GOOD)
    assert (config.cluster, config.algorithm, config.locality) == ("orders", "ricart-agrawala", 2)
    assert config.semaphore_algorithm is None
    assert config.shortcut
    assert not read("shortcut = false\n" + GOOD).shortcut
    a, b, c = (config.member(name) for name in "abc")
    assert a.control == Path("/somewhere/orders-a.sock")
    assert a.secret_file == Path("/somewhere/secrets/a")
    assert str(a.metrics) == "127.0.0.1:9100"
    assert a.tls == TLS("/somewhere/keys/a.pem", "/somewhere/keys/ca.pem", "/somewhere/keys/a.key")
    assert (b.address, b.control, str(b.metrics)) == ("10.0.0.2:7401", Path("/run/b.sock"), "0.0.0.0:9200")
    assert b.trace == Path("/somewhere/b.jsonl")
    assert b.data_dir == Path("/somewhere/data/b")
    assert (c.address, c.secret_file, c.tls) == (
        "unix:/run/c",
        Path("/etc/other"),
        TLS("/c.pem", "/ca.pem"),
    )


def test_a_config_makes_a_node(tmp_path: Path) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(
        'cluster = "x"\nsecret_file = "s"\ndata_dir = "d"\n[nodes]\na = "127.0.0.1:1"\nb = "127.0.0.1:2"\n'
    )
    (tmp_path / "s").write_text("hush\n")
    node = load(file).node("b")
    assert (node.name, node.members) == ("b", ["a", "b"])
    secret = node.transport.secret  # type: ignore[attr-defined]
    assert (node.beginning.who.cluster, secret) == ("x", b"hush")
    assert node._data
    assert node._data.path.is_relative_to(tmp_path / "d")


def test_etcd_with_and_without_certificates() -> None:
    endpoints = ("https://10.0.0.7:2379", "https://10.0.0.8:2379")
    listed = read("etcd = ['http://10.0.0.7:2379/']\ninsecure = true\n" + NODES)
    assert listed.member("a").etcd == Etcd(("http://10.0.0.7:2379",))
    assert listed.node("a").lease == 10
    table = f"[etcd]\nendpoints = {list(endpoints)}\n[etcd.tls]\ncertificate = '{{name}}.pem'\nauthority = 'ca.pem'\n"
    tls = TLS("/somewhere/a.pem", "/somewhere/ca.pem")
    assert read(NODES + table).member("a").etcd == Etcd(endpoints, tls)


NODES = '[nodes]\na = "127.0.0.1:7401"\n'

BAD = {
    "cluster = \n" + NODES: "cluster.toml:1:11: this is no TOML: invalid value",
    '[nodes]\na = "127.0.0.1:7401"\na = "127.0.0.1:7402"\n': "cluster.toml:3:",
    "": "cluster.toml: the table [nodes] is missing",
    "[nodes]\n": "cluster.toml:1: nodes: names no node",
    "# hm\nnodes = 3\n": "cluster.toml:2: nodes: should be a table, not a whole number",
    "cluser = 'x'\n" + NODES: "cluster.toml:1: cluser: unknown key 'cluser'; did you mean cluster or lease or client?",
    NODES + "[tls]\ncertficate = 'x'\n": "cluster.toml:4: tls.certficate: unknown key 'certficate'; did you mean certificate?",
    "[nodes.a]\nadress = 'x'\n": "cluster.toml:2: nodes.a.adress: unknown key 'adress'; did you mean address",
    "[nodes]\n\na = { adress = 'x' }\n": "cluster.toml:3: nodes.a.adress: unknown key",
    "[nodes]\na = {}\n": "cluster.toml:2: nodes.a: has no address",
    "[nodes]\na = 7401\n": "cluster.toml:2: nodes.a: should be text in quotes or a table, not a whole number",
    "[nodes]\na = 'localhost'\n": "cluster.toml:2: nodes.a: address 'localhost' should read HOST:PORT",
    "[nodes]\na.address = 'x:99999'\n": "cluster.toml:2: nodes.a.address: address 'x:99999' should read",
    "[nodes]\n'a b' = '127.0.0.1:1'\n": "cluster.toml:2: nodes.a b: 'a b' is no good name",
    "cluster = '../x'\n" + NODES: "cluster.toml:1: cluster: '../x' is no good name",
    "cluster = ''\n" + NODES: "cluster.toml:1: cluster: is empty",
    "cluster = true\n" + NODES: "cluster.toml:1: cluster: should be text in quotes, not true or false",
    "algorithm = 'naimi-trehl'\n" + NODES: "cluster.toml:1: algorithm: unknown algorithm 'naimi-trehl'; did you mean naimi-trehel",
    "semaphore_algorithm = 'lamport'\n" + NODES: "cluster.toml:1: semaphore_algorithm: lamport is for locks",
    "locality = -1\n" + NODES: "cluster.toml:1: locality: should be at least 0, not -1",
    "locality = 1.5\n" + NODES: "cluster.toml:1: locality: should be a whole number, not a number such as 0.5",
    "insecure = 'yes'\n" + NODES: "cluster.toml:1: insecure: should be true or false, not text in quotes",
    "shortcut = 1\n" + NODES: "cluster.toml:1: shortcut: should be true or false, not a whole number",
    "metrics = 0\n" + NODES: "cluster.toml:1: metrics: address '127.0.0.1:0' should read HOST:PORT",
    "metrics = 'unix:/x'\n" + NODES: "cluster.toml:1: metrics: should be a port or HOST:PORT",
    "metrics = true\n" + NODES: "cluster.toml:1: metrics: should be a whole number or text in quotes, not true or false",
    "control = 1979-05-27\n" + NODES: "cluster.toml:1: control: should be text in quotes, not a date or time",
    f"control = '/{'x' * 120}'\n" + NODES: "cluster.toml:1: control: /xxx",
    f"cluster = '{'x' * 120}'\n" + NODES: "cluster.toml: control: /",
    "tls = 'x'\n" + NODES: "cluster.toml:1: tls: should be a table, not text",
    NODES + "[tls]\ncertificate = 'x'\n": "cluster.toml:3: tls: has no authority",
    NODES + "b = '127.0.0.1:7401'\n": "cluster.toml:3: nodes.b: has the address of a, 127.0.0.1:7401",
    NODES + "b = '10.0.0.1:7401'\n": "cluster.toml:3: nodes.b: is not on this host, and a has neither tls nor secret_file",
    "etcd = 'http://127.0.0.1:2379'\n" + NODES: "cluster.toml:1: etcd: should be a table or a list, not text",
    "etcd = []\n" + NODES: "cluster.toml:1: etcd: etcd must be a list of URLs like",
    "etcd = ['127.0.0.1:2379']\n" + NODES: "cluster.toml:1: etcd: '127.0.0.1:2379' is no endpoint of etcd; give a list",
    "etcd = ['https://127.0.0.1:2379']\n" + NODES: "cluster.toml:1: etcd: endpoints of etcd with https need certificates",
    "etcd.endpoints = ['http://127.0.0.1:2379']\n" + NODES: "cluster.toml:1: etcd: has no tls",
    "etcd = ['http://127.0.0.1:2379']\nlease = 2.5\n" + NODES: "cluster.toml:2: lease: lease must be a whole number of seconds with etcd",
    'note = """\n[nodes]\n"""\n' + NODES: "cluster.toml:1: note: unknown key 'note'",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_what_is_wrong_is_said_in_one_line_with_file_line_and_key(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cluster.toml").write_text(text)
    assert main(["node", "--config", "cluster.toml", "--name", "a"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"soloist: {BAD[text]}")


USES = {
    "node --config nowhere.toml --name a": "cannot read nowhere.toml: No such file or directory",
    "node --name a --config binary.toml": "binary.toml is not text in UTF-8",
    "node --name z": "cluster.toml: unknown node 'z'; choose from a",
    "status --name z": "cluster.toml: unknown node 'z'",
    "node --name a --log xml": "--log must be text or json, not 'xml'",
    "node --name a --log-level inf": "unknown log level 'inf'; did you mean info?",
    "node --name a --grace soon": "--grace must be a number such as 0.8 or 2ms, not 'soon'",
    "run x --name a --timeout soon -- true": "--timeout must be a number such as 0.8 or 2ms, not 'soon'",
    "run x --name a --timeout -1 -- true": "--timeout must not be negative",
    "run x --name a --semaphore 0 -- true": "--semaphore must be at least 1, not 0",
    "run x --name a": "COMMAND is missing",
    "node --name s": "cluster.toml: unknown node 's'",
    "node --name a --config secret.toml": "secret_file",
    "node --name a --config tls.toml": "tls: the certificate",
}


@pytest.mark.parametrize("line", USES)
def test_careless_use_is_answered_in_one_line(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cluster.toml").write_text(NODES)
    Path("binary.toml").write_bytes(b"\xff\xfe\x00")
    Path("secret.toml").write_text("secret_file = 'nowhere'\n" + NODES)
    Path("tls.toml").write_text(NODES + "[tls]\ncertificate = 'no'\nauthority = 'no'\n")
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"soloist: {USES[line]}")


def test_without_a_config_the_usual_places_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOLOIST_CONFIG", raising=False)
    assert main(["status"]) == 2
    assert capsys.readouterr().err == (
        "soloist: there is no cluster.toml here; give --config FILE, or set SOLOIST_CONFIG\n"
    )


@pytest.mark.parametrize("command", ["status", "holders", "run x -- true"])
def test_no_daemon_is_no_bad_usage(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cluster.toml").write_text(NODES)
    verb, *rest = command.split()
    assert main([verb, "--name", "a", *rest]) == 1
    assert "no daemon answers at" in capsys.readouterr().err
    assert main([verb, *rest]) == 1
    assert capsys.readouterr().err == (
        "soloist: no node of cluster.toml runs here; start one with: "
        "soloist node --config cluster.toml --name a\n"
    )


def test_an_empty_secret_is_none(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("\n")
    config = parse(f"secret_file = 's'\n{NODES}", tmp_path / "cluster.toml")
    with pytest.raises(UsageError, match="is empty"):
        config.node("a")


def test_the_line_of_a_key_is_where_its_statement_starts() -> None:
    text = '# c = 1\na = [\n 1,\n]\nb = """\nc = 1\n"""\n[t]\n"c" = 1\nd.e = { f = 1 }\n'
    lines = {("a",): 2, ("b",): 5, ("t",): 8, ("t", "c"): 9, ("t", "d", "e", "f"): 10, ("c",): None}
    assert {keys: line_of(text, keys) for keys in lines} == lines
