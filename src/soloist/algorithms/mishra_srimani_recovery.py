"""Mishra and Srimani 1990, with recovery: who waits too long asks all for the token, and rebuilds it from what they know.

Survey's name           here              meaning
time-out                T                 how long a site waits for the token
(wait for responses)    Treply            how long it waits for answers: a site that is silent for so long has failed
regeneration started    regenerating      this site asks for answers ("check") or for what the others know ("create")
by another              other             who regenerates, as far as this site knows
incarnation             inc               number of the newest token that this site knows of, or has promised to wait for

The rest is `suzuki-kasami`. (The survey's base is algorithm B, whose bounded numbers have nothing to do with failures.) At most one site
fails, and stays down. **Safety rests on time**: Treply must be above 2d, with d the longest delay.
Where the survey says less. To act on N-2 NO_CRITs at once is not safe, though nothing fails: the missing answer may be the holder's; so
the site waits for N-1, or for Treply. A token may be on its way while all say NO_CRIT: an UPDATE is a promise to refuse tokens of older
incarnations, and a holder that is told of a new one refuses, and raises its token's; so does who is about to make one when the one comes that
it was to replace, but not an older one, which was replaced before. After a false alarm a site asks again, and any request above the last one served is pending.
"""

from __future__ import annotations

from soloist.algorithms._card import Card
from soloist.algorithms._recovery import time, while_calm
from soloist.algorithms.mishra_srimani import CARD as CALM
from soloist.algorithms.suzuki_kasami import CARD as BASE
from soloist.algorithms.suzuki_kasami import Request, SuzukiKasami
from soloist.core import WAITING, Message, Number, Site, on


class Privilege(Message, frozen=True):
    """PRIVILEGE(Q, LN): the token, with its incarnation."""

    Q: tuple[Site, ...]
    LN: tuple[Number, ...]
    inc: int


class PrivilegeCheck(Message, frozen=True):
    """PRIVILEGE_CHECK(j): is the token with you?"""


class RepCritical(Message, frozen=True):
    """REP_CRITICAL(k): it is."""


class NoCrit(Message, frozen=True):
    """NO_CRIT(k): it is not; and the incarnation that I know of."""

    inc: int


class FalseAlarm(Message, frozen=True):
    """The token is not lost: go on."""


class CreatePrivilege(Message, frozen=True):
    """CREATE_PRIVILEGE(k): I make a token of this incarnation: tell me what you know."""

    inc: int


class Update(Message, frozen=True):
    """UPDATE: the requests that I have heard of, and my last one that was served."""

    inc: int
    RN: tuple[Number, ...]
    served: Number


class Recovered(Message, frozen=True):
    """The token of this incarnation is with the sender: go on."""

    inc: int


