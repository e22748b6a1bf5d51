"""Smaller searches that answer the same questions. Each can be switched off.

messages   An inbox is a multiset (any order) or one queue per link (FIFO): the order in which mail
           from different senders was put there is forgotten.
values     Values that no later step can tell apart become one: a timestamp that is not read before it
           is written again, the order of a list that only decides in which order different sites
           are written to, a timestamp under way that its receiver has overtaken. They are declared
           (`Declaration.settled`, `Declaration.settled_mail`). Where requests have no end, a message that does
           nothing whenever it is received is gone at once (`Declaration.void`; without FIFO and without faults).
clocks     Counting starts anew at the least value in use, so states that differ only in where counting
           started become one. What is a counter the types of the fields say (`Counter`); it is not guessed.
           See `clocks`.
receiver   Partial-order reduction: a waiting site that has mail on every link, none of which lets it
           in, is taken alone. Whatever the others do meanwhile only joins queues behind that mail, so
           every run has an equivalent one in which this site moves first. The steps that the
           properties look at (asking, entering, leaving) are never reordered, and the reduced graph
           must turn out acyclic: then no step can be put off for ever, and every final state is kept.
           (FIFO links without faults only: elsewhere new mail could come first.)
early      Partial-order reduction too, under the same conditions: a message whose receipt sends nothing,
           lets nobody in, and comes to the same before or after whatever else may happen at its receiver
           is received at once, and the states in between are not kept. Which messages these are
           is declared (`Declaration.early`).

What is declared about an algorithm counts only for the code that it was proved for, and where no message comes twice
and no site begins anew: see `declared`. Elsewhere `values`, `clocks` and `early` are left out as far as they rely on a declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from soloist.check.clocks import Clocks
from soloist.check.declarations import declaration, has_counters
from soloist.check.declared import withheld
from soloist.check.history import History
from soloist.check.local import Item, Local
from soloist.check.model import Model
from soloist.check.parts import ALARM, FIELD, LEFT_COUNT, Pool, Thing
from soloist.check.setting import Setting
from soloist.check.steps import Action, Move
from soloist.core import Site, several, unknown

REDUCTIONS = ("messages", "values", "clocks", "receiver", "early")


def chosen(names: Iterable[str]) -> frozenset[str]:
    names = several("reductions", names)
    for name in sorted(names, key=str):
        if name not in REDUCTIONS:
            raise unknown("reduction", name, REDUCTIONS)
    return names


class Space:
    """A model seen through reductions: where a search starts, and what follows a state.

    `trust` is for those who put declarations to the test: then they are used, whether proved or not.
    """

    def __init__(
        self,
        setting: Setting,
        reductions: Iterable[str] = REDUCTIONS,
        history: History | None = None,
        trust: bool = False,
    ) -> None:
        self.setting = setting
        self.withheld = frozenset() if trust else withheld(setting.card.process, setting.repeats)
        self.reductions = chosen(reductions) - self.withheld
        self.history = history
        self.model = Model(setting, history, "messages" in self.reductions, "values" in self.reductions)
        self.clocks = Clocks(self.model) if "clocks" in self.reductions and counts(setting) else None
        self.receiver = Receiver(self.model) if "receiver" in self.reductions and orderly(setting) else None
        self.early = Early(self.model) if "early" in self.reductions and hurries(setting) else None
        self._recognised: dict[Model, list[dict[int, Thing]]] = {}
        """For each other model, part and number: what it is here."""
        self.initial = self.hurried(self.normal(self.model.initial))
        reduced = self.clocks or self.receiver or self.early
        self.targets = self._targets if reduced else self.model.targets
        """From a state to those that follow; several steps may lead to the same one."""

    def __repr__(self) -> str:
        what = self.setting
        rounds = ",".join("endless" if each < 0 else str(each) for each in what.rounds)
        return f"<Space of {what.card.name}, N={what.size.n}, requests {rounds}, channels {what.channels}>"

    def normal(self, state: int) -> int:
        """The state that stands for all that differ only in where counting started."""
        return self.clocks.normal(state) if self.clocks else state

    def hurried(self, state: int) -> int:
        """The state once all has arrived that may as well arrive now."""
        while self.early and (step := self.early.step(state)) is not None:
            state = self.normal(step[1])
        return state

    def _targets(self, state: int) -> list[int]:
        alone = self.receiver.alone(state) if self.receiver else None
        targets = self.model.targets(state) if alone is None else self.model.targets_at(state, alone)
        if self.clocks:
            normal = self.clocks.normal
            targets = [normal(target) for target in targets]
        return [self.hurried(target) for target in targets] if self.early else targets

    def actions(self, state: int) -> list[tuple[Action, int]]:
        """The same steps in the same order, with the action of each."""
        alone = self.receiver.alone(state) if self.receiver else None
        return [
            (action, self.hurried(self.normal(target)))
            for action, target in self.model.actions(state)
            if alone is None or action.site == alone
        ]

    def recognise(self, other: Model, state: int) -> int:
        """A state of another model of the same setting, as it appears here (before it is `hurried`)."""
        known = self._recognised.setdefault(other, [{} for _ in other.parts])
        things = []
        for index, number in enumerate(other.numbers(state)):
            thing = known[index].get(number)
            if thing is None:
                thing = known[index][number] = self._translate(other, other.parts[index].things[number])
            things.append(thing)
        return self.normal(self.model.pack(things))

    def follow(self, item: Item, site: Site, target: int) -> Item | None:
        """What becomes of a message under way to a site that is not received in a step, given where the step leads
        to (before it is `normal`); None if it is gone, since it does nothing any more."""
        kept = self.model.mail.kept(self._process(target, site), item)
        scales = self.clocks.scales(target) if self.clocks else None
        if kept is None or scales is None:
            return kept
        assert self.clocks
        return self.model.mail.kept(self._process(self.normal(target), site), self.clocks.item(kept, scales))

    def _process(self, state: int, site: Site) -> int:
        process: int = self.model.things(state)[site].process
        return process

    def _translate(self, other: Model, thing: Thing) -> Thing:
        if isinstance(thing, Pool):
            return thing
        library = self.model.library
        messages = other.library.messages
        inbox = tuple(i._replace(message=library.message_number(messages[i.message])) for i in thing.inbox)
        number = library.process_number(other.library.process(thing.process))
        return self.model.mail.as_seen(thing._replace(process=number, inbox=self.model.mail.arrange(inbox)))


def counts(setting: Setting) -> bool:
    """Whether the algorithm has counters at all, with so many sites and these options."""
    kind = setting.card.process
    return has_counters(kind) and all(map(declaration(kind).counts, setting.card.start(setting.size)))


def orderly(setting: Setting) -> bool:
    """Whether mail that is there stays first on its link, and every run ends."""
    return setting.channels == "fifo" and not setting.faulty and setting.bounded and setting.size.n > 1


def hurries(setting: Setting) -> bool:
    """Whether the algorithm says what may arrive early, and the order of links can be relied on."""
    return orderly(setting) and declaration(setting.card.process).early is not None


class Receiver:
    """Finds a site whose steps may be taken alone: see the head of this file."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.known: list[dict[int, bool]] = [{} for _ in range(model.n)]

    def alone(self, state: int) -> Site | None:
        for site, (shift, known) in enumerate(zip(self.model.shifts, self.known, strict=False)):
            number = state >> shift & FIELD
            fits = known.get(number)
            if fits is None:
                fits = known[number] = self.fits(site, number)
            if fits:
                return site
        return None

    def fits(self, site: Site, number: int) -> bool:
        local: Local = self.model.parts[site].things[number]
        senders = {item.sender for item in local.inbox} - {site}
        if len(senders) < self.model.n - 1:
            return False
        actions = [action for _, _, action in self.model.moves[site][number]]
        return all(action.event == "deliver" and not action.entered for action in actions)


