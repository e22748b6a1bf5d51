"""Views as a transition system over integers.

A state is one whole number: how many good holds there are, whether something is wrong, the number of each part (voters,
sites, proposers, the world), and above them one bit for each message that was ever sent. A message stays: it may be
received late, again, out of order or never. Only the mail of the lock is taken out when it is received, as sessions
promise. What a part can do depends on itself and its mail, so it is worked out once and then only added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import msgspec

from soloist.check.views.parts import (
    Slot,
    World,
    copied,
    frozen,
    is_void,
    later_site,
    later_voter,
    no_echo,
    plain_member,
    plain_voter,
    rest,
)
from soloist.check.views.setting import Kit, Setting
from soloist.check.views.site import LOCK, Site, Token
from soloist.check.views.words import describe, view_words
from soloist.core import Message
from soloist.views import Ballot, Effect, Holder, Node, Proposer, Send, Store, View, VoteFile, Voter, fence
from soloist.views.messages import (
    Ack,
    Dead,
    Decided,
    Fetch,
    Poll,
    Polled,
    Prepare,
    Probe,
    Renew,
    Report,
    Stored,
)
from soloist.views.voter import Heard

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
UNHEARD = (Fetch, Stored, Poll, Polled)
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


class Model:
    """A setting of views, explored with the classes of a kit."""

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
        self.quiet = setting.rivals and setting.epochs == 2
        """Whether no decision is heard: where it is about one epoch only, that leaves more votes to go wrong."""
        self.eager = setting.renewals == "none" and setting.tries == 1
        """Whether a proposer decides as soon as it can: where it has but one try and nothing is renewed, nobody can
        tell the difference, for a decision is not heard before it is received."""
        self.initial = self._initial()

    # States.

    def _initial(self) -> int:
        """Everybody in the first epoch, just heard by all voters; the token rests at the first member."""
        setting = self.setting
        nodes = tuple(Node(name, name) for name in setting.members)
        view = View(epoch=1, voters=setting.voters, members=nodes, lease=setting.lease)
        state = 0
        for name in setting.voters:
            file = VoteFile(cluster="c", voter=name, view=view, start=1)
            heard = {node.incarnation: Heard(0, 0) for node in nodes}
            state += self.value(self.place[name], self.kit.voter(file=file, heard=heard))
        for name in setting.spare_voters:
            state += self.value(self.place[name], self.kit.voter(file=VoteFile(cluster="c", voter=name)))
        for number, name in enumerate((*setting.members, *setting.joiners)):
            member = self.kit.member(node=Node(name, name))
            if name in setting.members:
                member.view = view
                member.worth = dict.fromkeys(setting.voters, view.lease.at_member)
            site = self.kit.site(member=member, left=setting.entries[number], fresh=False)
            if number == 0:
                site.token = 0
                if setting.inside:
                    site.token, member.holds = 1, {(LOCK, 0): Holder(LOCK, name, fence(1, 1))}
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
        )
        return state + self.value(self.world, world)

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
        return [self.letters[bit] for bit in _bits(state >> self.pool)]

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
                void = sum(1 << bit for bit in _bits(mail) if is_void(part, self.letters[bit].message))
                void = self._void[key] = void << self.pool
            state &= ~void
        return state

    def _work_out(self, place: int, number: int, mail: int) -> list[Move]:
        own = self._own[place].get(number)
        if own is None:
            own = self._own[place][number] = list(self._own_moves(place, number))
        found = list(own)
        for bit in _bits(mail):
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

    def _said_before(self, voter: Voter, message: Message) -> bool:
        again = isinstance(message, Prepare) and message.ballot == voter.file.ballot
        return again and not self.setting.again

    def _if_changed(self, move: Move) -> Iterator[Move]:
        """A step that changes only what is sent again would lead back to where it began."""
        if move.difference or move.sends:
            yield move

    # Voters.

    def _voter_moves(self, place: int, voter: Voter) -> Iterator[Move]:
        name = self.names[place]
        if self.setting.restarts:
            yield from self._restarted(place, voter, voter.file, [], f"{name} restarts")
        if self.setting.lost_disks and voter.file.voter == name:
            lost = self.kit.voter(file=VoteFile(cluster="c", voter=name + "'"))
            yield self._move(place, voter, lost, [], f"{name} loses its disk", ("disk",))

    def _voter_steps(
        self, place: int, voter: Voter, step: Callable[[Voter], None], words: str
    ) -> Iterator[Move]:
        """A step in one piece; and, where voters restart, broken off after each of its effects."""
        after = copied(voter)
        step(after)
        effects, after.out = after.out, []
        self._plain(after)
        yield from self._if_changed(self._move(place, voter, after, effects, words))
        if not self.setting.restarts:
            return
        file = voter.file
        for done, effect in enumerate(effects[:-1], start=1):
            if isinstance(effect, Store):
                file = effect.file
            said = f"{words}, and restarts after {done} of {len(effects)} effects"
            yield from self._restarted(place, voter, file, effects[:done], said)

    def _restarted(
        self, place: int, voter: Voter, file: VoteFile, effects: list[Effect], words: str
    ) -> Iterator[Move]:
        after = self.kit.voter.start(file, "", 0)
        after.out = []
        yield self._move(place, voter, after, effects, words, ("restart",))

    # Sites.

    def _site_moves(self, place: int, site: Site) -> Iterator[Move]:
        setting, name = self.setting, self.names[place]
        if site.crashed or site.member.ended:
            return
        if setting.crashes:
            yield self._crash(place, site)
        if setting.renewals == "apart" and site.fresh:
            yield from self._renewal(place, site)
        if site.hung:
            return
        if setting.hangs:
            after = copied(site)
            after.hung = True
            yield self._move(place, site, after, [], f"the loop of {name} hangs", ("hang",))
        if site.member.view is None:
            if name in setting.known:
                return
            after = copied(site)
            after.member.ask_to_join(setting.voters)
            yield self._site_move(place, site, after, f"{name} asks to join")
            return
        yield from self._lock_moves(place, site)
        if name in setting.leaves:
            yield from self._leave_moves(place, site)

    def _lock_moves(self, place: int, site: Site) -> Iterator[Move]:
        name, member = self.names[place], site.member
        if member.holds:
            after = copied(site)
            after.member.release(LOCK, 0, 0)
            yield self._site_move(place, site, after, f"{name} releases")
            after = copied(site)
            if not after.member.holding(LOCK, 0, 0):
                yield self._site_move(place, site, after, f"{name} asks about its hold, which is lost")
        elif site.token is not None:
            after = copied(site)
            if site.left > 0 and (number := after.enter()) is not None:
                epoch, counter = divmod(number, 1 << 40)
                words = f"{name} enters with fence {epoch}.{counter}"
                yield self._site_move(place, site, after, words, wish=("enter", number))
            if self.setting.passing and member.may_send() and member.view:
                for node in member.view.members:
                    if node.incarnation != name:
                        after = copied(site)
                        after.hand_over(node)
                        words = f"{name} sends the token of epoch {member.epoch} to {node.name}"
                        yield self._site_move(place, site, after, words)

    def _leave_moves(self, place: int, site: Site) -> Iterator[Move]:
        name = self.names[place]
        after = copied(site)
        if not site.member.leaving:
            after.member.leave()
            yield self._site_move(place, site, after, f"{name} begins to leave")
        elif after.member.farewell():
            yield self._site_move(place, site, after, f"{name} says BYE")

    def _crash(self, place: int, site: Site) -> Move:
        after = copied(site)
        after.crash()
        name = self.names[place]
        sends: list[Effect] = []
        if self.setting.proof:
            sends = [Send(self.names[slot], Dead(name)) for slot in self.slots]
        words = f"{name} crashes" + (", which is proved" if sends else "")
        return self._site_move(place, site, after, words, wish=("crash",), sends=sends)

    def _renewal(self, place: int, site: Site) -> Iterator[Move]:
        name = self.names[place]
        if self.setting.renewing is not None and name not in self.setting.renewing:
            return
        after = copied(site)
        after.member.renew(0)
        after.fresh = False
        if after.member.out:
            yield self._site_move(place, site, after, f"{name} sends renewal {after.member.number}")

    def _exchange(self, place: int, voter_place: int, number: int, voter_number: int) -> Move | None:
        """A renewal sent, received and answered in one step."""
        site, voter = self.things[place][number], self.things[voter_place][voter_number]
        if site.crashed or site.member.ended or not voter.view:
            return None
        after, voter_after, name = copied(site), copied(voter), voter.file.voter
        after.member.renew(0)
        renewals = [s for s in after.follow() if s.to == name and isinstance(s.message, Renew)]
        if not renewals:
            return None
        voter_after.receive(site.member.me, renewals[0].message, 0)
        effects, voter_after.out = voter_after.out, []
        acknowledged = False
        for effect in effects:
            if isinstance(effect, Send) and effect.to == site.member.me:
                acknowledged |= isinstance(effect.message, Ack)
                self.answer(after, name, effect.message)
        self._plain(voter_after)
        answer = "is acknowledged" if acknowledged else "gets an answer that is worth nothing"
        words = f"{self.names[place]} renews at {name} and {answer}"
        move = self._site_move(place, site, after, words)
        difference = move.difference + self._difference(voter_place, voter, voter_after)
        return Move(difference, move.sends, move.keeps, None, words) if difference or move.sends else None

    def _unheard(self, message: Prepare) -> bool:
        """To a member all tries of a proposer for one epoch are the same; and it may not hear any."""
        return self.setting.relayed or message.ballot.round > 1

    def answer(self, site: Site, voter: str, message: Message) -> None:
        """A voter's answer reaches a member; while its loop hangs only the lease takes note of it."""
        if not site.hung:
            site.member.receive(voter, message, 0)
        elif isinstance(message, Ack | Probe):
            site.member.echoes[voter] = message.number
            if isinstance(message, Ack):
                site.member.credit(message, 0)

    def _site_move(
        self,
        place: int,
        before: Site,
        after: Site,
        words: str,
        wish: tuple[Any, ...] | None = None,
        sends: list[Effect] | None = None,
        gone: int | None = None,
    ) -> Move:
        effects: list[Effect] = [*after.follow(), *(sends or [])]
        report = (
            before.member.epoch,
            before.member.wedged,
            frozenset(before.member.holds),
            before.member.coming,
        )
        if report != (
            after.member.epoch,
            after.member.wedged,
            frozenset(after.member.holds),
            after.member.coming,
        ):
            after.fresh = True
        if after.crashed or after.member.ended:
            rest(after)
        elif after.member.wedged:
            after.token = None  # never used again: the next view makes another
        if self.whole:
            after.fresh = False
            plain_member(after.member)
        elif not self.setting.echo:
            no_echo(after.member)
        move = self._move(place, before, after, effects, words, wish)
        if gone is not None:
            move = move._replace(difference=move.difference - (1 << self.pool + gone))
        return move

    # Proposers.

    def _slot_moves(self, place: int, slot: Slot) -> Iterator[Move]:
        """Begin a try: for the next epoch, or once more for the same with a higher ballot."""
        after = copied(slot)
        if slot.proposer and slot.proposer.decision:
            after.base, after.tries = slot.proposer.decision, 0
        if after.base.epoch >= self.setting.epochs or after.tries >= self.setting.tries:
            return
        after.tries += 1
        after.proposer = self.kit.proposer(
            view=after.base,
            ballot=Ballot(after.tries, slot.id),
            asked=True,
            change=self.setting.changes.get(after.base.epoch + 1),
            joiners={name: Node(name, name) for name in self.setting.known},
        )
        after.proposer.prepare()
        words = f"{slot.id} prepares epoch {after.proposer.epoch} at ballot {after.tries}"
        yield self._slot_move(place, slot, after, words, ("ballot",))

    def _slot_move(
        self, place: int, before: Slot, after: Slot, words: str, wish: tuple[Any, ...] | None = None
    ) -> Move:
        """What a proposer has gathered is forgotten once it is used: only what it will say next matters."""
        proposer = after.proposer
        assert proposer is not None
        effects, proposer.out = proposer.out, []
        if view := proposer.decision:
            wish, after = ("decided", view), Slot(id=after.id, base=view)
            effects += [Send(self.names[slot], Decided(view)) for slot in self.slots if slot != place]
        elif proposer.proposal:
            after.proposer = self.kit.proposer(
                view=proposer.view, ballot=proposer.ballot, proposal=proposer.proposal
            )
        return self._move(place, before, after, effects, words, wish)

    def _gather(self, place: int, number: int, mail: int) -> Iterator[Move]:
        """All that a proposer may say, having received any of its mail in any order.

        Nobody can tell when it received what before it says something, so that is no step of its own.
        """
        slot = self.things[place][number]
        if slot.proposer is None:
            return
        start = self._inner_number(place, number, slot.proposer)
        seen, todo, bits = {start}, [start], list(_bits(mail))
        found: dict[tuple[int, int], Move] = {}
        while todo:
            inner = todo.pop()
            for bit in bits:
                after = self._listen(place, number, inner, bit)
                if isinstance(after, Move):
                    found.setdefault((after.difference, after.sends), after)
                elif after not in seen:
                    seen.add(after)
                    todo.append(after)
        yield from found.values()

    def _listen(self, place: int, number: int, inner: int, bit: int) -> Move | int:
        """One message more: either the proposer says something, or it only knows more."""
        known = self._listened.get((inner, bit))
        if known is None:
            letter, proposer = self.letters[bit], copied(self._inner[inner])
            if not isinstance(letter.message, Decided):
                proposer.receive(letter.sender, letter.message)
            if proposer.out:
                known = self._said(place, number, proposer)
            else:
                known = self._inner_number(place, number, proposer)
            self._listened[inner, bit] = known
        return known

    def _said(self, place: int, number: int, proposer: Proposer) -> Move:
        slot = self.things[place][number]
        after = Slot(id=slot.id, base=slot.base, tries=slot.tries, proposer=proposer)
        if proposer.decision:
            words = f"{slot.id} decides {view_words(proposer.decision)}"
        else:
            assert proposer.proposal is not None
            words = f"{slot.id} has what it needs and asks to accept {view_words(proposer.proposal)}"
        return self._slot_move(place, slot, after, words)

    def _inner_number(self, place: int, number: int, proposer: Proposer) -> int:
        key = (place, number, frozen(proposer))
        known = self._inner_numbers.get(key)
        if known is None:
            known = self._inner_numbers[key] = len(self._inner)
            self._inner.append(proposer)
        return known

    # Time.

    def _ticks(self, state: int, world: int) -> Iterator[int]:
        """Every clock goes on, each at one of the rates."""
        change = self._wish(world, ("tick",))
        assert change is not None
        options = [self._later_differences(place, state) for place in range(self.sites.stop)]
        for differences in product(*options):
            yield state + change + sum(differences)

    def _later_differences(self, place: int, state: int) -> tuple[int, ...]:
        number = self.number(state, place)
        known = self._later[place].get(number)
        if known is None:
            part, found = self.things[place][number], []
            for rate in self.setting.rates:
                after = copied(part)
                later_voter(after, rate) if isinstance(after, Voter) else later_site(after, rate)
                if self.whole and isinstance(after, Site):
                    after.fresh = False
                found.append(self._difference(place, part, after))
            known = self._later[place][number] = tuple(dict.fromkeys(found))
        return known

    def _tick_words(self, state: int, target: int) -> str:
        """Which clocks go on by how much, where they may differ."""
        if len(self.setting.rates) == 1:
            return "a tick"
        fast = []
        for place in range(self.sites.stop):
            after = copied(self.part(state, place))
            later_voter(after, 1) if isinstance(after, Voter) else later_site(after, 1)
            if self.whole and isinstance(after, Site):
                after.fresh = False
            if self.value(place, after) >> self.shifts[place] != self.number(target, place):
                fast.append(self.names[place])
        return "a tick" + (f"; by 2 at {', '.join(fast)}" if fast else "; by 1 everywhere")

    # The world.

    def _wish(self, world: int, wish: tuple[Any, ...]) -> int | None:
        """What happens to the world, as a difference to the state; None if it may not happen any more."""
        try:
            return self._worlds[world, wish]
        except KeyError:
            before: World = self.things[self.world][world]
            after = _happen(before, wish)
            change = None if after is None else self._difference(self.world, before, after)
            self._worlds[world, wish] = change
            return change

    def _carried(self, state: int, wish: tuple[Any, ...]) -> tuple[Any, ...]:
        """A decision that forgets a hold that is good, somewhere, now: two would hold before long."""
        if wish[0] != "decided":
            return wish
        good = [site for site in (self.part(state, place) for place in self.sites) if site.good()]
        holds = {hold for site in good for hold in site.member.holds.values()}
        return wish if holds.issubset(wish[1].holders) else ("forgotten",)

    # Helpers.

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
            for bit in _bits(self.mail[place])
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


