"""Kakugawa et al. 1993: Maekawa's algorithm on a k-coterie, in which k quorums can be disjoint, but not k+1.

Survey's name     here        meaning
Q_i               S           the quorum of this site, its home
permission        Grant       the messages and rules are those of `maekawa`
cede              Yield

Nothing tells a site which quorum is free, so each always asks its home; two sites are inside together when
their homes are disjoint. The survey leaves out that a waiting request which is pushed back by an older one
has to be told FAILED (as it does for Maekawa's algorithm); and a k-coterie must have, for
every h < k disjoint quorums, one that is disjoint from *all* of them, not just from one.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula, Option
from soloist.algorithms.maekawa import Maekawa
from soloist.core import Site
from soloist.structures.coteries import coterie
from soloist.structures.quorums import Quorums


class Kakugawa(Maekawa):
    @classmethod
    def start(cls, me: Site, n: int, k: int, coterie: Quorums) -> Maekawa:  # type: ignore[override]
        return super().start(me, n, coterie)


CARD = Card(
    name="kakugawa",
    title="Kakugawa et al.",
    paper="H. Kakugawa, S. Fujita, M. Yamashita and T. Ae, Availability of k-coterie, IEEE Trans. Computers 42(5), 1993",
    section="survey of 21 algorithms (1993), section 6, with its errors repaired and request tags; "
    "the original was not at hand",
    process=Kakugawa,
    family="permission",
    capacity="K",
    channels="any",
    bound=Formula(
        "7s+3 on average, s other sites in a quorum (published: 5s)",
        lambda s: 7 * max(s.options["coterie"].others) + 3,
    ),
    light=Formula("3s", lambda s: 3 * s.options["coterie"].mean_others),
    fairness="no-starvation",
    structure="k-coterie",
    options=(
        Option(
            "coterie", "majority", "majority, cohorts, singletons, or quorums like 0+1,0+2,1+3,2+3", coterie
        ),
    ),
)
