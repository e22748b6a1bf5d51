"""Causal order: if b asked after hearing of a's request, a enters first.

One bit per waiting site, carried by sites and messages: "has heard of its request"; and with each waiting site the
requests that it had heard of when it asked (`Local.ahead`).
"""

from __future__ import annotations

from soloist.check.history import Ghost
from soloist.check.local import Local
from soloist.check.properties._property import Property
from soloist.check.setting import Setting
from soloist.core import Site


class Causal(Property):
    name = "causal"
    says = "a request made in knowledge of another enters after it"
    look = "Whoever was heard of first has to go first."
    remembers = True

    def is_promised(self, setting: Setting) -> bool:
        return setting.card.fairness == self.name

    def ghost(self, sites: int) -> Ghost:
        return HeardOfRequests(sites)


class HeardOfRequests(Ghost, frozen=True):
    def news(self, site: Site) -> int:
        """A request that is over."""
        return 1 << site

    def asked(self, site: Site, local: Local) -> Local:
        requests = local.known & (1 << self.sites) - 1
        return local._replace(ahead=requests, known=local.known | 1 << site)

    def entered(self, site: Site, local: Local) -> Local:
        return local._replace(ahead=0)

    def complaint(self, site: Site, local: Local) -> str:
        if not local.ahead:
            return ""
        before = ", ".join(str(j) for j in range(self.sites) if local.ahead >> j & 1)
        return f"causal: site {site} enters although it asked knowing that site {before} was waiting"
