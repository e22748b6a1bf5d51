"""Leaders that are clients of a daemon, which is killed and started again."""

from __future__ import annotations

import asyncio

from soloist import connect, connect_sync
from soloist.testing import eventually
from tests.net.helpers import run
from tests.net.service.daemons import Cluster, cluster


def test_a_client_leads_again_when_its_daemon_is_back() -> None:
    with cluster("a") as found:
        run(leads_again(found, f"unix:{found.directory}/t-a.sock"), 60)


async def leads_again(found: Cluster, url: str) -> None:
    async with connect(url, program="candidate") as client:
        client.contact.patience = 0.1  # so that it is told that nobody answers
        told: list[str] = []
        leader = client.leader(
            "x", on_gain=lambda hold: told.append("gain"), on_loss=lambda hold: told.append("loss")
        )
        async with leader:
            before = (await leader.elected()).fence
            found.daemons["a"].kill()
            await eventually(lambda: not leader.leading, "the lead is lost")
            await eventually(lambda: told == ["gain", "loss"], "it was told")
            await asyncio.to_thread(found.daemons["a"].wait)
            found.daemon("a")
            assert (await leader.elected()).fence > before
        assert told == ["gain", "loss", "gain", "loss"]


def test_a_client_in_threads_leads() -> None:
    with cluster("a") as found, connect_sync(f"unix:{found.directory}/t-a.sock") as client:
        with client.leader("x", note="me") as leader:
            assert leader.elected(60)
            assert leader.term
            assert [each.note for each in client.inspect("x").holders] == ["me"]
        assert client.leader("x").run(lambda hold: hold.fence) > 0
        assert not client.inspect("x").holders
