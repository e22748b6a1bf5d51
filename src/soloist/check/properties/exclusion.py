"""Exclusion: never more than K inside. Judged on the way: the count of those inside is part of every state."""

from __future__ import annotations

from soloist.check.counterexample import Walk, last
from soloist.check.parts import TOO_MANY
from soloist.check.properties._property import Property


class Exclusion(Property):
    name = "exclusion"
    says = "at most K sites are inside at any time"
    look = "Look at the second one to enter: what did it take for its permission, and who gave the same to the other?"
    on_the_way = True
    alarm = TOO_MANY

    def complaint(self, walk: Walk) -> str:
        k = walk.model.setting.size.k
        if len(walk.inside) <= k:
            return ""
        sites = "sites " + " and ".join(map(str, walk.inside))
        return f"{last(walk)}, and now {sites} are inside; at most {k} may be"
