"""Files that are whole or not there, and one clear line where they can not be written."""

from __future__ import annotations

import os
from pathlib import Path

from soloist.core import UsageError


def write_file(path: Path, content: bytes) -> None:
    """Write beside and rename: who is killed in between, or runs out of disk, leaves the old file whole."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            beside.write_bytes(content)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None


def make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"cannot write to {path}: it is a file, not a directory") from None
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write {path}: {error.strerror}")
