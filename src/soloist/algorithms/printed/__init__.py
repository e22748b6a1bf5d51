"""As printed: algorithms with the errors that a paper or the survey prints. None of them is to be used.

Each module has, as far as there are any, `PRINTED`, the card of the text as it stands; `ERRATA`, its errors one by one, each
put back into the repaired algorithm, with which they share all they can; `EXAMPLES`, sentences that a run of the
repaired algorithm contradicts; `SLIPS`, which cannot be run; and the same as `NOTES`, `SLIPS_IN_NOTES`, where
the text is not wrong, but says too little.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from soloist.algorithms._card import Card
from soloist.algorithms.printed import (
    agrawal_el_abbadi,
    bulgannawar_vaidya,
    helary_plouzeau_raynal,
    kakugawa,
    lodha_kshemkalyani,
    maekawa,
    majority,
    mishra_srimani_recovery,
    mizuno_neilsen_rao,
    naimi_thiare,
    naimi_trehel,
    naimi_trehel_recovery,
    nishio_recovery,
    raymond_tree,
    raynal,
    raynal_inform,
    ricart_agrawala,
    ricart_agrawala_token,
    sanders,
    singhal_dynamic,
    singhal_heuristic,
    srimani_reddy,
    suzuki_kasami,
    suzuki_kasami_bounded,
)
from soloist.algorithms.printed._erratum import Erratum, Example, Slip
from soloist.core import UsageError, unknown

MODULES: tuple[ModuleType, ...] = (
    agrawal_el_abbadi,
    bulgannawar_vaidya,
    helary_plouzeau_raynal,
    kakugawa,
    lodha_kshemkalyani,
    maekawa,
    majority,
    mizuno_neilsen_rao,
    naimi_thiare,
    naimi_trehel,
    raymond_tree,
    raynal,
    raynal_inform,
    ricart_agrawala,
    ricart_agrawala_token,
    sanders,
    singhal_dynamic,
    singhal_heuristic,
    srimani_reddy,
    suzuki_kasami,
    suzuki_kasami_bounded,
)

RECOVERY_MODULES: tuple[ModuleType, ...] = (
    mishra_srimani_recovery,
    naimi_trehel_recovery,
    nishio_recovery,
)
"""Of the algorithms with recovery: their errors are told on their own pages."""


def _all(name: str, modules: tuple[ModuleType, ...] = MODULES) -> tuple[Any, ...]:
    return tuple(each for module in modules for each in getattr(module, name, ()))


PRINTED: dict[str, Card] = {
    module.PRINTED.name: module.PRINTED for module in MODULES if hasattr(module, "PRINTED")
}
ERRATA: tuple[Erratum, ...] = _all("ERRATA")
EXAMPLES: tuple[Example, ...] = _all("EXAMPLES")
SLIPS: tuple[Slip, ...] = _all("SLIPS")
NOTES: tuple[Erratum | Slip, ...] = (*_all("NOTES"), *_all("SLIPS_IN_NOTES"))
"""What texts do not say, and what comes of it where something does."""

RECOVERY_PRINTED: dict[str, Card] = {module.PRINTED.name: module.PRINTED for module in RECOVERY_MODULES}
RECOVERY_ERRATA: tuple[Erratum, ...] = _all("ERRATA", RECOVERY_MODULES)
RECOVERY_SLIPS: tuple[Slip, ...] = _all("SLIPS", RECOVERY_MODULES)


def find_printed(name: str, code: str | None = None) -> Card:
    """The card of an algorithm as a text prints it, with all its errors, or with the one of this code."""
    if code is not None and any(each.algorithm == name for each in (*ERRATA, *NOTES, *RECOVERY_ERRATA)):
        return find_erratum(name, code).card
    printed = {**PRINTED, **RECOVERY_PRINTED}
    try:
        return printed[name]
    except KeyError:
        known = ", ".join(sorted(printed))
        raise UsageError(
            f"nothing wrong is printed of {name!r}, as far as we know; errata: {known}"
        ) from None


def find_erratum(name: str, code: str) -> Erratum:
    """One error of a text, by its algorithm and its code."""
    every = (*ERRATA, *NOTES, *RECOVERY_ERRATA)
    known = {each.code: each for each in every if each.algorithm == name and isinstance(each, Erratum)}
    if code not in known:
        raise unknown(f"erratum of {name}", code, known)
    return known[code]


__all__ = [
    "ERRATA",
    "EXAMPLES",
    "NOTES",
    "PRINTED",
    "RECOVERY_ERRATA",
    "RECOVERY_PRINTED",
    "RECOVERY_SLIPS",
    "SLIPS",
    "Erratum",
    "Example",
    "Slip",
    "find_erratum",
    "find_printed",
]
