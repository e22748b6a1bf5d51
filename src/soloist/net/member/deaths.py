"""Who has ended, for certain: processes on this host, and those whose sentinels say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soloist.net.link.handshake import Who
from soloist.net.member.pidfd import PeerProcess, take
from soloist.net.member.testament import Testament


class Deaths:
    """What one node hears of the ends of its peers; `dead` is told the incarnation, and how that is known."""

    def __init__(self, testament: Testament, dead: Callable[[str, str], None]) -> None:
        self.testament, self.dead = testament, dead
        self.processes: dict[str, PeerProcess] = {}
        """Of peers on this host."""
        self.closed = False

    def watch(self, theirs: Who, sock: Any) -> None:
        """On one host the end of a process is known at once, and for certain. But if it serves others, they go on."""
        if before := self.processes.pop(theirs.node, None):
            before.close()
        process = None if self.closed else take(sock, None)  # others may get through to us until the end
        if process and process.confirmed and not theirs.serves:
            self.processes[theirs.node] = process
            process.watch(lambda: self.dead(theirs.incarnation, "its process is gone"))
        elif process:
            process.close()

    def hear_will(self, will: str) -> None:
        if ended := self.testament.whose(will):
            self.dead(ended, "its sentinel says so")

    def close(self) -> None:
        self.closed = True
        for process in self.processes.values():
            process.close()
