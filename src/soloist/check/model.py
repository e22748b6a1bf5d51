"""The transition system: from one state of the whole to all that can follow.

What a site can do depends on that site alone, so its moves are worked out once for each `Local` that
it can be, and then only added up (see `parts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from soloist.check.history import History, forget
from soloist.check.local import Event, Item, Library, Local, Outcome
from soloist.check.parts import (
    BITS,
    COUNTS,
    FIELD,
    INSIDE_COUNT,
    TOO_MANY,
    WRONG,
    Change,
    Effect,
    Part,
    Pool,
    Thing,
    duplicated,
    serve,
    spend,
    unless_mail_from,
)
from soloist.check.setting import UNBOUNDED, Setting
from soloist.check.start import begun, carried
from soloist.core import IDLE, INSIDE, WAITING, Process, Site


class Action(NamedTuple):
    """What happens in one step, as people name it: never a hash or a position."""

    site: Site
    event: str
    sender: Site = -1
    message: int = -1
    timer: str = ""
    choices: tuple[str, ...] = ()
    entered: bool = False
    sent: int = 0
    """Copies of messages sent."""


Effects = tuple[tuple[int, Effect], ...]
"""What a step does to other parts."""
Move = tuple[int, Effects, Action]
"""A step worked out: the difference to its own field, the effects on other parts, its name."""


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
        settle: bool = False,
    ) -> None:
        self.setting = setting
        self.n = setting.size.n
        self.history = history or History()
        self.canonical = canonical
        self.library = Library(setting.card.process, settle)
        self.drops = settle and self.drops_mail()
        self.phase_bits = (1 << 2 * self.n) - 1
        self.shifts = [COUNTS + 2 * self.n + BITS * index for index in range(self.n + 1)]
        self.parts = [Part(self.shifts[i], partial(self._weigh, i)) for i in range(self.n)]
        self.parts.append(Part(self.shifts[-1], lambda pool: WRONG if pool.wrong else 0))
        self.moves = [Moves(self.work_out, site) for site in range(self.n)]
        self.fresh: list[int] = []
        self._known_effects: dict[tuple[object, ...], Effect] = {}
        self._effects_of: dict[tuple[object, ...], Effects] = {}
        self.initial = self._initial()

    # States.

    def _initial(self) -> int:
        """Before anybody has asked, unless the setting says otherwise; what has been sent so far is under way."""
        setting = self.setting
        locals_, mail = begun(self.library, setting, self.history.entry_bit)
        self.fresh = [local.process for local in locals_]
        if setting.start:
            locals_, mail = carried(self.library, setting, setting.start, self.history.entry_bit)
        for to, item in mail:
            locals_[to] = self.receive(locals_[to], (item,))
        return self.pack([*locals_, Pool(setting.faults, setting.crashes)])

    def pack(self, things: list[Thing]) -> int:
        return (
            TOO_MANY
            - 1
            - self.setting.size.k
            + sum(part.values[part.number(thing)] for part, thing in zip(self.parts, things, strict=True))
        )

    def numbers(self, state: int) -> list[int]:
        return [state >> shift & FIELD for shift in self.shifts]

    def things(self, state: int) -> list[Thing]:
        return [part.things[state >> part.shift & FIELD] for part in self.parts]

    def process(self, state: int, site: Site) -> Process:
        return self.library.process(self.things(state)[site].process)

    def inside(self, state: int) -> int:
        """How many sites are inside."""
        return (state & INSIDE_COUNT) - (TOO_MANY - 1 - self.setting.size.k)

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

    def work_out(self, site: Site, number: int) -> Iterator[Move]:
        """All that a site can do, as far as it decides."""
        local: Local = self.parts[site].things[number]
        if local.wrong:
            return
        if not local.alive:
            yield from self._restart(site, number, local)
            return
        for event, before in self._events(local):
            for outcome in self.library.outcomes(local.process, event):
                yield self._move(site, number, before, event, outcome)
        if self.setting.faulty:
            yield from self._faults(site, number, local)

    def _events(self, local: Local) -> Iterator[tuple[Event, Local]]:
        """What may happen to a living site, each with the site as the event finds it."""
        phase = self.library.phases[local.process]
        if phase is IDLE and local.left:
            left = local.left if local.left == UNBOUNDED else local.left - 1
            yield Event("acquire"), local._replace(left=left)
        if phase is INSIDE:
            yield Event("release"), local
        for item in self.deliverable(local):
            yield Event("deliver", item.sender, item.message), local.without(item)
        for name in local.timers:
            timers = tuple(t for t in local.timers if t != name)
            yield Event("timeout", timer=name), local._replace(timers=timers)

    def deliverable(self, local: Local) -> list[Item]:
        """The messages that may arrive next: the first of each link, or any at all."""
        if self.setting.channels == "any":
            return list(dict.fromkeys(local.inbox))
        heads: dict[Site, Item] = {}
        for item in local.inbox:
            heads.setdefault(item.sender, item)
        return list(heads.values())

    def _move(self, site: Site, number: int, before: Local, event: Event, outcome: Outcome) -> Move:
        """One outcome of one event at a site, with all that it does elsewhere."""
        action = Action(site, *event, outcome.choices, outcome.entered, len(outcome.sends))
        if outcome.error:
            return self._make(site, number, before._replace(wrong=f"error: {outcome.error}"), (), action)
        after = before.after(outcome)
        if event.name == "acquire":
            after = self.history.asked(site, after)._replace(idled=0)
        if outcome.entered:
            after = self.history.entered(site, after)
        mine = tuple(self._item(site, message, after) for to, message in outcome.sends if to == site)
        effects = self._elsewhere(site, before, after, event, outcome)
        return self._make(site, number, self.receive(after, mine), effects, action)

    def _make(self, site: Site, number: int, after: Local, effects: Effects, action: Action) -> Move:
        part = self.parts[site]
        after = self.settle(after)
        return part.values[part.number(after)] - part.values[number], effects, action

    def _item(self, site: Site, message: int, sender: Local) -> Item:
        return Item(site, message, int(self.setting.duplicate), sender.known)

    # Changes to other parts of the state.

    def _elsewhere(self, site: Site, before: Local, after: Local, event: Event, outcome: Outcome) -> Effects:
        asks = event.name == "acquire" and bool(self.setting.patient or self.setting.lively)
        served = outcome.process if outcome.entered and self.history.timestamp else -1
        overdue = before.idled >= self.setting.lively
        key = (site, outcome.sends, after.known, asks, outcome.entered, served, overdue)
        effects = self._effects_of.get(key)
        if effects is None:
            changes = self._asking(site, overdue) if asks else []
            if outcome.entered:
                changes += self._entry(site, outcome.process)
            changes += self._mail(site, after, outcome)
            effects = self._effects_of[key] = self._effects(changes)
        return effects

    def _effects(self, changes: list[Change]) -> Effects:
        """All that a step changes, as one effect on each part."""
        found = []
        for part in sorted({change.part for change in changes}):
            mine = [change for change in changes if change.part == part]
            key = (part, *(change.key for change in mine))
            if key not in self._known_effects:
                self._known_effects[key] = Effect(self.parts[part], [change.make for change in mine])
            found.append((part, self._known_effects[key]))
        return tuple(found)

    def _mail(self, site: Site, after: Local, outcome: Outcome) -> Iterator[Change]:
        for to in sorted({to for to, _ in outcome.sends} - {site}):
            items = tuple(self._item(site, message, after) for j, message in outcome.sends if j == to)
            yield Change(to, items, partial(self.receive, items=items))

    def receive(self, local: Local, items: tuple[Item, ...]) -> Local:
        """Mail for a site that is down is lost."""
        if not items or not local.alive:
            return local
        return self.settle(local._replace(inbox=self.arrange(local.inbox + items)))

    def settle(self, local: Local) -> Local:
        """The site with its mail as far as it can tell it apart."""
        if not local.inbox or not (self.library.settles_mail or self.drops):
            return local
        inbox = tuple([kept for item in local.inbox if (kept := self.kept(local.process, item))])
        return local if inbox == local.inbox else local._replace(inbox=self.arrange(inbox))

    def kept(self, process: int, item: Item) -> Item | None:
        """A message under way as far as the process can tell it apart; None if not even from none at all."""
        library = self.library
        if self.drops and library.void(process, item.sender, item.message):
            return None
        if library.settles_mail:
            item = item._replace(message=library.settled_mail(process, item.sender, item.message))
        return item

    def drops_mail(self) -> bool:
        """Whether mail that does nothing is left out: where it would pile up, since requests have no end."""
        setting = self.setting
        loose = setting.channels == "any" and not setting.bounded and not setting.faulty
        return loose and self.history == History() and setting.card.process.void is not Process.void

    def arrange(self, inbox: tuple[Item, ...]) -> tuple[Item, ...]:
        """One inbox for all that differ only in an order that nothing depends on."""
        if not self.canonical:
            return inbox
        if self.setting.channels == "any":
            return tuple(sorted(inbox))
        return tuple(sorted(inbox, key=lambda item: item.sender))

    def _entry(self, site: Site, process: int) -> Iterator[Change]:
        """What the others forget, and who was served last: see `history`."""
        history = self.history
        if history.knowledge:
            bits = history.forgotten(site)
            for other in range(self.n):
                if other != site:
                    yield Change(other, ("forget", bits), lambda local: forget(local, bits))
        if history.timestamp:
            stamp = self.library.process(process).timestamp()
            yield Change(self.n, ("serve", site, stamp), lambda pool: serve(pool, site, stamp))

    def _asking(self, site: Site, overdue: bool) -> list[Change]:
        """Conditions: nothing that this site has sent is still under way, and no other has been idle for so long that
        it is its turn to ask, unless this one has been, too."""
        others = [to for to in range(self.n) if to != site]
        changes = []
        if self.setting.lively:
            changes = [Change(to, ("asked", overdue), partial(self._idles, overdue)) for to in others]
        if self.setting.patient:
            make = partial(unless_mail_from, site)
            changes += [Change(to, ("nothing from", site), make) for to in others]
        return changes

    def _idles(self, overdue: bool, local: Local) -> Local | None:
        """A site while another asks."""
        if not (local.alive and local.left and self.library.phases[local.process] is IDLE):
            return local
        if local.idled < self.setting.lively:
            return local._replace(idled=local.idled + 1)
        return local if overdue else None

    # Faults.

    def _faults(self, site: Site, number: int, local: Local) -> Iterator[Move]:
        if self.setting.loss:
            for item in self.deliverable(local):
                after = local.without(item)._replace(known=local.known)
                action = Action(site, "lose", item.sender, item.message)
                yield self._make(site, number, after, self._spend("faults"), action)
        if self.setting.duplicate:
            for item in dict.fromkeys(i for i in local.inbox if i.copies):
                after = local._replace(inbox=self.arrange(duplicated(local.inbox, item)))
                action = Action(site, "duplicate", item.sender, item.message)
                yield self._make(site, number, after, self._spend("faults"), action)
        if self.setting.crashes:
            after = local._replace(alive=False, inbox=(), timers=())
            yield self._make(site, number, after, self._spend("crashes"), Action(site, "crash"))

    def _restart(self, site: Site, number: int, local: Local) -> Iterator[Move]:
        if self.setting.restart == "never":
            return
        after = local._replace(alive=True)
        if self.setting.restart == "fresh":
            after = after._replace(process=self.fresh[site], known=0, ahead=0)
        yield self._make(site, number, after, (), Action(site, "restart"))

    def _spend(self, budget: str) -> Effects:
        return self._effects([Change(self.n, budget, partial(spend, budget=budget))])
