"""Our own locks as programs use them that come and go: clients of one node, in a process of its own."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from soloist.net import Client, Hold

FILE = """
cluster = "bench-{port}"
lease = "none"
data_dir = "{directory}/data-{port}"
control = "{control}"
[nodes.n]
address = "unix:{directory}/n"
clients = "127.0.0.1:{port}"
"""


def control_of(port: int | str) -> Path:
    """The node's own socket. Clients know the port and no more."""
    return Path(tempfile.gettempdir(), f"soloist-bench-{port}.sock")


def node_command(directory: Path, port: int) -> list[str]:
    file = directory / "cluster.toml"
    file.write_text(FILE.format(port=port, control=control_of(port), directory=directory))
    return [sys.executable, "-m", "soloist", "node", "--name", "n", "--config", str(file), "--grace", "0s"]


class ByPort:
    """A client of that node, for one task."""

    def __init__(self, where: str, name: str) -> None:
        self.client = Client(self.url(where))
        self.lock = self.client.lock(name)

    def url(self, where: str) -> str:
        return f"soloist://127.0.0.1:{where}"

    async def open(self) -> None:
        await self.client.start()

    async def acquire(self) -> Hold:
        return await self.lock.acquire_or_raise(None)

    async def release(self, held: Hold) -> None:
        held.release_now()

    async def close(self) -> None:
        await self.client.close()


class BySocket(ByPort):
    def url(self, where: str) -> str:
        return f"unix:{control_of(where)}"
