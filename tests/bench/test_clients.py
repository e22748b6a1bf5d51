"""The clients' benchmark, for a moment: real nodes, real clients, real kills."""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
from unittest import mock

import msgspec
import pytest

from soloist.bench import client_process, lock_peers
from soloist.bench.clients import PRELOADED, Found, Node, measure, shortcomings


def test_clients_are_killed_and_nothing_of_them_stays_behind() -> None:
    found = asyncio.run(measure("client", clients=4, seconds=1.0, seed=1))
    assert found.problems == []
    assert found.kills > 0
    assert found.entries > 4
    assert set(found.nodes) == {"a", "b", "c"}
    assert [words for kind, words in shortcomings(found, PEER) if kind != "recovery"] == []


PEER = Found("postgresql", 4, 100, 10, 8, 1.0, 10.0, 11.0, [])
NODE = Node((30.0, 40.0, 41.0), (10, 50, 11), (1, 3, 3), 0)
GOOD = Found("client", 4, 100, 10, 8, 1.0, 19.0, 21.0, [], {"a": NODE})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"problems": ["two were inside"]}, "two were inside"),
        ({"stuck": True}, "nobody got the lock"),
        ({"passed_on": 0, "p99_ms": None}, "nobody got the lock"),
        ({"p99_ms": 20.1}, "more than 2 times that"),
        ({"nodes": {"a": msgspec.structs.replace(NODE, memory_mb=(30.0, 40.0, 49.0))}}, "a keeps 49 MB"),
        ({"nodes": {"a": msgspec.structs.replace(NODE, files=(10, 50, 13))}}, "a keeps 13 open files"),
        ({"nodes": {"a": msgspec.structs.replace(NODE, names=(1, 3, 4))}}, "a keeps 4 names"),
        ({"nodes": {"a": msgspec.structs.replace(NODE, clients=1)}}, "a keeps 1 clients"),
    ],
)
def test_what_is_not_as_it_should_be_is_said(changes: dict[str, object], words: str | None) -> None:
    found = [words for _, words in shortcomings(msgspec.structs.replace(GOOD, **changes), PEER)]
    assert len(found) == (words is not None)
    assert all(words is not None and words in each for each in found)


def test_what_clients_need_is_there_before_they_come() -> None:
    """Or those who come in place of the killed would take the processor from all others, by what one system needs more than the other."""
    functions = [
        each
        for each in ast.parse(inspect.getsource(client_process)).body
        if isinstance(each, ast.FunctionDef)
    ]
    needed: set[str] = set()
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Import):
            needed |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            needed |= {node.module or ""}
    assert needed
    assert needed <= {"soloist.net", *PRELOADED}


def test_what_was_not_measured_beside_ours_is_not_judged() -> None:
    theirs = Found("postgresql", 4, 0, 0, 0, None, None, None, [], missing="apt-get install postgresql")
    assert not list(shortcomings(msgspec.structs.replace(GOOD, p99_ms=1e6), theirs))


def test_a_server_that_listens_before_it_serves_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(Exception):
        pass

    answers: list[object] = [Refused("starting up"), Refused("starting up"), mock.Mock()]

    def connect(**_: object) -> object:
        answer = answers.pop(0)
        if isinstance(answer, Refused):
            raise answer
        return answer

    server, psycopg = mock.Mock(), mock.Mock(OperationalError=Refused, connect=connect)
    monkeypatch.setitem(sys.modules, "psycopg", psycopg)
    monkeypatch.setattr(lock_peers.subprocess, "Popen", lambda *_, **__: server)
    monkeypatch.setattr(lock_peers, "_await_port", lambda *_: None)
    monkeypatch.setattr(lock_peers, "_unprivileged", dict)
    peer = next(each for each in lock_peers.PEERS if each.name == "postgresql")
    monkeypatch.setattr(lock_peers, "postgres_command", lambda *_: ["postgres"])
    peer = msgspec.structs.replace(peer, command=lock_peers.postgres_command)
    with peer.serving():
        assert not answers
    server.terminate.assert_called_once()
