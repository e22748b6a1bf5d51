"""What can go wrong, and whose fault it is.

`UsageError`        you asked for something impossible: a name, a number, a call out of turn
`ProtocolError`     a peer sent something this algorithm can not have sent
`PropertyViolated`  an algorithm broke a promise of its card (exclusion, its bound, service)
"""

from __future__ import annotations

from collections.abc import Iterable


class SoloistError(Exception):
    """The root of every error that this package raises on purpose."""


class UsageError(SoloistError, ValueError):
    """The caller erred; the message says what is wrong and what would be right."""


class ProtocolError(SoloistError):
    """A peer erred: it sent what its algorithm does not allow."""


class PropertyViolated(SoloistError):
    """An algorithm did what its card rules out. `property` names the promise that was broken."""

    def __init__(self, property: str, message: str) -> None:
        super().__init__(message)
        self.property = property


def in_words(error: Exception) -> str:
    """Its class and what it says. An assertion mostly says nothing: then the line that failed does."""
    said = str(error)
    if not said and error.__traceback__:
        import traceback  # takes a while, and is needed when somebody erred only

        said = traceback.extract_tb(error.__traceback__)[-1].line or ""
    return f"{type(error).__name__}: {said}"


def printable(words: str) -> str:
    """What others have said, or made us say, on one line and without tricks."""
    return "".join(each if each.isprintable() else "?" for each in words)


def unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """An unknown name, with the nearest known ones."""
    import difflib  # takes a while, and is needed when somebody erred only

    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) if isinstance(name, str) else []
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif known:
        hint = f"choose from {', '.join(known)}"
    else:
        hint = "there are none"
    return UsageError(f"unknown {kind} {name!r}; {hint}")
