"""The loop's side of a membership that etcd decides: there is no birth, and no node votes."""

from __future__ import annotations

import msgspec

from soloist.net.engine.switchboard import Switchboard
from soloist.net.link.handshake import Who
from soloist.net.link.transport import Transport
from soloist.net.member.clock import Clock, lease_clock
from soloist.net.member.company import Company
from soloist.net.member.council import Council
from soloist.net.member.etcd.council import EtcdCouncil
from soloist.net.member.etcd.endpoints import Etcd
from soloist.net.member.membership import Membership
from soloist.net.member.origin import DataDirectory
from soloist.net.member.votes import MemoryVotes
from soloist.views import Algorithm, Lease, View


class EtcdMembership(Membership):
    """The `Meeting` and `Lobby` of a node whose cluster is agreed upon in etcd."""

    council: EtcdCouncil

    def __init__(
        self,
        etcd: Etcd,
        who: Who,
        lease: Lease,
        told: Company,
        clock: Clock,
        board: Switchboard,
        transport: Transport,
        data: DataDirectory | None,
        sentinel: bool,
    ) -> None:
        self.etcd = etcd
        who = msgspec.structs.replace(who, engine="etcd")
        votes = MemoryVotes(who.cluster, who.node)
        super().__init__(who, lease, told, votes, clock, board, transport, data, sentinel)
        self.joining = True

    def convene(self, who: Who, votes: object, clock: Clock, previous: str) -> Council:
        return EtcdCouncil(self.as_member(who), who.cluster, self.etcd, self.lease, clock, self, previous)

    def run(self, algorithms: tuple[Algorithm, ...]) -> None:
        self.council.chair.algorithms = algorithms

    def begin_above(self, origin: int) -> None:
        super().begin_above(origin)
        self.council.own.origin = self.who.origin

    def why(self) -> str:
        return "; ".join(filter(None, [super().why(), self.council.desk.trouble]))

    def voters(self) -> dict[str, bool]:
        troubles = self.council.desk.client.troubles
        return {each: each not in troubles for each in self.etcd.endpoints}

    def _addresses_of_voters(self, view: View) -> list[str]:
        """Whom our sentinel tells: any member may see to it."""
        return [node.address for node in view.members if node.address and node.name != self.who.node]

    def descriptors(self) -> list[int]:
        clients = (self.council.desk.client, self.council.watch.client)
        return [*super().descriptors(), *(each for client in clients for each in client.descriptors())]


def begin_with_etcd(
    etcd: Etcd,
    lease: Lease,
    told: Company,
    board: Switchboard,
    transport: Transport,
    who: Who,
    sentinel: bool,
    data: DataDirectory | None,
) -> EtcdMembership:
    wanted = sentinel and not who.serves
    return EtcdMembership(etcd, who, lease, told, lease_clock(), board, transport, data, wanted)
