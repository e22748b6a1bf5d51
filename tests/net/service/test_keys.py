"""`soloist keys`: certificates that fit, and nodes that believe them and nobody else."""

from __future__ import annotations

import json
import ssl
import stat
import sys
from pathlib import Path

import pytest

from soloist.cli import main
from soloist.net import TLS, AcquireTimeout, Node
from soloist.net.service.config import load
from soloist.net.service.keys import make_keys
from soloist.testing import eventually, ports
from tests.net.helpers import log_lines, run


def tls(directory: Path, name: str) -> TLS:
    return TLS(str(directory / f"{name}.pem"), str(directory / "ca.pem"), str(directory / f"{name}.key"))


def test_keys_are_written_and_only_their_owner_can_read_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", str(tmp_path / "k"), "a", "b", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["written"]
    assert [Path(each).name for each in written] == ["ca.pem", "ca.key", "a.pem", "a.key", "b.pem", "b.key"]
    for each in map(Path, written):
        assert stat.S_IMODE(each.stat().st_mode) & 0o077 == (0 if each.suffix == ".key" else 0o044)


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """A handshake in memory; the client's end of it."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    ours = client.wrap_bio(to_client, to_server, server_hostname=name)
    done: set[ssl.SSLObject] = set()
    while len(done) < 2:
        for side in (ours, theirs):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                pass
    return ours


def strict(context: ssl.SSLContext) -> ssl.SSLContext:
    """As strict about certificates as later Pythons are by default."""
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    return context


def test_nodes_of_one_authority_believe_each_other_and_no_other_name(tmp_path: Path) -> None:
    make_keys(tmp_path, ["a", "node-1.example"])
    server, client = strict(tls(tmp_path, "a").server()), strict(tls(tmp_path, "node-1.example").client())
    certificate = shake_hands(server, client, "a").getpeercert() or {}
    assert certificate["subjectAltName"] == (("DNS", "a"),)
    with pytest.raises(ssl.SSLCertVerificationError, match="ostname mismatch"):
        shake_hands(server, client, "node-1.example")


def test_another_authority_is_not_believed(tmp_path: Path) -> None:
    make_keys(tmp_path / "one", ["a"])
    make_keys(tmp_path / "two", ["b"])
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(tls(tmp_path / "one", "a").server(), tls(tmp_path / "two", "b").client(), "a")


def test_a_node_can_be_added_later(tmp_path: Path) -> None:
    make_keys(tmp_path, ["a"])
    authority = (tmp_path / "ca.pem").read_bytes()
    assert [path.name for path in make_keys(tmp_path, ["b"])] == ["b.pem", "b.key"]
    assert (tmp_path / "ca.pem").read_bytes() == authority
    shake_hands(tls(tmp_path, "b").server(), tls(tmp_path, "a").client(), "b")


def test_a_secret_is_written_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)  # it is not needed
    monkeypatch.chdir(tmp_path)
    assert main(["keys", "keys", "--secret"]) == 0
    assert capsys.readouterr().out == "keys/secret\n"
    file = tmp_path / "keys" / "secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(bytes.fromhex(file.read_text())) == 32
    Path("cluster.toml").write_text('secret_file = "keys/secret"\n[nodes]\na = "127.0.0.1:1"\n')
    assert load(Path("cluster.toml")).member("a").secret() == file.read_bytes().strip()
    assert main(["keys", "keys", "--secret"]) == 2
    assert capsys.readouterr().err == "soloist: keys/secret exists; remove it first to have it made again\n"
    assert main(["keys", "other", "--secret"]) == 0
    assert Path("other/secret").read_text() != file.read_text()
    assert main(["keys", "keys"]) == 2
    assert capsys.readouterr().err.startswith("soloist: name the nodes, or give --secret")


@pytest.mark.parametrize("what", [["a"], ["--secret"]])
def test_a_file_is_no_directory_for_keys(
    what: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "cluster.toml").write_text("mine")
    assert main(["keys", str(file), *what]) == 2
    assert capsys.readouterr().err == f"soloist: {file} is no directory, and keys go into one\n"
    assert file.read_text() == "mine"


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_keys(tmp_path, ["a"])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["keys", str(tmp_path), "b", "a"]) == 2
    assert "a.pem exists; remove it first" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("ca", "a node cannot be called 'ca'"),
        ("../x", "'../x' cannot be a name in a certificate"),
        ("*", "'*' cannot be a name in a certificate"),
        ("10.0.0.1", "'10.0.0.1' is an address"),
        ("a b a", "node 'a' is named twice"),
        ("a --days 0", "--days must be at least 1"),
    ],
)
def test_bad_names_are_refused(
    names: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", str(tmp_path), *names.split()]) == 2
    assert capsys.readouterr().err.startswith(f"soloist: {message}")
    assert not list(tmp_path.iterdir())


def test_half_an_authority_or_a_wrong_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_keys(tmp_path, ["a"])
    (tmp_path / "ca.key").write_bytes((tmp_path / "a.key").read_bytes())
    assert main(["keys", str(tmp_path), "b"]) == 2
    assert "is not the key of" in capsys.readouterr().err
    (tmp_path / "ca.key").write_text("nonsense")
    assert main(["keys", str(tmp_path), "b"]) == 2
    assert "are not an authority" in capsys.readouterr().err
    (tmp_path / "ca.key").unlink()
    assert main(["keys", str(tmp_path), "b"]) == 2
    assert "without both no certificate can be made" in capsys.readouterr().err


def test_without_the_package_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert main(["keys", str(tmp_path), "a"]) == 2
    assert "pip install 'soloist[tls]'" in capsys.readouterr().err


def test_nodes_of_a_config_lock_over_tls(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", ["a", "b"])
    config = tmp_path / "cluster.toml"

    async def scenario() -> list[int]:
        fences = []
        async with load(config).node("a") as a, load(config).node("b") as b:
            for node in (a, b, a, b):
                async with node.lock("x") as hold:
                    fences.append(hold.fence)
        return fences

    with ports("a", "b") as peers:
        config.write_text(
            f'[nodes]\na = "{peers["a"]}"\nb = "{peers["b"]}"\n'
            '[tls]\ncertificate = "keys/{name}.pem"\nkey = "keys/{name}.key"\nauthority = "keys/ca.pem"\n'
        )
        fences = run(scenario())
        assert fences == list(range(fences[0], fences[0] + 4))


def test_a_certificate_of_another_node_opens_nothing(tmp_path: Path) -> None:
    make_keys(tmp_path, ["a", "b", "c"])

    async def scenario(peers: dict[str, str], lines: list[str]) -> None:
        async with (
            Node("a", peers, tls=tls(tmp_path, "c")) as impostor,
            Node("b", peers, tls=tls(tmp_path, "b")) as honest,
        ):
            await eventually(lambda: "its certificate says c" in " ".join(lines), "the impostor is refused")
            assert honest.missing() == ["a"]
            assert impostor.missing() == ["b"]
            for node in (honest, impostor):
                with pytest.raises(AcquireTimeout, match="the cluster has not begun"):
                    async with node.lock("x", timeout=0.05):
                        pass

    with ports("a", "b") as peers, log_lines() as lines:
        run(scenario(peers, lines))
