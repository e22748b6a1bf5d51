"""What a run remembers beyond its state: who has heard of what, and who was served last.

Some promises are about the past of a run, not about one state. Each is turned into a small ghost that rides along with
the search, in a pass of its own so that it does not swell the main one. What a ghost does is said by the property that it
is for; what all of them share is here: what sites know is carried by their messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_

import msgspec

from soloist.check.local import Item, Local
from soloist.check.parts import Pool
from soloist.core import Process, Site


class Ghost(msgspec.Struct, frozen=True):
    """What is remembered for one promise."""

    sites: int

    @property
    def at_first(self) -> int:
        """What everybody has heard of at the start, as bits."""
        return 0

    def news(self, site: Site) -> int:
        """What nobody has heard of once a site has entered, as bits."""
        return 0

    def asked(self, site: Site, local: Local) -> Local:
        """A site that has just asked."""
        return local

    def complaint(self, site: Site, local: Local) -> str:
        """What is wrong with the entry of a site that is just about to enter, as `property: words`."""
        return ""

    def entered(self, site: Site, local: Local) -> Local:
        """A site that has just entered, and has forgotten what is news."""
        return local

    def noted(self, process: Process) -> object:
        """What has to be known of a process that enters, for `served`."""
        return None

    def served(self, pool: Pool, site: Site, noted: object) -> Pool:
        """What belongs to no site, once this one has entered."""
        return pool


class History(msgspec.Struct, frozen=True):
    """The ghosts that ride along."""

    ghosts: tuple[Ghost, ...] = ()

    @property
    def serves(self) -> bool:
        """Whether one of them keeps something that belongs to no site."""
        return any(type(ghost).served is not Ghost.served for ghost in self.ghosts)

    @property
    def at_first(self) -> int:
        return _united(ghost.at_first for ghost in self.ghosts)

    def news(self, site: Site) -> int:
        return _united(ghost.news(site) for ghost in self.ghosts)

    def asked(self, site: Site, local: Local) -> Local:
        for ghost in self.ghosts:
            local = ghost.asked(site, local)
        return local

    def entered(self, site: Site, local: Local) -> Local:
        complaints = (ghost.complaint(site, local) for ghost in reversed(self.ghosts))
        wrong = local.wrong or next(filter(None, complaints), "")
        local = forget(local, self.news(site))._replace(wrong=wrong)
        for ghost in self.ghosts:
            local = ghost.entered(site, local)
        return local

    def noted(self, process: Process) -> tuple[object, ...]:
        return tuple(ghost.noted(process) for ghost in self.ghosts)

    def served(self, pool: Pool, site: Site, noted: tuple[object, ...]) -> Pool:
        for ghost, each in zip(self.ghosts, noted, strict=True):
            pool = ghost.served(pool, site, each)
        return pool


def _united(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def forget(local: Local, bits: int) -> Local:
    """The same site, where nobody has heard of these things."""
    if not bits:
        return local
    keep = ~bits
    inbox = tuple(Item(i.sender, i.message, i.copies, i.known & keep) for i in local.inbox)
    return local._replace(inbox=inbox, known=local.known & keep, ahead=local.ahead & keep)
