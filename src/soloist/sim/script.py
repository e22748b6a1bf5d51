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
    settle                          deliver everything, oldest first, until nothing is on its way
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

import msgspec

from soloist.algorithms import Card, Size, find_any
from soloist.core import Message, Outbox, Port, Send, Site, UsageError, unknown
from soloist.core.trace import Recorder, Step
from soloist.durations import duration
from soloist.sim.experiment import Experiment, simulate
from soloist.sim.links import Network, delay
from soloist.sim.workload import listed

CHOICES = re.compile(r"\s+choose=(\S+)\s*$")


class Flight(msgspec.Struct, frozen=True):
    """A message on its way."""

    sender: Site
    to: Site
    message: Message

    def __str__(self) -> str:
        return f"{self.sender}>{self.to} {self.message}"


class Script:
    """A system that is stepped by hand."""

    def __init__(self) -> None:
        self.ports: list[Port] = []
        self.flights: list[Flight] = []
        self.fifo = False
        self.k = 1
        self.answers: list[str] = []
        self.out = Outbox(self._choose)
        self.timers: set[tuple[Site, str]] = set()
        self.down: set[Site] = set()
        """Sites that have crashed."""
        self.begin: Callable[[Site], Port] | None = None

    def run(self, command: str) -> list[str]:
        """Obey one command; the answer is a list of lines."""
        self.answers = []
        if made := CHOICES.search(command):
            self.answers, command = made[1].split(","), command[: made.start()]
        verb, *words = command.split()
        commands: dict[str, Callable[[Sequence[str]], list[str]]] = {
            "start": self._start,
            "acquire": lambda words: self._event("acquire", self._site(words)),
            "release": lambda words: self._event("release", self._site(words)),
            "deliver": self._deliver,
            "timeout": self._timeout,
            "lose": self._lose,
            "duplicate": self._duplicate,
            "crash": self._crash,
            "restart": self._restart,
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
        fifo = settings.pop("channels", card.channels) == "fifo"
        return self.start(card, card.size(nodes, k, settings), fifo)

    def start(self, card: Card, size: Size, fifo: bool) -> list[str]:
        """A new system, also of a card that is not in the catalogue."""
        self.fifo, self.k = fifo, size.k
        self.out, self.timers, self.down = Outbox(self._choose), set(), set()
        self.begin = lambda site: Port(card.start_one(size, site), self.out)
        self.ports = [self.begin(site) for site in range(size.n)]
        self.flights = []
        began = [line for port in self.ports for line in self._effects(port.begin())]
        return [f"{card.title}, {size.n} sites, {'FIFO' if self.fifo else 'unordered'} links", *began]

    def _event(self, event: str, site: Site) -> list[str]:
        if site in self.down:
            raise UsageError(f"site {site} has crashed; restart {site} brings it back")
        port = self.ports[site]
        sends = port.acquire() if event == "acquire" else port.release()
        kind = "request" if event == "acquire" else "exit"
        return [str(Step(kind, site)), *self._effects(sends)]  # type: ignore[arg-type]

    def _deliver(self, words: Sequence[str]) -> list[str]:
        flight = self._find(" ".join(words))
        self.flights.remove(flight)
        sends = self.ports[flight.to].deliver(flight.sender, flight.message)
        step = Step("deliver", flight.to, peer=flight.sender, message=flight.message)
        return [str(step), *self._effects(sends)]

    def _timeout(self, words: Sequence[str]) -> list[str]:
        site, name = self._site(words[:1]), " ".join(words[1:])
        if (site, name) not in self.timers:
            running = ", ".join(sorted(timer for i, timer in self.timers if i == site)) or "none"
            raise UsageError(f"site {site} has no timer {name!r} running; it has: {running}")
        self.timers.remove((site, name))
        return [str(Step("timeout", site, name=name)), *self._effects(self.ports[site].timeout(name))]

    def _lose(self, words: Sequence[str]) -> list[str]:
        self.flights.remove(self._find(" ".join(words)))
        return []

    def _duplicate(self, words: Sequence[str]) -> list[str]:
        fifo, self.fifo = self.fifo, False  # a message may be copied before its turn has come
        try:
            self.flights.append(self._find(" ".join(words)))
        finally:
            self.fifo = fifo
        return []

    def _crash(self, words: Sequence[str]) -> list[str]:
        site = self._site(words)
        self.down.add(site)
        self.flights = [flight for flight in self.flights if flight.to != site]
        self.timers = {timer for timer in self.timers if timer[0] != site}
        return []

    def _restart(self, words: Sequence[str]) -> list[str]:
        site = self._site(words[:1])
        if words[1:] not in ([], ["fresh"]):
            raise UsageError(f"restart {' '.join(words)!r} should read I, or I fresh")
        if site not in self.down:
            raise UsageError(f"site {site} has not crashed")
        self.down.remove(site)
        if words[1:] and self.begin:
            self.ports[site] = self.begin(site)
        process = self.ports[site].process
        if come_back := getattr(process, "come_back", None):
            come_back()
            return [str(Step("restart", site)), *self._effects(self.ports[site].take())]
        return []

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
        while self.flights:
            lines += self._deliver([str(self.flights[0])])
        return lines or ["nothing is on its way"]

    def _effects(self, sends: list[Send]) -> list[str]:
        steps = []
        for sender, to, message, _ in sends:
            for site in to:
                if site not in self.down:
                    self.flights.append(Flight(sender, site, message))
                steps.append(Step("send", sender, peer=site, message=message))
        steps += [Step("enter", site) for site in self.out.entered]
        self.out.entered.clear()
        for site, name, after in self.out.timers:
            (self.timers.discard if after is None else self.timers.add)((site, name))
        self.out.timers.clear()
        return [f"  {step}" for step in steps]

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
        experiment = Experiment(
            name,
            nodes=int(settings.pop("nodes", 3)),
            k=int(settings.pop("k", 1)),
            workload=listed(settings.pop("requests", "0@0")),
            network=Network(delay(settings.pop("latency", "1")), find_any(name).channels == "fifo"),
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
