"""What happens to all: time goes on, budgets are spent, and the properties take note."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec

from soloist.check.views.book import ABLE, HELD, LAST, OPEN, Book
from soloist.check.views.parts import World, copied, later_site, later_voter
from soloist.check.views.site import LOCK, Site
from soloist.views import FOR_GOOD, Holder, Voter
from soloist.views.view import evicted


class WorldMoves(Book):
    """Ticks, and what the world remembers."""

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

    def _wish(self, world: int, wish: tuple[Any, ...]) -> int | None:
        """What happens to the world, as a difference to the state; None if it may not happen any more."""
        try:
            return self._worlds[world, wish]
        except KeyError:
            before: World = self.things[self.world][world]
            after = _happen(before, wish)
            if after is not None and self.setting.delay is not None:
                after = self._stand(before, after, wish)
            change = None if after is None else self._difference(self.world, before, after)
            self._worlds[world, wish] = change
            return change

    def _stand(self, before: World, after: World, wish: tuple[Any, ...]) -> World:
        """What is remembered of a registered hold; wrong, if somebody is let in past it."""
        replace, standing, delay = msgspec.structs.replace, before.standing, self.setting.delay
        assert delay is not None
        match wish:
            case ("enter", fence):
                early = standing and (before.waited is None or before.waited < delay)
                wrong = after.wrong or ("withheld" if early else "")
                return replace(after, standing=fence, waited=None, wrong=wrong)
            case ("release", fence) if fence == standing:
                return replace(after, standing=0, waited=None)
            case ("decided", view) if standing:
                holds = [each.hold for each in view.withheld]
                if before.waited is None and any(hold.fence == standing for hold in holds):
                    return replace(after, waited=0)
                broken = Holder(LOCK, "", standing)
                if self.setting.breakers and evicted(broken, self.breaking.evictions) and not holds:
                    return replace(after, standing=0, waited=None)
            case ("tick",) if before.waited is not None and delay < FOR_GOOD:
                passed = before.waited + sum(self.setting.rates) / len(self.setting.rates)
                return replace(after, waited=min(passed, delay))
        return after

    def _carried(self, state: int, wish: tuple[Any, ...]) -> tuple[Any, ...]:
        """A decision that forgets a hold that is good, somewhere, now: two would hold before long.

        It cannot forget those of members that have begun that view already, as another has decided it before. Or after
        which it is said that a lock was broken, while somebody still holds it.
        """
        if wish[0] != "decided":
            return wish
        good = [site for site in (self.part(state, place) for place in self.sites) if site.good()]
        good = [site for site in good if site.member.epoch < wish[1].epoch]
        holds = {hold for site in good for hold in site.member.holds.values()}
        if not holds.issubset(wish[1].holders):
            return ("forgotten",)
        claimed = self.setting.breakers and self.breaking.done(wish[1])
        return ("unbroken",) if claimed and any(evicted(h, self.breaking.evictions) for h in holds) else wish


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
        case ("release", _):
            return world
        case ("unbroken",):
            return replace(world, wrong="break")
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
