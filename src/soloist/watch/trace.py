"""Traces, version 2: one format for a simulation, a counterexample, a script and a live cluster.

As a file a trace is JSON Lines: a head, then one step a line. A step says what happened at one site, what that caused, which of the
site's variables it changed and which lines of the source it ran through. Messages have numbers, so both ends of an arrow are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec

from soloist.core import UsageError
from soloist.core.checked import a_path

VERSION = 2
MOST_BYTES = 300_000_000
"""Bytes of the files that are read: some millions of steps."""
MOST_NODES = 10_000
"""Sites of a trace that is read: with more nobody sees anything."""
LARGEST = 1 << 53
"""Up to here a number is a number in every reader of JSON; above, it is text."""

What = Literal[
    "begin", "request", "deliver", "timeout", "release",
    "crash", "restart", "pause", "resume", "lose", "duplicate", "cut", "heal", "note",
]  # fmt: skip
State = dict[str, Any]
"""The variables of a site, by name."""


class Source(msgspec.Struct, frozen=True):
    """A file of the algorithm."""

    file: str
    first: int
    text: str


class Pointer(msgspec.Struct, frozen=True):
    """A variable that names a site: an arrow that turns."""

    field: str
    label: str
    many: bool = False
    """Whether the variable names many sites: an arrow to each."""
    index: int | None = None
    """Where the variable is a list, the place in it of this pointer."""


class Token(msgspec.Struct, frozen=True):
    """How one sees where the token is: a variable that says so, and messages that carry it."""

    field: str | None
    kinds: list[str]
    inside: bool = False
    """Whether the variable says nothing of the token with which a site is inside."""


class Stage(msgspec.Struct, frozen=True):
    """The logical structure in which the sites are drawn."""

    layout: Literal["circle", "ring", "tree", "star", "grid", "groups"] = "circle"
    edges: list[tuple[int, int]] = []
    quorums: list[list[int]] | None = None
    pointers: list[Pointer] = []
    token: Token | None = None
    queue: str | None = None


class Verdict(msgspec.Struct, frozen=True):
    """What the run shows."""

    property: str
    text: str


class Head(msgspec.Struct, kw_only=True):
    """What the trace is of."""

    soloist: Literal["trace"] = "trace"
    version: int = VERSION
    algorithm: str
    title: str = ""
    printed: bool = False
    erratum: str | None = None
    """The code of the one error that is put back, where it is not the whole text as printed."""
    nodes: int
    k: int = 1
    options: dict[str, str] = {}
    channels: Literal["fifo", "any"] = "any"
    seed: int | None = None
    origin: Literal["simulation", "counterexample", "script", "live"] = "script"
    lock: str | None = None
    sites: list[str] = []
    unit: str = ""
    source: Source | None = None
    files: list[Source] = []
    stage: Stage = Stage()
    finding: Verdict | None = None
    notes: list[str] = []
    start: dict[str, str] = {}
    """Of a live lock: the snapshots with which its sites began, where that was recorded."""


class Sent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message that leaves."""

    id: int
    to: int
    kind: str
    fields: dict[str, Any] = {}

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(f'{name}={shown(value)}' for name, value in self.fields.items())})"


class Timers(msgspec.Struct, frozen=True, omit_defaults=True):
    set: dict[str, float] = {}
    off: list[str] = []


