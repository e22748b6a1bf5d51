"""Our own entry in etcd: what it is to say, and where that stands. Only the thread of a council uses it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from soloist.net.member.etcd.desk import Desk
from soloist.net.member.etcd.store import Entry, Snapshot
from soloist.views import Eviction, Member, Node
from soloist.views.messages import Report

Written = tuple[bool, Snapshot]
"""Whether it was done, and what is there then."""


class Errands:
    """What etcd is being asked for, each thing once at a time."""

    def __init__(self, desk: Desk, step: Callable[[Callable[[], None]], None]) -> None:
        """What comes of it is dealt with in a `step` of the council."""
        self.desk, self._step = desk, step
        self._busy: set[str] = set()
        self._after: dict[str, Callable[[], None]] = {}

    def busy(self, what: str) -> bool:
        return what in self._busy

    def ask(self, what: str, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Unless that is under way. `then` gets what came of it, or None if nobody knows."""
        if what not in self._busy:
            self._busy.add(what)
            self.desk.ask(work, lambda result: self._step(partial(self._answered, what, then, result)))

    def after(self, what: str, again: Callable[[], None]) -> None:
        """Once that has been answered, do this; if it is not answered at all, the node tries again later."""
        self._after[what] = again

    def _answered(self, what: str, then: Callable[[Any], None], result: Any) -> None:
        self._busy.discard(what)
        again = self._after.pop(what, None)
        then(result)
        if again and result is not None:
            again()


class OwnEntry:
    def __init__(
        self,
        errands: Errands,
        node: Node,
        then: Callable[[Entry, int, bool, Written | None], None],
        evictions: Callable[[], tuple[Eviction, ...]],
    ) -> None:
        """`then` gets the entry that was to be written, the number of the renewal, whether it is one, and what came of it."""
        self.errands, self._then, self._evictions = errands, then, evictions
        self.origin = 0
        """The fence below all those of a cluster that begins now."""
        self.begin(node)

    def begin(self, node: Node) -> None:
        """There is none of this incarnation yet."""
        self.wanted = Entry(node)
        self.revision = 0
        """As it was last seen; 0 while there has been none."""

    def say(self, member: Member, report: Report | None = None, deaf: tuple[str, ...] = ()) -> None:
        """From now on it is to say this."""
        self.wanted = Entry(member.node, self.origin, member.epoch, report, deaf, self._evictions())

    def keep(self, seen: Snapshot | None) -> None:
        """If it does not say what it is to say, write that; its lease stays as it is."""
        self.wanted = msgspec.structs.replace(self.wanted, evictions=self._evictions())
        found = seen.entries.get(self.wanted.node.incarnation) if seen else None
        if found and self.revision and found != self.wanted:
            self._write(partial(self.errands.desk.store.write, self.wanted, self.revision), 0, False)

    def renew(self, seconds: int, number: int = 0) -> None:
        """Write it, with a lease that begins now."""
        work = partial(self.errands.desk.store.renew, self.wanted, self.revision, seconds)
        self._write(work, number, True)

    def _write(self, work: Callable[[], Written], number: int, renews: bool) -> None:
        self.errands.ask("write", work, partial(self._then, self.wanted, number, renews))
