"""Mishra and Srimani 1990: Suzuki and Kasami's algorithm B, with a token that can be replaced.

Survey's name      here                                  meaning
RN, LN, Q, L …     as in `suzuki-kasami-bounded`

While nothing fails it sends what algorithm B sends, and this is all that is here. The survey adds a time-out
to each request; what happens when one runs out (PRIVILEGE_CHECK and what follows) is not part of this.
"""

from __future__ import annotations

from soloist.algorithms._card import Card
from soloist.algorithms.suzuki_kasami_bounded import BOUND, HEAVY, L_OPTION, LIGHT, SuzukiKasamiBounded


class MishraSrimani(SuzukiKasamiBounded):
    """A class of its own, for the recovery to be added to."""


CARD = Card(
    name="mishra-srimani",
    title="Mishra-Srimani",
    paper="S. Mishra and P. K. Srimani, Fault-tolerant mutual exclusion algorithms, "
    "Journal of Systems and Software 11(2), 1990",
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, and Suzuki and Kasami 1985, section 3, algorithm B, "
    "repaired; the original was not at hand",
    process=MishraSrimani,
    family="token",
    capacity="1",
    channels="any",
    bound=BOUND,
    light=LIGHT,
    heavy=HEAVY,
    fairness="no-starvation",
    options=(L_OPTION,),
)
