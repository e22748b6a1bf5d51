"""Singhal 1992, with recovery: who waits too long for a permission asks whether its owner is alive; that of a dead one is not needed.

**Our reconstruction.** The survey says no more than that "the impact of message loss and site failures is discussed and methods to tolerate these
failures are proposed"; which ones it does not say. These rules are ours, and they are for sites that fail, not for messages that are lost.

Paper name   here       meaning
R_i, I_i     A, …       as in `singhal-dynamic`
             down       sites that have not answered in time; whoever is down has given its permission for ever
             silent     sites that have been asked whether they are alive, and have not answered yet

Permissions are between two sites each, so it matters to nobody else when one of the two fails, and every site finds out for itself, when it next waits.
**Safety rests on time**: Treply must be above 2d, with d the longest delay: a site that is only slow may be inside. Crashes are for ever.
"""

from __future__ import annotations

from soloist.algorithms._card import Card
from soloist.algorithms._recovery import time, while_calm
from soloist.algorithms.carvalho_roucairol import Reply, Request
from soloist.algorithms.singhal_dynamic import CARD as CALM
from soloist.algorithms.singhal_dynamic import SinghalDynamic
from soloist.core import WAITING, Message, Site, on


class Probe(Message, frozen=True):
    """Are you alive?"""


class Alive(Message, frozen=True):
    """I am."""


class SinghalDynamicRecovery(SinghalDynamic, kw_only=True):
    T: float
    Treply: float
    down: set[Site] = set()
    silent: set[Site] = set()

    @classmethod
    def start(cls, me: Site, n: int, T: float = 0.02, Treply: float = 0.003) -> SinghalDynamicRecovery:
        return cls(me=me, n=n, sn=0, H=0, A=set(range(me + 1, n)), deferred=[], T=T, Treply=Treply)

    def acquire(self) -> None:
        super().acquire()
        if self.phase is WAITING:
            self.set_timer("T", self.T)

    def enter(self) -> None:
        self.cancel_timer("T")
        self.cancel_timer("Treply")
        super().enter()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if j not in self.down:
            super().on_request(j, m)

    @on(Reply)
    def on_reply(self, j: Site, m: Reply) -> None:
        if j not in self.down:
            self.silent.discard(j)
            super().on_reply(j, m)

    # Failures.

    def timeout(self, name: str) -> None:
        if name == "T":
            self.silent = set(self.others) - self.A
            self.multicast(sorted(self.silent), Probe())
            self.set_timer("Treply", self.Treply)
        else:
            self.bury(self.silent)
            self.enter() if self.may_enter() else self.set_timer("T", self.T)

    def bury(self, gone: set[Site]) -> None:
        self.down |= gone
        self.A |= gone

    @on(Probe)
    def on_probe(self, j: Site, m: Probe) -> None:
        self.send(j, Alive())

    @on(Alive)
    def on_alive(self, j: Site, m: Alive) -> None:
        self.silent.discard(j)


CARD = Card(
    name="singhal-dynamic-recovery",
    title="Singhal's dynamic structure with recovery",
    paper=CALM.paper,
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms, which says no more than that it can be done: the recovery is our reconstruction; the original was not at hand",
    process=SinghalDynamicRecovery,
    family="permission",
    capacity="1",
    channels="any",
    bound=while_calm("2(N-1)"),
    light=CALM.light,
    fairness="no-starvation",
    tolerates="crashes of sites that stay down, if no message takes longer than half of Treply",
    structure=CALM.structure,
    options=(
        time("T", 0.02, "wait so long before anybody is asked whether it is alive"),
        time("Treply", 0.003, "wait so long for answers: more than twice the longest delay, for safety"),
    ),
)
