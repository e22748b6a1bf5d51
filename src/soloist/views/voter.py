"""A voter: remembers views and promises for the cluster, and knows which members it has acknowledged when.

A majority of voters makes the next view, and a majority of acknowledgements is a member's lease. The two meet in one
voter at least, and that is why a member that is left out holds nothing any more. Rules V1 to V7.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from soloist.core import Message
from soloist.views.effects import Effect, Send, Store, VoteFile
from soloist.views.messages import (
    Accept,
    Accepted,
    Ack,
    Break,
    Bye,
    Dead,
    Decided,
    Fetch,
    Join,
    News,
    Poll,
    Polled,
    Prepare,
    Probe,
    Promise,
    Register,
    Registered,
    Renew,
    Report,
    Stored,
    Strike,
    Struck,
    newest,
)
from soloist.views.view import Eviction, Holder, Incarnation, Node, View, Vote, newcomers, ordered


class Heard(msgspec.Struct, frozen=True, array_like=True):
    """What a voter knows of one member's renewals."""

    number: int
    time: float
    """When the last acknowledgement was sent, or the voter began to count."""
    echo: int = 0
    unheard: float | None = None
    """When the first answer was sent that no renewal has echoed since."""


class Voter(msgspec.Struct, kw_only=True):
    """One voter. Drive it by `receive`; do what is in `out`, in order; nothing else is said."""

    file: VoteFile
    heard: dict[Incarnation, Heard] = {}
    reports: dict[Incarnation, Report] = {}
    gone: set[Incarnation] = set()
    joiners: dict[Incarnation, Node] = {}
    cut: dict[Incarnation, tuple[Incarnation, ...]] = {}
    """Whom each member has not heard for a lease."""
    evictions: set[Eviction] = set()
    """What somebody wants taken from its holders."""
    struck: dict[tuple[str, Incarnation], Holder] = {}
    """What each member has released last of each lock, of what it had registered."""
    since: dict[Holder, float] = {}
    """When registered holds were found to be lost."""
    over: set[Holder] = set()
    """Of these, the ones that nobody need wait for any more."""
    stopped: str = ""
    """Why this voter votes no more, if it does not."""
    out: list[Effect] = []

    HANDLERS: ClassVar[dict[type[Message], str]] = {
        Renew: "renewed",
        Prepare: "prepare",
        Accept: "accept",
        Decided: "decided",
        Poll: "poll",
        Fetch: "fetch",
        Join: "join",
        Bye: "farewell",
        Dead: "farewell",
        Break: "break_locks",
        Register: "register",
        Strike: "strike",
    }

    @classmethod
    def start(cls, file: VoteFile, place: str, now: float) -> Voter:
        """V5: begin on a good file, counted up before the first answer; all members have been heard just now.

        A restarted voter knows of no silence: it may have acknowledged anybody a moment before it went down. A file
        that lies elsewhere than it says is a copy, and a copy votes twice.
        """
        if file.place not in ("", place):
            return cls(
                file=file, stopped=f"the vote file was written on {file.place}, but lies on {place}: a copy"
            )
        voter = cls(file=file)
        if file.view:
            voter.heard = {inc: Heard(0, now) for inc in file.view.incarnations}
            voter.since = {each.hold: now for each in file.view.withheld}
        voter.store(msgspec.structs.replace(file, place=place, start=file.start + 1))
        return voter

    def receive(self, sender: str, message: Message, now: float) -> None:
        """The only door in."""
        if handler := self.HANDLERS.get(type(message)):
            getattr(self, handler)(sender, message, now)

    @property
    def view(self) -> View | None:
        return self.file.view

    @property
    def promised(self) -> bool:
        return self.file.ballot is not None

    @property
    def votes(self) -> bool:
        """A removed voter remembers the view that removed it, and votes no more."""
        return not self.stopped and self.view is not None and self.file.voter in self.view.voters

    def failed(self, why: str) -> None:
        """The driver could not store: what followed was not said, and nothing will be, ever."""
        self.stopped = why
        self.out.clear()

    # V1: renewals.

    def renewed(self, sender: str, m: Renew, now: float) -> None:
        """V1. What gets no acknowledgement gets a probe, so that wedge and decision reach who hears nobody else.

        A late old renewal is not answered at all.
        """
        if m.start > self.file.start:
            self.stopped = f"start {m.start} of this voter was seen, but its file says {self.file.start}: it was restored"
        if self.stopped or self.view is None:
            return
        if m.epoch > self.view.epoch:
            self.say(sender, Fetch(self.view.epoch))
        elif m.epoch < self.view.epoch:
            self.say(sender, Decided(self.view))
        if m.incarnation not in self.view.incarnations:
            return
        if (heard := self.heard.get(m.incarnation)) and m.number <= heard.number:
            return
        self.listen(m)
        answer: type[Ack | Probe] = Probe
        if self.may_acknowledge(m, now):
            self.acknowledge(m, now)
            answer = Ack
        facts = (self.view.epoch, self.promised, self.file.start, tuple(sorted(self.evictions)))
        self.say(sender, answer(self.file.voter, m.number, *facts))

    def may_acknowledge(self, m: Renew, now: float) -> bool:
        """Not banned, and after a promise only what brings the report: else a hung loop lives on.

        The report of *this* epoch. A member that is behind has got the view just now, and must catch up first: a loop
        that hangs after it has reported would else be acknowledged for ever in an epoch that it never begins.
        """
        assert self.view is not None
        reported = m.report is not None and m.report.epoch == self.view.epoch
        return (
            m.incarnation not in self.file.banned
            and (not self.promised or reported)
            and self.comes_through(m, now)
        )

    def acknowledge(self, m: Renew, now: float) -> None:
        """The very moment from which silence is counted."""
        before = self.heard.get(m.incarnation)
        unheard = before.unheard if before and before.unheard is not None and m.echo <= before.echo else now
        self.heard[m.incarnation] = Heard(m.number, now, m.echo, unheard)

    def comes_through(self, m: Renew, now: float) -> bool:
        """Whether an answer of the last lease was echoed: who is heard but does not hear shall fall silent."""
        assert self.view is not None
        heard = self.heard.get(m.incarnation)
        if heard is None or heard.unheard is None or m.echo > heard.echo:
            return True
        return now - heard.unheard < self.view.lease.length

    def listen(self, m: Renew) -> None:
        """What renewals bring along for the proposer, which may not hear this member."""
        assert self.view is not None
        if m.report and m.report.epoch == self.view.epoch:
            self.reports[m.incarnation] = newest(m.report, self.reports.get(m.incarnation))
        if m.deaf:
            self.cut[m.incarnation] = m.deaf
        else:
            self.cut.pop(m.incarnation, None)

    # V2: promises.

    def prepare(self, sender: str, m: Prepare, now: float) -> None:
        """V2: ban who is silent, store, and only then promise. Asked again: say again, with what is silent by now."""
        if not self.votes or not self.next_epoch(sender, m.epoch):
            return
        self.learn(m.news)
        self.over |= self.lapsed(now)
        if not self.may_promise(m) or not (m.asked or self.has_reason(now)):
            return
        banned = ordered({*self.file.banned, *self.silent(now)})
        self.store(msgspec.structs.replace(self.file, ballot=m.ballot, banned=banned))
        told = (self.file.accepted, banned, self.news(), self.file.start, self.file.registered)
        self.say(sender, Promise(m.epoch, m.ballot, self.file.voter, *told))

    def may_promise(self, m: Prepare | Accept) -> bool:
        return self.file.ballot is None or m.ballot >= self.file.ballot

    def silent(self, now: float) -> list[Incarnation]:
        """Members whose last acknowledgement is so long ago that it is worth nothing on any clock."""
        assert self.view is not None
        limit = self.view.lease.at_voter
        return sorted(
            inc
            for inc in self.view.incarnations
            if (heard := self.heard.get(inc)) is not None and now - heard.time >= limit
        )

    def has_reason(self, now: float) -> bool:
        """One flaky node must not start ballots for ever.

        A report is a reason, too: its member is wedged for good, even if the proposer that asked was never heard here.
        """
        assert self.view is not None
        return bool(
            self.promised
            or self.reports
            or self.silent(now)
            or self.gone & self.view.incarnations
            or newcomers(self.view, self.joiners.values())
            or self.cut
            or self.evictions
            or self.over
            or self.lapsed(now)
        )

    # V3: votes.

    def accept(self, sender: str, m: Accept, now: float) -> None:
        """V3: store the vote, and only then say so."""
        if not self.votes or not self.next_epoch(sender, m.view.epoch) or not self.may_promise(m):
            return
        self.store(msgspec.structs.replace(self.file, ballot=m.ballot, accepted=Vote(m.ballot, m.view)))
        self.say(sender, Accepted(m.view.epoch, m.ballot, self.file.voter))

    # V4: decisions.

    def decided(self, sender: str, m: Decided, now: float) -> None:
        """V4: a later view, and all about the one before is forgotten. Not among its voters: keep it all the same.

        A voter to be begins with the first view that names it.
        """
        if self.stopped:
            return
        if self.view is None and self.file.voter not in m.view.voters:
            return
        if self.view is None or m.view.epoch > self.view.epoch:
            self.install(m.view, now)
        assert self.view is not None
        self.say(sender, Stored(self.file.voter, self.view.epoch))

    def install(self, view: View, now: float) -> None:
        self.heard = {inc: self.heard.get(inc, Heard(0, now)) for inc in sorted(view.incarnations)}
        self.reports = {}
        self.gone &= view.incarnations
        self.joiners = {inc: node for inc, node in self.joiners.items() if inc not in view.incarnations}
        self.cut = {}
        self.evictions = set()
        self.struck, self.over = {}, set()
        self.since = {each.hold: self.since.get(each.hold, now) for each in view.withheld}
        file = msgspec.structs.replace(self.file, view=view, registered=view.registered)
        self.store(msgspec.structs.replace(file, ballot=None, accepted=None, banned=()))

    # V6 and V7: registrations.

    def register(self, sender: str, m: Register, now: float) -> None:
        """V6: store it, and only then say so; not after a promise, which has told all that there is."""
        hold = m.registration.hold
        if not self.votes or not self.same_epoch(sender, m.epoch) or self.promised:
            return
        assert self.view is not None
        last = self.struck.get((hold.lock, hold.incarnation))
        if last and last.slot == hold.slot and last.fence >= hold.fence:
            return  # it is late: that one has been released
        if hold.incarnation not in self.view.incarnations:
            return
        registered = tuple(sorted({*self.file.registered, m.registration}))
        self.store(msgspec.structs.replace(self.file, registered=registered))
        self.say(sender, Registered(self.file.voter, m.epoch, hold))

    def strike(self, sender: str, m: Strike, now: float) -> None:
        """V6: the hold has ended. Its member may be gone before all voters know, so that is told on."""
        if not self.votes or not self.same_epoch(sender, m.epoch):
            return
        self.struck[m.hold.lock, m.hold.incarnation] = m.hold
        registered = tuple(each for each in self.file.registered if each.hold != m.hold)
        self.store(msgspec.structs.replace(self.file, registered=registered))
        self.say(sender, Struck(self.file.voter, m.epoch, m.hold))

    def lapsed(self, now: float) -> set[Holder]:
        """V7: lost for longer than their delay, on any clock, counted from when this voter heard that it was decided.

        One that restarts counts anew. Nobody is let in early, so the word of one voter is enough.
        """
        assert self.view is not None
        rate, lost = 1 + self.view.lease.drift, self.view.withheld
        return {each.hold for each in lost if now - self.since.get(each.hold, now) >= each.delay * rate}

    # What binds nobody.

    def poll(self, sender: str, m: Poll, now: float) -> None:
        """Before anybody is wedged a proposer asks until it knows that a change will come to an end."""
        if self.votes and self.next_epoch(sender, m.epoch):
            self.over |= self.lapsed(now)
            told = (tuple(self.silent(now)), self.promised, self.news(), m.number)
            self.say(sender, Polled(self.file.voter, m.epoch, *told))

    def fetch(self, sender: str, m: Fetch, now: float) -> None:
        if self.view and m.epoch < self.view.epoch:
            self.say(sender, Decided(self.view))

    def join(self, sender: str, m: Join, now: float) -> None:
        if self.view is None:
            return
        if m.node.incarnation in self.view.incarnations:
            self.say(sender, Decided(self.view))
        elif m.node.incarnation not in {*self.joiners, *self.gone}:
            others = {inc: node for inc, node in self.joiners.items() if node.name != m.node.name}
            self.joiners = {**others, m.node.incarnation: m.node}

    def farewell(self, sender: str, m: Bye | Dead, now: float) -> None:
        """It never acts again. Remembered also of a joiner: at this moment a view with it may be decided elsewhere."""
        asked = self.joiners.pop(m.incarnation, None)
        if self.view and (asked or m.incarnation in self.view.incarnations):
            self.gone.add(m.incarnation)

    def break_locks(self, sender: str, m: Break, now: float) -> None:
        """Somebody wants locks broken. It may be forgotten, and is asked for again until a view shows that it was done."""
        if self.view is None:
            return
        if m.epoch == self.view.epoch:
            self.evictions |= set(m.evictions)
        elif m.epoch < self.view.epoch:
            self.say(sender, Decided(self.view))

    # Helpers.

    def news(self) -> News:
        pairs = [(inc, other) for inc, others in sorted(self.cut.items()) for other in others]
        return News(
            tuple(self.reports[inc] for inc in sorted(self.reports)),
            ordered(self.gone),
            tuple(self.joiners[inc] for inc in sorted(self.joiners)),
            tuple(pairs),
            tuple(sorted(self.evictions)),
            tuple(sorted(self.struck.values())),
            tuple(sorted(self.over)),
        )

    def learn(self, news: News) -> None:
        assert self.view is not None
        self.gone |= self.view.incarnations.intersection(news.gone)
        self.evictions |= set(news.evictions)
        self.over |= {each.hold for each in self.view.withheld if each.hold in news.over}
        self.struck |= {(hold.lock, hold.incarnation): hold for hold in news.struck}
        self.joiners |= {
            node.incarnation: node
            for node in news.joiners
            if node.incarnation not in self.view.incarnations | self.gone
        }

    def next_epoch(self, sender: str, epoch: int) -> bool:
        """Whether it is about the epoch after mine."""
        return self.same_epoch(sender, epoch - 1)

    def same_epoch(self, sender: str, epoch: int) -> bool:
        """Whether it is about my epoch. Who is behind gets the view; if I am, I ask for it."""
        assert self.view is not None
        if epoch < self.view.epoch:
            self.say(sender, Decided(self.view))
        elif epoch > self.view.epoch:
            self.say(sender, Fetch(self.view.epoch))
        return epoch == self.view.epoch

    def store(self, file: VoteFile) -> None:
        if file != self.file:
            self.file = file
            self.out.append(Store(file))

    def say(self, to: str, message: Message) -> None:
        self.out.append(Send(to, message))
