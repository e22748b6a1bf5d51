"""The same requests for another algorithm: what it would have done, to be shown beside a played run.

Sites ask, crash and pause in the same order. A site that is to leave does so as soon as it has entered. Messages cannot be the same;
for each that is delivered here, the oldest one is delivered there. Where both are of one algorithm (a text, and its repair), each step is
the same as long as it is possible.
"""

from __future__ import annotations

from collections.abc import Iterable

from soloist.algorithms import Card, Size, find_any
from soloist.core import IDLE, INSIDE, UsageError
from soloist.watch.runs import RecordedScript
from soloist.watch.trace import Trace


def alongside(commands: Iterable[str], card: Card, other: str, size: Size, fifo: bool) -> Trace:
    beside, fits = fitting(card, other, size)
    same = beside.name == card.name
    script = RecordedScript(beside)
    script.start(beside, fits, fifo if same else beside.links(size.k) == "fifo")
    leaving: set[int] = set()
    for command in commands:
        if not command.startswith("#"):
            _follow(script, command, leaving, same)
            for site in [each for each in leaving if script.ports[each].process.phase is INSIDE]:
                leaving.discard(site)
                _try(script, f"release {site}")
    return script.trace(origin="script", unit="steps")


def fitting(card: Card, other: str, size: Size) -> tuple[Card, Size]:
    """The other algorithm, for as many sites and entries at once."""
    beside = find_any(other)
    return beside, beside.size(size.n, size.k, size.options if beside.name == card.name else None)


def _follow(script: RecordedScript, command: str, leaving: set[int], same: bool) -> None:
    if same and _try(script, command):
        return
    verb, _, rest = command.partition(" ")
    word = rest.split()[0] if rest else ""
    if verb in ("deliver", "timeout"):
        due = next((each for each in script.flights if each.to not in script.paused), None)
        if due:
            script.deliver(due)
    elif verb in ("lose", "duplicate"):
        on_link = next((each for each in script.flights if f"{each.sender}>{each.to}" == word), None)
        if on_link:
            (script.lose if verb == "lose" else script.duplicate)(on_link)
    elif verb == "release":
        leaving.add(int(word))
    elif verb == "acquire":
        if script.ports[int(word)].process.phase is IDLE:
            _try(script, command)
    else:
        _try(script, command)


def _try(script: RecordedScript, command: str) -> bool:
    try:
        script.obey(command)
    except UsageError:
        return False
    return True
