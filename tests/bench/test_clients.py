"""The clients' benchmark, for a moment: real nodes, real clients, real kills."""

from __future__ import annotations

import asyncio

from soloist.bench.clients import measure


def test_clients_are_killed_and_nothing_of_them_stays_behind() -> None:
    found = asyncio.run(measure("client", clients=4, seconds=1.0, seed=1))
    assert found.problems == []
    assert found.kills > 0
    assert found.entries > 4
    for node in found.nodes.values():
        assert node.clients == 0
        assert node.files[1] <= node.files[0]
        assert node.names[0] == node.names[1]
