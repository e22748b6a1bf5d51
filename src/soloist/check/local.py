"""The state of one site, and what one event does to it.

A site is its process and its inbox: everything that decides what the site can do next. Processes
and messages are interned, so a site's state is a small tuple of numbers, and each (process, event)
is run once however often it occurs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from traceback import extract_tb
from typing import Any, NamedTuple

import msgspec

from soloist.check.declarations import Declaration
from soloist.core import Message, Outbox, Phase, Port, Process, ProtocolError, Site, encode, in_words


class Item(NamedTuple):
    """A message under way, in the inbox of the site that it is addressed to."""

    sender: Site
    message: int
    """Its number in `Library.messages`."""
    copies: int = 0
    """How often the network may still duplicate it."""
    known: int = 0
    """What its sender knew: see `history`."""


class Local(NamedTuple):
    """One site between two steps."""

    process: int
    """Its number in `Library.processes`."""
    left: int
    """Requests it may still make."""
    inbox: tuple[Item, ...] = ()
    timers: tuple[str, ...] = ()
    alive: bool = True
    known: int = 0
    ahead: int = 0
    """Requests it knew of when it asked: see `history`."""
    wrong: str = ""
    """Why the step that led here is a violation."""
    idled: int = 0
    """How often the others have asked while it was idle, where that is limited (`Setting.lively`)."""

    def without(self, item: Item) -> Local:
        """The site once it has taken a message out of its inbox and knows what the sender knew."""
        position = self.inbox.index(item)
        inbox = self.inbox[:position] + self.inbox[position + 1 :]
        known = self.known | item.known
        return Local(
            self.process, self.left, inbox, self.timers, True, known, self.ahead, self.wrong, self.idled
        )

    def after(self, outcome: Outcome) -> Local:
        """The site once its process has done what it does."""
        timers = self.timers
        if outcome.timers:
            armed = set(timers)
            for name, on in outcome.timers:
                (armed.add if on else armed.discard)(name)
            timers = tuple(sorted(armed))
        return Local(
            outcome.process,
            self.left,
            self.inbox,
            timers,
            True,
            self.known,
            self.ahead,
            self.wrong,
            self.idled,
        )


class Event(NamedTuple):
    """What the driver does to a process."""

    name: str
    sender: Site = -1
    message: int = -1
    timer: str = ""


class Outcome(NamedTuple):
    """What a process does about it: one outcome for each way its free choices can fall."""

    process: int
    sends: tuple[tuple[Site, int], ...]
    timers: tuple[tuple[str, bool], ...]
    entered: bool
    choices: tuple[str, ...]
    error: str = ""


class Library:
    """All processes and messages seen so far, by number, and the local steps between them."""

    def __init__(self, kind: type[Process], declared: Declaration) -> None:
        self.kind = kind
        self._settlers = tuple(declared.settled.items())
        self._mail_settlers = tuple(declared.settled_mail.items())
        self._is_void = declared.void
        self.settles_mail = bool(self._mail_settlers)
        self._settled_mail: dict[tuple[int, Site, int], int] = {}
        self._void: dict[tuple[int, Site, int], bool] = {}
        self.processes: list[bytes] = []
        self.phases: list[Phase] = []
        self.messages: list[Message] = []
        self.contents: list[bytes] = []
        """What each message is on the wire."""
        self.asking: set[type[Message]] = set()
        """The kinds of message that a request sends."""
        self._process_numbers: dict[bytes, int] = {}
        self._message_numbers: dict[Message, int] = {}
        self._outcomes: dict[tuple[int, Event], list[Outcome]] = {}
        self._decoder = msgspec.msgpack.Decoder(kind, dec_hook=lambda _, __: Outbox())
        self.runs = 0

    def process_number(self, process: Process) -> int:
        """The number of a process, with values that no step can tell apart made one."""
        for field, settled in self._settlers:
            setattr(process, field, settled(process))
        snapshot = process.snapshot()
        number = self._process_numbers.get(snapshot)
        if number is None:
            as_declared(process, partial(self._decoder.decode, snapshot))
            number = self._process_numbers[snapshot] = len(self.processes)
            self.processes.append(snapshot)
            self.phases.append(process.phase)
        return number

    def message_number(self, message: Message) -> int:
        try:
            number = self._message_numbers.get(message)
        except TypeError:  # something in it may change, so it is not what was declared
            number = None
        if number is None:
            content = encode(message)
            as_declared(message, lambda: msgspec.msgpack.decode(content, type=type(message)))
            number = self._message_numbers[message] = len(self.messages)
            self.contents.append(content)
            self.messages.append(message)
        return number

    def settled_mail(self, process: int, sender: Site, message: int) -> int:
        """The number of a message, with values that its receiver cannot tell apart made one."""
        key = (process, sender, message)
        known = self._settled_mail.get(key)
        if known is None:
            receiver, content = self.process(process), self.messages[message]
            changes = {
                field: settled(receiver, sender, content)
                for field, settled in self._mail_settlers
                if field in content.__struct_fields__
            }
            known = self._settled_mail[key] = self.message_number(msgspec.structs.replace(content, **changes))
        return known

    def void(self, process: int, sender: Site, message: int) -> bool:
        """Whether a message does nothing to a process whenever it comes."""
        key = (process, sender, message)
        known = self._void.get(key)
        if known is None:
            assert self._is_void
            known = self._void[key] = self._is_void(self.process(process), sender, self.messages[message])
        return known

    def kinds_delivered(self) -> set[type[Message]]:
        """The kinds of message that some handler has been run on."""
        return {type(self.messages[e.message]) for _, e in self._outcomes if e.name == "deliver"}

    def timers(self) -> set[str]:
        """The timers that some step has set."""
        return {name for each in self._outcomes.values() for o in each for name, on in o.timers if on}

    def process(self, number: int) -> Process:
        """A fresh copy of a process, which the caller may change."""
        return self._decoder.decode(self.processes[number])

    def outcomes(self, process: int, event: Event) -> list[Outcome]:
        key = (process, event)
        known = self._outcomes.get(key)
        if known is None:
            known = self._outcomes[key] = list(self._run(process, event))
        return known

    def _run(self, process: int, event: Event) -> Iterator[Outcome]:
        """Run a step once for every way its choices can fall, in the order of the options."""
        scripts: list[list[int]] = [[]]
        while scripts:
            chooser = Chooser(scripts.pop())
            yield self._run_once(process, event, chooser)
            scripts.extend(reversed(chooser.untried()))

    def _run_once(self, number: int, event: Event, chooser: Chooser) -> Outcome:
        self.runs += 1
        process = self.process(number)
        out = Outbox(chooser)
        port = Port(process, out)
        try:
            sends = _cause(port, event, self.messages)
            after = self.process_number(process)
            mail = tuple((_site(to, process.n), self.message_number(m)) for _, j, m, _ in sends for to in j)
        except Exception as error:  # whatever a handler raises or leaves behind is a finding, not a crash
            said = in_words(error) + _line(error, type(process))
            return Outcome(number, (), (), False, tuple(chooser.answers), said)
        if event.name == "acquire":
            self.asking |= {type(message) for _, _, message, _ in sends}
        timers = tuple((name, delay is not None) for _, name, delay in out.timers)
        return Outcome(after, mail, timers, bool(out.entered), tuple(chooser.answers))


def _line(error: Exception, kind: type) -> str:
    """Where in the file of a user's own algorithm an error comes from; for ours the pages show which rule it is."""
    if kind.__module__.startswith("soloist."):
        return ""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    lines = [each.lineno for each in extract_tb(error.__traceback__) if each.filename == file]
    return f" (line {lines[-1]})" if lines else ""


