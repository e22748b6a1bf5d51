"""Progress: if nothing bad happens any more, somebody who is alive gets in within bounds.

From one state on everybody does what a driver does: renews, answers, polls, proposes when there is a reason, tries to
enter. Nothing is lost any more, and clocks go on at the same rate.
"""

from __future__ import annotations

from typing import Any

from soloist.check.views.book import Letter
from soloist.check.views.model import Model
from soloist.check.views.parts import copied, later_site, later_voter
from soloist.check.views.site import LOCK, Site, Token
from soloist.views import FOR_GOOD, Ballot, Node, Proposer, Send, View, Voter
from soloist.views.messages import Dead, Prepare, Report
from soloist.views.view import evicted, ordered

ROUNDS = 40
"""Ticks until somebody must have got in: several leases, and several changes of view."""
PATIENCE = 4
"""Ticks until another proposer tries."""
LATER = 1000
"""Rounds: more than all ballots before have had."""


class Calm:
    """What a state becomes once all is well."""

    def __init__(self, model: Model, state: int) -> None:
        parts = [copied(part) for part in model.parts(state)[:-1]]
        self.model = model
        self.voters: dict[str, Voter] = {p.file.voter: p for p in parts if isinstance(p, Voter)}
        self.sites: dict[str, Site] = {p.member.me: p for p in parts if isinstance(p, Site) and not p.crashed}
        self.letters = model.pooled(state)
        self.stuck = self.waits_for_ever(model, state)
        self.dead = [letter for letter in self.letters if isinstance(letter.message, Dead)]
        self.proposer: Proposer | None = None
        self.age = 0
        for name in [name for name, site in self.sites.items() if site.member.ended]:
            self.start_again(name)

    def start_again(self, name: str) -> None:
        """A process that was dropped comes back as another incarnation; one that left stays away."""
        site = self.sites.pop(name)
        if not site.member.leaving:
            kit, node = self.model.kit, Node(site.member.node.name, name + "'")
            self.sites[node.incarnation] = kit.site(member=kit.member(node=node), delay=site.delay)

    def waits_for_ever(self, model: Model, state: int) -> bool:
        """Whether somebody has crashed whom all wait for: there is neither a proof nor a lease."""
        crashed = any(model.part(state, place).crashed for place in model.sites)
        return crashed and model.setting.lease.endless and not model.setting.proof

    def nobody(self) -> bool:
        """Whether there is nobody who could get in."""
        return self.stuck or not any(site.acts and not site.member.leaving for site in self.sites.values())

    def somebody_enters(self) -> bool:
        for turn in range(ROUNDS):
            self.deliver()
            self.renew()
            self.propose(turn)
            self.deliver()
            if any(self.use(site) for site in self.sites.values() if site.acts):
                return True
            self.tick()
        return False

    def tick(self) -> None:
        for voter in self.voters.values():
            later_voter(voter, 1)
        for site in self.sites.values():
            later_site(site, 1)

    def renew(self) -> None:
        """Renewals, which also say whom a member does not hear: those that hang, here."""
        hung = {name for name, site in self.sites.items() if site.hung}
        for site in list(self.sites.values()):
            if site.member.view:
                if site.acts:
                    site.member.deaf = ordered(hung & site.member.view.incarnations)
                site.member.renew(0)
            elif site.acts:
                site.member.ask_to_join(tuple(sorted(self.voters)))
            self.collect(site.member.me, site.follow())

    def use(self, site: Site) -> bool:
        """Release what is held, go if that is the wish, and enter if possible."""
        if site.member.holds and site.member.holding(LOCK, 0, 0) and not self.stays(site):
            site.member.release(LOCK, 0, 0)
        site.member.farewell()
        entered = site.enter() is not None
        if not entered:
            site.register()
        self.collect(site.member.me, site.follow())
        return entered

    def stays(self, site: Site) -> bool:
        """Whether it keeps for ever what it had at the start."""
        breaking = self.model.breaking
        had = any(evicted(hold, breaking.evictions) for hold in site.member.holds.values())
        return had and site.member.node.name in self.model.setting.stuck

    def newest(self) -> View:
        views = [voter.view for voter in self.voters.values() if voter.view]
        views += [site.member.view for site in self.sites.values() if site.member.view]
        return max(views, key=lambda view: view.epoch)

    def propose(self, turn: int) -> None:
        """Poll, prepare if there is a reason, and say all again that may not have been heard."""
        if self.proposer is None or self.proposer.decision or self.age >= PATIENCE:
            ballot = Ballot(LATER + turn, "calm")
            self.proposer, self.age = self.model.kit.proposer(view=self.newest(), ballot=ballot), 0
            for letter in self.dead:
                self.proposer.receive("", letter.message)
        self.age += 1
        newest = self.newest()
        wishes = [self.model.breaking] if self.model.setting.breakers else []
        if any(each.delay == FOR_GOOD for each in newest.withheld):  # somebody has looked, and has it broken
            wishes.append(self.model.kit.breaking.of((LOCK,), newest))
        self.letters += [Letter(voter, "", wish.ask(newest)) for wish in wishes for voter in self.voters]
        proposer = self.proposer
        proposer.poll()
        self.deliver()
        if proposer.ready():
            proposer.prepare()
            proposer.ask_accept()

    def deliver(self) -> None:
        """Everything that is under way, and what comes of it, until all is quiet."""
        for _ in range(1000):
            if self.proposer:
                effects, self.proposer.out = self.proposer.out, []
                self.collect("calm", effects)
            if not self.letters:
                return
            letters, self.letters = self.letters, []
            for letter in letters:
                self.receive(letter)
        raise AssertionError("messages without end")

    def receive(self, letter: Letter) -> None:
        to, sender, message = letter
        if (voter := self.voters.get(to)) and not self.has_ended(to):
            voter.receive(sender, message, 0)
            effects, voter.out = voter.out, []
            self.collect(to, effects)
        elif to == "calm" and self.proposer:
            self.proposer.receive(sender, message)
        elif site := self.sites.get(to):
            self.hear(site, sender, message)
            self.collect(to, site.follow())
            if site.member.ended:
                self.start_again(to)

    def has_ended(self, voter: str) -> bool:
        """Where there is no lease a voter ends with its member."""
        site = self.sites.get(voter.partition("#")[2])
        return self.model.setting.lease.endless and (site is None or site.member.ended)

    def hear(self, site: Site, sender: str, message: Any) -> None:
        if site.hung:
            self.model.answer(site, sender, message)
        elif isinstance(message, Token):
            site.take(message)
        else:
            site.member.receive(sender, message, 0)

    def collect(self, sender: str, effects: list[Any]) -> None:
        self.letters += [
            Letter(e.to, sender, e.message) for e in effects if isinstance(e, Send) and not self.unheard(e)
        ]

    def unheard(self, send: Send) -> bool:
        """Where proposers and members do not hear each other."""
        wedge = isinstance(send.message, Prepare) and send.to in self.sites
        return self.model.setting.relayed and (wedge or isinstance(send.message, Report))


def progresses(model: Model, state: int) -> bool:
    """Whether somebody gets in from here on, if all is well; also if there is nobody left who could."""
    calm = Calm(model, state)
    return calm.nobody() or calm.somebody_enters()