class Step(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing that happened at one site, and what came of it."""

    n: int
    t: float | None = None
    site: int
    what: What
    message: int | None = None
    """What was delivered, lost or duplicated."""
    copy: int | None = None
    timer: str | None = None
    sent: list[Sent] = []
    enter: bool = False
    fence: str | None = None
    exit: bool = False
    timers: Timers | None = None
    phase: Literal["idle", "waiting", "inside"] | None = None
    changed: State = {}
    states: dict[str, State] = {}
    """In the first step: all variables of all sites."""
    why: dict[str, str | None] = {}
    lines: list[tuple[int, int]] = []
    chose: Any = None
    text: str | None = None


class Message(msgspec.Struct, frozen=True):
    """A message with both ends: the steps that sent it and that ended it, if one did."""

    id: int
    sender: int
    to: int
    sent: int
    """The number of the step."""
    body: Sent
    received: int | None = None
    lost: int | None = None
    copy_of: int | None = None


class Trace(msgspec.Struct, frozen=True):
    """A run that was written down."""

    head: Head
    steps: list[Step]

    def name(self, site: int) -> str:
        """What a site is called."""
        return self.head.sites[site] if site < len(self.head.sites) else str(site)

    def messages(self) -> dict[int, Message]:
        """All messages, by number."""
        found: dict[int, Message] = {}
        replace = msgspec.structs.replace
        for step in self.steps:
            if step.message is not None and (message := found.get(step.message)):
                if step.what == "deliver":
                    found[message.id] = replace(message, received=step.n)
                elif step.what == "lose":
                    found[message.id] = replace(message, lost=step.n)
                elif step.what == "duplicate" and step.copy is not None:
                    body = replace(message.body, id=step.copy)
                    found[step.copy] = replace(
                        message, id=step.copy, sent=step.n, body=body, received=None, lost=None, copy_of=message.id
                    )  # fmt: skip
            for sent in step.sent:
                found[sent.id] = Message(sent.id, step.site, sent.to, step.n, sent)
        return found

    def states(self) -> Iterator[dict[int, State]]:
        """The variables of all sites after each step. The same dictionaries each time: copy what you keep."""
        states: dict[int, State] = {site: {} for site in range(self.head.nodes)}
        for step in self.steps:
            for site, fields in step.states.items():
                states[int(site)].update(fields)
            if step.site in states:
                states[step.site].update(step.changed)
            yield states

    def state(self, n: int) -> dict[int, State]:
        """The variables of all sites after step n."""
        for step, states in zip(self.steps, self.states(), strict=True):
            if step.n == n:
                return {site: dict(fields) for site, fields in states.items()}
        raise UsageError(f"there is no step {n}; steps are 0 to {len(self.steps) - 1}")

    def json_lines(self) -> str:
        """As a file of JSON lines, which `soloist watch` reads."""
        encode = msgspec.json.encode
        return "".join(f"{encode(record).decode()}\n" for record in (self.head, *self.steps))

    def _repr_svg_(self) -> str:
        from soloist.watch.svg import svg

        return svg(self)

    def _repr_html_(self) -> str:
        """In a notebook: the timeline."""
        return f'<div style="max-width:100%;overflow-x:auto">{self._repr_svg_()}</div>'


def read(path: str | Path) -> Trace:
    """A trace file of this version. Whatever is wrong with it is said in one line."""
    path = a_path("a trace", path)
    return parse(text_of(path).splitlines(), str(path))


def text_of(path: Path) -> str:
    try:
        return bytes_of(path).decode("utf-8-sig")  # some editors put a mark before the first letter
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no trace: it is not text") from None


def bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read the trace {path}: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"{path} is too long: {MOST_BYTES // 1_000_000} MB are read at most")
    return data


def parse(lines: Iterable[str], name: str) -> Trace:
    """A head, and a step a line. A last line that was cut off by a crash of the writer is left out."""
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise UsageError(f'{name} is empty; a trace begins with a line that has "soloist": "trace"')
    head = _head(numbered[0][1], name)
    steps: list[Step] = []
    for number, line in numbered[1:]:
        try:
            steps.append(msgspec.json.decode(line, type=Step))
        except msgspec.MsgspecError as error:
            if number == numbered[-1][0] and not isinstance(error, msgspec.ValidationError):
                head.notes.append("The last line of the file was cut off.")
                break
            raise UsageError(f"{name}, line {number} is no step of a trace: {error}") from None
    trace = Trace(head, steps)
    _assert_sound(trace, name)
    return trace


def _head(line: str, name: str) -> Head:
    try:
        values = msgspec.json.decode(line)
    except msgspec.MsgspecError:
        values = None
    if not isinstance(values, dict) or values.get("soloist") != "trace":
        raise UsageError(f'{name} is no trace: its first line has no "soloist": "trace"')
    if values.get("version") != VERSION:
        raise UsageError(
            f"{name} is a trace of version {values.get('version')}; this program reads {VERSION}"
        )
    try:
        return msgspec.convert(values, Head)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}, line 1 is no head of a trace: {error}") from None


def _assert_sound(trace: Trace, name: str) -> None:
    """What every reader relies on: numbers count, sites exist, and messages are sent before they arrive."""
    nodes, known = trace.head.nodes, set()
    if not (1 <= nodes <= MOST_NODES and trace.head.k >= 1):
        raise UsageError(
            f"{name}, line 1 is no head of a trace: {nodes} sites and K = {trace.head.k}; sites are 1 to {MOST_NODES}, and K is 1 or more"
        )
    if not trace.steps:
        raise UsageError(f"{name} has a head, but no steps: nothing was recorded after it, or it was cut off")
    _assert_drawable(trace.head.stage, nodes, name)
    sites = {str(site) for site in range(nodes)}
    for number, step in enumerate(trace.steps):
        where = f"{name}, step {step.n}"
        if step.n != number:
            raise UsageError(f"{where}: steps are numbered from 0 without gaps, and this should be {number}")
        for site in (step.site, *(sent.to for sent in step.sent)):
            if not 0 <= site < nodes:
                raise UsageError(f"{where} names site {site}; sites are 0 to {nodes - 1}")
        if wrong := {*step.why, *step.states} - sites:
            raise UsageError(f"{where} tells of site {min(wrong)!r}; sites are 0 to {nodes - 1}")
        if step.message is not None and step.message not in known:
            raise UsageError(f"{where} is about message {step.message}, which nobody has sent")
        for new in [*(sent.id for sent in step.sent), *([] if step.copy is None else [step.copy])]:
            if new in known:
                raise UsageError(
                    f"{where} sends message {new}, which was sent before; each has a number of its own"
                )
            known.add(new)


def _assert_drawable(stage: Stage, nodes: int, name: str) -> None:
    """The structure is of these sites."""
    drawn = {*chain.from_iterable(stage.edges), *chain.from_iterable(stage.quorums or ())}
    if wrong := sorted(site for site in drawn if not 0 <= site < nodes):
        raise UsageError(f"{name}, line 1: its stage has site {wrong[0]}; sites are 0 to {nodes - 1}")
    if stage.quorums is not None and len(stage.quorums) != nodes:
        raise UsageError(f"{name}, line 1: its stage has {len(stage.quorums)} quorums for {nodes} sites")


def plain(value: Any) -> Any:
    """A value as every reader of JSON understands it: sets as sorted lists, and large numbers as text."""
    if isinstance(value, bool) or value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int):
        return int(value) if -LARGEST < value < LARGEST else str(int(value))
    if isinstance(value, set | frozenset):
        return [plain(each) for each in sorted(value)]
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in sorted(value.items())}
    if isinstance(value, msgspec.Struct):
        return {name: plain(each) for name, each in msgspec.structs.asdict(value).items()}
    return str(value)


def shown(value: Any) -> str:
    """A plain value for people."""
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {shown(each)}" for key, each in value.items()) + "}"
    return (
        {True: "yes", False: "no", None: "-"}.get(value, str(value))
        if not isinstance(value, int) or isinstance(value, bool)
        else str(value)
    )
