"""What a change of view looks like from outside: a line in the log for each of its phases, and one value for observers.

The rules say who is out, not why. Each node says what it knows of that itself: whose death it has heard a proof of, who has
said goodbye, and that all others were silent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from soloist.core import Message
from soloist.net.member.clock import Clock
from soloist.net.telemetry.observer import Change
from soloist.views import Member, View, Voter
from soloist.views.messages import Break, Bye, Dead, Decided
from soloist.views.view import NOBODY, newcomers

log = logging.getLogger("soloist.net")

RESTARTED = "restarted"
"""The proof of a node that has taken over a data directory."""
CROWDED = "a node knows too many names that nobody uses"
SILENT = "silence", "it was silent for a lease"
CUT = "cut", "not all heard it"
TERMS = ("voters", "lease", "protocol")
"""What else a view may change, by the names of its fields."""


class Chronicle:
    """One node's account of its views. Only one thread writes it: that of its council, or the loop of its assembly."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name, self.clock = name, clock
        self.tell: Callable[[Change], None] = lambda change: None
        """Called, in the thread, with each view that has begun here."""
        self.view: View | None = None
        self._crowded = False
        """Whether somebody wants to be rid of names that nobody uses."""
        self._fates: dict[str, tuple[str, str]] = {}
        """What became of incarnations, in a word and in more."""
        self._known: dict[str, str] = {}
        """The names of incarnations that we have met in views."""
        self.begin_again()

    def begin_again(self) -> None:
        """Nothing is under way."""
        self._since: float | None = None
        self._stopped: float | None = None
        self._decided = 0
        self._cut: list[str] = []

    @property
    def stopped(self) -> bool:
        """Whether nobody is let in here until the next view begins."""
        return self._stopped is not None

    def hear(self, message: Message) -> None:
        match message:
            case Dead(incarnation, proof):
                self._fates[incarnation] = ("restart" if proof == RESTARTED else "crash"), proof
            case Bye(incarnation):
                self._fates[incarnation] = "leave", "it said goodbye"
            case Break(_, evictions) if NOBODY in evictions:
                self._crowded = True
            case Decided(view):
                self._decide(view)

    # The phases, in their order.

    def see(self, voter: Voter, now: float) -> None:
        """There is a reason for a change: said once. Who falls silent later is noted, too."""
        if voter.view is None:
            return
        for each in voter.silent(now):
            self._fates.setdefault(each, SILENT)
        if self._since is None and (reason := self._reason(voter, voter.view)):
            self._since = now
            self._say("reason", voter.view.epoch + 1, "%s", reason, now)

    def stop(self, member: Member, now: float) -> None:
        """The member is wedged."""
        self._stopped = now
        self._since = now if self._since is None else self._since
        self._say(
            "stopped",
            member.epoch + 1,
            "nobody is let in until it begins; %d held here",
            len(member.holds),
            now,
        )

    def _decide(self, view: View) -> None:
        if self.view and view.epoch > max(self._decided, self.view.epoch):
            self._decided = view.epoch
            self._say("decided", view.epoch, "decided: %s", self._difference(self.view, view), self.clock())

    def activate(self, view: View) -> None:
        before, self.view, now = self.view, view, self.clock()
        self._known |= {node.incarnation: node.name for node in view.members}
        reasons = (
            set(self._reasons(before, view))
            if before
            else {"birth" if view.counter and not view.fences else "join"}
        )
        since = self._since
        took = f" after {now - since:.3f} s" if since is not None else ""
        names = ", ".join(sorted(node.name for node in view.members))
        facts = {"phase": "begun", "epoch": view.epoch, "reasons": sorted(reasons)}
        log.info("%s: epoch %d%s: %s", self.name, view.epoch, took, names, extra=facts)
        for each in set(view.withheld).difference(before.withheld if before else ()):
            lost = each.hold.lock.partition(":")[2], each.node, each.hold.fence
            log.warning("%s: %r is held for %s, which was lost with fence %d", self.name, *lost)
        pause = None if self._stopped is None else now - self._stopped
        self.begin_again()
        stay = {each for each, fate in self._fates.items() if fate is not SILENT} & view.incarnations
        self._fates = {each: self._fates[each] for each in stay}
        self._crowded = False
        self.tell(Change(view.epoch, tuple(sorted(reasons)), None if since is None else now - since, pause))

    # In words.

    def _reason(self, voter: Voter, view: View) -> str:
        gone = sorted(voter.gone & view.incarnations)
        silent = [each for each in sorted(view.incarnations) if self._fates.get(each) is SILENT]
        joining = sorted(node.name for node in newcomers(view, voter.joiners.values()))
        complaints = {other for others in voter.cut.values() for other in others}
        self._cut = sorted(complaints & view.incarnations)
        said = [f"{self._name(each)} is gone ({self._fate(each)[1]})" for each in gone]
        said += [f"{self._name(each)} was silent for a lease" for each in silent if each not in gone]
        said += [f"{', '.join(joining)} asks to join"] if joining else []
        said += [f"not all hear {self._name(each)}" for each in self._cut if each not in (*gone, *silent)]
        said += [CROWDED] if self._crowded else []
        begun = "somebody has begun it" if voter.promised or voter.reports or voter.evictions else ""
        return "; ".join(said) or begun

    def _difference(self, before: View, after: View) -> str:
        said = [f"without {self._name(each)} ({self._fate(each)[1]})" for each in _lost(before, after)]
        joined = sorted(self._named(after, after.incarnations - before.incarnations))
        said += [f"with {', '.join(joined)}"] if joined else []
        said += [f"other {what}" for what in _terms(before, after)]
        return "; ".join(said) or "the same members"

    def _reasons(self, before: View, after: View) -> Iterable[str]:
        yield from (self._fate(each)[0] for each in _lost(before, after))
        if after.incarnations - before.incarnations:
            yield "join"
        yield from _terms(before, after)
        if after.broken:
            yield "break"
        if self._crowded:
            yield "names"

    def _fate(self, incarnation: str) -> tuple[str, str]:
        return self._fates.get(incarnation) or (CUT if incarnation in self._cut else SILENT)

    def _name(self, incarnation: str) -> str:
        return self._known.get(incarnation, incarnation[:8])

    def _named(self, view: View, incarnations: Iterable[str]) -> list[str]:
        return [node.name for node in view.members if node.incarnation in incarnations]

    def _say(self, phase: str, epoch: int, text: str, what: object, now: float) -> None:
        since = now if self._since is None else self._since
        facts = {"phase": phase, "epoch": epoch, "seconds": now - since}
        log.info(f"%s: epoch %d, {now - since:.3f} s: {text}", self.name, epoch, what, extra=facts)


def of_names(epoch: int) -> Break:
    """What asks voters for the view after that epoch, to be rid of names that nobody uses."""
    return Break(epoch, (NOBODY,))


def _lost(before: View, after: View) -> list[str]:
    return sorted(before.incarnations - after.incarnations)


def _terms(before: View, after: View) -> list[str]:
    return [what for what in TERMS if getattr(before, what) != getattr(after, what)]
