"""Ports that are ours until the end, and may be listened at meanwhile."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pytest

from soloist.testing import free_ports, ports, until
from soloist.testing.ports import reserved

PROGRAM = """
import sys
from soloist.testing import ports
names = [str(number) for number in range(200)]
with ports(*names) as found:
    print(" ".join(found.values()), flush=True)
    sys.stdin.readline()
"""


def test_two_processes_never_get_the_same() -> None:
    command = [sys.executable, "-c", PROGRAM]
    with ports(*(str(number) for number in range(200))) as ours:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert child.stdout
            theirs = child.stdout.readline().split()
        finally:
            child.communicate("\n", timeout=60)
    assert len(set(theirs)) == 200
    assert not set(theirs) & set(ours.values())


def test_a_server_listens_there_again_and_again_while_nobody_else_gets_it() -> None:
    async def main(host: str, port: int) -> None:
        for _ in range(3):
            server = await asyncio.start_server(lambda reader, writer: writer.close(), host, port)
            reader, writer = await asyncio.open_connection(host, port)
            assert await reader.read() == b""
            writer.close()
            server.close()
            await server.wait_closed()

    with ports("a") as found:
        host, port = found["a"].split(":")
        asyncio.run(main(host, int(port)))
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind((host, int(port)))


def test_afterwards_it_is_free_for_anybody() -> None:
    with reserved(3) as numbers:
        pass
    [other] = free_ports(1)
    for number in {*numbers, other}:

        def bound(number: int = number) -> bool:
            with socket.socket() as one:
                one.bind(("127.0.0.1", number))
                return True

        until(bound)
