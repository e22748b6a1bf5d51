"""From a recorded run to one that can be played on: its steps as commands, taken by the real code."""

from __future__ import annotations

import msgspec

from soloist.core import UsageError
from soloist.watch.session import Session
from soloist.watch.setup import Setup
from soloist.watch.trace import Step, Trace

COMMANDS = {
    "request": "acquire",
    "release": "release",
    "crash": "crash",
    "pause": "pause",
    "resume": "resume",
}
ABOUT_MAIL = ("deliver", "lose", "duplicate")
FRESH = "it comes back as it began"


def setup_of(trace: Trace) -> Setup:
    head = trace.head
    if head.origin == "live":
        raise UsageError("the run of a live cluster can be looked at, but not be played on")
    return Setup(
        algorithm=head.algorithm,
        nodes=head.nodes,
        k=head.k,
        channels=head.channels,
        options=dict(head.options),
        printed=head.printed,
        erratum=head.erratum,
    )


def session_of(trace: Trace, at: int, setup: Setup) -> Session:
    """The run until after a step, played by hand."""
    session = msgspec.structs.replace(setup, steps=(), chance=0).session()
    for step in trace.steps[1 : at + 1]:
        if command := command_of(session, step):
            session.do(command)
    return session


def command_of(session: Session, step: Step) -> str | None:
    """None where nothing is to be done: it has happened by itself, or is a word to the reader."""
    chosen = (
        f" choose={','.join(map(str, step.chose))}" if isinstance(step.chose, list) and step.chose else ""
    )
    if step.what in COMMANDS:
        return f"{COMMANDS[step.what]} {step.site}{chosen}"
    if step.what == "timeout":
        return f"timeout {step.site} {step.timer}{chosen}"
    if step.what == "restart":
        return f"restart {step.site}{' fresh' if step.text == FRESH else ''}"
    if step.what in ABOUT_MAIL:
        flight = next((each for each in session.system.flights if each.id == step.message), None)
        if flight is None and step.what == "lose":
            return None  # in a played run, messages for a site that has crashed are lost at once
        if flight is None:
            raise UsageError(
                f"this run cannot be played on from here: message {step.message} of step {step.n} is not on its way"
            )
        return f"{step.what} {flight}{chosen}"
    return f"# {step.text}" if step.what in ("note", "cut", "heal") and step.text else None
