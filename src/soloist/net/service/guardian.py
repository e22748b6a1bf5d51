"""The process between `soloist run` and its command: it sees to it that nothing of the command outlives the lock.

The command and all that it starts are a process group of their own. The guardian is in neither that group nor the
runner's, so whatever kills one of these leaves it alive to clear up. It talks with the runner over a socket: if that
ends, the runner is dead, the lock is gone, and the whole group is killed at once. So it is on every Unix; on Linux the
kernel helps where the guardian itself is killed.

Orders are lines: `signal N` for the group, `stop` (SIGTERM, and SIGKILL if that does not help), `resume`. The guardian
says `started GROUP`, or `failed ERRNO`; `stopped N` when the command is stopped as a terminal does it; in the end
`ended STATUS KEYBOARD LEFT`: how (as `subprocess` has it), whether a keyboard talks to runner and command, and whether
the command left processes behind that had to be stopped.

This file is run as a script, by an interpreter that loads little: it imports nothing of Soloist.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import sys
import time

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""What ends others does not end the guardian: it ends with the command."""
PAUSES = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
"""What a terminal stops processes with."""
NOT_EXECUTABLE = 126
LOOK_SECONDS = 0.05
"""Seconds between two looks at a group without its leader: nobody tells when it becomes empty."""
DEAD_SECONDS = 5.0
"""Seconds; nothing that was killed takes longer to end, unless the kernel holds on to it."""
_DIE_WITH_PARENT, _ADOPT_ORPHANS = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER


class Terminal:
    """The terminal that the runner was started from, if any: lent to the command, and taken back."""

    def __init__(self, runner: int) -> None:
        self.runner = runner
        """The runner's process group."""
        try:
            self.tty = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            self.tty = -1

    def lend(self, group: int) -> bool:
        """Put the group into the foreground, if the runner's is there."""
        return self._move(self.runner, group)

    def take_back(self, group: int) -> bool:
        """Whether the keyboard is the runner's now."""
        return self._move(group, self.runner)

    def _move(self, owner: int, to: int) -> bool:
        try:
            now = os.tcgetpgrp(self.tty)
            if now == owner:
                os.tcsetpgrp(self.tty, to)
        except OSError:  # there is none; or it is gone, or the group is
            return False
        return now in (owner, to)


