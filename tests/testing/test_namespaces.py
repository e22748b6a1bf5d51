"""Networks of their own for processes of one host: they reach each other there, by cables that can be pulled. Only as root."""

from __future__ import annotations

import os
import socket
import subprocess
from multiprocessing.connection import Connection

import pytest

from soloist.core import SoloistError
from soloist.testing import Crew, Namespaces, until
from soloist.testing.namespaces import enter

MISSING = Namespaces.missing()
as_root = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


def answer(namespace: str, address: str, pipe: Connection) -> None:
    """Listens there, and accepts whoever comes."""
    enter(namespace)
    host, port = address.split(":")
    with socket.create_server((host, int(port))) as server:
        pipe.send("listening")
        while True:
            server.accept()[0].close()


def call(namespace: str, address: str, pipe: Connection) -> None:
    """Says of each time that it is asked whether somebody answers."""
    enter(namespace)
    host, port = address.split(":")
    while pipe.recv():
        try:
            socket.create_connection((host, int(port)), 0.2).close()
        except OSError:
            pipe.send(False)
        else:
            pipe.send(True)


@as_root
def test_they_reach_each_other_and_a_cable_can_be_pulled() -> None:
    with Namespaces("ab") as hosts, Crew() as crew:
        where = hosts.addresses["a"]
        crew.start("a", answer, hosts.of("a"), where)
        assert crew.hear("a") == "listening"
        crew.start("b", call, hosts.of("b"), where)
        assert until(lambda: crew.ask("b", "?"), "b reaches a")
        hosts.pull("a")
        assert not crew.ask("b", "?")
        hosts.heal()
        assert until(lambda: crew.ask("b", "?"), "b reaches a again")
        for way in ("ab", "ba"):  # whoever calls needs both
            hosts.cut_one_way(*way)
            assert not crew.ask("b", "?")
            hosts.heal()
            assert until(lambda: crew.ask("b", "?"), "b reaches a again")
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert f"soloist-{os.getpid()}-" not in left


@as_root
def test_what_goes_wrong_is_one_line_and_leaves_nothing() -> None:
    with pytest.raises(SoloistError, match="ip netns add "), Namespaces(["a", "a"]):
        pass
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert f"soloist-{os.getpid()}-" not in left


def test_whoever_is_not_root_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert Namespaces.missing() in ("only root can make network namespaces", "apt-get install iproute2")
