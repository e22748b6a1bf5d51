"""What can be said of a played run so far: which promises it has broken, and what may happen next."""

from __future__ import annotations

from typing import Literal

import msgspec

from soloist.core import INSIDE, WAITING
from soloist.sim.system import Flight
from soloist.watch.session import Session

WHAT = {"acquire": "request"}
"""Commands whose step is called otherwise."""


class Light(msgspec.Struct, frozen=True):
    """A promise. `holds` is about the steps of this run, and about no other."""

    name: str
    text: str
    state: Literal["holds", "broken", "open"]


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that may happen next."""

    id: str
    what: str
    text: str
    site: int | None = None
    message: int | None = None
    timer: str | None = None


def lights(session: Session, k: int) -> list[Light]:
    """Told from the run itself. What only all runs can tell stays open."""
    most, when = _most_inside(session)
    system = session.system
    waiting = [
        str(site)
        for site, port in enumerate(system.ports)
        if port.process.phase is WAITING and site not in system.down
    ]
    inside = any(
        port.process.phase is INSIDE and site not in system.down for site, port in enumerate(system.ports)
    )
    stuck = bool(waiting) and not (inside or system.flights or system.timers or session.failed)
    alone = f"at most {k} inside; {most} were" + (f" after step {when}" if most > k else " so far")
    still = f"site {', '.join(waiting)} waits, nobody is inside, and nothing is on its way"
    return [
        Light("exclusion", alone, "broken" if most > k else "holds"),
        Light("deadlock", still if stuck else "something can still happen", "broken" if stuck else "holds"),
        Light(
            "error", session.failed or "no step has failed so far", "broken" if session.failed else "holds"
        ),
        Light("starvation", "no single run can tell: ask the checker", "open"),
    ]


def _most_inside(session: Session) -> tuple[int, int]:
    """How many were inside together at most, and after which step first. Sites that have crashed are not."""
    inside: set[int] = set()
    most, when = 0, 0
    for step in session.steps:
        if step.phase == "inside" and step.what != "crash":
            inside.add(step.site)
        elif step.what in ("crash", "release") or step.phase in ("idle", "waiting"):
            inside.discard(step.site)
        if len(inside) > most:
            most, when = len(inside), step.n
    return most, when


def possible(session: Session, commands: list[str]) -> list[Action]:
    """Commands as the page offers them."""
    flights = {str(flight): flight for flight in reversed(session.system.flights)}  # the oldest stays
    return [_action(command, flights) for command in commands]


def _action(command: str, flights: dict[str, Flight]) -> Action:
    verb, _, rest = command.partition(" ")
    what = WHAT.get(verb, verb)
    if flight := flights.get(rest):
        sender, to, message = flight.sender, flight.to, flight.message
        names = {"deliver": "", "lose": "lose ", "duplicate": "copy "}
        text = f"{names[verb]}{sender} → {to}  {message}"
        return Action(command, what, text, site=to, message=flight.id)
    site, _, more = rest.partition(" ")
    texts = {
        "acquire": f"{site} asks",
        "release": f"{site} leaves",
        "timeout": f"{site}: timer {more} runs out",
        "restart": f"{site} restarts{' as it began' if more else ''}",
    }
    timer = more if verb == "timeout" else None
    return Action(command, what, texts.get(verb, f"{site}: {verb}"), site=int(site), timer=timer)