class Chooser:
    """Answers free choices from a script, then with the first option; remembers what else there was."""

    def __init__(self, script: list[int]) -> None:
        self.script = script
        self.taken: list[int] = []
        self.widths: list[int] = []
        self.answers: list[str] = []

    def __call__(self, options: Sequence[Any]) -> Any:
        turn = len(self.taken)
        pick = self.script[turn] if turn < len(self.script) else 0
        self.taken.append(pick)
        self.widths.append(len(options))
        self.answers.append(str(options[pick]))
        return options[pick]

    def untried(self) -> list[list[int]]:
        """The scripts that leave this one at a choice it made by itself."""
        return [
            [*self.taken[:turn], pick]
            for turn in range(len(self.script), len(self.taken))
            for pick in range(1, self.widths[turn])
        ]


def as_declared(thing: Process | Message, copy: Callable[[], Process | Message]) -> None:
    """See that each field is what its class says, for nodes and snapshots rely on it: read back it is the same."""
    fields, kind = thing.__struct_fields__, type(thing).__name__
    try:
        same = copy()
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at ")
        index = re.search(r"\d+", place)
        tag = isinstance(thing, Message)  # a message begins with its name
        name = fields[int(index[0]) - tag] if index else "a field"
        raise ProtocolError(f"{name} of {kind} is {getattr(thing, name, None)!r}: {said}") from None
    for name in fields:
        value = getattr(thing, name)
        if not isinstance(value, Outbox | Process) and (back := getattr(same, name)) != value:
            raise ProtocolError(f"{name} of {kind} is {value!r}, but its type makes it {back!r}")


def _site(to: Site, n: int) -> Site:
    if not (isinstance(to, int) and 0 <= to < n):
        raise ProtocolError(f"a message goes to {to!r}, but the sites are 0 to {n - 1}")
    return to


def _cause(port: Port, event: Event, messages: list[Message]) -> list[Any]:
    match event.name:
        case "begin":
            return port.begin()
        case "acquire":
            return port.acquire()
        case "release":
            return port.release()
        case "deliver":
            return port.deliver(event.sender, messages[event.message])
        case "restart":
            port.process.come_back()  # type: ignore[attr-defined]
            return port.take()
        case _:
            return port.timeout(event.timer)
