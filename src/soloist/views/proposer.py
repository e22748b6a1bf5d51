"""A proposer: makes the view of the next epoch. Any node may be one, at any time, and it stores nothing. (Where all voters
must agree it is one of them, and ends with its process or its goodbye: else it could outlive all who have agreed.)

Suspicion decides *when to ask*, never *who is out*. First it polls, which binds nobody, until it knows that a change
would come to an end; only then it prepares, and members wedge. Rules P1 to P4.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

import msgspec

from soloist.core import Message, UsageError
from soloist.views.effects import Effect, Send
from soloist.views.messages import (
    Accept,
    Accepted,
    Bye,
    Dead,
    Decided,
    Fetch,
    Join,
    News,
    Poll,
    Polled,
    Prepare,
    Promise,
    Report,
    Stored,
    newest,
)
from soloist.views.view import (
    MOST_COUNTED,
    Algorithm,
    Ballot,
    Eviction,
    Holder,
    Incarnation,
    Lease,
    Node,
    Registration,
    View,
    VoterId,
    evicted,
    newcomers,
    ordered,
    unsurpassed,
)


class VoterChange(msgspec.Struct, frozen=True, array_like=True):
    """One voter more, or one less; never one for another."""

    kind: Literal["add", "remove"]
    voter: VoterId
    home: str = ""
    """Where a new one is to be found."""

    def applied(self, voters: tuple[VoterId, ...]) -> tuple[VoterId, ...]:
        if self.kind == "add":
            return ordered((*voters, self.voter))
        rest = tuple(voter for voter in voters if voter != self.voter)
        if not rest:
            raise UsageError(f"{self.voter!r} is the last voter and cannot be removed; add another first")
        return rest


class Proposer(msgspec.Struct, kw_only=True):
    """One try to make the view after `view`, at one ballot."""

    view: View
    ballot: Ballot
    asked: bool = False
    """Somebody wants this change who need not give the voters a reason."""
    change: VoterChange | None = None
    lease: Lease | None = None
    """Another lease for the next view, if it is to change."""
    algorithms: tuple[Algorithm, ...] = ()
    """What runs the locks of the next view, as every node that the proposer talks to has agreed; or as before."""
    promises: dict[VoterId, Promise] = {}
    polled: dict[VoterId, Polled] = {}
    reports: dict[Incarnation, Report] = {}
    gone: set[Incarnation] = set()
    joiners: dict[Incarnation, Node] = {}
    counters: dict[Incarnation, int] = {}
    """What each member's fences do not count beyond, of those who have told."""
    presumed: int = -1
    """What those of the others cannot count beyond, if the driver knows."""
    cut: set[tuple[Incarnation, Incarnation]] = set()
    evictions: set[Eviction] = set()
    """What is to be taken from its holders."""
    struck: set[Holder] = set()
    over: set[Holder] = set()
    """Registered holds that were released, or lost long enough ago."""
    proposal: View | None = None
    """What ACCEPT asks for: one only at this ballot."""
    accepted: set[VoterId] = set()
    decision: View | None = None
    stored: set[VoterId] = set()
    out: list[Effect] = []

    HANDLERS: ClassVar[dict[type[Message], str]] = {
        Polled: "heard_poll",
        Promise: "heard_promise",
        Report: "heard_report",
        Accepted: "heard_accepted",
        Decided: "heard_decided",
        Stored: "heard_stored",
        Fetch: "fetch",
        Join: "join",
        Bye: "farewell",
        Dead: "farewell",
    }

    def receive(self, sender: str, message: Message, now: float = 0.0) -> None:
        """The only door in. A proposer needs no clock; `now` is there so that all parts are driven alike."""
        if handler := self.HANDLERS.get(type(message)):
            getattr(self, handler)(sender, message)

    @property
    def epoch(self) -> int:
        return self.view.epoch + 1

    # Before anybody is wedged.

    def poll(self) -> None:
        """Ask the voters who is silent. Say it again and again until `ready`."""
        for voter in self.view.voters:
            self.say(voter, Poll(self.epoch))

    def heard_poll(self, sender: str, m: Polled) -> None:
        if m.epoch == self.epoch and m.voter in self.view.voters:
            self.polled[m.voter] = m
            self.learn(m.news)

    def silent(self) -> set[Incarnation]:
        """Members that a majority of voters has out-waited, as polled: a change without them would come to an end."""
        return {
            inc
            for inc in self.view.incarnations
            if self.view.is_quorum([v for v, m in self.polled.items() if inc in m.silent])
        }

    def ready(self) -> bool:
        """Whether there is a reason to wedge everybody, and a majority to end it."""
        if not self.agree(self.polled):
            return False
        unfinished = self.reports or any(m.promised for m in self.polled.values())
        wanted = self.asked or self.evictions or self.over
        return bool(wanted or unfinished or self.silent() or self.gone or self.newcomers() or self.cut_off())

    def newcomers(self) -> list[Node]:
        """Joiners that nobody is in the way of. Who bears the name of a member waits until that one is out."""
        return newcomers(self.view, self.joiners.values())

    def agree(self, voters: Collection[VoterId]) -> bool:
        """Whether these are enough. Where all must agree, those who have gone need not: whatever was decided before they
        went, each of the others has accepted. (Elsewhere no vote bears the name of a process.)"""
        gone = [node.vote for node in self.view.members if node.incarnation in self.gone]
        return self.view.is_quorum([*voters, *gone])

    # P1: prepare.

    def prepare(self) -> None:
        """P1: to voters and members, again and again until done or overtaken."""
        joiners = tuple(self.joiners[inc] for inc in sorted(self.joiners))
        struck, over = tuple(sorted(self.struck)), tuple(sorted(self.over))
        news = News((), ordered(self.gone), joiners, (), tuple(sorted(self.evictions)), struck, over)
        for each in (*self.view.voters, *sorted(self.view.incarnations)):
            self.say(each, Prepare(self.epoch, self.ballot, self.asked, news))

    def heard_promise(self, sender: str, m: Promise) -> None:
        if (m.epoch, m.ballot) != (self.epoch, self.ballot) or m.voter not in self.view.voters:
            return
        if (before := self.promises.get(m.voter)) and m.start < before.start:
            return
        self.promises[m.voter] = m
        self.learn(m.news)
        self.propose()

    def heard_report(self, sender: str, m: Report) -> None:
        self.note(m)
        self.propose()

    # P2: propose.

    def propose(self) -> None:
        """P2: with the promises of a majority, and once it is clear for each member whether it stays; one only."""
        if self.proposal or not self.agree(self.promises):
            return
        if view := self.accepted_before() or self.next_view():
            self.proposal = view
            self.ask_accept()

    def accepted_before(self) -> View | None:
        """P2: if any of the majority has accepted, the value of the highest ballot, for it may be decided."""
        votes = [promise.accepted for promise in self.promises.values() if promise.accepted]
        return max(votes, key=lambda vote: vote.ballot).view if votes else None

    def next_view(self) -> View | None:
        """P2: drop who said BYE or is proved dead, keep whose report is in hand, drop who is banned by a majority.

        As long as there is a member of which nothing of that is true: wait. A report with a hold that is to be broken is
        none: whether it is lost only its member knows.
        """
        staying = [node for node in self.view.members if node.incarnation not in self.gone]
        kept = [node for node in staying if self.has_reported(node.incarnation)]
        if any(node not in kept and not self.may_drop(node.incarnation) for node in staying):
            return None
        spared = self.spared({node.incarnation for node in kept})
        kept = [node for node in kept if node.incarnation not in spared]
        names = {node.name for node in kept}
        asking = {node.name: node for node in self.joiners.values() if node.name not in names}
        members = tuple(sorted((*kept, *self.understood(list(asking.values()), kept))))
        if not members:
            return None
        fences, counter = self.first_fence()
        view = msgspec.structs.replace(
            self.view,
            epoch=self.epoch,
            counter=counter,
            fences=fences,
            voters=self.next_voters(members),
            homes=self.next_homes(members),
            members=members,
            holders=self.holders(kept),
            broken=tuple(sorted(h for node in kept for h in self.reports[node.incarnation].broken)),
            lease=self.lease or self.view.lease,
            algorithms=self.algorithms or self.view.algorithms,
            protocol=min(node.newest for node in members),
            registered=self.registered(kept),
        )
        return view if self.sound(view) else None

    def first_fence(self) -> tuple[int, int]:
        """Where no disk remembers epochs, fences had better not run ahead of the clock: they would go back when all are
        started again. So where it is known of all members how far they can have counted, and only there, counting goes on."""
        told = [self.counters.get(node.incarnation, self.presumed) for node in self.view.members]
        goes_on = self.view.lease.endless and min(told) >= 0 and max(told) < MOST_COUNTED
        return (self.view.fence_epoch, max(told)) if goes_on else (0, 0)

    def understood(self, joiners: list[Node], kept: list[Node]) -> list[Node]:
        """Those who speak the version that the members who stay talk in; if nobody stays, one that all of them do."""
        if kept:
            return [node for node in joiners if node.speaks(self.view.protocol)]
        newest = min((node.newest for node in joiners), default=0)
        return [node for node in joiners if node.speaks(newest)]

    def has_reported(self, inc: Incarnation) -> bool:
        """P2: what it holds is known, and nothing of it is to be broken."""
        report = self.reports.get(inc)
        return report is not None and not any(evicted(hold, self.evictions) for hold in report.holds)

    def may_drop(self, inc: Incarnation) -> bool:
        """P2: banned by every promise of some majority, which binds them until the next view."""
        return self.view.is_quorum([v for v, promise in self.promises.items() if inc in promise.banned])

    def holders(self, kept: list[Node]) -> tuple[Holder, ...]:
        """What the members that stay hold, in their own words."""
        return tuple(sorted(hold for node in kept for hold in self.reports[node.incarnation].holds))

    def registered(self, kept: list[Node]) -> tuple[Registration, ...]:
        """P2: what any voter of the majority has stored, and what nothing shows to be over."""
        found = {each for promise in self.promises.values() for each in promise.registered}
        return unsurpassed(filter(self.stands, found), self.holders(kept))

    def stands(self, each: Registration) -> bool:
        """P2: whether it may not be left out. Who has reported knows best what it has lost, and what it has not."""
        hold = each.hold
        if evicted(hold, self.evictions) or hold in self.over:
            return False
        report = self.reports.get(hold.incarnation)
        if report and hold.incarnation not in self.gone:
            return hold in report.holds or hold in report.lost
        return hold not in self.struck and self.may_have_begun(each)

    def may_have_begun(self, each: Registration) -> bool:
        """Not if so many have promised without having stored it that no majority can have."""
        without = [voter for voter, promise in self.promises.items() if each not in promise.registered]
        return len(self.view.voters) - len(without) >= self.view.majority

    def next_voters(self, members: tuple[Node, ...]) -> tuple[VoterId, ...]:
        """P2: as they are, or one more, or one less; where all must agree, the members."""
        if self.view.lease.endless:
            return ordered(node.vote for node in members)
        return self.change.applied(self.view.voters) if self.change else self.view.voters

    def next_homes(self, members: tuple[Node, ...]) -> tuple[tuple[VoterId, str], ...]:
        known = dict(self.view.homes)
        if self.change and self.change.home:
            known[self.change.voter] = self.change.home
        voters = set(self.next_voters(members))
        return tuple(sorted((voter, home) for voter, home in known.items() if voter in voters))

    def sound(self, view: View) -> bool:
        return view.follows(self.view)

    def cut_off(self) -> set[tuple[Incarnation, Incarnation]]:
        """Pairs of members of which one does not hear the other."""
        return {pair for pair in self.cut if self.view.incarnations.issuperset(pair)}

    def spared(self, kept: set[Incarnation]) -> set[Incarnation]:
        """Of two that stay and do not hear each other one is left out: that of which more complain, then the higher name.

        And so on, until all that stay hear each other. Only those that have reported that they hold nothing: they are
        wedged, so they will hold nothing. They may join again.
        """
        names = {node.incarnation: node.name for node in self.view.members}
        idle = {inc for inc in kept if not self.reports[inc].holds}
        out: set[Incarnation] = set()
        while pairs := {pair for pair in self.cut_off() if (kept - out).issuperset(pair)}:
            found = [inc for inc in idle - out if any(inc in pair for pair in pairs)]
            if not found:
                break
            complaints = {inc: sum(inc == b for _, b in pairs) for inc in found}
            out.add(max(found, key=lambda inc: (complaints[inc], names[inc])))
        return out

    def ask_accept(self) -> None:
        """Say it again until it is decided or overtaken."""
        if self.proposal:
            for voter in self.view.voters:
                self.say(voter, Accept(self.ballot, self.proposal))

    # P3: decide.

    def heard_accepted(self, sender: str, m: Accepted) -> None:
        """P3: accepted by a majority of the old view's voters at one ballot."""
        if (m.epoch, m.ballot) != (self.epoch, self.ballot) or self.decision:
            return
        self.accepted.add(m.voter)
        if self.proposal and self.agree(self.accepted):
            self.decision = self.proposal
            self.tell()

    def tell(self) -> None:
        """P3: to everybody that it concerns, again until they have it."""
        if view := self.decision:
            names = (*self.view.voters, *view.voters, *self.view.incarnations, *view.incarnations)
            for each in ordered(names):
                self.say(each, Decided(view))

    def heard_decided(self, sender: str, m: Decided) -> None:
        """Overtaken: somebody else made this view, or a later one."""
        if m.view.epoch >= self.epoch and self.decision is None:
            self.decision = m.view
            self.tell()

    def fetch(self, sender: str, m: Fetch) -> None:
        """A voter or member that is behind: it gets the newest view known here."""
        view = self.decision or self.view
        if m.epoch < view.epoch:
            self.say(sender, Decided(view))

    # P4: done.

    def heard_stored(self, sender: str, m: Stored) -> None:
        if self.decision and m.epoch >= self.decision.epoch:
            self.stored.add(m.voter)

    def done(self) -> bool:
        """P4: a majority of the *new* voters has stored it: only then may a removed one be switched off."""
        return self.decision is not None and self.decision.is_quorum(self.stored)

    # Evidence.

    def learn(self, news: News) -> None:
        for report in news.reports:
            self.note(report)
        self.gone |= self.view.incarnations.intersection(news.gone)
        self.cut |= set(news.cut)
        self.evictions |= set(news.evictions)
        self.struck |= set(news.struck)
        self.over |= set(news.over)
        for node in news.joiners:
            self.take_in(node)

    def note(self, report: Report) -> None:
        if report.epoch == self.view.epoch and report.incarnation in self.view.incarnations:
            self.reports[report.incarnation] = newest(report, self.reports.get(report.incarnation))
            self.counts(report)

    def join(self, sender: str, m: Join) -> None:
        self.take_in(m.node)

    def take_in(self, node: Node) -> None:
        if node.incarnation not in self.view.incarnations:
            self.joiners[node.incarnation] = node

    def farewell(self, sender: str, m: Bye | Dead) -> None:
        self.joiners.pop(m.incarnation, None)
        if m.incarnation in self.view.incarnations:
            self.gone.add(m.incarnation)
            if isinstance(m, Bye):
                self.counts(m)
            self.propose()

    def counts(self, m: Report | Bye) -> None:
        if m.counter >= 0:
            self.counters[m.incarnation] = max(m.counter, self.counters.get(m.incarnation, 0))

    def say(self, to: str, message: Message) -> None:
        self.out.append(Send(to, message))
