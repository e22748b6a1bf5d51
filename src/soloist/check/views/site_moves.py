"""What members do, with the lock on top of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from soloist.check.views.book import Book, Move
from soloist.check.views.parts import copied, no_echo, plain_member, rest
from soloist.check.views.site import LOCK, Site
from soloist.core import Message
from soloist.views import Effect, Send
from soloist.views.messages import Ack, Dead, Probe, Renew


class SiteMoves(Book):
    """The moves of sites."""

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
            released = ("release", member.holds[LOCK, 0].fence) if site.delay is not None else None
            after.member.release(LOCK, 0, 0)
            yield self._site_move(place, site, after, f"{name} releases", wish=released)
            after = copied(site)
            if not after.member.holding(LOCK, 0, 0):
                yield self._site_move(place, site, after, f"{name} asks about its hold, which is lost")
        elif site.token is not None:
            after = copied(site)
            if site.left > 0 and (number := after.enter()) is not None:
                epoch, counter = divmod(number, 1 << 40)
                words = f"{name} enters with fence {epoch}.{counter}"
                yield self._site_move(place, site, after, words, wish=("enter", number))
            after = copied(site)
            if site.left > 0 and after.register():
                yield self._site_move(place, site, after, f"{name} asks to register")
            if self.setting.passing and member.may_send() and member.view and not site.bound:
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
        elif after.member.farewell(tuple(self.names[slot] for slot in self.slots if slot in self.owners)):
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
