"""What voters do: answer their mail, and restart at any point of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from soloist.check.views.book import Book, Move
from soloist.check.views.parts import copied
from soloist.core import Message
from soloist.views import Effect, Store, VoteFile, Voter
from soloist.views.messages import Prepare


class VoterMoves(Book):
    """The moves of voters."""

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

    def _said_before(self, voter: Voter, message: Message) -> bool:
        again = isinstance(message, Prepare) and message.ballot == voter.file.ballot
        return again and not self.setting.again
