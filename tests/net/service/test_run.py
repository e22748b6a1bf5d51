"""`soloist run` and all that its command starts: nothing of it outlives the lock. Real processes, a real terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from soloist.net.service.command import Command, Ended
from soloist.testing import until
from tests.net.helpers import run
from tests.net.service.daemons import SOLOIST, Cluster, alive, cluster, held, waiters

BEATS = "sh -c 'echo $$ > beater; {first} while :; do echo x >> beats; sleep 0.02; done' & wait"
"""A grandchild that works on, and says so."""
DEAF = 'trap "" TERM;'


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """Two daemons that no test stops."""
    with cluster("a", "b") as found:
        yield found


@contextmanager
def beating(found: Cluster, lock: str, *options: str, first: str = "") -> Iterator[subprocess.Popen[str]]:
    """A holder with a grandchild that beats; `.beater` is its process."""
    for name in ("beats", "beater"):
        (found.directory / name).unlink(missing_ok=True)
    holder = found.hold(lock, *options, script=BEATS.format(first=first))
    until(lambda: (found.directory / "beats").exists(), "the grandchild works")
    holder.beater = int((found.directory / "beater").read_text())  # type: ignore[attr-defined]
    try:
        yield holder
    finally:
        for pid in (holder.child, holder.beater):  # type: ignore[attr-defined]
            if alive(pid):
                os.kill(pid, signal.SIGKILL)


def ends(holder: subprocess.Popen[str]) -> None:
    until(lambda: not alive(holder.child), "the command is dead")  # type: ignore[attr-defined]
    until(lambda: not alive(holder.beater), "the grandchild is dead")  # type: ignore[attr-defined]


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_kill_9_of_the_runner_ends_grandchildren_too(pair: Cluster) -> None:
    with beating(pair, "k9", "--name", "a", first=DEAF) as holder:
        holder.kill()
        ends(holder)


def test_kill_9_of_the_runners_process_group_does_so_too(pair: Cluster) -> None:
    """The guardian must not be in it: `timeout -k` and others kill groups."""
    with beating(pair, "k9group", "--name", "a") as holder:
        os.killpg(os.getpgid(holder.pid), signal.SIGKILL)
        ends(holder)


def test_kill_9_of_the_guardian_does_so_too(pair: Cluster) -> None:
    with beating(pair, "k9guard", "--name", "a") as holder:
        guardian = parent(holder.child)  # type: ignore[attr-defined]
        assert guardian != holder.pid
        os.kill(guardian, signal.SIGKILL)
        code, _, err = pair.finish(holder)
        assert (code, err) == (1, "soloist: the guardian of sh was killed, and so was sh\n")
        assert not alive(holder.beater)  # type: ignore[attr-defined]


def test_where_both_are_killed_at_once_the_kernel_ends_the_command(pair: Cluster) -> None:
    """Nobody is left to end what it has started."""
    with beating(pair, "k9both", "--name", "a") as holder:
        holder.send_signal(signal.SIGSTOP)  # so that it cannot do what the guardian would have done
        os.kill(parent(holder.child), signal.SIGKILL)  # type: ignore[attr-defined]
        holder.kill()
        until(lambda: not alive(holder.child), "the command is dead")  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["TERM", "INT"])
def test_nobody_gets_the_lock_while_a_grandchild_of_a_stopped_runner_lives(pair: Cluster, kind: str) -> None:
    """The command ends at once, its child is deaf: the lock is free when that is dead."""
    lock = f"slow-{kind}"
    deaf = f'trap "" {kind} TERM;'
    with beating(pair, lock, "--name", "a", "--kill-after", "0.3", first=deaf) as holder:
        script = f"kill -0 {holder.beater} 2>/dev/null && echo overlap; true"  # type: ignore[attr-defined]
        waiting = pair.start("run", lock, "--name", "b", "--", "sh", "-c", script)
        until(lambda: waiters(pair, lock) == {"b": 1}, "b waits")
        holder.send_signal(signal.Signals[f"SIG{kind}"])
        assert pair.finish(holder)[0] == 128 + signal.Signals[f"SIG{kind}"]
        assert pair.finish(waiting)[:2] == (0, "")


def test_what_runs_for_too_long_is_stopped_before_the_lock_is_free(pair: Cluster) -> None:
    options = ("--name", "a", "--max-hold", "0.3", "--kill-after", "0.3")
    with beating(pair, "long", *options, first=DEAF) as holder:
        script = f"kill -0 {holder.beater} 2>/dev/null && echo overlap; true"  # type: ignore[attr-defined]
        waiting = pair.start("run", "long", "--name", "b", "--", "sh", "-c", script)
        code, _, err = pair.finish(holder)
        assert (code, err) == (1, "soloist: sh held 'long' for longer than 0.3 s, and was stopped\n")
        assert pair.finish(waiting)[:2] == (0, "")


def test_a_lock_is_broken() -> None:
    with cluster("a", more='lease = 600\ndata_dir = "data"\n') as found:
        holder = found.hold("x")
        waiting = found.start("run", "x", "--", "sh", "-c", "echo $SOLOIST_FENCE")
        until(lambda: waiters(found, "x") == {"a": 1}, "somebody waits")
        code, out, err = found.say("break", "x")
        assert (code, err) == (0, "")
        said, epoch = out.splitlines()
        assert said == f"x was taken from a (fence {holder.fence})"  # type: ignore[attr-defined]
        assert epoch.endswith("has begun: every fence is higher from now on")
        code, _, err = found.finish(holder)
        assert code == 1
        assert err.endswith("and it was stopped: it was broken: somebody had it taken away\n")
        code, fence, _ = found.finish(waiting)
        assert code == 0
        assert int(fence) > holder.fence  # type: ignore[attr-defined]
        assert found.json("break", "x")["held"] == []


def test_without_a_lease_a_lock_cannot_be_broken(pair: Cluster) -> None:
    code, out, err = pair.say("break", "x", "--name", "a")
    assert (code, out) == (2, "")
    assert err.startswith("soloist: 'x' cannot be broken: without a lease")
    assert err.count("\n") == 1


def test_a_daemon_that_is_killed_takes_grandchildren_along() -> None:
    with cluster("a") as found, beating(found, "x", "--kill-after", "0.3", first=DEAF) as holder:
        found.daemons["a"].kill()
        code, _, err = found.finish(holder)
        assert (code, err.endswith("is gone\n")) == (1, True)
        assert not alive(holder.beater)  # type: ignore[attr-defined]


def test_what_a_command_leaves_behind_ends_before_the_lock_is_free(pair: Cluster) -> None:
    """What ends by itself in time is not disturbed; what does not is stopped, and that is said."""
    script = "(sleep 0.2; echo later) & exit 3"
    assert pair.say("run", "left", "--name", "a", "--", "sh", "-c", script) == (3, "later\n", "")
    script = "sleep 1000 & echo $!"
    code, out, err = pair.say("run", "left", "--name", "a", "--kill-after", "0.2", "--", "sh", "-c", script)
    assert (code, err) == (0, "soloist: sh left processes running without the lock; they were stopped\n")
    assert not alive(int(out))


def test_what_calls_setsid_escapes(pair: Cluster) -> None:
    """As the page says."""
    escapee = "setsid sh -c 'echo $$ > escaped; exec sleep 1000' > /dev/null 2>&1 &"
    script = f"{escapee} until [ -s escaped ]; do sleep 0.02; done; cat escaped"
    code, out, _ = pair.say("run", "setsid", "--name", "a", "--", "sh", "-c", script)
    assert code == 0
    try:
        assert alive(int(out))
    finally:
        os.kill(int(out), signal.SIGKILL)


def test_the_command_inherits_what_it_would_without_a_guardian(pair: Cluster) -> None:
    """No descriptors of ours, and signals as we found them."""
    script = "ls -l /proc/self/fd | grep -c socket; grep -E 'Sig(Ign|Blk)' /proc/self/status"
    free = subprocess.run(["sh", "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    code, out, _ = pair.say("run", "inherits", "--name", "a", "--", "sh", "-c", script)
    assert (code, out) == (0, free.stdout)


def test_a_command_that_is_no_program_is_said(pair: Cluster) -> None:
    script = pair.directory / "script"
    script.write_text("no shebang\n")
    script.chmod(0o755)
    code, _, err = pair.say("run", "format", "--name", "a", "--", "./script")
    assert (code, err) == (126, "soloist: cannot run ./script: Exec format error\n")


def test_no_signal_is_lost_while_the_command_is_being_started() -> None:
    """At whatever moment it comes: while the guardian starts, while it forks, when the command runs."""

    async def scenario() -> None:
        for number in range(30):
            command = await Command.start(["sleep", "1000"], os.environ, 5)
            await asyncio.sleep(number * 0.003)
            command.signal(signal.SIGTERM)
            assert await command.ended() == Ended(128 + signal.SIGTERM)

    run(scenario())


# With a terminal.


class Terminal:
    """A terminal with a program on it, in a session of its own."""

    def __init__(self, directory: Path, *words: str) -> None:
        self.seen = b""
        self.screen, other_end = pty.openpty()
        with os.fdopen(other_end) as end:
            self.program = subprocess.Popen(
                ["setsid", "--ctty", *words],
                cwd=directory,
                stdin=end,
                stdout=end,
                stderr=end,
                env={**os.environ, "PS1": "ready> "},
            )

    def type(self, keys: str) -> None:
        os.write(self.screen, keys.encode())

    def shows(self, text: str) -> None:
        """Wait for it; what came before it is forgotten."""
        try:
            until(lambda: self._look(text.encode()), "")
        except AssertionError:
            raise AssertionError(f"{text!r} is not shown, but {self.seen.decode()!r}") from None

    def copies(self, text: str) -> None:
        """Wait until `cat` is there. (A shell may lose a signal while it starts something.)"""
        self.type(f"{text}\n")
        self.shows(f"{text}\r\n{text}\r\n")

    def _look(self, text: bytes) -> bool:
        if select.select([self.screen], [], [], 0)[0]:
            try:
                self.seen += os.read(self.screen, 65536)
            except OSError:  # the other end is closed
                time.sleep(0.02)
        _, found, after = self.seen.partition(text)
        if found:
            self.seen = after
        return bool(found)

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.program.pid, signal.SIGKILL)
        os.close(self.screen)  # which hangs up on the rest
        self.program.wait()


@contextmanager
def terminal(found: Cluster, *words: str) -> Iterator[Terminal]:
    opened = Terminal(found.directory, *words)
    try:
        yield opened
    finally:
        opened.close()


SHELL = ("bash", "--norc", "--noprofile", "-i")


def run_line(*words: str) -> str:
    return " ".join([*SOLOIST, "run", "tty", "--name", "a", "--", *words])


def test_on_a_terminal_the_command_can_read_and_is_interrupted(pair: Cluster) -> None:
    with terminal(pair, *SHELL) as screen:
        screen.shows("ready> ")
        screen.type(run_line("cat") + "\n")
        until(lambda: held(pair, "tty"), "it holds the lock")
        screen.copies("hello")
        screen.type("\x03")
        screen.shows("ready> ")
        screen.type("echo code $?\n")
        screen.shows("code 130")
        assert not held(pair, "tty")


def test_the_command_is_in_the_foreground_and_gives_it_back(pair: Cluster) -> None:
    check = "'ps -o pgid=,tpgid= -p $$ | { read g t; [ $g = $t ] && echo in front; }; stty -a >/dev/null && echo ok'"
    with terminal(
        pair, "bash", "-c", f"{run_line('sh', '-c', check)}; read x; echo back $x; sleep 1000"
    ) as screen:
        screen.shows("in front")
        screen.shows("ok")
        screen.type("again\n")
        screen.shows("back again")


def test_the_terminal_is_given_back_though_the_runner_is_killed(pair: Cluster) -> None:
    line = run_line("sh", "-c", "'echo $PPID > guardian; sleep 1000'")
    back = "until [ $(ps -o tpgid= -p $$) = $$ ]; do sleep 0.02; done; read x; echo back $x; sleep 1000"
    with terminal(pair, "bash", "-c", f"{line}; {back}") as screen:
        guardian = until(lambda: words_of(pair.directory / "guardian"), "the command runs")
        os.kill(parent(int(guardian[0])), signal.SIGKILL)
        screen.shows("Killed")
        screen.type("again\n")
        screen.shows("back again")


def words_of(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_ctrl_z_stops_the_command_and_fg_lets_it_go_on(pair: Cluster) -> None:
    with terminal(pair, *SHELL) as screen:
        screen.shows("ready> ")
        screen.type(run_line("sh", "-c", "'read x; echo got $x; read y; echo and $y'") + "\n")
        until(lambda: held(pair, "tty"), "it holds the lock")
        screen.type("one\n")
        screen.shows("got one")
        screen.type("\x1a")
        screen.shows("Stopped")
        screen.shows("ready> ")
        assert held(pair, "tty")
        screen.type("fg\n")
        screen.shows("soloist")
        screen.type("two\n")
        screen.shows("and two")
        screen.shows("ready> ")
        assert not held(pair, "tty")


def test_in_the_background_it_waits_until_it_may_read(pair: Cluster) -> None:
    with terminal(pair, *SHELL) as screen:
        screen.shows("ready> ")
        screen.type("set -b\n")  # say at once what becomes of jobs
        screen.type(run_line("sh", "-c", "'read x; echo got $x'") + " &\n")
        screen.shows("Stopped")
        assert held(pair, "tty")
        screen.type("fg\n")
        screen.type("one\n")
        screen.shows("got one")
        until(lambda: not held(pair, "tty"), "the lock is free")


def test_a_pager_behind_it_keeps_the_terminal(pair: Cluster) -> None:
    """The pager reads the terminal while the command runs; Ctrl-C reaches both."""
    pager = "sh -c 'read x < /dev/tty; echo pager got $x; cat'"
    with terminal(pair, *SHELL) as screen:
        screen.shows("ready> ")
        screen.type(run_line("sleep", "1000") + f" | {pager}\n")
        until(lambda: held(pair, "tty"), "it holds the lock")
        screen.type("one\n")
        screen.shows("pager got one")
        screen.type("\x03")
        screen.shows("ready> ")
        until(lambda: not held(pair, "tty"), "the lock is free")


def test_ctrl_c_ends_the_script_around_it_as_it_would_without(pair: Cluster) -> None:
    with terminal(pair, *SHELL) as screen:
        (pair.directory / "script.sh").write_text(f"{run_line('cat')}\necho went on\n")
        screen.shows("ready> ")
        screen.type("bash script.sh\n")
        until(lambda: held(pair, "tty"), "it holds the lock")
        screen.copies("begun")
        screen.type("\x03")
        screen.shows("ready> ")
        assert b"went on" not in screen.seen
        screen.type("echo then $?\n")
        screen.shows("then 130")
