"""The birth of a cluster, as a state machine without I/O: nobody is let in before all members have met, once.

A member that is started again has forgotten who holds what. If it were let in among the others, or began by itself,
there would be two tokens. So locks begin only when all members have agreed on one and the same *company*: for each
name the incarnation, the process that bears it now.

1. A node that has met all members tells them which company that is.
2. A node that has heard the same from all is bound to this company, for as long as it lives, and tells them so.
3. A node that has heard from all that they are bound to it is born.

Two companies of which somebody is born have nobody in common, for a node in both would be bound to both. A
newcomer among bound ones is refused; once they all have been started again, too, there is a new company.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping

import msgspec

from soloist.net.link.wire import Muster, encode
from soloist.views import Lease, Node, View
from soloist.views.view import COUNTER_BITS


class Newborn(msgspec.Struct, frozen=True, array_like=True):
    """One member of a company."""

    incarnation: str
    origin: int


class Birth:
    """What one member knows of its company."""

    def __init__(self, me: str, members: Iterable[str], mine: Newborn) -> None:
        self.me, self.members = me, sorted(members)
        self.met: dict[str, Newborn] = {me: mine}
        self.bound = False
        """Whether we have confirmed those whom we have met, and shall never confirm others."""
        self.born = False
        self.sends: list[tuple[str, Muster]] = []
        """What is to be said, and to whom."""
        self._said: Muster | None = None
        self._heard: dict[str, Muster] = {}
        self._company = b""
        """Those whom we have met, once that is everybody."""
        self._agreed: set[str] = set()
        """Those who have met the same."""
        self._bound: set[str] = set()
        """Those of them who are bound to it."""
        self._go_on()

    def refusal(self, peer: str, theirs: Newborn) -> str | None:
        """Why this incarnation of a peer can never belong to our company; None if it can."""
        if not self.bound or self.met.get(peer, theirs) == theirs:
            return None
        return self.successor(peer)

    def successor(self, peer: str) -> str:
        """Why that peer cannot take the place of the one before it."""
        return (
            f"{peer!r} was started again and knows nothing of the locks that it shares with {self.me!r}; "
            f"restart {self.me!r}, too, and all others that have not been"
        )

    def succeeds(self, peer: str, previous: str) -> bool:
        """Whether a peer that was started again, on the same disk and without a view, takes the place of one whom we
        are bound to. That one was not born, or its disk would know; so without it nobody is, unless it is known soon."""
        if not self.bound or self.born or peer not in self.met:
            return False
        return bool(previous) and self.met[peer].incarnation == previous

    def unbind(self) -> None:
        """This company will never be born. A member that is born of it after all has a view, and that decides."""
        self.bound, self.born, self._said = False, False, None

    def meet(self, peer: str, theirs: Newborn) -> None:
        """There is a link to that peer. It may be another process than the one that we met before."""
        if self.refusal(peer, theirs):
            raise ValueError("whoever is refused is not met")
        if self.met.get(peer) == theirs:
            return
        self.met[peer] = theirs
        self._heard.pop(peer, None)
        if self._said:
            self.sends.append((peer, self._said))
        if len(self.met) == len(self.members):
            self._company = _digest(self.met)
            self._agreed, self._bound = set(), set()
            for each, said in self._heard.items():
                self._count(each, said)
        self._go_on()

    def hear(self, peer: str, said: Muster) -> None:
        self._heard[peer] = said
        self._count(peer, said)
        self._go_on()

    def _count(self, peer: str, said: Muster) -> None:
        """All of them are counted as they come: a large cluster says a great deal before it begins."""
        if said.company == self._company:
            self._agreed.add(peer)
            if said.bound:
                self._bound.add(peer)
        else:
            self._agreed.discard(peer)
            self._bound.discard(peer)

    @property
    def counted_on(self) -> bool:
        """Whether others may be bound to a company with us that is not born yet. Without us it never will be."""
        return self._said is not None and not self.born

    @property
    def absent(self) -> list[str]:
        """Members that we have not met."""
        return [name for name in self.members if name not in self.met]

    @property
    def origin(self) -> int:
        """Below all fences of this company."""
        return max(newborn.origin for newborn in self.met.values())

    def view(self) -> View:
        """What has been born. Nobody is ever out-waited in it."""
        members = tuple(Node(name, self.met[name].incarnation) for name in self.members)
        epoch, counter = divmod(self.origin, 1 << COUNTER_BITS)
        voters = tuple(self.members)
        return View(epoch=epoch, counter=counter, voters=voters, members=members, lease=Lease(math.inf))

    def _go_on(self) -> None:
        others = len(self.members) - 1
        if self.born or len(self.met) <= others:
            return
        self._company = self._company or _digest(self.met)
        self.bound = self.bound or len(self._agreed) == others
        said = Muster(self._company, self.bound)
        if said != self._said:
            self._said = said
            self.sends += [(name, said) for name in self.members if name != self.me]
        self.born = self.bound and len(self._bound) == others


def _digest(company: Mapping[str, Newborn]) -> bytes:
    return hashlib.sha256(encode(sorted(company.items()))).digest()