def is_over(state: int, rivals: bool) -> bool:
    """Nothing can go wrong from here on.

    Nobody may enter any more, no hold can be forgotten by a view, and, where it is about that, no view can be decided.
    """
    if state & ABLE:
        return False
    return not state & OPEN if rivals else not state & HELD or bool(state & LAST)


def _happen(world: World, wish: tuple[Any, ...]) -> World | None:
    """The world after something has happened; wrong, if that breaks a promise; None, if it may not happen any more."""
    replace = msgspec.structs.replace
    match wish:
        case ("enter", fence):
            wrong = "" if fence > world.top else "fence"
            return replace(world, top=max(world.top, fence), wrong=wrong)
        case ("decided", view):
            same = [known for known in world.decided if known.epoch == view.epoch]
            if same:
                return replace(world, wrong="" if same[0] == view else "view")
            return replace(world, decided=(*world.decided, view))
        case ("forgotten",):
            return replace(world, wrong="carry-over")
        case (what,):
            field = {
                "tick": "ticks",
                "ballot": "ballots",
                "crash": "crashes",
                "restart": "restarts",
                "disk": "disks",
                "hang": "hangs",
            }[what]
            left = getattr(world, field)
            return replace(world, **{field: left - 1}) if left else None
    raise AssertionError(wish)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
