"""A way through the graph, told so that people can follow it and drivers can replay it.

The search may have seen the way through reductions. Here it is walked once more without any: at each
state the one step is taken that leads to the next state as the search saw it, so every clock and
every message is the real one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from soloist.check.local import Event, Local
from soloist.check.model import Model
from soloist.check.reductions import Space
from soloist.check.steps import Action
from soloist.core import INSIDE, WAITING, Process, Site, UsageError
from soloist.core import trace as core_trace

FAULTS = ("lose", "duplicate", "crash", "restart")


class Step(msgspec.Struct, frozen=True):
    """One step of a run, as it really is."""

    command: str
    """In the language of golden traces."""
    action: str
    site: Site
    sender: Site | None = None
    message: str | None = None
    timer: str | None = None
    choices: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    """What happened at the site, in the format of traces."""
    enters: bool = False

    def record(self) -> dict[str, Any]:
        """The step as plain values; what does not apply is left out."""
        values = msgspec.structs.asdict(self)
        return {name: v for name, v in values.items() if v is not None and v is not False and v != ()}


class Walk(msgspec.Struct, frozen=True):
    """A run: its steps, and the states of all sites at its end."""

    steps: list[Step]
    model: Model
    end: int

    @property
    def processes(self) -> list[Process]:
        return [self.model.library.process(local.process) for local in self.locals]

    @property
    def locals(self) -> list[Local]:
        return self.model.things(self.end)[:-1]

    @property
    def inside(self) -> list[Site]:
        return self._in_phase(INSIDE)

    @property
    def waiting(self) -> list[Site]:
        return self._in_phase(WAITING)

    def _in_phase(self, phase: int) -> list[Site]:
        phases = self.model.library.phases
        return [i for i, local in enumerate(self.locals) if local.alive and phases[local.process] == phase]

    @property
    def wrong(self) -> str:
        """What the last step did that it must not, as `kind: words`."""
        return next((thing.wrong for thing in self.model.things(self.end) if thing.wrong), "")


def walk(space: Space, states: list[int]) -> Walk:
    """The run through these states, without reductions."""
    model = Model(space.setting, space.history, canonical=False)
    here, steps = _hurry(space, model, model.initial)
    assert space.recognise(model, here) == states[0]
    for wanted in states[1:]:
        found = next(
            (
                (action, target)
                for action, target in model.actions(here)
                if space.hurried(space.recognise(model, target)) == wanted
            ),
            None,
        )
        if found is None:
            raise UsageError(
                f"{space.setting.card.name} declares something settled, counted or early that is not: "
                f"step {len(steps) + 1} of a run cannot be repeated without reductions ({_last(steps)})"
            )
        action, there = found
        steps.append(_step(model, here, action))
        here, hurried = _hurry(space, model, there)
        steps += hurried
    return Walk(steps, model, here)


def _last(steps: list[Step]) -> str:
    return f"after {steps[-1].command}" if steps else "at the start"


def _hurry(space: Space, model: Model, here: int) -> tuple[int, list[Step]]:
    """The deliveries that the search makes at once."""
    steps: list[Step] = []
    while space.early and (step := space.early.step(space.recognise(model, here))):
        link = step[0][:3]
        action, there = next((a, target) for a, target in model.actions(here) if a[:3] == link)
        steps.append(_step(model, here, action))
        here = there
    return here, steps


def _step(model: Model, state: int, action: Action) -> Step:
    local: Local = model.things(state)[action.site]
    message = model.library.messages[action.message] if action.message >= 0 else None
    return Step(
        command=command(model, local, action),
        action=action.event,
        site=action.site,
        sender=action.sender if message else None,
        message=str(message) if message else None,
        timer=action.timer or None,
        choices=action.choices,
        events=tuple(str(event) for event in _events(model, local, action)),
        enters=action.entered,
    )


def command(model: Model, local: Local, action: Action) -> str:
    """A message is named only if it is not the first on its link, and choices only if they are not the first."""
    library = model.library
    words = [action.event, str(action.site)]
    if action.timer:
        words.append(action.timer)
    if action.event == "restart" and model.setting.restart == "fresh":
        words.append("fresh")
    if action.message >= 0:
        link = [item for item in local.inbox if item.sender == action.sender]
        words[1] = f"{action.sender}>{action.site}"
        if link[0].message != action.message:
            words.append(str(library.messages[action.message]))
    if action.choices:
        event = Event(action.event, action.sender, action.message, action.timer)
        if action.choices != library.outcomes(local.process, event)[0].choices:
            words.append(f"choose={','.join(action.choices)}")
    return " ".join(words)


def _events(model: Model, local: Local, action: Action) -> list[core_trace.Step]:
    """What a step does at its site: its cause, then what is sent, then the entry."""
    library, step = model.library, core_trace.Step
    if action.event == "restart" and hasattr(library.kind, "come_back"):
        if model.setting.restart == "fresh":
            local = local._replace(process=model.steps.fresh[action.site])
    elif action.event in FAULTS:
        return []
    kinds = {"acquire": "request", "release": "exit"}
    message = library.messages[action.message] if action.message >= 0 else None
    peer = action.sender if message else None
    events = [
        step(
            kinds.get(action.event, action.event),  # type: ignore[arg-type]
            action.site,
            peer=peer,
            message=message,
            name=action.timer or None,
        )
    ]
    event = Event(action.event, action.sender, action.message, action.timer)
    for outcome in library.outcomes(local.process, event):
        if outcome.choices == action.choices:
            sends = [
                step("send", action.site, peer=to, message=library.messages[m]) for to, m in outcome.sends
            ]
            entry = [step("enter", action.site)] if outcome.entered else []
            return events + sends + entry
    return events


def script(steps: list[Step], space: Space) -> str:
    """The run in the language of golden traces."""
    setting = space.setting
    size = setting.size
    words = [f"start {setting.card.name} nodes={size.n} channels={setting.channels}"]
    if size.k != 1:
        words.append(f"k={size.k}")
    usual = setting.card.size(size.n, size.k).options
    words += [f"{name}={value}" for name, value in size.options.items() if str(value) != str(usual[name])]
    before = setting.start.steps if setting.start else ()
    return "\n".join([" ".join(words), *before, *(step.command for step in steps)]) + "\n"


def last(walk: Walk) -> str:
    """The last step in words."""
    if not walk.steps:
        return "at the start"
    step = walk.steps[-1]
    match step.action:
        case "deliver":
            return f"site {step.site} receives {step.message} from site {step.sender}"
        case "acquire":
            return f"site {step.site} asks"
        case "release":
            return f"site {step.site} leaves"
        case "timeout":
            return f"the timer {step.timer} of site {step.site} runs out"
        case other:
            return f"{other} at site {step.site}"


def why_waiting(walk: Walk) -> list[str]:
    """For each waiting site, its variables: what it waits for can be read from them."""
    return [f"site {i} waits{_variables(walk.processes[i])}" for i in walk.waiting]


def under_way(walk: Walk) -> list[str]:
    messages = walk.model.library.messages
    return [
        f"{item.sender}>{site} {messages[item.message]}"
        for site, local in enumerate(walk.locals)
        for item in local.inbox
    ]


def _variables(process: Process) -> str:
    fields = process.fields()
    shown = ", ".join(f"{name}={value}" for name, value in fields.items())
    return f" with {shown}" if shown else ""
