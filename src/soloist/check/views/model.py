"""Views as a transition system over integers.

A state is one whole number: how many good holds there are, whether something is wrong, the number of each part (voters,
sites, proposers, the world), and above them one bit for each message that was ever sent. A message stays: it may be
received late, again, out of order or never. Only the mail of the lock is taken out when it is received, as sessions
promise. What a part can do depends on itself and its mail, so it is worked out once and then only added up.
"""

from __future__ import annotations

from collections.abc import Iterator

from soloist.check.views.book import FIELD, HOLDS, Move, bits
from soloist.check.views.parts import Slot, World, copied, is_void
from soloist.check.views.setting import Kit, Setting, node_called
from soloist.check.views.site import LOCK, Site, Token
from soloist.check.views.site_moves import SiteMoves
from soloist.check.views.slot_moves import SlotMoves
from soloist.check.views.voter_moves import VoterMoves
from soloist.check.views.words import describe
from soloist.check.views.world_moves import WorldMoves, is_over
from soloist.views import Holder, VoteFile, Voter, fence
from soloist.views.messages import Decided
from soloist.views.voter import Heard


class Model(VoterMoves, SiteMoves, SlotMoves, WorldMoves):
    """A setting of views, explored with the classes of a kit."""

    def __init__(self, setting: Setting, kit: Kit | None = None) -> None:
        super().__init__(setting, kit)
        self.initial = self._initial()

    def _initial(self) -> int:
        """Everybody in the first epoch, just heard by all voters; the token rests at the first member."""
        setting, view = self.setting, self.first
        state = 0
        for name in setting.voters:
            file = VoteFile(cluster="c", voter=name, view=view, start=1, registered=self.registered)
            heard = {node.incarnation: Heard(0, 0) for node in view.members}
            state += self.value(self.place[name], self.kit.voter(file=file, heard=heard))
        for name in setting.spare_voters:
            state += self.value(self.place[name], self.kit.voter(file=VoteFile(cluster="c", voter=name)))
        for number, name in enumerate((*setting.members, *setting.joiners)):
            member = self.kit.member(node=node_called(name))
            if name in setting.members:
                member.view = view
                if not view.lease.endless:
                    member.worth = dict.fromkeys(setting.voters, view.lease.at_member)
            site = self.kit.site(
                member=member, left=setting.entries[number], fresh=False, delay=setting.delay
            )
            if number == 0:
                site.token = 0
                if setting.inside:
                    site.token, member.holds = 1, {(LOCK, 0): Holder(LOCK, name, fence(1, 1))}
                    member.ledger.good = {each.hold: each for each in self.registered}
            state += self.value(self.place[name], site)
        for name in setting.proposers:
            state += self.value(self.place[name], Slot(id=name, base=view))
        world = World(
            ticks=setting.ticks,
            ballots=setting.ballots,
            crashes=setting.crashes,
            restarts=setting.restarts,
            disks=setting.lost_disks,
            hangs=setting.hangs,
            decided=(view,),
            top=fence(1, 1) if setting.inside else 0,
            standing=fence(1, 1) if self.registered else 0,
        )
        return state + self.value(self.world, world)

    # Steps.

    def targets(self, state: int) -> list[int]:
        """The states that can follow. Most of the time of a search is spent here."""
        if is_over(state, self.setting.rivals):
            return []
        if self.eager and (decided := self._decided(state)) is not None:
            return [decided]
        found = []
        pool = state >> self.pool
        world = state >> self.shifts[self.world] & FIELD
        for place in range(self.world):
            if place in self.owners and self.ended(state, place):
                continue
            for difference, sends, keeps, wish, _ in self._local(place, state, pool):
                if wish is None:
                    found.append(state + difference & keeps | sends)
                    continue
                if state & HOLDS and wish[0] == "decided":
                    wish = self._carried(state, wish)
                if (change := self._wish(world, wish)) is not None:
                    found.append(state + difference + change & keeps | sends)
        for site, voter in self.pairs:
            numbers = (site, voter, self.number(state, site), self.number(state, voter))
            try:
                move = self._exchanges[numbers]
            except KeyError:
                move = self._exchanges[numbers] = self._exchange(*numbers)
            if move is not None:
                found.append(state + move.difference & move.keeps | move.sends)
        if self.things[self.world][world].ticks:
            found += self._ticks(state, world)
        return [self._without_void(target) for target in found]

    def _local(self, place: int, state: int, pool: int) -> list[Move]:
        """What a part can do by itself or by its mail."""
        key = (state >> self.shifts[place] & FIELD, pool & self.mail[place])
        moves = self._moves[place].get(key)
        if moves is None:
            moves = self._moves[place][key] = self._work_out(place, *key)
        return moves

    def _decided(self, state: int) -> int | None:
        """The state after a decision, if a proposer can decide."""
        for place in self.slots:
            if place in self.owners and self.ended(state, place):
                continue
            for move in self._local(place, state, state >> self.pool):
                if move.world and move.world[0] == "decided":
                    change = self._wish(self.number(state, self.world), self._carried(state, move.world))
                    assert change is not None
                    return self._without_void(state + move.difference + change & move.keeps | move.sends)
        return None

    def steps(self, state: int) -> Iterator[tuple[str, int]]:
        """Like `targets`, each step with its words."""
        pool, world = state >> self.pool, self.number(state, self.world)
        for place in range(self.world):
            if place in self.owners and self.ended(state, place):
                continue
            for move in self._work_out(place, self.number(state, place), pool & self.mail[place]):
                wish = move.world and self._carried(state, move.world)
                change = 0 if wish is None else self._wish(world, wish)
                if change is not None:
                    after = state + move.difference + change & move.keeps | move.sends
                    yield move.words, self._without_void(after)
        for site, voter in self.pairs:
            exchange = self._exchange(site, voter, self.number(state, site), self.number(state, voter))
            if exchange:
                after = state + exchange.difference & exchange.keeps | exchange.sends
                yield exchange.words, self._without_void(after)
        if self.things[self.world][world].ticks:
            for target in self._ticks(state, world):
                yield self._tick_words(state, target), self._without_void(target)

    def _without_void(self, state: int) -> int:
        """Mail of proposers that means nothing any more is left out: an answer may come when it is too late."""
        for place in self.slots:
            mail = state >> self.pool & self.mail[place]
            key = (place, state >> self.shifts[place] & FIELD, mail)
            void = self._void.get(key)
            if void is None:
                part = self.things[place][key[1]]
                void = sum(1 << bit for bit in bits(mail) if is_void(part, self.letters[bit].message))
                void = self._void[key] = void << self.pool
            state &= ~void
        return state

    def _work_out(self, place: int, number: int, mail: int) -> list[Move]:
        own = self._own[place].get(number)
        if own is None:
            own = self._own[place][number] = list(self._own_moves(place, number))
        found = list(own)
        for bit in bits(mail):
            received = self._received.get((place, number, bit))
            if received is None:
                received = self._received[place, number, bit] = list(self._receive(place, number, bit))
            found += received
        if place in self.slots:
            found += self._gather(place, number, mail)
        return found

    def _own_moves(self, place: int, number: int) -> Iterator[Move]:
        part = self.things[place][number]
        if isinstance(part, Voter):
            yield from self._voter_moves(place, part)
        elif isinstance(part, Site):
            yield from self._site_moves(place, part)
        else:
            yield from self._slot_moves(place, part)

    # What comes by mail.

    def _receive(self, place: int, number: int, bit: int) -> Iterator[Move]:
        letter, part = self.letters[bit], self.things[place][number]
        said = describe(letter.message)
        name, sender = self.names[place], letter.sender
        by = f" of {sender}" if sender else ""
        words = f"{name} receives {said}{by}"
        if isinstance(part, Voter):
            if self._said_before(part, letter.message):
                return
            yield from self._voter_steps(
                place, part, lambda voter: voter.receive(sender, letter.message, 0), words
            )
        elif isinstance(part, Site):
            if not part.acts:
                return
            after = copied(part)
            if isinstance(letter.message, Token):
                after.take(letter.message)
                yield self._site_move(place, part, after, words, gone=bit)
            else:
                after.member.receive(sender, letter.message, 0)
                yield from self._if_changed(self._site_move(place, part, after, words))
        elif isinstance(letter.message, Decided) and letter.message.view.epoch > part.base.epoch:
            yield self._move(place, part, Slot(id=part.id, base=letter.message.view), [], words)