class MishraSrimaniRecovery(SuzukiKasami, kw_only=True):
    T: float
    Treply: float
    inc: int = 0
    served: Number = -1
    regenerating: str = ""
    other: Site | None = None
    no_crit: set[Site] = set()
    highest: int = 0
    updates: dict[Site, Number] = {}

    @classmethod
    def start(cls, me: Site, n: int, T: float = 0.02, Treply: float = 0.003) -> MishraSrimaniRecovery:
        return cls(me=me, n=n, have_privilege=me == 0, RN=[-1] * n, LN=[-1] * n, Q=[], T=T, Treply=Treply)

    def acquire(self) -> None:
        super().acquire()
        if self.phase is WAITING:
            self.set_timer("T", self.T)

    def release(self) -> None:
        self.served = self.RN[self.me]
        super().release()

    def is_waiting(self, j: Site) -> bool:
        return self.RN[j] > self.LN[j]

    @on(Privilege)
    def on_token(self, j: Site, m: Privilege) -> None:
        if m.inc < (self.highest if self.regenerating == "create" else self.inc):
            return
        if self.regenerating:
            self.multicast(self.others, FalseAlarm())
        self.take(list(m.Q), list(m.LN), max(m.inc, self.inc))

    def take(self, Q: list[Site], LN: list[Number], inc: int) -> None:
        self.have_privilege, self.Q, self.LN, self.inc = True, Q, LN, inc
        self.stop()
        self.cancel_timer("T")
        self.enter()

    def pass_privilege(self, to: Site) -> None:
        self.have_privilege = False
        self.send(to, Privilege(tuple(self.Q), tuple(self.LN), self.inc))
        self.Q = []

    # Is the token lost?

    def timeout(self, name: str) -> None:
        if name == "T" and self.other is not None:
            self.other = None  # and if nothing is heard of it until the next time, it has failed
            self.set_timer("T", self.T)
        elif name == "T":
            self.stop()
            self.regenerating, self.highest = "check", self.inc
            self.multicast(self.others, PrivilegeCheck())
            self.set_timer("Treply", self.Treply)
        elif self.regenerating == "check" and self.enough():  # who has not answered by now has failed
            self.create()
        else:
            self.ask_again()

    def enough(self) -> bool:
        return len(self.no_crit) >= self.n - 2

    @on(PrivilegeCheck)
    def on_check(self, j: Site, m: PrivilegeCheck) -> None:
        if self.have_privilege:
            self.send(j, RepCritical())
        elif not self.regenerating or j < self.me:
            self.stop()
            self.other = j
            if self.phase is WAITING:
                self.set_timer("T", self.T)
            self.send(j, NoCrit(self.inc))

    @on(RepCritical)
    def on_rep_critical(self, j: Site, m: RepCritical) -> None:
        if self.regenerating:
            self.multicast(self.others, FalseAlarm())
            self.ask_again()

    @on(NoCrit)
    def on_no_crit(self, j: Site, m: NoCrit) -> None:
        if self.regenerating == "check":
            self.no_crit.add(j)
            self.highest = max(self.highest, m.inc)
            if len(self.no_crit) == self.n - 1:
                self.create()

    @on(FalseAlarm)
    def on_false_alarm(self, j: Site, m: FalseAlarm) -> None:
        if self.other == j:
            self.go_on()

    # It is: make another.

    def create(self) -> None:
        self.regenerating, self.inc = "create", self.highest + 1
        self.multicast(sorted(self.no_crit), CreatePrivilege(self.inc))
        self.set_timer("Treply", self.Treply)
        self.build_if_all_known()

    @on(CreatePrivilege)
    def on_create(self, j: Site, m: CreatePrivilege) -> None:
        if self.have_privilege:
            self.inc = max(self.inc, m.inc)
            self.send(j, RepCritical())
        elif m.inc > self.inc:
            self.stop()
            self.inc, self.other = m.inc, j
            self.send(j, Update(m.inc, tuple(self.RN), self.served))

    @on(Update)
    def on_update(self, j: Site, m: Update) -> None:
        if self.regenerating == "create" and m.inc == self.inc:
            self.updates[j] = m.served
            self.RN = [max(mine, theirs) for mine, theirs in zip(self.RN, m.RN, strict=True)]
            self.build_if_all_known()

    def build_if_all_known(self) -> None:
        """Who has failed counts as served."""
        if self.updates.keys() == self.no_crit:
            known = {**self.updates, self.me: self.served}
            self.multicast(self.others, Recovered(self.inc))
            self.take([], [known.get(j, self.RN[j]) for j in range(self.n)], self.inc)

    @on(Recovered)
    def on_recovered(self, j: Site, m: Recovered) -> None:
        self.inc = max(self.inc, m.inc)
        self.go_on()

    def go_on(self) -> None:
        self.other = None
        if self.phase is WAITING and not self.regenerating:
            self.set_timer("T", self.T)

    def ask_again(self) -> None:
        self.stop()
        self.RN[self.me] += 1
        self.multicast(self.others, Request(self.RN[self.me]))
        self.set_timer("T", self.T)

    def stop(self) -> None:
        self.regenerating, self.no_crit, self.updates, self.other = "", set(), {}, None
        self.cancel_timer("Treply")


CARD = Card(
    name="mishra-srimani-recovery",
    title="Mishra-Srimani with recovery",
    paper=CALM.paper,
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, repaired, on Suzuki and Kasami's algorithm A; the original was not at hand",
    process=MishraSrimaniRecovery,
    family="token",
    capacity="1",
    channels="any",
    bound=while_calm("N"),
    light=BASE.light,
    heavy=BASE.heavy,
    fairness="no-starvation",
    tolerates="the crash of one site that stays down, if no message takes longer than half of Treply",
    options=(
        time("T", 0.02, "wait so long before the token is asked after"),
        time("Treply", 0.003, "wait so long for answers: more than twice the longest delay, for safety"),
    ),
)
