"""The transition system: from one state of the whole to all that can follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from soloist.check.declarations import NOTHING, declaration
from soloist.check.history import History
from soloist.check.local import Library, Local
from soloist.check.mail import Mail, drops_mail
from soloist.check.parts import (
    BITS,
    COUNTS,
    FIELD,
    INSIDE_COUNT,
    TOO_MANY,
    WRONG,
    Part,
    Pool,
    Thing,
)
from soloist.check.setting import Setting
from soloist.check.start import begun, carried
from soloist.check.steps import Action, Move, Steps
from soloist.core import INSIDE, WAITING, Process, Site


class Moves(dict[int, list[Move]]):
    """What a site can do, for each number of its `Local`; worked out when first asked for."""

    def __init__(self, work_out: Callable[[Site, int], Iterable[Move]], site: Site) -> None:
        super().__init__()
        self.work_out = work_out
        self.site = site

    def __missing__(self, number: int) -> list[Move]:
        self[number] = moves = list(self.work_out(self.site, number))
        return moves


class Model:
    """A setting as a transition system over integers."""

    def __init__(
        self,
        setting: Setting,
        history: History | None = None,
        canonical: bool = True,
        declared: bool = False,
    ) -> None:
        self.setting = setting
        self.n = setting.size.n
        self.history = history or History()
        declarations = declaration(setting.card.process) if declared else NOTHING
        self.library = Library(setting.card.process, declarations)
        self.mail = Mail(setting, self.library, canonical, drops_mail(setting, declarations, self.history))
        self.base = TOO_MANY - 1 - setting.size.k
        """A state in which nothing is counted."""
        self.phase_bits = (1 << 2 * self.n) - 1
        self.shifts = [COUNTS + 2 * self.n + BITS * index for index in range(self.n + 1)]
        self.parts = [Part(self.shifts[i], partial(self._weigh, i)) for i in range(self.n)]
        self.parts.append(Part(self.shifts[-1], lambda pool: WRONG if pool.wrong else 0))
        self.steps = Steps(setting, self.history, self.library, self.mail, self.parts)
        self.moves = [Moves(self.steps.work_out, site) for site in range(self.n)]
        self.initial = self._initial()

    # States.

    def _initial(self) -> int:
        """Before anybody has asked, unless the setting says otherwise; what has been sent so far is under way."""
        setting = self.setting
        locals_, mail = begun(self.library, setting, self.history.at_first)
        self.steps.fresh = [local.process for local in locals_]
        if setting.start:
            locals_, mail = carried(self.library, setting, setting.start, self.history.at_first)
        for to, item in mail:
            locals_[to] = self.mail.receive(locals_[to], (item,))
        return self.pack([*locals_, Pool(setting.faults, setting.crashes, setting.timeouts)])

    def pack(self, things: list[Thing]) -> int:
        return self.base + sum(
            part.values[part.number(thing)] for part, thing in zip(self.parts, things, strict=True)
        )

    def numbers(self, state: int) -> list[int]:
        return [state >> shift & FIELD for shift in self.shifts]

    def things(self, state: int) -> list[Thing]:
        return [part.things[state >> part.shift & FIELD] for part in self.parts]

    def process(self, state: int, site: Site) -> Process:
        return self.library.process(self.things(state)[site].process)

    def inside(self, state: int) -> int:
        """How many sites are inside."""
        return (state & INSIDE_COUNT) - self.base

    def phases(self, state: int) -> int:
        """Who is inside (bit i) and who waits (bit N+i), as one small number."""
        return state >> COUNTS & self.phase_bits

    def _weigh(self, site: Site, local: Local) -> int:
        if not local.alive:
            return 0
        phase = self.library.phases[local.process]
        due = len(local.inbox) + len(local.timers) + (phase is INSIDE)
        return (
            (phase is INSIDE)
            + ((phase is WAITING) << 8)
            + (due << 16)
            + (max(local.left, 0) << 32)
            + (WRONG if local.wrong else 0)
            + ((phase is INSIDE) << COUNTS + site)
            + ((phase is WAITING) << COUNTS + self.n + site)
        )

    # Steps.

    def targets(self, state: int) -> list[int]:
        """The states that can follow, one for each step. Most of the time of a search is spent here."""
        found = []
        numbers = [state >> shift & FIELD for shift in self.shifts]
        for moves, number in zip(self.moves, numbers, strict=False):
            for difference, effects, _ in moves[number]:
                target = state + difference
                for part, effect in effects:
                    change = effect[numbers[part]]
                    if change is None:
                        break
                    target += change
                else:
                    found.append(target)
        return found

    def targets_at(self, state: int, site: Site) -> list[int]:
        """The states that follow by a step of one site."""
        numbers = self.numbers(state)
        moves = self.moves[site][numbers[site]]
        return [target for move in moves if (target := self.apply(state, numbers, move)) is not None]

    def actions(self, state: int) -> list[tuple[Action, int]]:
        """Like `targets`, with the action of each step."""
        numbers = self.numbers(state)
        return [
            (move[2], target)
            for site in range(self.n)
            for move in self.moves[site][numbers[site]]
            if (target := self.apply(state, numbers, move)) is not None
        ]

    def apply(self, state: int, numbers: list[int], move: Move) -> int | None:
        target = state + move[0]
        for part, effect in move[1]:
            change = effect[numbers[part]]
            if change is None:
                return None
            target += change
        return target
