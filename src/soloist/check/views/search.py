"""Breadth-first search of a model of views: every state once, nearest first, so that what is found is shortest."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable
from itertools import pairwise
from time import monotonic

from soloist.check.explore import PAUSE, Guard, Limits, Watcher
from soloist.check.views.book import HOLDS, WRONG
from soloist.check.views.model import Model

Judge = Callable[[int], bool]
"""Whether somebody gets in from this state if nothing bad happens any more."""


SPARSE = 25
"""Times more states have been seen, at a trial of progress, than are left out until the next."""


class Search:
    """What a search has seen."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.states = [model.initial]
        self.parents = array("L", [0])
        self.transitions = 0
        self.depth = 0
        self.cut = ""
        self.property = ""
        """The promise that was broken, if one was: by the last state of `path`."""
        self.bad: int | None = None
        self.judged = 0
        """States from which progress was tried."""
        self.most_holds = 0
        self.seconds = 0.0

    def path(self, index: int) -> list[int]:
        way = [index]
        while way[-1]:
            way.append(self.parents[way[-1]])
        return [self.states[i] for i in reversed(way)]

    def words(self) -> list[str]:
        """The shortest run to what is wrong, step by step."""
        if self.bad is None:
            return []
        path = self.path(self.bad)
        return [next(words for words, after in self.model.steps(a) if after == b) for a, b in pairwise(path)]


def search(
    model: Model,
    limits: Limits | None = None,
    watch: Watcher | None = None,
    judge: Judge | None = None,
    every: int | None = None,
) -> Search:
    """Visit all states; stop at the first that must not be, or at a limit.

    A judge is asked whether somebody still gets in: from every so manyth state, or, if that is None, from a sample:
    the first states one by one, then further and further apart.
    """
    found = Search(model)
    start = monotonic()
    guard = Guard(limits or Limits(), watch, model.setting.name, start)
    collecting = gc.isenabled()
    gc.disable()  # a search only ever grows
    try:
        _search(found, guard, judge, every)
    except KeyboardInterrupt:
        found.cut = "interrupted"
    finally:
        if collecting:
            gc.enable()
    found.cut = found.cut or guard.cut
    found.seconds = monotonic() - start
    return found


def _search(found: Search, guard: Guard, judge: Judge | None, every: int | None) -> None:
    """The inner loop: everything in it is done for each state or each edge."""
    states, parents, targets = found.states, found.parents, found.model.targets
    seen = set(states)
    layer_end, pause = 1, min(PAUSE, guard.limits.states)
    transitions, trial = 0, 0
    for here, state in enumerate(states):
        if here == layer_end:
            found.depth += 1
            layer_end = len(states)
        if judge and here == trial:
            found.judged += 1
            trial += every or 1 + here // SPARSE
            if not judge(state):
                found.property, found.bad = "progress", here
                break
        following = targets(state)
        transitions += len(following)
        for target in following:
            if target in seen:
                continue
            seen.add(target)
            states.append(target)
            parents.append(here)
            if target & HOLDS > found.most_holds or target & WRONG:
                found.most_holds = max(found.most_holds, target & HOLDS)
                if (broken := _broken(found.model, target)) and found.bad is None:
                    found.property, found.bad = broken, len(states) - 1
        if found.bad is not None:
            break
        if len(states) >= pause:
            if guard.stops(len(states), found.depth):
                break
            pause = min(len(states) + PAUSE, max(guard.limits.states, len(states) + 1))
    found.transitions = transitions


def _broken(model: Model, state: int) -> str:
    if state & HOLDS > 1:
        return "exclusion"
    wrong: str = model.part(state, model.world).wrong
    return wrong
