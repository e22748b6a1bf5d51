"""A run that is played by hand: a script that can be taken back to any earlier step, and go on otherwise from there.

A page, a notebook or a program that shows it calls `do`, `undo` and `branch`; the run is the list of its commands, so it can be kept
as text and played again.
"""

from __future__ import annotations

from typing import Any

from soloist.algorithms import Card, Size
from soloist.core import IDLE, INSIDE, UsageError, in_words
from soloist.watch.runs import RecordedScript
from soloist.watch.trace import Step, Trace


class Session:
    """Some commands, what came of them, and the branches that were left."""

    def __init__(
        self, start: str, card: Card | None = None, size: Size | None = None, fifo: bool = False
    ) -> None:
        """With a size and links, the system of this card is begun, and `start` is only what is shown: not every system
        can be written as one line."""
        self.card, self.size, self.fifo = card, size, fifo
        self.commands: list[str] = [start]
        self.branches: list[tuple[str, ...]] = []
        """Runs that were left by going on otherwise, oldest first."""
        self.about: dict[str, Any] = {}
        """What else its trace says of it."""
        self.failed: str | None = None
        """Why the last step ended half-way, if it did: nothing can follow it."""
        self._script = self._replayed(self.commands)

    def _replayed(self, commands: list[str]) -> RecordedScript:
        script = RecordedScript(self.card)
        if self.card and self.size:
            script.start(self.card, self.size, self.fifo)
            commands = commands[1:]
        for command in commands:
            self._obey(script, command)
        return script

    def _obey(self, script: RecordedScript, command: str) -> None:
        self.failed = None
        try:
            script.obey(command)
        except UsageError:
            raise
        except Exception as error:
            if script.recording is None:
                raise
            script.recording.failed(error)
            self.failed = in_words(error)

    @property
    def system(self) -> RecordedScript:
        """The sites as they are now, and what is on its way between them."""
        return self._script

    @property
    def steps(self) -> list[Step]:
        assert self._script.recording, "a session begins with `start`"
        return self._script.recording.steps

    def do(self, command: str) -> list[Step]:
        """One command more; the steps that it caused. A command that cannot be obeyed changes nothing."""
        if self.failed:
            raise UsageError(f"the last step ended half-way ({self.failed}); undo it to go on")
        if command.split()[:1] in (["start"], ["simulate"]):
            raise UsageError(f"a session has one run; begin another one with {command!r}")
        before = len(self.steps)
        self._obey(self._script, command)
        self.commands.append(command)
        return self.steps[before:]

    def undo(self, commands: int = 1) -> None:
        """As it was so many commands before."""
        self.go_to(len(self.commands) - commands)

    def go_to(self, length: int) -> None:
        """Keep so many commands, the start included; what is cut off stays as a branch."""
        if not 1 <= length <= len(self.commands):
            raise UsageError(f"a run of {len(self.commands)} commands cannot go back to {length}")
        if length < len(self.commands):
            self.branches.append(tuple(self.commands))
            self.commands = self.commands[:length]
            self._script = self._replayed(self.commands)

    def branch(self, number: int) -> None:
        """Go on with a branch that was left; the run until now becomes one."""
        if not 0 <= number < len(self.branches):
            raise UsageError(f"there is no branch {number}; there are {len(self.branches)}")
        chosen = self.branches.pop(number)
        self.branches.append(tuple(self.commands))
        self.commands = list(chosen)
        self._script = self._replayed(self.commands)

    def enabled(self) -> list[str]:
        """What could happen next, as commands: first what sites do, then what may go wrong."""
        script, found, faults = self._script, [], []
        if self.failed:
            return []
        for site, port in enumerate(script.ports):
            if site in script.down:
                faults += [f"restart {site}", f"restart {site} fresh"]
            elif site in script.paused:
                faults.append(f"resume {site}")
            else:
                if port.process.phase is IDLE:
                    found.append(f"acquire {site}")
                elif port.process.phase is INSIDE:
                    found.append(f"release {site}")
                faults += [f"crash {site}", f"pause {site}"]
        first: set[tuple[int, int]] = set()
        for flight in script.flights:
            link = flight.sender, flight.to
            if flight.to not in script.paused and not (script.fifo and link in first):
                found.append(f"deliver {flight}")
            if not (script.fifo and link in first):
                faults.append(f"lose {flight}")
            faults.append(f"duplicate {flight}")
            first.add(link)
        found += [
            f"timeout {site} {name}" for site, name in sorted(script.timers) if site not in script.paused
        ]
        return list(dict.fromkeys([*found, *faults]))

    def text(self) -> str:
        """The run as a script."""
        return "\n".join(self.commands) + "\n"

    def trace(self, **about: Any) -> Trace:
        return self._script.trace(**{"origin": "script", "unit": "steps", **self.about, **about})
