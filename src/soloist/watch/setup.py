"""How a played run is kept as text: its system, and the steps that were taken. It goes into a file, or into the fragment of an address."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any, Literal

import msgspec

from soloist.algorithms import Card, Size, find_any
from soloist.algorithms.printed import find_printed
from soloist.core import UsageError, unknown
from soloist.watch.puzzles import find_puzzle
from soloist.watch.session import Session

MOST_SITES = 30
MOST_STEPS = 2000
MOST_BYTES = 1_000_000


class Setup(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A system to be played with. A puzzle says all of it by itself."""

    algorithm: str = ""
    nodes: int = 3
    k: int = 1
    channels: str | None = None
    """fifo, any; None: what the algorithm needs."""
    options: dict[str, Any] = {}
    printed: bool = False
    erratum: str | None = None
    puzzle: str | None = None
    beside: str | None = None
    """Another algorithm, which gets the same requests."""
    workload: Literal["rare", "always"] | None = None
    """How often sites ask in a run to begin with; None: the player decides who asks."""
    seed: int | None = None
    """Of the steps that are taken by chance, and of the workload."""
    chance: int = 0
    """Steps by chance to begin with."""
    steps: tuple[str, ...] = ()

    def system(self) -> tuple[Card, Size, bool]:
        """Checked; the last says whether links are FIFO."""
        if self.puzzle:
            each = find_puzzle(self.puzzle).erratum
            size = each.card.size(each.nodes, each.k, each.options)
            return each.card, size, (each.channels or each.card.links(each.k)) == "fifo"
        if self.nodes > MOST_SITES:
            raise UsageError(f"at most {MOST_SITES} sites are played with, not {self.nodes}")
        wrong = self.printed or self.erratum
        card = find_printed(self.algorithm, self.erratum) if wrong else find_any(self.algorithm)
        return card, card.size(self.nodes, self.k, self.options), self._fifo(card)

    def _fifo(self, card: Card) -> bool:
        channels = self.channels or card.links(self.k)
        if channels not in ("fifo", "any"):
            raise unknown("channels", channels, ("fifo", "any"))
        return channels == "fifo"

    def session(self) -> Session:
        """Played as far as it was kept."""
        if len(self.steps) > MOST_STEPS or self.chance > MOST_STEPS:
            raise UsageError(f"a played run has at most {MOST_STEPS} steps")
        card, size, fifo = self.system()
        links = "fifo" if fifo else "any"
        k = f" k={size.k}" if size.k > 1 else ""
        session = Session(f"start {card.name} nodes={size.n}{k} channels={links}", card, size, fifo)
        session.about = self._text()
        for step in self.steps:
            session.do(step)
        return session

    def _text(self) -> dict[str, Any]:
        """Whether it is played as a text has it, with which of its errors: without that a trace could not be replayed."""
        erratum = find_puzzle(self.puzzle).erratum.code if self.puzzle else self.erratum
        return {"printed": True, "erratum": erratum} if self.printed or erratum else {}


def fragment(setup: Setup) -> str:
    """As one word that may stand in an address. It says nothing of where it was played."""
    packed = zlib.compress(msgspec.json.encode(setup), 9)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def unpacked(word: str) -> Setup:
    """What such a word says, also as `#play=WORD` or at the end of an address."""
    word = word.rpartition("play=")[2].partition("&")[0].strip()
    try:
        data = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        machine = zlib.decompressobj()
        text = machine.decompress(data, MOST_BYTES)
        if machine.unconsumed_tail or not machine.eof:
            raise UsageError("this fragment is cut off, or far too long to be a run")
        return msgspec.json.decode(text, type=Setup)
    except (binascii.Error, zlib.error, msgspec.MsgspecError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            f"this is no fragment of a played run: {error}; copy all of what follows #play="
        ) from None
