"""What a run remembers beyond its state: who has heard of what, and who was served last.

Three promises are about the past of a run, not about one state. Each is turned into a small ghost
that rides along with the search, in a pass of its own so that it does not swell the main one.

*Fence.* One counter on every message, merged by maximum, plus one at each entry, grows from entry
to entry exactly if every entry is causally after the entry before it: as long as that is so the
k-th entry has fence k, and the first entry that has not heard of entry k has a fence of k at most.
So one bit is enough, carried by sites and messages: "has heard of the latest entry".

*Causal order.* If b asked after hearing of a's request, a enters first. One bit per waiting site,
carried in the same way: "has heard of its request"; and with each waiting site the requests that it
had heard of when it asked.

*Timestamp order.* Entries come in increasing timestamp over all requests of the run. The timestamp
of the latest entry is enough.
"""

from __future__ import annotations

import msgspec

from soloist.check.local import Item, Local
from soloist.core import Site


class History(msgspec.Struct, frozen=True):
    """Which ghosts ride along."""

    sites: int = 0
    fence: bool = False
    causal: bool = False
    timestamp: bool = False

    @property
    def knowledge(self) -> bool:
        return self.fence or self.causal

    @property
    def entry_bit(self) -> int:
        """Has heard of the latest entry."""
        return 1 << self.sites if self.fence else 0

    def request_bit(self, site: Site) -> int:
        """Has heard of the request of this waiting site."""
        return 1 << site if self.causal else 0

    def forgotten(self, site: Site) -> int:
        """What nobody has heard of once a site has entered: this entry, and a request that is over."""
        return self.entry_bit | self.request_bit(site)

    def asked(self, site: Site, local: Local) -> Local:
        if not self.causal:
            return local
        requests = local.known & ~self.entry_bit
        return local._replace(ahead=requests, known=local.known | self.request_bit(site))

    def entered(self, site: Site, local: Local) -> Local:
        if not self.knowledge:
            return local
        wrong = local.wrong or self._complaint(site, local)
        local = forget(local, self.forgotten(site))
        return local._replace(ahead=0, known=local.known | self.entry_bit, wrong=wrong)

    def _complaint(self, site: Site, local: Local) -> str:
        if local.known & self.entry_bit != self.entry_bit:
            return (
                f"fence: site {site} enters without having heard of the entry before its own, "
                "so its fence is not larger"
            )
        if local.ahead:
            before = ", ".join(str(j) for j in range(self.sites) if local.ahead >> j & 1)
            return f"causal: site {site} enters although it asked knowing that site {before} was waiting"
        return ""


def forget(local: Local, bits: int) -> Local:
    """The same site, where nobody has heard of these things."""
    keep = ~bits
    inbox = tuple(Item(i.sender, i.message, i.copies, i.known & keep) for i in local.inbox)
    return local._replace(inbox=inbox, known=local.known & keep, ahead=local.ahead & keep)
