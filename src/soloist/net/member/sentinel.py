"""A sentinel: a tiny child that outlives the node, and tells the voters when it is dead.

It inherits a pidfd of the node and knows the node's will, which is told it through a pipe: nobody can read it from a
list of processes. It has no keys and no other files of the node. If it dies before the node does (a service manager
that kills the whole group, a container that ends), there is no proof, and the lease decides.

`soloist.net.member.lookout` is the program that it runs.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from soloist.net.link.handshake import Welcome
from soloist.net.link.will import will_frame
from soloist.net.link.wire import encode, frame

PROGRAM = Path(__file__).with_name("lookout.py")
RETRY_SECONDS = 5.0
"""Seconds that a sentinel tries to reach voters that do not answer."""
CLOSE_SECONDS = 5.0


def possible() -> bool:
    """Whether a sentinel can be had here: it needs pidfds, and a Python that runs a script."""
    return hasattr(os, "pidfd_open") and bool(sys.executable) and PROGRAM.is_file()


class Sentinel:
    """The sentinel of this process. It runs from the beginning, and says nothing before it is told of voters."""

    def __init__(self, will: bytes, seconds: float = RETRY_SECONDS) -> None:
        """`will` is the secret; what was registered is its hash. May raise OSError."""
        process = os.pidfd_open(os.getpid())
        heard, self._pipe = os.pipe()
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", str(PROGRAM), str(process), str(heard), str(seconds)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                pass_fds=(process, heard),
                start_new_session=True,
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(process)
            os.close(heard)
        os.set_blocking(self._pipe, False)
        self._say("will", will_frame(will), frame(encode(Welcome())))

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    def tell(self, voters: Iterable[str]) -> None:
        """The addresses of all voters of the view, as users write them, this node's own left out."""
        self._say("to", *(_absolute(os.fsencode(address)) for address in voters))

    def close(self) -> None:
        """The node ends in peace: the sentinel ends without a word."""
        if self._pipe < 0:
            return
        self._say("close")
        os.close(self._pipe)
        self._pipe = -1
        try:
            self._child.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def descriptors(self) -> list[int]:
        return [self._pipe] if self._pipe >= 0 else []

    def _say(self, word: str, *parts: bytes) -> None:
        if self._pipe >= 0:
            with contextlib.suppress(BrokenPipeError, BlockingIOError):  # it is dead or stopped: no proof
                os.write(self._pipe, " ".join([word, *(part.hex() for part in parts)]).encode() + b"\n")


def _absolute(address: bytes) -> bytes:
    """A path means the same to a process in another directory."""
    return b"unix:" + os.path.abspath(address[5:]) if address.startswith(b"unix:") else address
