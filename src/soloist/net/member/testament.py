"""What a node leaves behind, and what others have left with it: wills, by which the dead are known.

Each node tells the hash of its will in every handshake. When its process ends, its sentinel reveals the will to the
voters, and a voter that hears it knows which incarnation has ended. A process has one will, whatever its incarnation.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from soloist.net.link.handshake import Who
from soloist.net.link.will import new_will, will_of
from soloist.net.member.sentinel import Sentinel, possible

log = logging.getLogger("soloist.net")


class Testament:
    """One node's will, its sentinel, and the wills of its peers."""

    def __init__(self, wanted: bool) -> None:
        self._secret = new_will() if wanted and possible() else b""
        self.will = will_of(self._secret) if self._secret else ""
        """The hash, for everybody; empty if there is no will."""
        self.sentinel: Sentinel | None = None
        self._left: dict[str, str] = {}

    def begin(self) -> None:
        """From now on somebody tells of our end."""
        if self._secret:
            try:
                self.sentinel = Sentinel(self._secret)
            except OSError as error:
                log.warning("there is no sentinel (%s): if this node dies, its lease is waited for", error)

    def tell(self, voters: Iterable[str]) -> None:
        """To whom our will is to be revealed."""
        if self.sentinel:
            self.sentinel.tell(voters)

    def learn(self, theirs: Who) -> None:
        """If it serves other processes, these go on when it has ended: its will proves nothing about them."""
        if theirs.will and not theirs.serves:
            self._left[theirs.will] = theirs.incarnation

    def whose(self, will: str) -> str | None:
        """The incarnation that has ended, if this is the will of somebody whom we have met."""
        return self._left.get(will)

    def close(self) -> None:
        if self.sentinel:
            self.sentinel.close()

    def descriptors(self) -> list[int]:
        return self.sentinel.descriptors() if self.sentinel else []
