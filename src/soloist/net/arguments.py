"""What callers hand in, looked at before anything is made of it.

A peer could only choke on what is wrong here, and callers would not hear of it. So nothing that cannot be written to
the wire, and nothing that others would read as something else, gets past this door.
"""

from __future__ import annotations

import math
import sys
from typing import Literal

from soloist.core import UsageError, shown
from soloist.views import FOR_GOOD

OnHolderLoss = Literal["release", "hold"]
LONGEST = 1000
"""Characters in a name or a note: a batch of messages must fit into a frame."""
FOREVER = 1e9
"""Seconds, some thirty years: no clock need be set for a wait of that length or more."""


def check_text(what: str, text: str) -> str:
    """A name or a note, as a plain string."""
    if not isinstance(text, str):
        raise UsageError(f"a lock's {what} must be a str, not {shown(text)}")
    if len(text) > LONGEST:
        raise UsageError(f"a lock's {what} has at most {LONGEST} characters, not {len(text)}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"a lock's {what} must be text that UTF-8 can write, not {shown(text)}") from None
    return str.__str__(text)  # of an enumeration of strings, for example, the string


def check_name(name: str) -> str:
    if not check_text("name", name):
        raise UsageError("a lock needs a name")
    return str.__str__(name)


def check_note(note: str | None) -> str | None:
    return None if note is None else check_text("note", note)


def check_timeout(timeout: float | None) -> float | None:
    """Seconds, or None for a wait without end."""
    if timeout is None:
        return None
    try:
        if isinstance(timeout, bool | str | bytes | bytearray):
            raise TypeError
        seconds = float(timeout)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if math.isnan(seconds):
        raise UsageError(
            f"timeout must be a number of seconds, not {shown(timeout)}; None waits for ever, 0 tries once"
        )
    if seconds < 0:
        raise UsageError(f"timeout must not be negative, but is {timeout}; None waits for ever, 0 tries once")
    return seconds if seconds < FOREVER else None


def check_max_hold(seconds: float | None) -> float | None:
    """Seconds after which a hold is lost, or None for no such limit."""
    if seconds is None:
        return None
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 < seconds <= sys.float_info.max:
        raise UsageError(
            f"max_hold must be a number of seconds above 0, or None for no limit; not {shown(seconds)}"
        )
    return float(seconds)


def check_loss(on_holder_loss: OnHolderLoss, lock_delay: float | None) -> float | None:
    """For how long nobody gets in after the holder was lost, in seconds; `FOR_GOOD`: until it is broken; None: at once."""
    if on_holder_loss not in ("release", "hold"):
        raise UsageError(f"on_holder_loss must be 'release' or 'hold', not {shown(on_holder_loss)}")
    if lock_delay is None:
        return FOR_GOOD if on_holder_loss == "hold" else None
    number = isinstance(lock_delay, int | float) and not isinstance(lock_delay, bool)
    if not number or not 0 <= lock_delay < FOREVER:
        raise UsageError(
            f"lock_delay must be a number of seconds, 0 or more, or None for none; not {shown(lock_delay)}"
        )
    if on_holder_loss == "hold":
        raise UsageError("lock_delay ends by itself, and on_holder_loss='hold' never does: give one of them")
    return float(lock_delay) or None
