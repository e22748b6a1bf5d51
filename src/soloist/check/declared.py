"""What is declared about an algorithm, and whether it may be believed.

Three reductions rely on declarations: `values` on `settled`, `settled_mail` and `void`, `clocks` on the types of fields
and `counts`, `early` on the function of that name. A declaration that is not so hides errors. It counts only for exactly
the code that the tests have proved it for (`tests/check/test_proved.py` writes `proved.json`): a class that differs in a
single token, a subclass that inherits it, another declaration, or code whose source cannot be read is searched without;
and so is every class where a message may come twice or a site may begin anew: there declarations are not so.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from soloist.check.declarations import declaration, has_counters
from soloist.check.digest import digest
from soloist.core import Process

RECORD = Path(__file__).with_name("proved.json")
"""The digests of the classes whose declarations have been proved, by the name of the class."""


@lru_cache(maxsize=1)
def record() -> dict[str, str]:
    return msgspec.json.decode(RECORD.read_bytes(), type=dict[str, str])


def is_proved(kind: type[Process]) -> bool:
    """Whether what is declared about a class was proved for this very code."""
    found = fingerprint(kind)
    return found is not None and found in record().values()


def fingerprint(kind: type[Process]) -> str | None:
    """The digest of a class and of what is declared about it."""
    return digest(kind, declaration(kind))


def declared(kind: type[Process]) -> frozenset[str]:
    """The reductions that rely on something that is declared about a class."""
    what = declaration(kind)
    relied_on = {
        "values": what.settled or what.settled_mail or what.void,
        "clocks": has_counters(kind),
        "early": what.early,
    }
    return frozenset(name for name, given in relied_on.items() if given)


def withheld(kind: type[Process], repeats: bool = False) -> frozenset[str]:
    """The reductions that a search of this class has to do without. What happens once may happen again (`repeats`): a site
    that begins anew counts from the start, and a message that comes twice finds what was not to be read any more."""
    relied_on = declared(kind)
    return frozenset() if not relied_on or (not repeats and is_proved(kind)) else relied_on
