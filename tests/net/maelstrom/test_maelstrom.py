"""Every algorithm is a node of Maelstrom's: with its messages in any order, over real processes, and with what clients do wrong."""

from __future__ import annotations

import heapq
import random
import signal
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from soloist.algorithms import CATALOGUE, find
from soloist.cli import main
from soloist.course.new import new
from soloist.history import check
from soloist.net.maelstrom.loop import Timer
from soloist.net.maelstrom.node import MaelstromNode

from .router import WATCHDOG_SECONDS, Router, soloist

Body = dict[str, Any]


class Net:
    """Nodes in one process, and what is on its way between them, by a clock that nobody waits for."""

    def __init__(self, algorithm: str, nodes: int, k: int = 1, seed: int = 1) -> None:
        self.random, self.now, self.order = random.Random(seed), 0.0, count()
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.heard: dict[str, list[Body]] = {}
        self.names = [f"n{number}" for number in range(nodes)]
        self.nodes = {name: self._node(name, algorithm, k) for name in self.names}
        for name in self.names:
            self.say("c0", name, type="init", node_id=name, node_ids=self.names)

    def _node(self, name: str, algorithm: str, k: int) -> MaelstromNode:
        return MaelstromNode(find(algorithm), k, lambda to, body: self._post(name, to, body), self._later)

    def _later(self, delay: float, action: Callable[..., None], *arguments: Any) -> Timer:
        timer = Timer(lambda: action(*arguments))
        heapq.heappush(
            self.agenda, (self.now + delay, next(self.order), lambda: timer.action and timer.action())
        )
        return timer

    def _post(self, source: str, to: str, body: Body) -> None:
        deliver = (
            self.nodes[to].hear
            if to in self.names
            else lambda _, body: self.heard.setdefault(to, []).append(body)
        )
        moment = self.now + self.random.uniform(0, 0.01)
        heapq.heappush(self.agenda, (moment, next(self.order), lambda: deliver(source, body)))

    def say(self, client: str, node: str, **body: Any) -> None:
        self.nodes[node].hear(client, body)

    def run(self, until: Callable[[], bool]) -> None:
        for _ in range(20_000):
            if until():
                return
            if not self.agenda:
                continue  # somebody is inside, and has not left yet
            self.now, _, action = heapq.heappop(self.agenda)
            action()
            for node in self.nodes.values():
                node.perform()
        raise AssertionError("nothing came of it")


@pytest.mark.parametrize("algorithm", CATALOGUE)
def test_every_algorithm_lets_clients_in_one_after_another(algorithm: str) -> None:
    """Links let messages overtake each other; algorithms that need order get it all the same."""
    net = Net(algorithm, nodes=3, k=2 if find(algorithm).capacity == "K" else 1)
    clients = {f"c{number}": net.names[number % 3] for number in range(1, 10)}
    for client, node in clients.items():
        net.say(client, node, type="lock", msg_id=1)
    inside: set[str] = set()
    fences: list[int] = []

    def served() -> bool:
        for client in clients.keys() - inside:
            if client in net.heard:
                (answer,) = net.heard[client]
                assert (answer["type"], answer["in_reply_to"]) == ("lock_ok", 1)
                inside.add(client)
                fences.append(answer["fence"])
                now_inside.add(client)
        assert len(now_inside) <= (2 if find(algorithm).capacity == "K" else 1)
        if now_inside and net.random.random() < 0.2:
            net.say(client := now_inside.pop(), clients[client], type="unlock", msg_id=2)
        enough = (
            6 if find(algorithm).everybody_asks else len(clients)
        )  # the last ones would wait for others to ask
        return len(inside) >= enough

    now_inside: set[str] = set()
    net.run(served)
    if find(algorithm).capacity == "1":
        assert fences == sorted(set(fences))


@pytest.mark.parametrize(("algorithm", "k"), [("naimi-trehel", 1), ("lamport", 1), ("raymond-k", 2)])
def test_real_processes_and_their_history(algorithm: str, k: int, tmp_path: Path) -> None:
    """Lamport's algorithm needs links that keep the order; these do not."""
    history = tmp_path / "history.jsonl"
    router = Router(soloist("maelstrom", algorithm, "--k", str(k)), 3, history)
    router.run(clients=5, entries=6)
    assert router.codes == [0, 0, 0]
    assert router.overtaken > 0
    report = check([history], k=k)
    assert (report.verdict, report.holds) == ("holds", 30)
    assert report.properties[1].verdict == ("holds" if k == 1 else "not judged")
    assert check([history], k=k, bypass=0).properties[2].verdict in (
        "holds",
        "violated",
    )  # requests are known, too


