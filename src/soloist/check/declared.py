"""What an algorithm declares about itself, and whether it may be believed.

Three reductions rely on declarations: `values` on `settled`, `settled_mail` and `void`, `clocks` on `counters`,
`early` on the method of that name. A declaration that is not so hides errors. It counts only for exactly the code
that the tests have proved it for (`tests/check/test_proved.py` writes `proved.json`): a class that differs in a single
token, a subclass that inherits it, or a class whose source cannot be read is searched without.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from soloist.check.digest import digest
from soloist.core import Process

RECORD = Path(__file__).with_name("proved.json")
"""The digests of the classes whose declarations have been proved, by the name of the class."""
DECLARATIONS = {
    "values": ("settled", "settled_mail", "void"),
    "clocks": ("counters",),
    "early": ("early",),
}
"""What each reduction relies on."""


@lru_cache(maxsize=1)
def record() -> dict[str, str]:
    return msgspec.json.decode(RECORD.read_bytes(), type=dict[str, str])


def is_proved(kind: type[Process]) -> bool:
    """Whether the declarations of a class were proved for this very code."""
    found = digest(kind)
    return found is not None and found in record().values()


def declared(kind: type[Process]) -> frozenset[str]:
    """The reductions that rely on something that a class declares."""
    return frozenset(
        name
        for name, attributes in DECLARATIONS.items()
        if any(_differs(kind, attribute) for attribute in attributes)
    )


def _differs(kind: type[Process], attribute: str) -> bool:
    mine, usual = getattr(kind, attribute), getattr(Process, attribute)
    return bool(mine != usual)


def withheld(kind: type[Process]) -> frozenset[str]:
    """The reductions that a search of this class has to do without."""
    relied_on = declared(kind)
    return frozenset() if not relied_on or is_proved(kind) else relied_on
