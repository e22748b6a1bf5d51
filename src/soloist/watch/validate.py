"""Is a recorded run a behaviour of the algorithm? It is replayed, step by step, and compared with what was written down.

A yes is about these steps alone, with this source: it says nothing about other runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from soloist.algorithms import Card, find_any
from soloist.algorithms.printed import find_printed
from soloist.core import Process, Site, SoloistError, UsageError
from soloist.sim.experiment import anew
from soloist.sim.system import Flight, Happening, System
from soloist.watch.recording import sent, timers, variables
from soloist.watch.trace import Head, State, Step, Trace, plain, shown


class Impossible(msgspec.Struct, frozen=True):
    """The first step that the algorithm would not have taken."""

    step: int
    why: str


def card_of(head: Head) -> Card:
    """The algorithm that a trace is of."""
    try:
        return find_printed(head.algorithm, head.erratum) if head.printed else find_any(head.algorithm)
    except UsageError as error:
        why = str(error).partition(";")[0]
        raise UsageError(
            f"a trace of {head.algorithm!r} cannot be replayed: {why}; if it is in a file of yours, give that as well: "
            "soloist watch FILE.py TRACE"
        ) from None


def validate(trace: Trace) -> Impossible | None:
    """None if all steps are possible, one after another."""
    if not trace.steps:
        raise UsageError("the trace has no steps, so there is nothing to validate")
    return Validation(trace).run()


class Validation:
    """One replay."""

    def __init__(self, trace: Trace) -> None:
        self.trace, head = trace, trace.head
        self.card = card_of(head)
        self.size = self.card.size(head.nodes, head.k if self.card.capacity == "K" else 1, head.options)
        self.system = System(self._choose)
        self.system.forgets_mail = False  # a loss is a step of its own
        self.flights: dict[int, Flight] = {}
        """By the numbers of the trace."""
        self.answers: list[Any] = []
        self.states: list[State] = []

    def run(self) -> Impossible | None:
        steps = self.trace.steps
        try:
            began = self._begin(steps)
        except SoloistError as error:
            return Impossible(0, str(error))
        rest = [step for step in steps if step.what != "begin"]
        for step, happening in began:
            if why := self._differs(step, happening):
                return Impossible(step.n, why)
        for step in rest:
            try:
                repeated = self._repeat(step)
            except Exception as error:
                return None if self._is_the_failure(step, error) else Impossible(step.n, str(error))
            if repeated and (why := self._differs(step, repeated)):
                return Impossible(step.n, why)
        return None

    def _is_the_failure(self, step: Step, error: Exception) -> bool:
        """A counterexample may end with a step that fails half-way; then it has to fail here, too."""
        return step is self.trace.steps[-1] and str(error) in (step.text or "")

    def _begin(self, steps: list[Step]) -> list[tuple[Step, Happening]]:
        head, made = self.trace.head, {step.site: step for step in steps if step.what == "begin"}
        fresh = partial(anew, self.card, self.size)
        again = fresh if head.origin == "simulation" else self._make
        begun: dict[Site, Sequence[Any]] = {}
        if head.start:  # a live lock: nodes that were seen to begin did, and the others had begun before
            kinds = {kind.__name__: kind for kind in self._make(0).handlers}
            for site in range(head.nodes):
                said = made[site].sent if site in made else []
                if self._is_carried(site, said):
                    begun[site] = [
                        (site, (s.to,), msgspec.convert([s.kind, *s.fields.values()], kinds[s.kind]), -1)
                        for s in said
                    ]
        happenings = self.system.begin(head.nodes, self._make, again, head.channels == "fifo", begun)
        self.states = [variables(port.process) for port in self.system.ports]
        return [(made[h.site], h) for h in happenings if h.site in made]

    def _is_carried(self, site: Site, said: Sequence[Any]) -> bool:
        """Whether a site had begun before: a fresh one would be as the card starts it."""
        return not said or self._make(site).snapshot() != self.card.start_one(self.size, site).snapshot()

    def _make(self, site: Site) -> Process:
        if snapshot := self.trace.head.start.get(str(site)):
            return self.card.process.restore(bytes.fromhex(snapshot))
        return self.card.start_one(self.size, site)

    def _choose(self, options: Sequence[Any]) -> Any:
        if not self.answers:
            return options[0]
        answer = self.answers.pop(0)
        for option in options:
            if plain(option) == answer or str(option) == answer:
                return option
        raise UsageError(f"it chose {shown(answer)}; the choices were {', '.join(map(str, options))}")

    def _repeat(self, step: Step) -> Happening | None:
        system = self.system
        self.answers = list(step.chose or ())
        match step.what:
            case "request":
                return system.acquire(step.site)
            case "release":
                return system.release(step.site)
            case "deliver":
                return system.deliver(self._flight(step))
            case "timeout":
                return system.timeout(step.site, step.timer or "")
            case "lose":
                return system.lose(self._flight(step))
            case "duplicate":
                happening = system.duplicate(self._flight(step))
                if step.copy is not None and happening.copy:
                    self.flights[step.copy] = happening.copy
                return happening
            case "crash":
                return system.crash(step.site)
            case "restart":
                return system.restart(step.site, fresh="as it began" in (step.text or ""))
            case "pause":
                return system.pause(step.site)
            case "resume":
                return system.resume(step.site)
        return None

    def _flight(self, step: Step) -> Flight:
        flight = self.flights.get(-1 if step.message is None else step.message)
        if flight is None or flight not in self.system.flights:
            raise UsageError(
                f"message {step.message} is not on its way: it was never sent, or has ended before"
            )
        if step.what == "deliver":
            if flight.to != step.site:
                raise UsageError(f"message {step.message} is for site {flight.to}")
            link = [f for f in self.system.flights if (f.sender, f.to) == (flight.sender, flight.to)]
            if self.system.fifo and link[0] is not flight:
                raise UsageError(f"links are FIFO, and {link[0]} was sent before {flight}")
        return flight

    def _differs(self, step: Step, happening: Happening) -> str | None:
        """What is recorded otherwise than it is; a step that is the same also tells the numbers of its messages."""
        process = self.system.ports[step.site].process
        recorded = [(each.to, str(each)) for each in step.sent]
        expected = [(each.to, str(each)) for each in map(sent, happening.sent)]
        if recorded != expected:
            return f"it is recorded to send {_told(recorded)}; the algorithm sends {_told(expected)}"
        if step.enter != happening.entered:
            enters = "enters" if happening.entered else "does not enter"
            return f"it is recorded to {'enter' if step.enter else 'wait'}; the algorithm {enters}"
        if step.timers != timers(happening):
            return f"it is recorded to set timers {step.timers}; the algorithm sets {timers(happening)}"
        phase = process.phase.name.lower()
        if step.phase not in (None, phase):
            return f"it is recorded to be {step.phase} afterwards; it is {phase}"
        if why := self._variables_differ(step, variables(process)):
            return why
        for each, flight in zip(step.sent, happening.sent, strict=True):
            self.flights[each.id] = flight
        return None

    def _variables_differ(self, step: Step, after: State) -> str | None:
        before = self.states[step.site]
        if step.n == 0 and step.what == "begin":
            recorded = step.states.get(str(step.site), after)
        else:
            recorded = {**before, **step.changed}
        self.states[step.site] = after
        for name, value in after.items():
            if recorded.get(name) != value:
                return f"it is recorded to have {name} = {shown(recorded.get(name))} afterwards; it has {shown(value)}"
        return None


def _told(sends: Sequence[tuple[Site, str]]) -> str:
    return ", ".join(f"{message} to {to}" for to, message in sends) or "nothing"
