"""Fence: a number that grows from entry to entry, as locks hand it out.

One counter on every message, merged by maximum, plus one at each entry, grows from entry to entry exactly if every entry
is causally after the entry before it: as long as that is so the k-th entry has fence k, and the first entry that has not
heard of entry k has a fence of k at most. So one bit is enough, carried by sites and messages: "has heard of the latest
entry".
"""

from __future__ import annotations

from soloist.check.history import Ghost
from soloist.check.local import Local
from soloist.check.properties._property import Property
from soloist.check.setting import Setting
from soloist.core import Site


class Fence(Property):
    name = "fence"
    says = "a counter carried by the messages grows from entry to entry"
    look = "What lets somebody in has to come, from site to site, from the last one that was inside."
    remembers = True

    def is_promised(self, setting: Setting) -> bool:
        return setting.size.k == 1

    def refusal(self, setting: Setting) -> str:
        return "" if setting.size.k == 1 else "a fence grows from holder to holder only where k is 1"

    def ghost(self, sites: int) -> Ghost:
        return HeardOfEntry(sites)


class HeardOfEntry(Ghost, frozen=True):
    @property
    def bit(self) -> int:
        """Above those of the requests (`causal`)."""
        return 1 << self.sites

    @property
    def at_first(self) -> int:
        return self.bit

    def news(self, site: Site) -> int:
        return self.bit

    def entered(self, site: Site, local: Local) -> Local:
        return local._replace(known=local.known | self.bit)

    def complaint(self, site: Site, local: Local) -> str:
        if local.known & self.bit:
            return ""
        return (
            f"fence: site {site} enters without having heard of the entry before its own, "
            "so its fence is not larger"
        )
