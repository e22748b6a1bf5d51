"""Runs written as text: a script says what happens next, and every step is answered in words.

    start suzuki-kasami nodes=3
    acquire 1
    deliver 1>0
    settle

Commands, one per line:

    start NAME nodes=N [k=K] [channels=fifo|any] [OPTION=VALUE …]
    acquire I, release I            site I asks, or leaves
    deliver I>J [MESSAGE]           the oldest message from I to J (`Ack`, `Ack(t=2)`: the oldest such)
    timeout I NAME                  a timer of site I runs out
    lose I>J [MESSAGE]              that message never arrives
    duplicate I>J [MESSAGE]         a copy of it joins the end of its link
    crash I                         site I stops; mail for it is lost until it comes back
    restart I [fresh]               it comes back as it was, or as it began
    pause I, resume I               site I does nothing for a while, and its mail waits
    settle                          deliver everything, oldest first, until nothing is on its way (or only for paused sites)
    network                         what is on its way
    show I                          the variables of site I
    simulate NAME nodes=N requests=0@0,2@1.5 [seed=S] [latency=…] [OPTION=VALUE …]
                                    a run of the simulator, step by step

Where a step makes free choices, `choose=A,B` at its end says how they fall; else the first option is taken.

The golden traces in tests/traces are such scripts with their answers, and a counterexample of
the checker is one too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from soloist.algorithms import Card, Size, find_any
from soloist.core import Outbox, Port, Process, Site, UsageError, unknown
from soloist.core.trace import Recorder, Step
from soloist.durations import duration
from soloist.sim.experiment import Experiment, simulate
from soloist.sim.links import Network, delay
from soloist.sim.system import Flight, Happening, System
from soloist.sim.workload import listed

CHOICES = re.compile(r"\s+choose=(\S+)\s*$")
SAID = {"request", "deliver", "timeout", "release"}
"""What is answered with a line of its own; faults are not, unless the site says something."""


class Script(System):
    """A system that is stepped by commands."""

    def __init__(self, make_port: Callable[[Process, Outbox], Port] = Port) -> None:
        super().__init__(self._choose, make_port)
        self.k = 1
        self.answers: list[str] = []

    def run(self, command: str) -> list[str]:
        """Obey one command; the answer is a list of lines."""
        self.answers = []
        if made := CHOICES.search(command):
            self.answers, command = made[1].split(","), command[: made.start()]
        verb, *words = command.split()
        commands: dict[str, Callable[[Sequence[str]], list[str]]] = {
            "start": self._start,
            "acquire": lambda words: self._tell(self.acquire(self._site(words))),
            "release": lambda words: self._tell(self.release(self._site(words))),
            "deliver": lambda words: self._tell(self.deliver(self._find(" ".join(words)))),
            "timeout": lambda words: self._tell(self.timeout(self._site(words[:1]), " ".join(words[1:]))),
            "lose": lambda words: self._tell(self.lose(self._find(" ".join(words)))),
            "duplicate": self._duplicate,
            "crash": lambda words: self._tell(self.crash(self._site(words))),
            "restart": self._restart,
            "pause": lambda words: self._tell(self.pause(self._site(words))),
            "resume": lambda words: self._tell(self.resume(self._site(words))),
            "settle": self._settle,
            "network": lambda words: [str(flight) for flight in self.flights] or ["nothing is on its way"],
            "show": self._show,
            "simulate": self._simulate,
        }
        if verb not in commands:
            raise unknown("command", verb, commands)
        return commands[verb](words)

    def _start(self, words: Sequence[str]) -> list[str]:
        name, settings = _settings(words)
        card = find_any(name)
        nodes, k = int(settings.pop("nodes", 3)), int(settings.pop("k", 1))
        fifo = settings.pop("channels", card.links(k)) == "fifo"
        return self.start(card, card.size(nodes, k, settings), fifo)

    def start(self, card: Card, size: Size, fifo: bool) -> list[str]:
        """A new system, also of a card that is not in the catalogue."""

        def make(site: Site) -> Process:
            return card.start_one(size, site)

        self.k = size.k
        began = self.begin(size.n, make, make, fifo)
        order = "FIFO" if self.fifo else "unordered"
        said = [line for happening in began for line in self._tell(happening)]
        return [f"{card.title}, {size.n} sites, {order} links", *said]

    def _tell(self, happening: Happening) -> list[str]:
        """What happened, in words: the cause, what was sent, and the entry."""
        h = happening
        cause: list[str] = []
        if h.what in SAID or (h.what == "restart" and h.comes_back):
            kind: Any = "exit" if h.what == "release" else h.what
            peer, message = (h.flight.sender, h.flight.message) if h.flight else (None, None)
            cause = [str(Step(kind, h.site, peer=peer, message=message, name=h.timer))]
        effects = [Step("send", flight.sender, peer=flight.to, message=flight.message) for flight in h.sent]
        if h.entered:
            effects.append(Step("enter", h.site))
        return [*cause, *(f"  {step}" for step in effects)]

    def _duplicate(self, words: Sequence[str]) -> list[str]:
        fifo, self.fifo = self.fifo, False  # a message may be copied before its turn has come
        try:
            return self._tell(self.duplicate(self._find(" ".join(words))))
        finally:
            self.fifo = fifo

    def _restart(self, words: Sequence[str]) -> list[str]:
        site = self._site(words[:1])
        if words[1:] not in ([], ["fresh"]):
            raise UsageError(f"restart {' '.join(words)!r} should read I, or I fresh")
        return self._tell(self.restart(site, fresh=bool(words[1:])))

    def _choose(self, options: Sequence[Any]) -> Any:
        if not self.answers:
            return options[0]
        answer = self.answers.pop(0)
        for option in options:
            if str(option) == answer:
                return option
        raise unknown("choice", answer, map(str, options))

    def _settle(self, words: Sequence[str]) -> list[str]:
        lines = []
        while due := [flight for flight in self.flights if flight.to not in self.paused]:
            lines += self._tell(self.deliver(due[0]))
        return lines or ["nothing is on its way"]

    def _find(self, text: str) -> Flight:
        match = re.fullmatch(r"(\d+)>(\d+)\s*(.*)", text)
        if not match:
            raise UsageError(f"deliver {text!r} should read I>J, or I>J MESSAGE")
        link = [f for f in self.flights if (f.sender, f.to) == (int(match[1]), int(match[2]))]
        wanted = [f for f in link if match[3] in ("", type(f.message).__name__, str(f.message))]
        if not wanted:
            raise UsageError(f"no {match[3] or 'message'} is on its way from {match[1]} to {match[2]}")
        if self.fifo and wanted[0] is not link[0]:
            raise UsageError(f"links are FIFO: {link[0]} comes before {wanted[0]}")
        return wanted[0]

    def _show(self, words: Sequence[str]) -> list[str]:
        process = self.ports[self._site(words)].process
        fields = (f"{name}={value}" for name, value in process.fields().items())
        return [f"{process.me}  {process.phase.name.lower()}  " + "  ".join(fields)]

    def _site(self, words: Sequence[str]) -> Site:
        if len(words) != 1 or not words[0].isdigit() or int(words[0]) >= len(self.ports):
            raise UsageError(f"{' '.join(words)!r} is no site; sites are 0 to {len(self.ports) - 1}")
        return int(words[0])

    def _simulate(self, words: Sequence[str]) -> list[str]:
        name, settings = _settings(words)
        k = int(settings.pop("k", 1))
        experiment = Experiment(
            name,
            nodes=int(settings.pop("nodes", 3)),
            k=k,
            workload=listed(settings.pop("requests", "0@0")),
            network=Network(delay(settings.pop("latency", "1")), find_any(name).links(k) == "fifo"),
            inside=duration(settings.pop("inside", "1")),
            seed=int(settings.pop("seed", 1)),
            options=settings,
        )
        recorder = Recorder()
        result = simulate(experiment, recorder=recorder)
        figures = f"{result.entries} entries, {result.messages} messages"
        return [*recorder.lines(), figures]


def _settings(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """`NAME key=value …`, taken apart."""
    if not words:
        raise UsageError("the name of an algorithm is missing")
    pairs = [word.partition("=") for word in words[1:]]
    for key, equals, _ in pairs:
        if not equals:
            raise UsageError(f"{key!r} should read KEY=VALUE")
    return words[0], {key: value for key, _, value in pairs}
