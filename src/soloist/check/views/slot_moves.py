"""What proposers do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from soloist.check.views.book import Book, Move, bits
from soloist.check.views.parts import Slot, copied, frozen
from soloist.check.views.setting import node_called
from soloist.check.views.words import view_words
from soloist.views import Ballot, Proposer, Send
from soloist.views.messages import Decided


class SlotMoves(Book):
    """The moves of proposers."""

    def _slot_moves(self, place: int, slot: Slot) -> Iterator[Move]:
        """Begin a try: for the next epoch, or once more for the same with a higher ballot."""
        after = copied(slot)
        if after.base.epoch >= self.setting.epochs or after.tries >= self.setting.tries:
            return
        after.tries += 1
        members = after.base.incarnations
        after.proposer = self.kit.proposer(
            view=after.base,
            ballot=Ballot(after.tries, slot.id),
            asked=True,
            change=self.setting.changes.get(after.base.epoch + 1),
            evictions=set(self.breaking.evictions if slot.id in self.setting.breakers else ()),
            joiners={name: node_called(name) for name in self.setting.known if name not in members},
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
        seen, todo, letters = {start}, [start], list(bits(mail))
        found: dict[tuple[int, int], Move] = {}
        while todo:
            inner = todo.pop()
            for bit in letters:
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
