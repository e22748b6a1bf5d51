"""Which daemon to talk to, of a cluster's file."""

from __future__ import annotations

import socket
from pathlib import Path

from soloist.core import UsageError
from soloist.net.errors import NodeClosed
from soloist.net.service.config import Config, Member


def choose(config: Config, name: str | None) -> Member:
    """The node to talk to: the one that was named, or the one that runs here."""
    if name and name not in config.members and answers((guest := config.guest(name)).control):
        return guest
    if name:
        return config.member(name)
    running = [member for member in config.members.values() if answers(member.control)]
    if len(running) == 1:
        return running[0]
    if not running:
        raise NodeClosed(
            f"no node of {config.path} runs here; start one with: "
            f"soloist node --config {config.path} --name {next(iter(config.members))}"
        )
    names = ", ".join(member.name for member in running)
    raise UsageError(
        f"several nodes of {config.path} run here ({names}); choose one with --name, or {config.path}#{running[0].name} as URL"
    )


def answers(path: Path) -> bool:
    """Whether a daemon listens at that socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