def test_a_file_of_ones_own_is_a_node_too(tmp_path: Path) -> None:
    file, _ = new("my-lock", tmp_path)
    history = tmp_path / "history.jsonl"
    router = Router(soloist("maelstrom", str(file)), 3, history)
    router.run(clients=3, entries=2)
    assert router.codes == [0, 0, 0]
    assert check([history]).verdict == "holds"


def answers(net: Net, client: str) -> list[tuple[Any, ...]]:
    net.run(lambda: bool(net.heard.get(client)))
    return [(body["type"], body.get("code")) for body in net.heard.pop(client)]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"type": "read"}, 10),
        ({"type": 7}, 12),
        ({}, 12),
        ({"type": "lock", "lock": []}, 12),
        ({"type": "lock", "timeout": "soon"}, 12),
        ({"type": "lock", "timeout": True}, 12),
        ({"type": "unlock"}, 22),
        ({"type": "unlock", "fence": 7}, 22),
        ({"type": "init", "node_id": "n0", "node_ids": ["n0"]}, 22),
    ],
)
def test_what_clients_do_wrong_has_its_code(body: Body, code: int) -> None:
    net = Net("central", nodes=2)
    net.say("c1", "n0", **body, msg_id=5)
    assert answers(net, "c1") == [("error", code)]


def test_a_client_that_cannot_wait_is_told_that_nothing_happened() -> None:
    net = Net("central", nodes=2)
    net.say("c1", "n0", type="lock", msg_id=1)
    assert answers(net, "c1") == [("lock_ok", None)]
    net.say("c2", "n1", type="lock", msg_id=1, timeout=50)
    assert answers(net, "c2") == [("error", 11)]
    net.say("c1", "n0", type="unlock", msg_id=2)
    assert answers(net, "c1") == [("unlock_ok", None)]
    net.say("c3", "n1", type="lock", msg_id=1)
    assert answers(net, "c3") == [("lock_ok", None)]


def test_before_init_nothing_is_done() -> None:
    heard: list[Body] = []
    node = MaelstromNode(
        find("central"), 1, lambda to, body: heard.append(body), lambda *_: Timer(lambda: None)
    )
    node.hear("c1", {"type": "lock", "msg_id": 1})
    node.hear("c1", {"type": "init", "msg_id": 2, "node_id": "n9", "node_ids": ["n1"]})
    assert [body["code"] for body in heard] == [11, 12]


INIT = b'{"src":"c1","dest":"n1","body":{"type":"init","msg_id":1,"node_id":"n1","node_ids":["n1"]}}\n'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"x\n", "line 2 of standard input is no message: JSON is malformed"),
        (b'{"src": "c1"}\n', "line 2 of standard input is no message: Object missing required field dest"),
        (
            b'{"src":"n7","dest":"n1","body":{"type":"algorithm","number":0}}\n',
            "'n7' sent a message of the algorithm",
        ),
        (
            b'{"src":"n1","dest":"n1","body":{"type":"algorithm","number":0}}\n',
            "n1 sent what is no message of central",
        ),
    ],
)
def test_what_is_no_message_ends_the_node_with_one_line(line: bytes, said: str) -> None:
    done = subprocess.run(
        soloist("maelstrom", "central"), input=INIT + line, capture_output=True, timeout=WATCHDOG_SECONDS
    )
    assert done.returncode in (1, 2)
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert done.stdout.count(b"\n") == 1


def started() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        soloist("maelstrom", "central"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(INIT)
    process.stdin.flush()
    assert b"init_ok" in process.stdout.readline()
    return process


def test_control_c() -> None:
    with started() as process:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=WATCHDOG_SECONDS)
    assert (process.returncode, said) == (130, b"soloist: interrupted\n")


def test_whoever_reads_has_gone() -> None:
    with started() as process:
        assert process.stdout
        process.stdout.close()
        process.stdout = None
        _, said = process.communicate(
            b'{"src":"c1","dest":"n1","body":{"type":"lock","msg_id":2}}\n', timeout=WATCHDOG_SECONDS
        )
    assert process.returncode == 1
    assert said == b"soloist: standard output is closed: whoever read the node's messages has gone\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], "unknown algorithm 'nope'"),
        (["central", "--k", "2"], "k must be 1 for central, not 2"),
        (["raymond-k", "--k", "0"], "k must be at least 1, not 0"),
    ],
)
def test_bad_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["maelstrom", *words]) == 2
    assert said in capsys.readouterr().err
