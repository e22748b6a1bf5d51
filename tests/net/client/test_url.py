"""What a URL says, and one clear line where it says nothing."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from soloist.core import UsageError
from soloist.net import TLS, NodeClosed, connect, connect_sync
from soloist.net.client.url import target
from soloist.net.link.security import Address
from tests.net.helpers import run

GOOD = {
    "unix:/run/soloist/a.sock": ("unix", (Address("/run/soloist/a.sock"),), ""),
    "unix:///run/soloist/a.sock": ("unix", (Address("/run/soloist/a.sock"),), ""),
    "soloist://host": ("tcp", (Address("host", 7500),), ""),
    "soloist://host:1,host2:2/": ("tcp", (Address("host", 1), Address("host2", 2)), ""),
    "soloist://host, host2": ("tcp", (Address("host", 7500), Address("host2", 7500)), ""),
    "soloist://shop@[::1],[fe80::1]:9": ("tcp", (Address("::1", 7500), Address("fe80::1", 9)), "shop"),
    "soloist+tls://host:1": ("tls", (Address("host", 1),), ""),
    "memory:x": ("memory", (), ""),
}


@pytest.mark.parametrize("url", GOOD)
def test_what_it_says(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = target(url)
    assert (found.kind, found.places, found.client) == GOOD[url]
    monkeypatch.setenv("SOLOIST_URL", url)
    assert target(None) == found


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "is no URL of a node"),
        ("host:7500", "is no URL of a node"),
        ("redis://host:6379", "is no URL of a node"),
        ("SOLOIST://host", "is no URL of a node"),
        ("unix:", "names no socket"),
        ("unix:/a\0b", "is no URL of a node"),
        ("soloist://", "names no node"),
        ("soloist://shop@", "names no node"),
        ("soloist://host/path", "names no node"),
        ("soloist://host:", "'host:' should read HOST or HOST:PORT"),
        ("soloist://host:99999", "'host:99999' should read HOST or HOST:PORT"),
        ("soloist://host:7500?x=1", "should read HOST or HOST:PORT"),
        ("soloist://a,,b", "'' should read HOST or HOST:PORT"),
        ("soloist://::1", "stands in brackets"),
        ("soloist://fe80::1:7500", "stands in brackets"),
        ("soloist://unix:", "a URL of its own"),
        (7500, "a URL must be a str or a path, not 7500"),
        (b"unix:/a", "a URL must be a str or a path, not b'unix:/a'"),
    ],
)
def test_what_says_nothing_gets_one_clear_line(url: object, said: str) -> None:
    for make in (connect, connect_sync):
        with pytest.raises(UsageError) as wrong:
            make(url)  # type: ignore[operator]
        assert said in str(wrong.value)
        assert "\n" not in str(wrong.value)


def test_without_any_it_says_where_one_may_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, ""):
        monkeypatch.delenv("SOLOIST_URL", raising=False)
        if value is not None:
            monkeypatch.setenv("SOLOIST_URL", value)
        with pytest.raises(UsageError, match=r"needs a URL: give one, or set SOLOIST_URL; unix:"):
            connect()


def test_a_cluster_s_file_names_the_node_that_runs_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cluster.toml"
    with pytest.raises(UsageError, match=r"cluster\.toml"):
        target(file)
    file.write_text('cluster = "t"\n[nodes]\na = "127.0.0.1:7401"\nb = "127.0.0.1:7402"\n')
    assert target(f"{file}#b").places == (Address(str(tmp_path / "t-b.sock")),)
    with pytest.raises(UsageError, match="'c'"):
        target(f"{file}#c")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NodeClosed, match=r"no node of cluster\.toml runs here"):
        target("cluster.toml")
    with socket.socket(socket.AF_UNIX) as a, socket.socket(socket.AF_UNIX) as b:
        for name, sock in (("a", a), ("b", b)):
            sock.bind(f"t-{name}.sock")
        a.listen()
        assert target("cluster.toml").places == (Address(str(tmp_path / "t-a.sock")),)
        b.listen()
        with pytest.raises(UsageError, match=r"several nodes .* or cluster\.toml#a as URL"):
            target("cluster.toml")


def test_certificates_are_for_urls_with_tls_and_needed_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"needs tls=TLS\(certificate, authority, key\)"):
        connect("soloist+tls://host")
    with pytest.raises(UsageError, match=r"tls is for soloist\+tls:// URLs"):
        connect("soloist://host", tls=TLS("a.pem", "ca.pem"))
    with pytest.raises(UsageError, match=r"a\.pem does not exist"):
        connect("soloist+tls://host", tls=TLS(str(tmp_path / "a.pem"), "ca.pem"))


@pytest.mark.parametrize("url", ["unix:/nowhere/at-all.sock", f"unix:/{'x' * 200}", "soloist://127.0.0.1:1"])
def test_where_nobody_listens_that_is_said(url: str) -> None:
    with pytest.raises(NodeClosed, match=r"no (daemon|node) answers at") as wrong:
        run(connect(url).start())
    assert "\n" not in str(wrong.value)


def test_all_are_named_where_none_answers() -> None:
    with pytest.raises(NodeClosed, match=r"127\.0\.0\.1:1 .*; no node answers at 127\.0\.0\.1:2 "):
        run(connect("soloist://127.0.0.1:1,127.0.0.1:2").start())
