"""Whether a node can have holds registered: what its loss leaves behind must be known to voters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soloist.core import UsageError

if TYPE_CHECKING:
    from soloist.net.home import Home


def check_registers(node: Home) -> None:
    if node.voting == "etcd":
        raise UsageError(
            "on_holder_loss='hold' and lock_delay need voters among the nodes: with etcd nobody stores what is held"
        )
    if not node.voting:
        raise UsageError(
            "on_holder_loss='hold' and lock_delay need a lease: without one nobody gets in after a crash at all"
        )
