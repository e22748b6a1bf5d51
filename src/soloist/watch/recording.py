"""Writing down what a system does: each step with its messages, its variables, its lines and who waits for what."""

from __future__ import annotations

from typing import Any

from soloist.algorithms import Card, Size
from soloist.core import WAITING, Message, Outbox, Port, Process, Site, in_words
from soloist.sim.system import Flight, Happening, System
from soloist.watch.lines import Lines, RecordingPort
from soloist.watch.reasons import Reasons
from soloist.watch.stages import stage
from soloist.watch.trace import Head, Sent, State, Step, Timers, Trace, plain

MOVES = ("request", "release")
"""Steps of a site that are not about a message, and after which others may wait for something else."""


class Recording:
    """The steps of one system, which somebody else drives."""

    def __init__(self, system: System, card: Card, size: Size, fifo: bool) -> None:
        self.system, self.card, self.size, self.fifo = system, card, size, fifo
        self.lines = Lines(card.process)
        self.stage = stage(card, size)
        self.reasons = Reasons(system, self.stage, size.k)
        self.steps: list[Step] = []
        self.time: float | None = None
        """When the next step happens; None where steps have no time but their number."""
        self.text: str | None = None
        """What is to be said of the next step."""
        self.fence: str | None = None
        self._states: list[State] = []
        self._why: dict[Site, str] = {}
        system.make_port, system.watch = self._port, self._write

    def _port(self, process: Process, out: Outbox) -> Port:
        return RecordingPort(process, out, self.lines)

    def trace(self, **about: Any) -> Trace:
        """What has been recorded so far."""
        sources = self.lines.sources()
        head = Head(
            algorithm=self.card.name,
            title=self.card.title,
            nodes=self.size.n,
            k=self.size.k,
            options={name: str(value) for name, value in self.size.options.items()},
            channels="fifo" if self.fifo else "any",
            source=sources[0] if sources else None,
            files=sources[1:],
            stage=self.stage,
            **{"sites": [str(site) for site in range(self.size.n)], **about},
        )
        return Trace(head, list(self.steps))

    def note(self, what: Any, site: Site, text: str) -> None:
        """Something that changes no site: a link that is cut, or a word to the reader."""
        n = len(self.steps)
        self.steps.append(Step(n=n, t=self._now(n), site=site, what=what, text=text))

    def failed(self, error: Exception) -> None:
        """The step that was begun last has ended half-way."""
        self.text = f"the step fails: {in_words(error)}"
        out = self.system.out
        out.sends, out.entered = [], []
        self._write(self.system.attempt)

    def _now(self, n: int) -> float:
        return float(n) if self.time is None else self.time

    def _write(self, happening: Happening) -> None:
        h, n = happening, len(self.steps)
        changed, states = self._changed(h.site), {}
        if not self.steps:
            states, changed = {str(site): state for site, state in enumerate(self._states)}, {}
        elif h.what == "begin" and not (h.sent or h.entered or h.timers or changed):
            self.lines.take()
            return
        process = self.system.ports[h.site].process
        self.steps.append(
            Step(
                n=n,
                t=self._now(n),
                site=h.site,
                what=h.what,  # type: ignore[arg-type]
                message=h.flight.id if h.flight else None,
                copy=h.copy.id if h.copy else None,
                timer=h.timer,
                sent=[sent(flight) for flight in h.sent],
                enter=h.entered,
                fence=self.fence,
                exit=h.what == "release",
                timers=timers(h),
                phase=process.phase.name.lower(),  # type: ignore[arg-type]
                changed=changed,
                states=states,
                why=self._reasons(h),
                lines=self.lines.take(),
                chose=plain(h.chose) if h.chose else None,
                text=self.text or ("it comes back as it began" if h.fresh else None),
            )
        )
        self.text = self.fence = None

    def _changed(self, site: Site) -> State:
        """The variables that this step has changed. The first step has all that there are."""
        ports = self.system.ports
        if not self._states:
            self._states = [variables(port.process) for port in ports]
        before, after = self._states[site], variables(ports[site].process)
        self._states[site] = after
        return {name: value for name, value in after.items() if name not in before or before[name] != value}

    def _reasons(self, h: Happening) -> dict[str, str | None]:
        """What has changed about who waits for what. Only sites that this step has to do with are looked at."""
        if self.reasons.moves_token(h) or h.what in MOVES:
            looked_at = range(len(self.system.ports))
        else:
            looked_at = [h.site, *(flight.to for flight in h.sent), *([h.flight.sender, h.flight.to] if h.flight else ())]  # type: ignore[assignment]  # fmt: skip
        found: dict[str, str | None] = {}
        for site in looked_at:
            waits = self.system.ports[site].process.phase is WAITING and site not in self.system.down
            why = self.reasons.why(site) if waits else None
            if why != self._why.get(site):
                found[str(site)] = why
                if why is None:
                    del self._why[site]
                else:
                    self._why[site] = why
        return found


def variables(process: Process) -> State:
    return {name: plain(value) for name, value in process.fields().items()}


def fields(message: Message) -> dict[str, Any]:
    return {name: plain(getattr(message, name)) for name in message.__struct_fields__}


def sent(flight: Flight) -> Sent:
    return Sent(flight.id, flight.to, type(flight.message).__name__, fields(flight.message))


def timers(h: Happening) -> Timers | None:
    if not h.timers:
        return None
    on = {name: after for name, after in h.timers if after is not None}
    return Timers(on, [name for name, after in h.timers if after is None and name not in on])