class Early:
    """Finds a delivery that may as well be made at once: see the head of this file."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.declared = declaration(model.setting.card.process).early
        self.known: list[dict[int, tuple[list[Move], list[Move]]]] = [{} for _ in range(model.n)]

    def step(self, state: int) -> tuple[Action, int] | None:
        """The first such delivery, and where it leads. In a state that must not be nothing is hurried."""
        if state & ALARM:
            return None
        return next(self.steps(state), None)

    def steps(self, state: int) -> Iterator[tuple[Action, int]]:
        over = not state & LEFT_COUNT
        for site, (shift, known) in enumerate(zip(self.model.shifts, self.known, strict=False)):
            number = state >> shift & FIELD
            for difference, _, action in (known.get(number) or self.moves(site, number))[over]:
                yield action, state + difference

    def moves(self, site: Site, number: int) -> tuple[list[Move], list[Move]]:
        """Those of a site while somebody may still ask, and those once nobody does."""
        moves = self.known[site].get(number)
        if moves is None:
            moves = self._moves(site, number, False), self._moves(site, number, True)
            self.known[site][number] = moves
        return moves

    def _moves(self, site: Site, number: int, over: bool) -> list[Move]:
        """Those that send nothing, let nobody in, and that the algorithm calls early."""
        model, library = self.model, self.model.library
        local: Local = model.parts[site].things[number]
        contents = [library.messages[item.message] for item in local.inbox]
        quiet = over and not any(type(message) in library.asking for message in contents)
        news = {item.sender for item in model.mail.deliverable(local) if item.known & ~local.known}
        return [
            move
            for move in model.moves[site][number]
            if (action := move[2]).event == "deliver"
            and not (action.sent or action.entered or action.choices or move[1])
            and (quiet or action.sender not in news)
            and self._is_early(local, action, quiet)
        ]

    def _is_early(self, local: Local, action: Action, quiet: bool) -> bool:
        library = self.model.library
        process, message = library.process(local.process), library.messages[action.message]
        return self.declared is not None and self.declared(process, action.sender, message, quiet)
