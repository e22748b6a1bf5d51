"""Processes that are started, asked, paused, killed and started again, each by its name.

Each is signalled by its own process id, while that id cannot mean anybody else; and none is left behind: not when the
crew ends, not when this process is killed, not even those that are paused then.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Self

import msgspec

from soloist.children import deaf, die_with_parent, obedient
from soloist.core import SoloistError, UsageError
from soloist.testing.waiting import PATIENCE

Target = Callable[..., None]
"""What a process does: called with its arguments, and last with its end of a pipe. Importable, as it is not copied."""

STOP_SECONDS = 5.0
"""Seconds that a process may take to end when it is asked to."""


class Failure(msgspec.Struct, frozen=True):
    """What went wrong in a process, for the one that started it."""

    why: str


class _Hand(msgspec.Struct):
    """One of the crew."""

    target: Target
    arguments: tuple[Any, ...]
    process: BaseProcess
    pipe: Connection


class Crew:
    """Processes by name. To be started in a thread that lives as long as they shall: they die with it.

    `quiet`: none of them warns of what befalls the others.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._context = multiprocessing.get_context("spawn")
        self._hands: dict[str, _Hand] = {}

    def start(self, name: str, target: Target, *arguments: Any) -> None:
        """Start a process that runs `target(*arguments, pipe)`; what it sends through the pipe is for `hear`."""
        if self.alive(name):
            raise UsageError(f"{name} runs already")
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_live, args=(target, arguments, theirs, self._quiet), name=name, daemon=True
        )
        with deaf():
            process.start()
        theirs.close()
        self._hands[name] = _Hand(target, arguments, process, ours)

    @property
    def names(self) -> list[str]:
        return list(self._hands)

    def pid(self, name: str) -> int:
        """The process that has this name now."""
        pid = self._hand(name).process.pid
        assert pid is not None
        return pid

    def alive(self, name: str) -> bool:
        """Whether that process lives."""
        return name in self._hands and self._hands[name].process.is_alive()

    def tell(self, name: str, what: object) -> None:
        """Say something to a process, which need not answer."""
        try:
            self._hand(name).pipe.send(what)
        except OSError:
            raise SoloistError(f"{name} is dead: it cannot be told anything") from None

    def hear(self, name: str, seconds: float = PATIENCE) -> Any:
        """The next thing that a process says. One that dies first, or says nothing for long, is an error."""
        pipe = self._hand(name).pipe
        try:
            if not pipe.poll(seconds):
                raise SoloistError(f"{name} said nothing for {seconds:g} s")
            said = pipe.recv()
        except (EOFError, OSError):
            raise SoloistError(f"{name} died") from None
        if isinstance(said, Failure):
            raise SoloistError(f"{name} failed: {said.why}")
        return said

    def says(self, name: str) -> bool:
        """Whether `hear` would answer at once."""
        return self._hand(name).pipe.poll()

    def ask(self, name: str, what: object, seconds: float = PATIENCE) -> Any:
        """Say something to a process, and wait for its answer."""
        self.tell(name, what)
        return self.hear(name, seconds)

    def kill(self, name: str) -> None:
        """kill -9. When this returns, the process is gone."""
        process = self._hand(name).process
        process.kill()
        process.join()

    def end(self, name: str) -> None:
        """Ask it to end, and wait until it has."""
        self.tell(name, None)
        self._hand(name).process.join(PATIENCE)
        if self.alive(name):
            raise SoloistError(f"{name} has not ended for {PATIENCE:g} s")

    def pause(self, name: str) -> None:
        """SIGSTOP. When this returns, none of its threads runs."""
        self._signal(name, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid(name), os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self, name: str) -> None:
        """SIGCONT, paused or not."""
        self._signal(name, signal.SIGCONT)

    def restart(self, name: str) -> None:
        """Kill it if it lives, and start it again with the same arguments."""
        hand = self._hand(name)
        self.kill(name)
        hand.pipe.close()
        self.start(name, hand.target, *hand.arguments)

    def _signal(self, name: str, number: signal.Signals) -> None:
        if not self.alive(name):  # whether it lives is asked first: a number may be given to another process
            raise UsageError(f"{name} is not running")
        os.kill(self.pid(name), number)

    def _hand(self, name: str) -> _Hand:
        if name not in self._hands:
            known = ", ".join(self._hands) or "nobody yet"
            raise UsageError(f"there is no {name!r} in the crew, only {known}")
        return self._hands[name]

    def stop(self) -> None:
        """Ask all to end, paused ones as well; who does not is killed."""
        for name in self._hands:
            if self.alive(name):
                self.resume(name)
                with contextlib.suppress(SoloistError):
                    self.tell(name, None)
        for name, hand in self._hands.items():
            hand.process.join(STOP_SECONDS)
            self.kill(name)
            hand.pipe.close()

    def kill_all(self) -> None:
        """For when something went wrong: nobody may be listening any more."""
        for hand in self._hands.values():
            hand.process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind:
            self.kill_all()
        self.stop()


def _live(target: Target, arguments: tuple[Any, ...], pipe: Connection, quiet: bool) -> None:
    """The whole life of a process."""
    if quiet:
        logging.disable(logging.WARNING)
    with obedient():
        die_with_parent()
        try:
            target(*arguments, pipe)
        except Exception as error:
            with contextlib.suppress(OSError):
                pipe.send(Failure(f"{type(error).__name__}: {error}"))
