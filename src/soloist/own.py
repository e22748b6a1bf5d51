"""A Python file, or a module, that a user names: loaded, if nobody else may have written it.

`my_lock.py`, `path/to/my_lock.py:CARD` or `package.module:CARD`. What is read is what runs: the file is opened once, looked
at, and compiled from what was read; no bytecode is taken from beside it.
"""

from __future__ import annotations

import hashlib
import importlib
import linecache
import os
import re
import stat
import sys
import traceback
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from soloist.core import UsageError

USUAL = "CARD"
"""What is meant where only a file is named."""
_read: dict[Path, str] = {}
"""The text of each file that is loaded."""


def is_own(text: str) -> bool:
    """Whether a file or a module is meant; everything else is the name of an algorithm."""
    return ":" in text or text.endswith(".py")


def without_ending(text: str) -> str:
    """The file here that somebody means who leaves out its ending, if there is one."""
    file = f"{text.replace('-', '_')}.py"
    return file if os.path.isfile(file) else ""


def load(text: str) -> Any:
    """What a file or module has under the name that is given, or under `CARD`."""
    place, attribute = _split(text)
    module = _file(Path(place)) if place.endswith(".py") else _module(place, text)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise UsageError(
            f"{place} has no {attribute}; an algorithm ends with `{attribute} = Card(…)`, as `soloist new` writes it"
        ) from None


def may_be_registered(group: str) -> bool:
    """Whether an installed package may have entry points of this group: only then it is worth to load what reads them, which
    takes longer than all else that a list needs."""
    other = any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder)
    return other or any(_may_register(place, group.encode()) for place in sys.path)


def _may_register(place: str, group: bytes) -> bool:
    """Whether a package in this place of the search path may have. In an archive we do not look."""
    if place.lower().endswith(".egg"):
        return True
    try:
        with os.scandir(place or ".") as files:
            infos = [each.path for each in files if each.name.lower().endswith((".dist-info", ".egg-info"))]
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(group in _bytes(os.path.join(info, "entry_points.txt")) for info in infos)


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _split(text: str) -> tuple[str, str]:
    place, colon, attribute = text.rpartition(":")
    if not colon:
        return text, USUAL
    if not place or not attribute.isidentifier():
        raise UsageError(f"{text!r} should read path.py, path.py:CARD or package.module:CARD")
    return place, attribute


def _module(name: str, text: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{text!r} should read path.py:CARD or package.module:CARD")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"the module {name} cannot be loaded: {error}; install its package, or name its file: path.py:CARD"
        ) from None
    except Exception as error:
        raise UsageError(f"the module {name} cannot be loaded: {type(error).__name__}: {error}") from None


# Files.


def _file(path: Path) -> ModuleType:
    try:
        path = path.expanduser().resolve(strict=True)
        with path.open("rb") as file:
            _check_directories(path)
            _check(path, os.fstat(file.fileno()))
            text = file.read().decode()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no Python file: it is not text in UTF-8") from None
    name = _name(path)
    if _read.get(path) != text or name not in sys.modules:
        sys.modules[name] = from_text(name, path, text)
        _read[path] = text
    return sys.modules[name]


def _name(path: Path) -> str:
    """By the name of the file alone, so that two hosts that have it at different places have the same source of it."""
    name = "own_" + re.sub(r"\W", "_", path.stem)
    there = sys.modules.get(name)
    if there is None or there.__file__ == str(path):
        return name
    return f"{name}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"


def from_text(name: str, path: Path, text: str) -> ModuleType:
    """The module that a text makes, as if it stood in that file."""
    before = sys.modules.get(name)
    module = sys.modules[name] = ModuleType(name)  # where its annotations are looked up
    module.__file__ = str(path)
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    except BaseException as error:
        del sys.modules[name]
        if before:
            sys.modules[name] = before
        if isinstance(error, KeyboardInterrupt | MemoryError):
            raise
        raise UsageError(_failure(path, error)) from None
    return module


def _failure(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{path}:{error.lineno}: this is no Python: {error.msg}"
    if isinstance(error, SystemExit):
        return f'{path} ends the program while it is loaded; leave out sys.exit, or put it below `if __name__ == "__main__":`'
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    hint = (
        "; it may import soloist, the standard library and what is installed"
        if isinstance(error, ImportError)
        else ""
    )
    return f"{path}:{lines[-1] if lines else 1}: {type(error).__name__}: {error}{hint}"


# Who may have written it.


def _check_directories(path: Path) -> None:
    """A user who may write a directory may put another file into the place of one, unless that is sticky, as /tmp is."""
    for directory in path.parents:
        about = directory.stat()
        if not about.st_mode & stat.S_ISVTX:
            _check(directory, about, "directory ")


def _check(path: Path, about: os.stat_result, kind: str = "") -> None:
    if not hasattr(os, "getuid"):
        return  # no such permissions
    if about.st_uid not in (os.getuid(), 0):
        raise UsageError(
            f"{kind}{path} belongs to another user (number {about.st_uid}), who could let you run anything; copy the file to a place of your own"
        )
    others = about.st_mode & stat.S_IWOTH or (about.st_mode & stat.S_IWGRP and not _is_private(about.st_gid))
    if others:
        raise UsageError(
            f"others may write the {kind or 'file '}{path}, and so let you run anything: chmod go-w {path}"
        )


def _is_private(group: int) -> bool:
    """Whether it is the group that has one user only: us. There files may be written by the group, and often are."""
    import grp
    import pwd

    if group == 0:
        return os.getuid() == 0
    try:
        me, theirs = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return group == me.pw_gid and theirs.gr_name == me.pw_name and set(theirs.gr_mem) <= {me.pw_name}
