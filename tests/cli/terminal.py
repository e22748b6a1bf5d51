"""A command in a terminal of its own, as a person has it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

SOLOIST = [sys.executable, "-m", "soloist"]


def in_terminal(arguments: list[str], columns: int = 80, cwd: Path | None = None) -> str:
    """What the terminal shows, without colours. The command has to succeed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [*SOLOIST, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**environment, "TERM": "xterm"},
        cwd=cwd,
    )
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 0, complaint
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r", "")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that nobody is at the other end any more
        return b""
