"""As printed: algorithms with the errors that a paper or the survey prints. None of them is to be used.

Each module has `PRINTED`, the card of the text as it stands, and `ERRATA`, its errors one by one. They share
all they can with the repaired algorithm, so that the difference is what the reader sees.
"""

from __future__ import annotations

from types import ModuleType

from soloist.algorithms._card import Card
from soloist.algorithms.printed import (
    agrawal_el_abbadi,
    bulgannawar_vaidya,
    kakugawa,
    lodha_kshemkalyani,
    maekawa,
    majority,
    mizuno_neilsen_rao,
    naimi_thiare,
    naimi_trehel,
    raynal,
    raynal_inform,
    ricart_agrawala,
    ricart_agrawala_token,
    sanders,
    singhal_heuristic,
    suzuki_kasami,
    suzuki_kasami_bounded,
)
from soloist.algorithms.printed._erratum import Erratum
from soloist.core import UsageError, unknown

MODULES: tuple[ModuleType, ...] = (
    agrawal_el_abbadi,
    bulgannawar_vaidya,
    kakugawa,
    lodha_kshemkalyani,
    maekawa,
    majority,
    mizuno_neilsen_rao,
    naimi_thiare,
    naimi_trehel,
    raynal,
    raynal_inform,
    ricart_agrawala,
    ricart_agrawala_token,
    sanders,
    singhal_heuristic,
    suzuki_kasami,
    suzuki_kasami_bounded,
)

PRINTED: dict[str, Card] = {module.PRINTED.name: module.PRINTED for module in MODULES}
ERRATA: tuple[Erratum, ...] = tuple(erratum for module in MODULES for erratum in module.ERRATA)


def find_printed(name: str, code: str | None = None) -> Card:
    """The card of an algorithm as a text prints it, with all its errors, or with the one of this code."""
    if name in PRINTED and code is not None:
        return find_erratum(name, code).card
    try:
        return PRINTED[name]
    except KeyError:
        known = ", ".join(sorted(PRINTED))
        raise UsageError(
            f"nothing wrong is printed of {name!r}, as far as we know; errata: {known}"
        ) from None


def find_erratum(name: str, code: str) -> Erratum:
    """One error of a text, by its algorithm and its code."""
    known = {erratum.code: erratum for erratum in ERRATA if erratum.algorithm == name}
    if code not in known:
        raise unknown(f"erratum of {name}", code, known)
    return known[code]


__all__ = ["ERRATA", "PRINTED", "Erratum", "find_erratum", "find_printed"]
