"""Declarations put to the test: is what can follow a state the same with them and without?

A quotient is right if it is a bisimulation: seen through the reductions, what can follow a state is exactly what
can follow its image. `differences` looks at every state of an unreduced graph, `strays` along long runs, in which one
site stays behind and counting may start anywhere. `hasty` swaps each early delivery with every other step.

The tests of the catalogue use these, and write down for which code they have passed (`declared`). For any other
class they are no proof, however long they run: so a search that relies on them may find an error, but it cannot
show that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from random import Random

from soloist.check.clocks import renumber_by
from soloist.check.declarations import declaration
from soloist.check.explore import explore
from soloist.check.history import History
from soloist.check.model import Model
from soloist.check.reductions import Early, Space
from soloist.check.setting import Setting
from soloist.check.steps import Action

QUOTIENTS = ("messages", "values", "clocks")
STATES, STEPS = 2000, 400
"""States and steps of a class that nobody has proved, looked at in one check."""
RECENT = 20_000
"""States whose steps are kept."""
Link = tuple[object, ...]


def passes(what: Setting) -> bool:
    """Whether the declarations of a class stand a short trial."""
    endless = what.unbounded()
    far = (0, 1, 1000)
    return not any(
        next(found, None)
        for found in (differences(what, STATES), *(strays(endless, STEPS, c, c) for c in far))
    )


def differences(what: Setting, most: int | None = None) -> Iterator[int]:
    """The states of the unreduced graph (at most so many) that something else can follow than their image."""
    raw, space = Model(what, canonical=False), Space(what, QUOTIENTS, trust=True)
    seen, queue = {raw.initial}, [raw.initial]
    for state in islice(queue, most):
        targets = raw.targets(state)
        image = {space.recognise(raw, target) for target in targets}
        if image != set(space.targets(space.recognise(raw, state))):
            yield state
        new = set(targets) - seen
        seen |= new
        queue += new


def strays(what: Setting, steps: int, seed: int, ahead: int = 0) -> Iterator[str]:
    """The same along one long run without reductions, in which site 0 asks seldom, so that its numbers stay behind.
    Counting starts at `ahead`. What a message does that is said to do nothing is looked at, too."""
    raw, space, chance = Model(what, canonical=False), Space(what, QUOTIENTS, trust=True), Random(seed)
    state = renumber_by(raw, raw.initial, ahead) if space.clocks else raw.initial
    for _ in range(steps):
        here = space.recognise(raw, state)
        actions = raw.actions(state)
        image = set()
        for action, target in actions:
            there = space.recognise(raw, target)
            if not (space.model.mail.drops and is_void(raw, state, action)):
                image.add(there)
            elif there != here or action.sent or action.entered:
                yield f"{action} does something"
        if image != set(space.targets(here)):
            yield f"{raw.things(state)}"
        if not actions:
            return
        lively = [target for action, target in actions if action[:2] != (0, "acquire")]
        state = chance.choice(lively if lively and chance.random() < 0.95 else [t for _, t in actions])


def is_void(model: Model, state: int, action: Action) -> bool:
    if action.event != "deliver":
        return False
    void = declaration(model.setting.card.process).void
    process, message = model.process(state, action.site), model.library.messages[action.message]
    return void is not None and void(process, action.sender, message)


class Hurry:
    """What is called early in a space, and what can follow: each state is looked at from many others."""

    def __init__(self, what: Setting, history: History | None) -> None:
        self.space = Space(what, QUOTIENTS, history, trust=True)
        self._early = Early(self.space.model)
        self.steps = lru_cache(maxsize=RECENT)(self.space.actions)
        self.early = lru_cache(maxsize=RECENT)(lambda state: list(self._early.steps(state)))
        self.by_link = lru_cache(maxsize=RECENT)(self._by_link)
        self.early_links = lru_cache(maxsize=RECENT)(self._early_links)

    def _by_link(self, state: int) -> dict[Link, tuple[Action, int]]:
        return {link(action): (action, target) for action, target in self.steps(state)}

    def _early_links(self, state: int) -> set[Link]:
        return {link(action) for action, _ in self.early(state)}


def hasty(what: Setting, history: History | None = None) -> Iterator[str]:
    """Deliveries that the algorithm calls early although it matters when they are made."""
    hurry = Hurry(what, history)
    for state in explore(hurry.space).states:
        for action, target in hurry.early(state):
            first = hurry.by_link(hurry.space.normal(target))
            for other, there in hurry.steps(state):
                each = link(other)
                if each != link(action) and not swaps(hurry, action, first.get(each), other, there):
                    yield f"{action} and {other}"


def link(action: Action) -> Link:
    """What is done, whatever the clocks are by now."""
    return (*action[:3], action.timer, action.choices)


def swaps(hurry: Hurry, action: Action, now: tuple[Action, int] | None, other: Action, there: int) -> bool:
    """Both orders are possible and lead to the same state. Neither changes what the other does, but for this:
    a site may enter at the last of several deliveries, whichever it is, if the others send nothing. And the
    early one is early still afterwards, unless it has become the last."""
    later = hurry.by_link(there).get(link(action))
    if now is None or later is None or now[1] != later[1] or now[0].sent != other.sent or later[0].sent:
        return False
    if later[0].entered:
        return now[0].entered and (other.site, other.event, other.sent) == (action.site, "deliver", 0)
    return link(action) in hurry.early_links(there) and now[0].entered == other.entered
