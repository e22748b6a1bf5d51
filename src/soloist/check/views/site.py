"""A member with the simplest lock there is: one token in each epoch, and its owner may go in.

It stands for every algorithm: what matters is that mail of old epochs may still be under way, that a grant can come at
any moment, and that each epoch begins with its holders inside.
"""

from __future__ import annotations

import msgspec

from soloist.core import Message
from soloist.views import Activate, Dropped, Holder, Lost, Mail, Member, Node, Registration, Send, View, fence

LOCK = "x"


class Token(Message, frozen=True):
    """The mail of the algorithm: exactly once, in any order, from one incarnation to another."""

    epoch: int
    counter: int
    sender: str


class Site(msgspec.Struct, kw_only=True):
    """One incarnation of a node as the model drives it. Its clock always reads 0: times are kept relative to it."""

    member: Member
    token: int | None = None
    """The number of entries so far in this epoch, if the token is here."""
    kept: tuple[Token, ...] = ()
    """Mail of later epochs."""
    left: int = 0
    """Entries that the model still tries."""
    fresh: bool = True
    """Whether a renewal would say or be worth anything that the last one was not."""
    crashed: bool = False
    hung: bool = False
    """The loop does nothing any more, but renewals go on."""
    delay: float | None = None
    """Its holds are registered, with this delay; None: they are not."""

    @property
    def acts(self) -> bool:
        return not (self.crashed or self.hung or self.member.ended)

    def good(self) -> bool:
        """Whether there is a hold here that this node takes for good."""
        return not self.crashed and bool(self.member.holds) and self.member.valid(0)

    def crash(self) -> None:
        self.crashed = True

    def first_token(self, view: View) -> int | None:
        """Where the token of an epoch is made: with the holder that is carried over, else at the first member."""
        if view.withheld or self.member.ledger.lost:
            return None  # it is held for who is lost
        carried = [hold for hold in view.holders if hold.lock == LOCK]
        at = carried[0].incarnation if carried else view.members[0].incarnation
        return 0 if at == self.member.me else None

    def next_fence(self) -> int:
        assert self.token is not None
        return fence(self.member.epoch, self.token + 1)

    @property
    def bound(self) -> bool:
        """Whether the token must stay: voters are being told of a hold that is to begin, or has ended."""
        return bool(self.member.ledger.asked or self.member.ledger.striking)

    def register(self) -> bool:
        """Ask voters to remember the hold that is to begin."""
        if self.delay is None or self.token is None or self.member.holds or self.bound:
            return False
        hold = Holder(LOCK, self.member.me, self.next_fence())
        return self.member.register(Registration(hold, self.member.node.name, self.delay), 0)

    def enter(self) -> int | None:
        """Let a caller in; the fence, or None if that is not possible now."""
        if self.token is None or self.member.holds or self.member.ledger.striking:
            return None
        if self.delay is not None and not self.member.ledger.asked:
            return None
        number = self.next_fence()
        if not self.member.enter(LOCK, 0, number, 0):
            return None
        self.token += 1
        self.left -= 1
        return number

    def take(self, token: Token) -> None:
        """Mail of the algorithm has come."""
        match self.member.admit(token.sender, token.epoch):
            case Mail.DELIVER:
                self.token = token.counter
            case Mail.KEEP:
                self.keep(token)

    def keep(self, token: Token) -> None:
        self.kept = (*self.kept, token)

    def hand_over(self, to: Node) -> Token:
        assert self.token is not None
        token, self.token = Token(self.member.epoch, self.token, self.member.me), None
        self.member.out.append(Send(to.incarnation, token))
        return token

    def follow(self) -> list[Send]:
        """Do what the member asks for; what is to be sent is left."""
        sends = []
        effects, self.member.out = self.member.out, []
        for effect in effects:
            match effect:
                case Send():
                    sends.append(effect)
                case Activate():
                    sends += self.activate(effect)
                case Dropped():
                    self.token, self.kept = None, ()
                case Lost(hold) if hold in self.member.ledger.lost:
                    self.token = None  # nobody gets past it in this epoch
        return sends

    def activate(self, effect: Activate) -> list[Send]:
        """A new instance of the lock, with the carried hold inside, or in and out of it at once; then the kept mail."""
        self.token = self.first_token(effect.view)
        kept, self.kept = self.kept, ()
        for token in kept:
            self.take(token)
        return self.follow()
