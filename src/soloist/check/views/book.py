"""The book of a model: every part and every letter that was ever met has a number in it, and states are made of these.

A state is one whole number: counts at its head, the number of each part (voters, sites, proposers, the world), and above
them one bit for each letter that was sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from soloist.check.views.parts import Slot, World, frozen, is_void, no_echo, plain_voter
from soloist.check.views.setting import Kit, Setting, node_called
from soloist.check.views.site import LOCK, Site, Token
from soloist.core import Message
from soloist.views import Breaking, Effect, Holder, Proposer, Registration, Send, View, Voter, fence
from soloist.views.messages import Break, Dead, Decided, Fetch, Poll, Polled, Prepare, Report, Stored

HOLDS = 0b111
"""The bits that count good holds."""
WRONG = 0b1000
HELD = 0b111 << 4
"""The bits that count holds, good or not."""
ABLE = 0b111 << 7
"""The bits that count sites that may still enter."""
LAST = 1 << 10
"""The last view of the setting has been decided."""
OPEN = 0b111 << 11
"""The bits that count proposers that have not heard of the last view."""
HEAD = 14
BITS = 20
FIELD = (1 << BITS) - 1
UNHEARD = (Fetch, Stored, Poll, Polled, Break)
"""Not modelled: they ask for what is in the pool anyway, or bind nobody."""


class Letter(NamedTuple):
    """A message that was sent."""

    to: str
    sender: str
    message: Message


class Move(NamedTuple):
    """What a part can do: what it adds to the state, the bits it sets, what it does to the world, and in words."""

    difference: int
    sends: int
    keeps: int
    """All bits but those of letters that this step makes meaningless."""
    world: tuple[Any, ...] | None
    words: str


class Book:
    """Numbers for parts and letters, and the moves that are made of them."""

    def __init__(self, setting: Setting, kit: Kit | None = None) -> None:
        self.setting, self.kit = setting, kit or Kit()
        self.names = [*setting.voters, *setting.spare_voters, *setting.members, *setting.joiners]
        self.n_voters = len(setting.voters) + len(setting.spare_voters)
        self.names += [*setting.proposers, "world"]
        self.place = {name: place for place, name in enumerate(self.names)}
        self.sites = range(self.n_voters, self.n_voters + len(setting.members) + len(setting.joiners))
        self.slots = range(self.sites.stop, len(self.names) - 1)
        self.world = len(self.names) - 1
        self.shifts = [HEAD + BITS * place for place in range(len(self.names))]
        self.pool = HEAD + BITS * len(self.names)
        self.things: list[list[Any]] = [[] for _ in self.names]
        self.numbers: list[dict[Any, int]] = [{} for _ in self.names]
        self.values: list[list[int]] = [[] for _ in self.names]
        self.letters: list[Letter] = []
        self.letter_bits: dict[Letter, int] = {}
        self.mail = [0 for _ in self.names]
        self.whole = setting.renewals == "whole"
        self._moves: list[dict[tuple[int, int], list[Move]]] = [{} for _ in self.names]
        self._received: dict[tuple[int, int, int], list[Move]] = {}
        self._own: list[dict[int, list[Move]]] = [{} for _ in self.names]
        self._exchanges: dict[tuple[int, int, int, int], Move | None] = {}
        self._worlds: dict[tuple[int, tuple[Any, ...]], int | None] = {}
        self._void: dict[tuple[int, int, int], int] = {}
        self._inner: list[Proposer] = []
        self._inner_numbers: dict[Any, int] = {}
        self._listened: dict[tuple[int, int], Move | int] = {}
        self._later: list[dict[int, tuple[int, ...]]] = [{} for _ in self.names]
        renewing = setting.renewing
        self.pairs = [
            (site, voter)
            for site in self.sites
            for voter in range(self.n_voters)
            if self.whole and (renewing is None or self.names[site] in renewing)
        ]
        self.owners = self._owners()
        self.quiet = setting.rivals and setting.epochs == 2
        """Whether no decision is heard: where it is about one epoch only, that leaves more votes to go wrong."""
        self.eager = setting.renewals == "none" and setting.tries == 1
        """Whether a proposer decides as soon as it can: where it has but one try and nothing is renewed, nobody can
        tell the difference, for a decision is not heard before it is received."""

    def _owners(self) -> dict[int, int]:
        """The sites that voters and proposers end with, where there is no lease."""
        setting, found = self.setting, {}
        if setting.lease.endless:
            votes = [*range(self.n_voters)]
            found = dict(zip(votes, self.sites, strict=True))
            if not setting.outlives:
                found |= {slot: self.place[self.names[slot].partition(".")[2]] for slot in self.slots}
        return found

    def ended(self, state: int, place: int) -> bool:
        """Whether this voter or proposer has ended with its member."""
        site = self.part(state, self.owners[place])
        return bool(site.crashed or site.member.ended)

    @cached_property
    def first(self) -> View:
        """The view that all begin with."""
        setting = self.setting
        members = tuple(map(node_called, setting.members))
        return View(epoch=1, voters=setting.voters, members=members, lease=setting.lease)

    @cached_property
    def registered(self) -> tuple[Registration, ...]:
        """What voters know of from the start."""
        setting = self.setting
        if not setting.inside or setting.delay is None:
            return ()
        name = setting.members[0]
        return (Registration(Holder(LOCK, name, fence(1, 1)), name, setting.delay),)

    @cached_property
    def breaking(self) -> Breaking:
        """The wish of those who want the lock broken, if there are some."""
        return self.kit.breaking.of((LOCK,), self.first)

    def value(self, place: int, part: Any) -> int:
        """What a part adds to a state; a new part gets a number."""
        key = frozen(part)
        number = self.numbers[place].get(key)
        if number is None:
            number = self.numbers[place][key] = len(self.things[place])
            assert number <= FIELD, f"more than {FIELD} states of {self.names[place]}"
            self.things[place].append(part)
            self.values[place].append((number << self.shifts[place]) + self._weight(part))
        return self.values[place][number]

    def _weight(self, part: Any) -> int:
        """What a part adds to the counts at the head of a state."""
        if isinstance(part, Site):
            living = not part.crashed and not part.member.ended
            held = living and bool(part.member.holds)
            return part.good() + (held << 4) + ((living and part.left > 0) << 7)
        if isinstance(part, World):
            last = any(view.epoch == self.setting.epochs for view in part.decided)
            return WRONG * bool(part.wrong) + LAST * last
        if isinstance(part, Slot):
            return (part.base.epoch < self.setting.epochs) << 11
        return 0

    def number(self, state: int, place: int) -> int:
        return state >> self.shifts[place] & FIELD

    def part(self, state: int, place: int) -> Any:
        return self.things[place][self.number(state, place)]

    def parts(self, state: int) -> list[Any]:
        return [self.part(state, place) for place in range(len(self.names))]

    def pooled(self, state: int) -> list[Letter]:
        """All letters of a state."""
        return [self.letters[bit] for bit in bits(state >> self.pool)]

    # Moves.

    def _plain(self, voter: Voter) -> None:
        """Leave out what this setting is not about."""
        if self.whole:
            plain_voter(voter)
        elif not self.setting.echo:
            no_echo(voter)
        if not self.setting.relayed:
            voter.reports = {}

    def _difference(self, place: int, before: Any, after: Any) -> int:
        return self.value(place, after) - self.value(place, before)

    def _move(
        self,
        place: int,
        before: Any,
        after: Any,
        effects: list[Effect],
        words: str,
        wish: tuple[Any, ...] | None = None,
    ) -> Move:
        sends = 0
        for effect in effects:
            if isinstance(effect, Send) and not isinstance(effect.message, UNHEARD):
                sends |= self._bit(self.names[place], effect)
        setting = self.setting
        void = sum(
            1 << self.pool + bit
            for bit in bits(self.mail[place])
            if is_void(after, self.letters[bit].message, setting.echo)
        )
        return Move(self._difference(place, before, after), sends & ~void, ~void, wish, words)

    def _bit(self, sender: str, send: Send) -> int:
        """The bit of a letter; none if it is to somebody who is not in this setting."""
        place = self.place.get(send.to)
        if place is None or (self.setting.relayed and isinstance(send.message, Report)):
            return 0
        if isinstance(send.message, Prepare) and place in self.sites and self._unheard(send.message):
            return 0
        if self.quiet and isinstance(send.message, Decided):
            return 0
        anonymous = isinstance(send.message, Decided | Token | Dead)
        letter = Letter(send.to, "" if anonymous else sender, send.message)
        bit = self.letter_bits.get(letter)
        if bit is None:
            bit = self.letter_bits[letter] = len(self.letters)
            self.letters.append(letter)
            self.mail[place] |= 1 << bit
        return 1 << self.pool + bit

    def _if_changed(self, move: Move) -> Iterator[Move]:
        """A step that changes only what is sent again would lead back to where it began."""
        if move.difference or move.sends:
            yield move

    def _unheard(self, message: Prepare) -> bool:
        """To a member all tries of a proposer for one epoch are the same; and it may not hear any."""
        return self.setting.relayed or message.ballot.round > 1


def bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
