"""What users see of what they have in hand: by `dir`, in an interactive session, and on the pages of the API.

The rooms of this package use more of these objects than that, without an underscore; `_shown` names what is for users.
"""

from __future__ import annotations

from typing import ClassVar


class Shown:
    """Shows its users what is theirs, and no more."""

    _shown: ClassVar[str] = ""
    """What this class has for users, besides what its bases have: names with spaces between."""

    def __dir__(self) -> list[str]:
        special = (name for name in super().__dir__() if name.startswith("__"))
        return sorted({*special, *shown(type(self))})


def shown(kind: type) -> frozenset[str]:
    """The names that a class has for its users; none if it does not say."""
    return frozenset(name for each in kind.__mro__ for name in vars(each).get("_shown", "").split())