class Guardian:
    def __init__(self, channel: int, kill_after: float, runner: int, command: list[str]) -> None:
        self.channel, self.kill_after, self.command = channel, kill_after, command
        self.terminal = Terminal(runner)
        self.group = 0
        self.status: int | None = None
        """How the command ended, once it has."""
        self.heard = b""
        self.deadline: float | None = None
        """When the group has had its time."""
        self.told = self.killed = self.given_up = False
        """How far it has come with the group."""
        self.left = False
        """Whether the command left processes behind that had to be told."""

    def guard(self) -> None:
        """Until nothing of the group is left."""
        wake = woken_by_children()
        self.dispositions = {number: signal.signal(number, signal.SIG_IGN) for number in PAUSES}
        adopt_orphans()
        self.start()
        self.say(f"started {self.group}")
        while self.status is None or (self.alive() and not self.given_up):
            if self.status is not None and self.deadline is None:
                self.deadline = time.monotonic() + self.kill_after
            self.wait(wake)
        keyboard = self.terminal.take_back(self.group)
        self.say(f"ended {self.status} {int(keyboard)} {int(self.left)}")

    # The command.

    def start(self) -> None:
        """The command's process leads a group of its own, from before it is the command.

        What is sent to it until then waits: our handlers are no place for it.
        """
        guardian, lend = os.getpid(), not into_a_pipe()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, CAUGHT)
        self.group = os.fork()
        if self.group == 0:
            self.become_command(guardian, lend, mask)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        with contextlib.suppress(OSError):  # it has done so itself, and may have ended since
            os.setpgid(self.group, self.group)
        if lend:
            self.terminal.lend(self.group)

    def become_command(self, guardian: int, lend: bool, mask: set[int]) -> None:
        try:
            os.setpgid(0, 0)
            if lend:
                self.terminal.lend(os.getpid())
            prctl(_DIE_WITH_PARENT, signal.SIGKILL)
            if os.getppid() == guardian:  # otherwise it was too late to ask
                self.restore_signals(mask)
                os.execvp(self.command[0], self.command)
        except OSError as error:
            self.say(f"failed {error.errno}")
        finally:
            os._exit(NOT_EXECUTABLE)

    def restore_signals(self, mask: set[int]) -> None:
        """As the runner has them, but for those that Python ignores."""
        for number, disposition in self.dispositions.items():
            signal.signal(number, disposition)
        for number in (*CAUGHT, signal.SIGPIPE, signal.SIGXFSZ):
            if number not in CAUGHT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def alive(self) -> bool:
        try:
            os.killpg(self.group, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # it is another user's; or, on macOS, dead
            return sys.platform != "darwin"
        return True

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)

    def stop(self) -> None:
        self.told = True
        self.deadline = time.monotonic() + self.kill_after
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # a stopped process cannot end

    def kill(self) -> None:
        self.killed = True
        self.deadline = time.monotonic() + DEAD_SECONDS
        self.signal(signal.SIGKILL)

    def late(self) -> None:
        """Its time is over."""
        if self.killed:
            self.given_up, self.deadline = True, None
        elif self.told:
            self.kill()
        else:
            self.left = True
            self.stop()

    # What happens meanwhile.

    def wait(self, wake: int) -> None:
        limits = [] if self.status is None else [LOOK_SECONDS]
        if self.deadline is not None:
            limits.append(max(0.0, self.deadline - time.monotonic()))
        sources = [wake] if self.channel < 0 else [wake, self.channel]
        ready, _, _ = select.select(sources, [], [], min(limits, default=None))
        if wake in ready:
            os.read(wake, 4096)
        if self.channel in ready:
            self.hear()
        self.reap()
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.late()

    def hear(self) -> None:
        try:
            data = os.read(self.channel, 4096)
        except OSError:
            data = b""
        if not data:  # the runner is dead, and others may have the lock
            self.channel = -1
            self.terminal.take_back(self.group)
            self.kill()
        *orders, self.heard = (self.heard + data).split(b"\n")
        for order in orders:
            self.obey(*order.decode().split())

    def obey(self, order: str, number: str = "0") -> None:
        if order == "signal":
            self.told = self.told or int(number) == signal.SIGTERM
            self.signal(int(number))
        elif order == "stop":
            self.stop()
        elif order == "resume":
            self.terminal.lend(self.group)
            self.signal(signal.SIGCONT)

    def say(self, news: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self.channel, news.encode() + b"\n")

    def reap(self) -> None:
        """The command, and the orphans that it leaves to us."""
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0]:
                child, status = found
                if child != self.group:
                    continue
                if os.WIFSTOPPED(status):
                    self.paused(os.WSTOPSIG(status))
                else:
                    self.status = os.waitstatus_to_exitcode(status)

    def paused(self, number: int) -> None:
        """The command wants the terminal, and gets it; or its user wants it back."""
        if number in (signal.SIGTTIN, signal.SIGTTOU) and self.terminal.lend(self.group):
            self.signal(signal.SIGCONT)
        elif number in PAUSES:
            self.terminal.take_back(self.group)
            self.say(f"stopped {number}")


def into_a_pipe() -> bool:
    """Whether somebody beside the runner reads what comes out: a pager, say, that needs the terminal itself."""
    try:
        return stat.S_ISFIFO(os.fstat(1).st_mode)
    except OSError:
        return False


def woken_by_children() -> int:
    """A descriptor that can be read when a child has ended or stopped, or a signal came that we survive."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *CAUGHT):
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
            signal.signal(number, lambda *_: None)
    return reading


def adopt_orphans() -> None:
    """So that what the command leaves behind, and dies, is buried even where nobody else does it."""
    prctl(_ADOPT_ORPHANS, 1)


def prctl(option: int, value: int) -> None:
    """Only Linux has it."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    _, channel, kill_after, group, runner, *command = sys.argv
    os.set_inheritable(int(channel), False)
    if os.getppid() == int(runner):  # otherwise it has been killed meanwhile
        Guardian(int(channel), float(kill_after), int(group), command).guard()
