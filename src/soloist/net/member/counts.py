"""How far the fences of a view can have counted, so that those of the next one go on above them."""

from __future__ import annotations

import time

from soloist.net.member.origin import most_counted
from soloist.views import Proposer, View
from soloist.views.messages import Bye


class Counts:
    """What one node knows of that. Reports say it for those who stay, goodbyes for those who go.

    A proof of death says nothing. But nobody enters more often than a clock allows for, and nobody can have entered in a view
    before the one before it was ended.
    """

    def __init__(self) -> None:
        self.byes: dict[str, Bye] = {}
        self._since = self._stopped = time.monotonic()

    def stop(self) -> None:
        """We are wedged: the next view comes later."""
        self._stopped = time.monotonic()

    def begin(self, view: View) -> None:
        self._since = self._stopped
        self.byes = {inc: bye for inc, bye in self.byes.items() if inc in view.incarnations}

    def tell(self, proposer: Proposer) -> None:
        for bye in self.byes.values():  # perhaps said before it was there
            proposer.counts(bye)
        proposer.presumed = proposer.view.counter + most_counted(time.monotonic() - self._since)
