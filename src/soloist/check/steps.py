"""What a site can do, and what that changes elsewhere.

It depends on that site alone, so its moves are worked out once for each `Local` that it can be, and then only added up
(see `parts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from soloist.check.history import History, forget
from soloist.check.local import Event, Library, Local, Outcome
from soloist.check.mail import Mail
from soloist.check.parts import Change, Effect, Part, duplicated, spend, unless_mail_from
from soloist.check.setting import UNBOUNDED, Setting
from soloist.core import IDLE, INSIDE, Site


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


class Steps:
    """All steps of all sites."""

    def __init__(
        self, setting: Setting, history: History, library: Library, mail: Mail, parts: list[Part]
    ) -> None:
        self.setting = setting
        self.n = setting.size.n
        self.history = history
        self.library = library
        self.mail = mail
        self.parts = parts
        self.fresh: list[int] = []
        """The process of each site as it begins."""
        self._known_effects: dict[tuple[object, ...], Effect] = {}
        self._effects_of: dict[tuple[object, ...], Effects] = {}

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
        for item in self.mail.deliverable(local):
            yield Event("deliver", item.sender, item.message), local.without(item)
        for name in local.timers:
            if not self._outlasted(name, local):
                continue
            timers = tuple(t for t in local.timers if t != name)
            yield Event("timeout", timer=name), local._replace(timers=timers)

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
        mine = tuple(self.mail.item(site, message, after) for to, message in outcome.sends if to == site)
        effects = self._elsewhere(site, before, after, event, outcome)
        return self._make(site, number, self.mail.receive(after, mine), effects, action)

    def _make(self, site: Site, number: int, after: Local, effects: Effects, action: Action) -> Move:
        part = self.parts[site]
        after = self.mail.as_seen(after)
        return part.values[part.number(after)] - part.values[number], effects, action

    # Changes to other parts of the state.

    def _elsewhere(self, site: Site, before: Local, after: Local, event: Event, outcome: Outcome) -> Effects:
        asks = event.name == "acquire" and bool(self.setting.patient or self.setting.lively)
        served = outcome.process if outcome.entered and self.history.serves else -1
        overdue = before.idled >= self.setting.lively
        expires = event.name == "timeout" and self.setting.timeouts != UNBOUNDED
        slow = event.timer if self.setting.is_slow(event.timer) else ""
        key = (site, outcome.sends, after.known, asks, outcome.entered, served, overdue, expires, slow)
        effects = self._effects_of.get(key)
        if effects is None:
            changes = self._asking(site, overdue) if asks else []
            if slow:
                make = partial(self._if_outlasted, slow)
                changes += [Change(to, ("quiet", slow), make) for to in range(self.n) if to != site]
            if expires:
                changes.append(Change(self.n, "timeouts", partial(spend, budget="timeouts")))
            if outcome.entered:
                changes += self._entry(site, outcome.process)
            changes += self._letters(site, after, outcome)
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

    def _letters(self, site: Site, after: Local, outcome: Outcome) -> Iterator[Change]:
        for to in sorted({to for to, _ in outcome.sends} - {site}):
            items = tuple(self.mail.item(site, message, after) for j, message in outcome.sends if j == to)
            yield Change(to, items, partial(self.mail.receive, items=items))

    def _entry(self, site: Site, process: int) -> Iterator[Change]:
        """What the others forget, and who was served last: see `history`."""
        history = self.history
        if news := history.news(site):
            for other in range(self.n):
                if other != site:
                    yield Change(other, ("forget", news), partial(forget, bits=news))
        if history.serves:
            noted = history.noted(self.library.process(process))
            make = partial(history.served, site=site, noted=noted)
            yield Change(self.n, ("serve", site, noted), make)

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

    def _outlasted(self, timer: str, local: Local) -> bool:
        """Whether a timer, here or elsewhere, may run out as far as this site is concerned."""
        setting = self.setting
        if not local.alive or not setting.is_slow(timer):
            return True
        if not setting.is_last(timer):
            return not local.inbox
        inside = self.library.phases[local.process] is INSIDE
        return not (local.inbox or inside or any(not setting.is_last(name) for name in local.timers))

    def _if_outlasted(self, timer: str, local: Local) -> Local | None:
        return local if self._outlasted(timer, local) else None

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
            for item in self.mail.deliverable(local):
                after = local.without(item)._replace(known=local.known)
                action = Action(site, "lose", item.sender, item.message)
                yield self._make(site, number, after, self._spend("faults"), action)
        if self.setting.duplicate:
            for item in dict.fromkeys(i for i in local.inbox if i.copies):
                after = local._replace(inbox=self.mail.arrange(duplicated(local.inbox, item)))
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
        if not hasattr(self.library.kind, "come_back"):
            yield self._make(site, number, after, (), Action(site, "restart"))
            return
        event = Event("restart")
        for outcome in self.library.outcomes(after.process, event):
            yield self._move(site, number, after, event, outcome)

    def _spend(self, budget: str) -> Effects:
        return self._effects([Change(self.n, budget, partial(spend, budget=budget))])
