"""What a node says of itself to those who ask."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from soloist.net.service.dialogue import MemberStatus, Status
from soloist.net.service.supervised import unready

if TYPE_CHECKING:
    from soloist.net.service.control import ControlServer


def status(server: ControlServer) -> Status:
    node, instances = server.node, server.node.instances.values()
    return Status(
        cluster=server.cluster,
        node=node.name,
        pid=os.getpid(),
        algorithm=node.table.cards[0].name,
        semaphore_algorithm=node.table.cards[1].name,
        uptime=server.uptime(),
        members=_members(server),
        entries=node.stats.entries,
        messages_sent=node.stats.messages_sent,
        messages_received=node.stats.messages_received,
        reconnects=getattr(node.transport, "reconnects", 0),
        locks=len(instances) + len(node.asleep),
        held=sum(len(instance.inside) for instance in instances),
        waiting=sum(instance.waiting for instance in instances),
        clients=len(server.sessions),
        leaving=server.stopping,
        trouble=node.trouble(),
        unready=server.stopping or unready(node),
        epoch=node.epoch,
        protocol=node.table.view.protocol if node.epoch else 0,
        lease=node.lease,
        voters=node.beginning.voters(),
        withheld=node.withheld(),
        waits=list(server.waits),
    )


def _members(server: ControlServer) -> list[MemberStatus]:
    node, roster = server.node, server.node.beginning.roster
    connected = node.transport.connected() | {node.name}
    known = (roster and roster.roll()) or {
        name: (where, "member") for name, where in sorted(server.addresses.items())
    }
    return [
        MemberStatus(
            name, where, name in connected, 0 if name == node.name else node.transport.backlog(name), role
        )
        for name, (where, role) in known.items()
    ]
