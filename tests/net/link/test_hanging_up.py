"""A node that hangs up leaves nobody on the line."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from soloist.net import Node
from soloist.net.link.tcp import TcpTransport
from soloist.testing import eventually, ports
from tests.net.helpers import run
from tests.net.link.certificates import Authority


@pytest.mark.parametrize("protected", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("turns", range(6))
def test_whoever_comes_while_a_node_hangs_up_is_hung_up_on(
    turns: int, protected: bool, tmp_path: Path
) -> None:
    """It takes turns of the loop from accepting a socket to knowing its connection; all of them are tried."""

    async def main() -> None:
        with ports("a", "b") as peers:
            tls = Authority(tmp_path).certificate("a") if protected else None
            async with Node("a", peers, tls=tls) as node:
                transport = node.transport
                assert isinstance(transport, TcpTransport)
                listen = transport.listen
                with socket.create_connection((listen.host, listen.port)) as stranger:
                    stranger.setblocking(False)
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    transport._hang_up()

                    def gone() -> bool:
                        try:
                            return stranger.recv(1) == b""
                        except BlockingIOError:
                            return False
                        except ConnectionResetError:
                            return True

                    await eventually(gone, "the stranger's connection is closed")

    run(main())
