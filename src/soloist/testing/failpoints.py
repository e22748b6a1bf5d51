"""A process that dies by kill -9 at a point with a name: when it stores something, when it sends something.

Nothing waits in the code for that: a test wraps what passes there, in this process, and for good.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, get_args

from soloist.core import unknown
from soloist.net.engine.outgoing import Outgoing
from soloist.net.member import votes
from soloist.net.member.parcel import decode_parcel
from soloist.net.member.renewal import Pulse
from soloist.views.messages import Said

STORES = tuple(f"store.{moment}" for moment in votes.POINTS)
"""Of a vote file: each moment at which a crash leaves something else behind."""
MAIL = "send.mail"
"""A batch of what the algorithms say."""
SENDS = tuple(f"send.{kind.__name__}" for kind in get_args(Said))
"""What voters, members and proposers say: before it leaves for one peer. Others may have got theirs."""
POINTS = (*STORES, *SENDS, MAIL)


def die_at(point: str, times: int = 1) -> None:
    """Let this process be killed when it is there for so many times more."""
    if point not in POINTS:
        raise unknown("point", point, POINTS)
    passed = _Countdown(times)
    if point in STORES:
        moment = point.partition(".")[2]
        _at(votes.DiskVotes, "reached", lambda reached: reached == moment, passed)
    elif point == MAIL:
        _at(Outgoing, "_send", lambda outgoing, host, envelopes: bool(envelopes), passed)
    else:
        kind = point.partition(".")[2]
        _at(Pulse, "send", lambda pulse, peer, body: _says(kind, body), passed)


class _Countdown:
    """Called so many times, by any thread, it ends this process."""

    def __init__(self, times: int) -> None:
        self.left, self.mutex = times, threading.Lock()

    def __call__(self) -> None:
        with self.mutex:
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


def _says(kind: str, body: bytes) -> bool:
    return any(type(message).__name__ == kind for _, message in decode_parcel(body).said)


def _at(owner: type[Any], name: str, is_there: Callable[..., bool], passed: Callable[[], None]) -> None:
    """Before that method does what it does."""
    original = getattr(owner, name)

    @wraps(original)
    def wrapped(*args: Any) -> Any:
        if is_there(*args):
            passed()
        return original(*args)

    is_static = isinstance(vars(owner)[name], staticmethod)
    setattr(owner, name, staticmethod(wrapped) if is_static else wrapped)
