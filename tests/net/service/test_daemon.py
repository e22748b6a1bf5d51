"""Daemons, and what uses them: real processes, killed for real."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shlex
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from soloist.core import UsageError
from soloist.net import AcquireTimeout, LockError, NodeClosed, WouldDeadlock
from soloist.net.client import operator
from soloist.net.client.operator import operate
from soloist.net.client.session import Granted
from soloist.net.engine.outgoing import Outgoing
from soloist.net.link.wire import encode, frame
from soloist.net.service.control import ControlServer
from soloist.net.service.dialogue import VERSION, Acquire, Hello, Release
from soloist.testing import eventually, memory_cluster, ports, until
from tests.net.helpers import assert_at_rest, log_lines, run
from tests.net.service.clients import take
from tests.net.service.daemons import LOOP, SECONDS, Cluster, alive, cluster, waiters


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """Two daemons that no test stops."""
    with cluster("a", "b") as found:
        yield found


def test_run_gives_the_commands_exit_code_and_a_growing_fence(pair: Cluster) -> None:
    script = 'echo "$SOLOIST_LOCK $SOLOIST_FENCE"; exit 7'
    fences = []
    for node in ("a", "b", "a"):
        code, out, err = pair.say("run", "codes", "--name", node, "--", "sh", "-c", script)
        assert (code, err) == (7, "")
        lock, fence = out.split()
        assert lock == "codes"
        fences.append(int(fence))
    assert fences == sorted(set(fences))
    assert pair.say("run", "codes", "--name", "a", "--", "sh", "-c", "kill -9 $$")[0] == 128 + 9
    code, _, err = pair.say("run", "codes", "--name", "a", "--json", "--", "sh", "-c", "exit 3")
    outcome = json.loads(err)
    assert (code, outcome["exit_code"], outcome["lock"], outcome["problem"]) == (3, 3, "codes", None)
    assert outcome["fence"] > fences[-1]


def test_a_command_that_cannot_run_waits_for_nothing(pair: Cluster) -> None:
    holder = pair.hold("missing", "--name", "a")
    code, out, err = pair.say("run", "missing", "--name", "b", "--", "no-such-command")
    assert (code, out, err) == (127, "", "soloist: no-such-command: no such command\n")
    code, out, err = pair.say("run", "missing", "--name", "b", "--", "/etc/passwd")
    assert (code, out, err) == (126, "", "soloist: /etc/passwd is not executable\n")
    holder.kill()


def test_a_timeout_names_the_holder(pair: Cluster) -> None:
    holder = pair.hold("busy", "--name", "a", "--note", "night job")
    code, out, err = pair.say("run", "busy", "--name", "b", "--timeout", "200ms", "--", "echo", "no")
    assert (code, out) == (1, "")
    assert err.startswith("soloist: 'busy' was not granted within 0.2 s; held by a for ")
    assert err.endswith("s (night job)\n")
    assert err.count("\n") == 1
    code, _, err = pair.say("run", "busy", "--name", "a", "--timeout", "0", "--", "echo", "no")
    assert code == 1
    assert "held by a" in err
    holder.kill()


def test_a_semaphore_lets_so_many_in(pair: Cluster) -> None:
    gpu = ("gpu", "--semaphore", "2")
    first, second = pair.hold(*gpu, "--name", "a"), pair.hold(*gpu, "--name", "b")
    code, _, err = pair.say("run", *gpu, "--name", "b", "--timeout", "0.2", "--", "true")
    assert code == 1
    assert "held by a for" in err
    assert " and b for" in err
    first.terminate()
    assert pair.finish(first)[0] == 128 + signal.SIGTERM
    assert pair.say("run", *gpu, "--name", "b", "--timeout", "20", "--", "true")[0] == 0
    code, _, err = pair.say("run", "gpu", "--semaphore", "3", "--name", "b", "--", "true")
    assert code == 1
    assert "has a capacity of 2 here, not 3" in err
    second.kill()


def test_kill_9_of_a_client_frees_its_lock_and_ends_its_command(pair: Cluster) -> None:
    holder = pair.hold("killed", "--name", "a")
    waiting = pair.start("run", "killed", "--name", "b", "--", "sh", "-c", "echo $SOLOIST_FENCE")
    until(lambda: waiters(pair, "killed") == {"b": 1}, "b waits")
    assert alive(holder.child)
    holder.kill()
    code, out, _ = pair.finish(waiting)
    assert code == 0
    assert int(out) > holder.fence
    until(lambda: not alive(holder.child), "the command is dead")


def test_kill_9_of_a_client_that_waits_withdraws_its_request(pair: Cluster) -> None:
    holder = pair.hold("left", "--name", "a")
    waiting = pair.start("run", "left", "--name", "b", "--", "echo", "never")
    until(lambda: waiters(pair, "left") == {"b": 1}, "b waits")
    waiting.kill()
    until(lambda: waiters(pair, "left") == {}, "b waits no longer")
    holder.kill()
    assert pair.say("run", "left", "--name", "a", "--timeout", "20", "--", "true")[0] == 0
    assert pair.finish(waiting)[1] == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command(pair: Cluster, number: signal.Signals) -> None:
    kind = number.name.removeprefix("SIG")
    lock = f"signal-{kind}"
    trap = f"trap 'echo got {kind}; exit 5' {kind}"
    holder = pair.hold(lock, "--name", "a", first=trap, script=LOOP)
    holder.send_signal(number)
    code, out, _ = pair.finish(holder)  # the shell may say what the signal did to its children
    assert (code, out) == (5, f"got {kind}\n")
    holder = pair.hold(lock, "--name", "a")
    waiting = pair.start("run", lock, "--name", "b", "--", "echo", "never")
    until(lambda: waiters(pair, lock) == {"b": 1}, "b waits")
    waiting.send_signal(number)
    assert pair.finish(waiting) == (128 + number, "", f"soloist: interrupted while waiting for {lock!r}\n")
    holder.kill()


def test_holders_says_who_since_when_and_why(pair: Cluster) -> None:
    holder = pair.hold("noted", "--name", "b", "--note", "because")
    (row,) = pair.json("holders", "noted", "--name", "a")["holders"]
    assert (row["lock"], row["kind"], row["node"], row["holding"]) == ("noted", "lock", "b", 1)
    assert (row["note"], row["fence"], row["waiting"]) == ("because", holder.fence, 0)
    assert row["held_for"] > 0
    assert row["since"].endswith("Z")
    code, out, err = pair.say("holders", "noted", "--name", "a")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].split()[:4] == ["noted", "lock", "b", "1"]
    assert out.splitlines()[-1].endswith("because")
    holder.terminate()
    holder.wait(SECONDS)
    assert pair.say("holders", "noted", "--name", "a")[1] == "nobody holds anything, and nobody waits\n"


def test_status_says_who_is_there(pair: Cluster) -> None:
    status = pair.json("status", "--name", "b")
    assert (status["cluster"], status["node"], status["pid"]) == ("t", "b", pair.daemons["b"].pid)
    assert (status["algorithm"], status["semaphore_algorithm"]) == ("bulgannawar-vaidya", "srimani-reddy")
    assert [(member["name"], member["connected"]) for member in status["members"]] == [
        ("a", True),
        ("b", True),
    ]
    assert {"entries", "messages_sent", "messages_received", "reconnects", "uptime", "locks"} <= set(status)
    code, out, _ = pair.say("status", "--name", "b")
    assert code == 0
    assert "bulgannawar-vaidya for locks" in out


def test_status_and_the_log_say_once_what_is_the_matter() -> None:
    with cluster("a", "b", start=False) as found:
        found.daemon("a")
        found.ready("a")
        matter = "the cluster has not begun: not seen yet: b"
        assert found.json("status", "--name", "a")["trouble"] == matter
        assert matter in found.say("status", "--name", "a")[1]
        until(lambda: f"a: not connected: b; {matter}" in found.log("a"), "it is logged")
        until(lambda: "nobody is let in yet" in found.log("a"), "the node says it, too, some seconds later")
        found.daemon("b")
        until(lambda: "a: connected to everybody" in found.log("a"), "they have met")
        assert found.log("a").count("a: not connected") == 1
        until(lambda: found.json("status", "--name", "a")["trouble"] == "", "nothing is the matter")


def test_several_nodes_here_are_named(pair: Cluster) -> None:
    code, _, err = pair.say("status")
    assert (code, err) == (
        2,
        "soloist: several nodes of cluster.toml run here (a, b); choose one with --name, or cluster.toml#a as URL\n",
    )


def test_two_daemons_of_one_name_are_refused(pair: Cluster) -> None:
    code, out, err = pair.say("node", "--name", "a")
    assert (code, out) == (2, "")
    assert err.startswith(f"soloist: node 'a' runs here already, as process {pair.daemons['a'].pid} (see ")
    assert err.count("\n") == 1
    assert pair.say("status", "--name", "a")[0] == 0


def test_only_its_user_may_open_the_socket(pair: Cluster) -> None:
    assert stat.S_IMODE((pair.directory / "t-a.sock").stat().st_mode) == 0o600


WORK = "until [ -e go ]; do sleep 0.02; done; echo done"
"""It takes as long as the test wants."""


def names_of_members(found: Cluster, name: str) -> list[str]:
    return [member["name"] for member in found.json("status", "--name", name)["members"]]


def test_a_daemon_that_is_stopped_lets_its_holders_finish_first() -> None:
    """Nobody else is let in there meanwhile, and it says that it is leaving; then the other node gets the lock."""
    with cluster("a", "b", start=False) as found:
        found.daemon("a", "--grace", "120")  # the commands below need time to start
        found.daemon("b")
        found.ready("a", "b")
        holder = found.hold("x", "--name", "a", script=WORK)
        waiting = found.start("run", "x", "--name", "b", "--", "sh", "-c", "echo $SOLOIST_FENCE")
        until(lambda: waiters(found, "x") == {"b": 1}, "b waits")
        refused = found.start("run", "x", "--name", "a", "--", "echo", "never")
        until(lambda: waiters(found, "x") == {"a": 1, "b": 1}, "a waits, too")
        assert found.json("status", "--name", "a")["leaving"] is None
        found.daemons["a"].terminate()
        assert found.finish(refused) == (1, "", "soloist: node 'a' is being stopped\n")
        assert found.json("status", "--name", "a")["leaving"] == "node 'a' is being stopped"
        assert "leaving" in found.say("status", "--name", "a")[1]
        code, _, err = found.say("run", "y", "--name", "a", "--", "echo", "never")
        assert (code, err) == (1, "soloist: node 'a' is being stopped\n")
        (found.directory / "go").touch()
        assert found.finish(holder) == (0, "done\n", "")
        code, out, _ = found.finish(waiting)
        assert code == 0
        assert int(out) > holder.fence
        assert found.daemons["a"].wait(SECONDS) == 0
        assert not [path.name for path in found.directory.iterdir() if path.name.startswith("t-a.sock")]
        assert found.say("status", "--name", "a")[0] == 1
        until(lambda: names_of_members(found, "b") == ["b"], "who has left is no member any more")
        found.daemons["b"].send_signal(signal.SIGINT)
        assert found.daemons["b"].wait(SECONDS) == 0


def test_whoever_has_not_finished_in_time_is_stopped() -> None:
    """And still has let go before the other node gets the lock."""
    with cluster("a", "b", start=False) as found:
        found.daemon("a", "--grace", "3")
        found.daemon("b")
        found.ready("a", "b")
        trap = "trap 'sleep 0.3; echo done; exit 0' TERM"
        holder = found.hold("x", "--name", "a", first=trap, script=LOOP)
        waiting = found.start("run", "x", "--name", "b", "--", "sh", "-c", "echo $SOLOIST_FENCE")
        until(lambda: waiters(found, "x") == {"b": 1}, "b waits")
        found.daemons["a"].terminate()
        code, out, err = found.finish(holder)
        assert (code, out) == (1, "done\n")
        assert "'x' was lost while sh ran, and it was stopped: node 'a' is being stopped" in err
        code, out, _ = found.finish(waiting)
        assert code == 0
        assert int(out) > holder.fence
        assert found.daemons["a"].wait(SECONDS) == 0


def test_a_second_signal_stops_a_daemon_at_once() -> None:
    with cluster("a", start=False) as found:
        found.daemon("a", "--grace", "1000")
        found.ready("a")
        holder = found.hold("x")
        found.daemons["a"].terminate()
        until(lambda: found.json("status", "--name", "a")["leaving"], "it is leaving")
        assert alive(holder.child)
        found.daemons["a"].terminate()
        assert found.daemons["a"].wait(SECONDS) == 0
        code, _, err = found.finish(holder)
        assert code == 1
        assert "'x' was lost while sh ran" in err


def test_a_daemon_that_is_killed_takes_the_commands_of_its_clients_along() -> None:
    with cluster("a") as found:
        polite = found.hold("x")
        stubborn = found.hold("y", "--kill-after", "0.3", first="trap '' TERM")
        found.daemons["a"].kill()
        for client in (polite, stubborn):
            code, _, err = found.finish(client)
            assert code == 1
            assert "was lost while sh ran" in err
            assert err.endswith("is gone\n")
            assert not alive(client.child)
        assert (found.directory / "t-a.sock").exists()
        found.daemon("a")  # what the dead one left is in nobody's way
        found.ready("a")
        assert found.say("run", "x", "--", "true")[0] == 0


def test_logs_traces_and_metrics_of_a_daemon() -> None:
    with (
        ports("metrics") as more,
        cluster("a", start=False, more=f'metrics = "{more["metrics"]}"\n') as found,
    ):
        found.daemon("a", "--log", "json", "--log-level", "debug", "--trace", "steps.jsonl")
        found.ready("a")
        assert found.say("run", "x", "--", "true")[0] == 0
        with urlopen(f"http://{more['metrics']}/metrics", timeout=SECONDS) as answer:
            assert 'soloist_wait_seconds_count{kind="lock"} 1.0\n' in answer.read().decode()
        found.daemons["a"].terminate()
        assert found.daemons["a"].wait(SECONDS) == 0
        lines = [json.loads(line) for line in found.log("a").splitlines()]
        assert all((line["cluster"], line["node"]) == ("t", "a") for line in lines)
        granted = next(line for line in lines if "granted" in line["message"])
        assert (granted["level"], granted["lock"], granted["fence"] & 0xFFFF) == ("debug", "x", 1)
        traced = [json.loads(line) for line in (found.directory / "steps.jsonl").read_text().splitlines()]
        steps = [line for line in traced if "soloist" not in line]
        assert len(steps) < len(traced)  # a head, how the lock began, the fence
        assert [(step["lock"], step["kind"]) for step in steps] == [
            ("lock:x", "request"),
            ("lock:x", "enter"),
            ("lock:x", "exit"),
        ]


def test_a_daemon_without_a_secret_says_once_what_that_means() -> None:
    with cluster("a", "b") as found:
        said = "neither tls nor secret_file: every user of this host can speak as a node"
        assert [found.log(name).count(said) for name in "ab"] == [1, 1]
    with cluster("a", "b", start=False, more='secret_file = "keys/secret"\n') as found:
        assert found.say("keys", "keys", "--secret") == (0, "keys/secret\n", "")
        for name in "ab":
            found.daemon(name)
        found.ready("a", "b")
        for name in "abab":
            assert found.say("run", "x", "--name", name, "--", "true") == (0, "", "")
        assert [found.log(name).count("secret") for name in "ab"] == [0, 0]


PAGE = Path(__file__).parents[3] / "docs" / "locks.md"


def test_the_example_of_the_page_runs() -> None:
    """Its cluster.toml, with free ports, and its commands one after the other; daemons stay until the end."""
    text = PAGE.read_text()
    (config,) = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (commands,) = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    with cluster("a", "b", start=False) as found:
        for name, where in found.addresses.items():
            config = re.sub(rf'^{name} = ".*"$', f'{name} = "{where}"', config, flags=re.MULTILINE)
        (found.directory / "cluster.toml").write_text(config)
        said = []
        for line in commands.splitlines():
            program, verb, *words = shlex.split(line, comments=True)
            assert program == "soloist"
            if verb == "node":
                found.daemon(words[-1])
                found.ready(words[-1])
            else:
                code, out, err = found.say(verb, *words)
                assert (code, err) == (0, ""), line
                said.append(out)
        assert "mine\n" in said
        assert not [
            line for line in found.log("a").splitlines() if "WARNING" in line and "connected" not in line
        ]


def test_a_port_in_use_is_said_in_one_line(pair: Cluster) -> None:
    other = pair.directory / "other.toml"
    other.write_text((pair.directory / "cluster.toml").read_text().replace('"t"', '"u"'))
    code, _, err = pair.say("node", "--name", "a", "--config", "other.toml")
    assert code == 2
    assert err.startswith("soloist: cannot listen at 127.0.0.1:")
    assert err.endswith("Address already in use\n")


# The control socket, from inside.


@asynccontextmanager
async def served(names: str = "ab") -> Any:
    """Nodes in memory, and a control socket at the first."""
    directory = Path(tempfile.mkdtemp(prefix="soloist-"))
    async with memory_cluster(names) as nodes:
        server = ControlServer(nodes[0], "t", dict.fromkeys(names, ""))
        await server.start(directory / "s")
        try:
            yield nodes, server, directory / "s"
        finally:
            await server.close()
            shutil.rmtree(directory)


def woken_later(ticket: Granted) -> None:
    if ticket.future and not ticket.future.done():
        ticket.future.set_result(None)
        ticket.future.wake_soon()


def a_peer_is_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or so nodes think: then each request has a task. They wait for nobody, though."""

    async def room(outgoing: Outgoing) -> None: ...

    monkeypatch.setattr(Outgoing, "behind", property(lambda _: {"b"}, lambda *_: None), raising=False)
    monkeypatch.setattr(Outgoing, "room", room)


