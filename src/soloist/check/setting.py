"""What is checked: an algorithm, its size, its requests, and what the network may do to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from soloist.algorithms import Card, Size
from soloist.core import UsageError, shown, unknown, whole
from soloist.views.prefix import Prefix

Channels = Literal["fifo", "any"]
Restart = Literal["never", "snapshot", "fresh"]
UNBOUNDED = -1
"""Requests: more than any run uses up."""

ALL = "all"
"""In the place of names: every timer."""
SITES_AT_MOST = 60
FAULTS_AT_MOST = 1000
ROUNDS_AT_MOST = 1000


class Setting(msgspec.Struct, frozen=True):
    """One transition system. Everything a `Model` needs to know, and nothing else."""

    card: Card
    size: Size
    rounds: tuple[int, ...]
    """Requests per site; 0 for a site that never asks, `UNBOUNDED` for one that never stops asking."""
    channels: Channels
    loss: bool = False
    duplicate: bool = False
    """A message may arrive a second time, behind what is then on its link."""
    faults: int = UNBOUNDED
    """Most losses and duplications in one run."""
    crashes: int = 0
    """Most crashes in one run."""
    restart: Restart = "never"
    """What a crashed site comes back with: its state at the crash, or nothing but its name."""
    timeouts: int = UNBOUNDED
    """Most timers that run out in one run."""
    slow: tuple[str, ...] = ()
    """Timers that run out only when no message is under way; `ALL` for all of them."""
    last: tuple[str, ...] = ()
    """Timers that run out only when waiting is in vain: no message is under way, nobody is inside, and no other timer runs but
    such ones."""
    patient: bool = False
    """A site asks again only when nothing it has sent is still under way (keeps some spaces finite)."""

    lively: int = 0
    """If not 0: the others ask at most so often while a site that may ask is idle (keeps some more spaces finite)."""
    start: Prefix | None = None
    """Where it starts, if not at the beginning."""

    @property
    def faulty(self) -> bool:
        timing = self.timeouts != UNBOUNDED or bool(self.slow or self.last)
        return self.loss or self.duplicate or self.crashes > 0 or timing

    @property
    def repeats(self) -> bool:
        """Whether something may happen again that happens once: a message comes twice, or a site begins anew."""
        anew = self.crashes > 0 and self.restart == "fresh"
        return anew or (self.duplicate and self.faults != 0)

    @property
    def bounded(self) -> bool:
        return UNBOUNDED not in self.rounds

    @property
    def requesters(self) -> int:
        return sum(1 for rounds in self.rounds if rounds)

    def is_slow(self, timer: str) -> bool:
        """Whether a timer runs out only when nothing is in flight."""
        return ALL in self.slow or timer in self.slow or self.is_last(timer)

    def is_last(self, timer: str) -> bool:
        """Whether a timer runs out only when waiting is in vain."""
        return ALL in self.last or timer in self.last

    def unbounded(self) -> Setting:
        """The same system where each site that asks at all asks again and again."""
        return msgspec.structs.replace(self, rounds=tuple(UNBOUNDED if r else 0 for r in self.rounds))


NETWORK = frozenset(Setting.__struct_fields__) - {"card", "size", "rounds", "channels"}


def setting(
    card: Card,
    nodes: int = 3,
    rounds: int | Sequence[int] = 2,
    k: int = 1,
    channels: str | None = None,
    options: Mapping[str, Any] | None = None,
    **network: Any,
) -> Setting:
    """Check every number and name; an impossible one is answered with one clear line."""
    if not isinstance(card, Card):
        raise UsageError(
            f"what is checked must be a Card, as soloist.algorithms.find gives it, not {shown(card)}"
        )
    if not isinstance(options, Mapping | None):
        raise UsageError(f"options must be a dict of names and values, not {shown(options)}")
    size = card.size(whole("nodes", nodes), whole("k", k), options)
    if nodes > SITES_AT_MOST:
        raise UsageError(f"nodes must be at most {SITES_AT_MOST} to be checked, not {nodes}")
    chosen = _one_of("channels", channels or card.links(k), ("fifo", "any"))
    _one_of("restart", network.get("restart", "never"), ("never", "snapshot", "fresh"))
    for name in ("crashes", "faults", "timeouts"):
        count = whole(name, network.get(name, 0))
        if not 0 <= count <= FAULTS_AT_MOST and not (name != "crashes" and count == UNBOUNDED):
            raise UsageError(f"{name} must be from 0 to {FAULTS_AT_MOST}, not {count}")
    for name in network:
        if name not in NETWORK:
            raise unknown("argument", name, NETWORK)
    return Setting(card, size, _rounds(rounds, nodes), chosen, **network)  # type: ignore[arg-type]


def _rounds(rounds: int | Sequence[int], nodes: int) -> tuple[int, ...]:
    each: tuple[Any, ...] = (
        tuple(rounds) if isinstance(rounds, Iterable) and not isinstance(rounds, str) else (rounds,) * nodes
    )
    if len(each) != nodes:
        raise UsageError(f"rounds names {len(each)} sites, but there are {nodes}")
    for count in each:
        if whole("rounds", count) < 0:
            raise UsageError(f"rounds must not be negative, and {count} is")
        if count > ROUNDS_AT_MOST:
            raise UsageError(f"rounds must be at most {ROUNDS_AT_MOST}, not {count}")
    if not any(each):
        raise UsageError("rounds are all 0: no site ever asks, so there is nothing to check")
    return each


def _one_of(what: str, given: str, known: Iterable[str]) -> str:
    if given not in (known := tuple(known)):
        raise unknown(what, given, known)
    return given
