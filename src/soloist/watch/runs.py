"""Runs to look at: a script, a counterexample, a simulation. Each is replayed with the real code, and written down meanwhile.

A simulation runs first, as fast as ever, and leaves a plain list of what happened; the recording is made from that.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from random import Random
from typing import Any

from soloist.algorithms import Card, Size
from soloist.check import Report
from soloist.core import PropertyViolated, Site, SoloistError, UsageError
from soloist.core import trace as core
from soloist.core.checked import a, shown
from soloist.sim.experiment import Experiment, anew, run
from soloist.sim.script import Script
from soloist.sim.system import Flight, System
from soloist.watch.recording import Recording
from soloist.watch.trace import Trace, Verdict
from soloist.watch.words import plainly, waiting

MOST_STEPS = 20_000
"""Steps of a simulation, as it counts them: what is sent and who enters are steps of their own there."""


class Enough(Exception):
    """A run is longer than anybody would look at."""


class Bounded(core.Recorder):
    """Ends the run when it is full: some never end by themselves."""

    def add(self, step: core.Step) -> None:
        super().add(step)
        if self.dropped:
            raise Enough


class RecordedScript(Script):
    """A script whose run is written down from its `start` on. A comment becomes a note."""

    def __init__(self, card: Card | None = None) -> None:
        super().__init__()
        self.card = card
        """Used in place of the one that `start` names: a printed version has the name of the repaired one."""
        self.recording: Recording | None = None

    def start(self, card: Card, size: Size, fifo: bool) -> list[str]:
        self.recording = Recording(self, self.card or card, size, fifo)
        return super().start(self.card or card, size, fifo)

    def obey(self, command: str) -> None:
        """A command or a comment; a step that fails half-way is the last one, and is told."""
        command = command.strip()
        if command.startswith("#"):
            if self.recording:
                self.recording.note("note", 0, command.lstrip("# "))
        elif command:
            if self.recording is None and command.split()[0] != "start":
                raise UsageError(f"a script begins with `start NAME nodes=N`, not with {command!r}")
            self.run(command)

    def trace(self, **about: Any) -> Trace:
        if self.recording is None:
            raise UsageError("a script begins with `start NAME nodes=N`, and this one is empty")
        return self.recording.trace(**about)


def of_script(commands: Iterable[str], card: Card | None = None, **about: Any) -> Trace:
    """A run that was written by hand, or by the checker."""
    if isinstance(commands, str | bytes) or not isinstance(commands, Iterable):
        raise UsageError(f"a script must be a list of commands, not {shown(commands)}")
    return _played(RecordedScript(card), commands, about)


def of_steps(commands: Iterable[str], card: Card, size: Size, fifo: bool, **about: Any) -> Trace:
    """The same of commands without `start`: not every system can be written as one."""
    script = RecordedScript(card)
    script.start(card, size, fifo)
    return _played(script, commands, about)


def _played(script: RecordedScript, commands: Iterable[str], about: dict[str, Any]) -> Trace:
    for command in commands:
        try:
            script.obey(command)
        except UsageError as error:
            raise UsageError(f"{command.strip()!r} cannot be done: {error}") from None
        except Exception as error:
            if script.recording is None:
                raise
            script.recording.failed(error)
            break
    return script.trace(**{"origin": "script", "unit": "steps", **about})


def commands_of(text: str) -> list[str]:
    """The commands of a script; answers, which golden traces have between `----` and an empty line, are left out."""
    found, answers = [], False
    for line in text.splitlines():
        if line.startswith("----"):
            answers = True
        elif not line.strip():
            answers = False
        elif not answers and line.split()[0] not in ("show", "network"):
            found.append(line)
    return found


def of_report(report: Report, card: Card, printed: bool = False) -> Trace:
    """The run that a check shows."""
    if not a(Report, "what is shown", report).trace:
        raise UsageError(f"the check of {report.algorithm} has no run to show: nothing is wrong with it")
    notes = [] if report.loop is None else [f"From step {report.loop + 1} of the run on it repeats itself."]
    origin = "counterexample"
    trace = of_script(report.script.splitlines(), card, origin=origin, notes=notes, printed=printed)
    if report.property:
        trace.head.finding = Verdict(report.property, plainly(report.reason, waiting(trace)))
    return trace


def of_simulation(experiment: Experiment, most: int = MOST_STEPS) -> Trace:
    """One run of the simulator, with the first seed. If it breaks a promise, the trace ends there and says so."""
    a(Experiment, "what is run", experiment)
    recorder, finding, notes = Bounded(most), None, []
    try:
        run(experiment, experiment.seed, recorder)
    except PropertyViolated as error:
        finding = Verdict(error.property, str(error))
    except Enough:
        notes = [f"The run goes on: it was cut off after {most} events."]
    if not recorder.steps and finding:
        raise PropertyViolated(finding.property, finding.text)
    card, size = experiment.card(), experiment.size()
    system = System(Random(f"{experiment.seed}/choice").choice)
    recording = Recording(system, card, size, experiment.network.fifo)
    _replay(recording, recorder.steps, partial(anew, card, size))
    return recording.trace(
        origin="simulation",
        seed=experiment.seed,
        unit="s",
        printed=bool(experiment.printed),
        finding=finding,
        notes=notes,
    )


def _replay(recording: Recording, steps: Iterable[core.Step], fresh: Any) -> None:
    """What the simulator did, once more."""
    system, card, size = recording.system, recording.card, recording.size
    system.forgets_mail = False  # the simulator says when something is lost
    recording.time = 0.0
    system.begin(size.n, partial(card.start_one, size), fresh, recording.fifo)
    pauses: dict[Site, float] = {}
    for step in steps:
        for site, until in sorted(pauses.items(), key=lambda item: item[1]):
            if until <= (step.time or 0.0):
                del pauses[site]
                if site in system.paused:
                    recording.time = until
                    system.resume(site)
        recording.time = step.time
        try:
            _repeat(recording, step, pauses)
        except SoloistError:
            raise
        except Exception as error:
            recording.failed(error)
            return


def _repeat(recording: Recording, step: core.Step, pauses: dict[Site, float]) -> None:
    system, site = recording.system, step.site
    match step.kind:
        case "request":
            system.acquire(site)
        case "exit":
            system.release(site)
        case "deliver":
            system.deliver(_flight(system, step.peer, site, step))
        case "timeout":
            system.timeout(site, step.name or "")
        case "lose":
            system.lose(_flight(system, site, step.peer, step))
        case "duplicate":
            system.duplicate(_flight(system, site, step.peer, step))
        case "crash":
            system.crash(site)
        case "restart":
            system.restart(site, fresh=step.name == "as new")
        case "pause":
            pauses[site] = float((step.name or "until 0").split()[-1])
            if site not in system.paused:
                system.pause(site)
        case "partition" | "heal":
            recording.note("cut" if step.kind == "partition" else "heal", site, step.name or "")
        case "reorder":
            recording.note("note", site, f"{step.message} to {step.peer} takes longer and may be overtaken")
        case "send" | "enter":
            pass  # it follows from what comes before


def _flight(system: System, sender: Site | None, to: Site | None, step: core.Step) -> Flight:
    """The oldest that says the same: any of these is as good as another."""
    for flight in system.flights:
        if (flight.sender, flight.to) == (sender, to) and flight.message == step.message:
            return flight
    raise UsageError(f"the run cannot be repeated: {step.message} is not on its way from {sender} to {to}")