@pytest.fixture(params=["as it is", "a task for each", "a turn for each"])
def whatever_is_fast(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request waits without a task of its own at its node, unless a peer is far behind; and its caller goes on as soon as the answer is
    read, not in the next turn of the loop. The slow ways keep the same rules."""
    if request.param == "a task for each":
        a_peer_is_far_behind(monkeypatch)
    elif request.param == "a turn for each":
        monkeypatch.setattr("soloist.net.client.desk._wake", woken_later)


@pytest.mark.usefixtures("whatever_is_fast")
def test_a_client_locks_and_releases() -> None:
    async def scenario() -> None:
        async with served() as (nodes, _, path), operate(path) as client, operate(path) as other:
            hold = await take(client, "x", note="mine")
            assert hold.fence == nodes[0].instances["lock:x"].fence
            with pytest.raises(WouldDeadlock):
                await take(client, "x")
            with pytest.raises(AcquireTimeout, match=r"held by a for .* \(mine\)") as caught:
                await take(other, "x", timeout=0.01)
            assert caught.value.holder == "a"
            waiting = asyncio.create_task(take(other, "x"))
            await eventually(lambda: nodes[0].instances["lock:x"].waiting == 1)
            await hold.release()
            await hold.release()
            assert (await waiting).fence == hold.fence + 1
            with pytest.raises(ValueError, match="permits must be from 1 to"):
                await take(client, "s", value=2, permits=3)
            two = await take(client, "s", value=2, permits=2)
            with pytest.raises(AcquireTimeout):
                await take(other, "s", value=2, timeout=0)
            await two.release()
            await waiting.result().release()
            assert (await operator.holders(client)).views == []
            assert (await operator.status(client)).clients == 2
        assert_at_rest(nodes)

    run(scenario())


def test_a_client_may_collect_several_permits_twice_at_a_time() -> None:
    """One collection waits for the other, as it would for anybody's; that is no deadlock."""

    async def scenario() -> None:
        async with served() as (nodes, _, path), operate(path) as client, operate(path) as other:
            taken = await take(other, "s", value=4, permits=3)
            both = [asyncio.create_task(take(client, "s", value=4, permits=2)) for _ in range(2)]
            await eventually(lambda: nodes[0].instances["permits:s"].waiting == 1, "both collect")
            await taken.release()
            for hold in await asyncio.gather(*both):
                await hold.release()
        assert_at_rest(nodes)

    run(scenario())


@pytest.mark.parametrize(
    "asked",
    [
        {"name": ""},
        {"name": "x" * 2000},
        {"name": "\udcff"},
        {"name": "x", "note": "x" * 2000},
        {"name": "x", "timeout": -1},
        {"name": "x", "value": 0},
        {"name": "x", "value": 30_000},
        {"name": "x", "value": 2**70},
        {"name": "x", "value": 2, "permits": 3},
    ],
    ids=str,
)
def test_a_daemon_checks_what_it_is_asked_before_it_does_anything(asked: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with served() as (nodes, _, path), operate(path) as client:
            with pytest.raises(UsageError):
                await take(client, **asked)
            assert not [node for node in nodes if node.instances]
            await (await take(client, "x")).release()

    run(scenario())


@pytest.mark.usefixtures("whatever_is_fast")
def test_whoever_goes_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with served() as (nodes, server, path):
            async with operate(path) as client, operate(path) as other:
                await take(client, "x")
                waiting = [asyncio.create_task(take(other, "x")) for _ in range(3)]
                await eventually(lambda: nodes[0].instances["lock:x"].waiting == 3)
                waiting[1].cancel()
                await eventually(lambda: nodes[0].instances["lock:x"].waiting == 2)
                waiting[0].cancel()
                waiting[2].cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
            await eventually(lambda: not server.sessions)
            async with nodes[1].lock("x", timeout=5):
                pass
            assert_at_rest(nodes)

    run(scenario())


def test_who_asks_and_gives_up_in_one_breath_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a request has a task, because a peer is far behind for example, that may be cancelled before it begins. It stayed
    among those that wait, and at its end the session failed: what the client held was never given back."""
    a_peer_is_far_behind(monkeypatch)

    async def scenario() -> None:
        async with served() as (nodes, server, path):
            async with operate(path) as client:
                await take(client, "x")
                [session] = server.sessions.values()
                number = client.desk.next()
                both = (Acquire(number, "y"), Release(number))
                client.contact.write(b"".join(frame(encode(said)) for said in both))
                assert (await operator.status(client)).clients == 1  # both have been heard
                assert not session.requests.acquiring
            await eventually(lambda: not server.sessions)
            async with nodes[1].lock("x", timeout=5):
                pass
        assert_at_rest(nodes)

    run(scenario())


@pytest.mark.usefixtures("whatever_is_fast")
def test_clients_cancelled_at_any_moment_leak_nothing() -> None:
    seed = random.randrange(10**9)
    chance = random.Random(seed)

    async def visit(path: Path) -> None:
        async with operate(path) as client:
            for _ in range(20):
                waiting = asyncio.create_task(take(client, "x"))
                for _ in range(chance.randrange(12)):
                    await asyncio.sleep(0)
                waiting.cancel()
                try:
                    hold = await waiting
                except asyncio.CancelledError:
                    continue
                assert not inside, f"seed {seed}"
                inside.append(hold)
                await asyncio.sleep(0)
                inside.remove(hold)
                await hold.release()

    inside: list[object] = []

    async def scenario() -> None:
        async with served() as (nodes, server, path):
            await asyncio.gather(*(visit(path) for _ in range(8)))
            await eventually(lambda: not server.sessions, f"all are gone, seed {seed}")
            async with nodes[1].lock("x", timeout=5):
                pass
            assert_at_rest(nodes)

    run(scenario())


@pytest.mark.usefixtures("whatever_is_fast")
def test_a_stopping_daemon_refuses_waits_and_then_evicts() -> None:
    async def scenario() -> None:
        async with (
            served() as (nodes, server, path),
            operate(path) as client,
            operate(path) as other,
        ):
            early, late = await take(client, "x"), await take(client, "late")
            waiting = asyncio.create_task(take(other, "x"))
            await eventually(lambda: nodes[0].instances["lock:x"].waiting == 1)
            draining = asyncio.create_task(server.drain(1))
            with pytest.raises(NodeClosed, match="is being stopped"):
                await waiting
            with pytest.raises(NodeClosed, match="is being stopped"):
                await take(other, "y")
            assert (await operator.status(other)).leaving == "node 'a' is being stopped"
            assert len((await operator.holders(other)).views) == 2
            await early.release()
            assert not early.lost.is_set()
            await late.lost.wait()
            assert late.why == "'late' is lost: node 'a' is being stopped"
            assert not draining.done()
            await late.release()
            await draining

    run(scenario())


def test_holds_are_lost_with_their_node_and_with_their_daemon() -> None:
    async def scenario() -> None:
        async with served() as (nodes, server, path), operate(path) as client:
            first = await take(client, "x")
            await nodes[0].close()
            await first.lost.wait()
            assert "the node was closed" in first.why
            with pytest.raises(NodeClosed, match="is closed"):
                await take(client, "y")
            await server.close()
            with pytest.raises(NodeClosed, match="is gone"):
                await take(client, "y")
            with pytest.raises(LockError, match="no daemon answers"):
                async with operate(path.with_name("nobody")):
                    pass

    run(scenario())


async def converse(path: Path, *said: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b"".join(said))
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def test_nonsense_on_the_control_socket_harms_nobody_else() -> None:
    seed = random.randrange(10**9)
    chance = random.Random(seed)
    hello = frame(encode(Hello(VERSION)))
    acquire = encode(Acquire(1, "y"))
    told = {
        "it did not say hello": [frame(acquire)],
        "it speaks version 99": [frame(encode(Hello(99)))],
        "number 1 is in use": [hello, frame(acquire), frame(acquire)],
        "a frame of 4294967295 bytes": [hello, b"\xff" * 9],
        "Invalid value": [hello, frame(encode(["dance"]))],
        "Expected `str`": [hello, frame(encode(["acquire", 1, 3]))],
    }

    async def scenario(lines: list[str]) -> None:
        async with served() as (nodes, server, path), operate(path) as client:
            hold = await take(client, "x")
            for why, said in told.items():
                await converse(path, *said)
                assert why in lines[-1]
            assert len(lines) == len(told)
            for _ in range(300):
                junk = chance.randbytes(chance.randrange(1, 40))
                reader, writer = await asyncio.open_unix_connection(str(path))
                writer.write(chance.choice([b"", hello]) + chance.choice([junk, frame(junk)]))
                writer.write_eof()
                await reader.read()
                writer.close()
                await writer.wait_closed()
            await eventually(lambda: len(server.sessions) == 1, f"the others are gone, seed {seed}")
            assert not hold.lost.is_set(), f"seed {seed}"
            with pytest.raises(AcquireTimeout):
                async with nodes[1].lock("x", timeout=0.05):
                    pass
            await hold.release()
            async with nodes[1].lock("x", timeout=5), nodes[1].lock("y", timeout=5):
                pass
            assert_at_rest(nodes)

    with log_lines() as lines:
        run(scenario(lines))


def test_a_client_that_does_not_read_is_dropped() -> None:
    async def scenario(lines: list[str]) -> None:
        async with served() as (_, server, path):
            reader, writer = await asyncio.open_unix_connection(str(path), limit=1)
            writer.write(frame(encode(Hello(VERSION, "a mute"))))
            ask = b"".join(frame(encode(["status", number])) for number in range(1000))

            async def talk() -> None:
                while True:
                    writer.write(ask)
                    await writer.drain()

            with pytest.raises(ConnectionError):
                await talk()
            await eventually(lambda: not server.sessions)
            assert "dropped a mute on the control socket: it does not read" in lines[-1]
            writer.close()
            with pytest.raises(ConnectionError):
                await writer.wait_closed()
            del reader

    with log_lines() as lines:
        run(scenario(lines))


def test_a_second_daemon_on_a_unix_address_is_refused_too(tmp_path: Path) -> None:
    """The claim is a lock on a file, so not even an address that could be taken over lets a second one in."""
    from soloist.net.service.config import parse
    from soloist.net.service.daemon import claimed

    directory = Path(tempfile.mkdtemp(prefix="soloist-"))
    member = parse(f'[nodes]\na = "unix:{directory}/a"\n', directory / "cluster.toml").member("a")
    with claimed(member):
        with pytest.raises(UsageError, match=f"runs here already, as process {os.getpid()}"), claimed(member):
            pass
        assert (directory / "soloist-a.sock.lock").exists()
    with claimed(member):
        pass
    assert list(directory.iterdir()) == []
    directory.rmdir()


def test_a_vote_file_of_another_cluster_of_that_name_names_both_files() -> None:
    """Two clusters that nobody has given names share a directory, as a rule."""
    with cluster("a", "b", more='lease = 2\ndata_dir = "data-{name}"\n') as found:
        assert found.say("run", "x", "--name", "a", "--", "true")[0] == 0
        for daemon in found.daemons.values():
            daemon.terminate()
        for daemon in found.daemons.values():
            daemon.wait()
        other = found.directory / "other.toml"
        nodes = f'a = "{found.addresses["a"]}"\nz = "127.0.0.1:1"\n'
        other.write_text('cluster = "t"\nlease = 2\ndata_dir = "data-{name}"\n[nodes]\n' + nodes)
        found.daemon("a", "--config", "other.toml")
        found.ready("a")
        until(lambda: "a does not vote" in found.log("a"), "it is said")
        (line,) = [line for line in found.log("a").splitlines() if "a does not vote" in line]
        assert f"was written for the peers of {found.directory / 'cluster.toml'} " in line
        assert f"not for those of {other} " in line
        trouble = found.json("status", "--config", "other.toml", "--name", "a")["trouble"]
        assert "it does not vote: " in trouble
