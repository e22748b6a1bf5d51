"""While a client comes back, its words and those of its node cross: nobody takes for its own what somebody else may have."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from soloist.net import Client, connect
from soloist.net.client import contact
from soloist.net.client.line import Line, dial
from soloist.net.service.dialogue import Reply, Request, decode_request
from soloist.net.service.visit import Visit
from soloist.testing import eventually, ports
from tests.net.client.test_one_holder import Balancer
from tests.net.client.test_session import cut, served
from tests.net.helpers import log_lines, run


class Deaf:
    """The node has read the hellos of clients that came back, and nothing behind them, until it is to go on."""

    def __init__(self) -> None:
        self.visits: list[Visit] = []
        self.heard: list[Request] = []
        self.over = False

    def listen(self) -> None:
        self.visits[-1].transport.resume_reading()

    def wait(self) -> None:
        self.visits[-1].transport.pause_reading()


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Deaf:
    found, admit, asked = Deaf(), Visit._admit, Visit._asked

    def admitted(visit: Visit, *how: Any) -> None:
        admit(visit, *how)
        if visit.session and not visit.pulse and visit.session.turn > 1 and not found.over:
            visit.transport.pause_reading()
            found.visits.append(visit)

    def listened(visit: Visit, body: memoryview) -> None:
        found.heard.append(decode_request(body))
        asked(visit, body)

    monkeypatch.setattr(Visit, "_admit", admitted)
    monkeypatch.setattr(Visit, "_asked", listened)
    return found


async def back(client: Client) -> None:
    line = client.contact.line
    cut(client)
    await eventually(lambda: client.contact.line not in (None, line), "it is back")


def replies(client: Client) -> list[Reply]:
    """What it hears from now on."""
    found: list[Reply] = []
    heard = client.heard

    def listened(reply: Reply) -> None:
        found.append(reply)
        heard(reply)

    client.heard = listened  # type: ignore[method-assign]
    return found


def listens(client: Client, whether: bool) -> None:
    assert client.contact.line
    transport = client.contact.line.transport
    (transport.resume_reading if whether else transport.pause_reading)()


def test_who_has_heard_of_a_grant_hears_of_its_loss_whatever_it_had_asked_before(deaf: Deaf) -> None:
    """It had asked once more, over its new line; the node reads that when the grant is lost already, and then the line is cut again."""

    async def scenario() -> None:
        async with (
            served("a", lease=60) as (nodes, (server,), (where,)),
            connect(f"soloist://{where}") as client,
        ):
            taken = await nodes[0].lock("x").acquire_or_raise(None)
            asked = asyncio.create_task(client.lock("x", on_lost="flag").acquire_or_raise(None))
            (session,) = server.sessions.values()
            await eventually(lambda: session.requests.waiting and client.contact.session.begun)
            await back(client)
            await taken.release()
            hold = await asked
            listens(client, False)
            nodes[0].lose("lock:x", hold.fence, "it was broken")
            async with nodes[1].lock("x", timeout=10):
                heard = len(deaf.heard)
                deaf.listen()
                await eventually(lambda: len(deaf.heard) > heard, "it is read what was asked once more")
                await back(client)
                await eventually(lambda: not hold.valid, "it hears of the loss")
            await hold.release()
            deaf.listen()

    with log_lines():
        run(scenario())


def test_what_is_given_back_is_never_what_was_granted_since(deaf: Deaf) -> None:
    """A grant was lost before anybody could be let in: it is given back and asked for again, and meanwhile granted to the request before."""

    async def scenario() -> None:
        async with (
            served("a", lease=60) as (nodes, (server,), (where,)),
            connect(f"soloist://{where}") as client,
        ):
            server.silent = True  # nothing may be held yet
            taken = await nodes[0].lock("x").acquire_or_raise(None)
            asked = asyncio.create_task(client.lock("x", on_lost="flag").acquire_or_raise(None))
            (session,) = server.sessions.values()
            await eventually(lambda: session.requests.waiting)
            await back(client)
            await taken.release()
            await eventually(lambda: client.desk.unsure, "it is granted, in vain so far")
            listens(client, False)
            (lost,) = session.requests.holds.values()
            nodes[0].lose("lock:x", lost.fence, "it was broken")
            deaf.listen()
            await eventually(lambda: any(getattr(each, "name", "") == "x" for each in deaf.heard[1:]))
            deaf.wait()
            said = replies(client)
            listens(client, True)
            await eventually(
                lambda: len(said) > 1,
                "it has heard of the loss, and what came of what it had asked once more",
            )
            server.silent = False
            await eventually(lambda: client.contact.session.begun and not client.desk.unsure)
            other = asyncio.create_task(nodes[1].lock("x").acquire_or_raise(None))
            await asyncio.wait({other}, timeout=0.5)
            deaf.listen()
            later = await other
            assert not (asked.done() and asked.result().valid and later.valid)
            await later.release()
            async with asyncio.timeout(10):
                assert (await asked).valid
            await asked.result().release()

    with log_lines():
        run(scenario())


def test_what_comes_right_behind_a_welcome_is_heard_in_the_session_that_it_is_about(
    deaf: Deaf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind one address it came from a to b and back: what a grants at once is good as long as a says, and not b."""

    async def scenario() -> None:
        with ports("s") as found:
            async with (
                served("a", "b") as (nodes, servers, (first, second)),
                Balancer.at(found["s"], first, first) as balancer,
                connect(f"soloist://{found['s']}") as client,
            ):
                taken = await nodes[0].lock("x").acquire_or_raise(None)
                asked = asyncio.create_task(client.lock("x", on_lost="flag").acquire_or_raise(None))
                (session,) = servers[0].sessions.values()
                await eventually(lambda: session.requests.waiting)
                balancer.line = balancer.pulse = second
                await back(client)
                await eventually(lambda: client.contact.session.begun, "it has a session with b")
                granted, overtaken = asyncio.Event(), asyncio.Event()

                async def later(*call: Any) -> Any:
                    welcome = await dial(*call)
                    await taken.release()
                    granted.set()
                    await overtaken.wait()
                    return welcome

                monkeypatch.setattr(contact, "dial", later)
                balancer.line = first
                cut(client)
                await granted.wait()
                await eventually(
                    lambda: servers[0].sessions.get(session.key) is not session, "it was silent at a"
                )
                async with nodes[1].lock("x", timeout=10) as other:
                    assert not (asked.done() and asked.result().valid and other.valid)
                    monkeypatch.setattr(contact, "dial", dial)
                    balancer.pulse, deaf.over = first, True
                    overtaken.set()
                async with asyncio.timeout(20):
                    assert (await asked).valid
                await asked.result().release()

    with log_lines():
        run(scenario())


def test_a_line_that_is_lost_as_soon_as_it_is_made_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node hangs up right behind its welcome: nothing more comes over that line, and nobody takes it for one."""

    async def scenario() -> None:
        async with (
            served("a", lease=60) as (nodes, _, (where,)),
            connect(f"soloist://{where}") as client,
        ):
            hold = await client.lock("x").acquire_or_raise(None)

            made: list[Line] = []

            async def lost(*call: Any) -> Any:
                monkeypatch.setattr(contact, "dial", dial)
                line, welcome = await dial(*call)
                made.append(line)
                line.transport.abort()
                await line.gone.wait()
                return line, welcome

            monkeypatch.setattr(contact, "dial", lost)
            cut(client)
            await eventually(lambda: made and client.contact.line)
            assert hold.valid
            await hold.release()
            async with nodes[1].lock("x", timeout=10):
                pass

    with log_lines():
        run(scenario())
