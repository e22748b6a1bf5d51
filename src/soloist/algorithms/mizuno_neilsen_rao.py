"""Mizuno, Neilsen and Rao 1991: ask a few, announce the token to a few; a site in both groups links them.

Survey's name     here                    meaning
R_i, A_i          R, A                    whom this site asks, and whom it tells of the token, without itself
RN[j]             RN[j]                   highest request number known of site j
LN[j]             LN[j]                   request served last, per site: the token's, or the newest seen
token's queue     Q (with token)          sites to visit next
                  have_token, holder      the token is here; who announced it last, as far as is known

Suzuki and Kasami's algorithm is the case that R_i is everybody and A_i nobody else. REQUEST(RN) of the survey
is called Forward here. Two repairs: a request that reaches the link after the announcement is forwarded as well
(the survey forwards only when ACQUIRED arrives), and an announcement older than one already seen is dropped.
LN only grows along the token's way, so its sum tells which of two is older.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula, Option, Size
from soloist.core import IDLE, Message, Number, Process, Site, on
from soloist.structures.agreements import Agreement, agreement


class Request(Message, frozen=True):
    """REQUEST(i, n): site i, the sender, makes its n-th request."""

    n: Number


class Forward(Message, frozen=True):
    """REQUEST(RN): all requests that the sender knows of."""

    RN: tuple[Number, ...]


class Acquired(Message, frozen=True):
    """ACQUIRED(j, LN): site j, the sender, has the token."""

    LN: tuple[Number, ...]


class Token(Message, frozen=True):
    """TOKEN(Q, LN): enter."""

    Q: tuple[Site, ...]
    LN: tuple[Number, ...]


class MizunoNeilsenRao(Process):
    R: list[Site]
    A: list[Site]
    RN: list[Number]
    LN: list[Number]
    Q: list[Site]
    have_token: bool
    holder: Site | None

    @classmethod
    def start(cls, me: Site, n: int, quorums: Agreement) -> MizunoNeilsenRao:
        return cls(
            me=me,
            n=n,
            R=[j for j in quorums.R[me] if j != me],
            A=[j for j in quorums.A[me] if j != me],
            RN=[0] * n,
            LN=[0] * n,
            Q=[],
            have_token=me == 0,
            holder=0 if me in quorums.A[0] and me != 0 else None,
        )

    def acquire(self) -> None:
        if self.have_token:
            self.enter()
            return
        self.RN[self.me] += 1
        self.multicast(self.R, Request(self.RN[self.me]))
        if self.holder not in self.R:
            self.link(self.me)

    def release(self) -> None:
        self.LN[self.me] = self.RN[self.me]
        self.serve_next()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.RN[j] = max(self.RN[j], m.n)
        self.serve_if_idle()
        if m.n > self.LN[j]:
            self.link(j)

    @on(Forward)
    def on_forward(self, j: Site, m: Forward) -> None:
        self.RN = list(map(max, self.RN, m.RN))
        self.serve_if_idle()

    @on(Acquired)
    def on_acquired(self, j: Site, m: Acquired) -> None:
        if self.have_token or self.is_old(m):
            return
        self.LN, self.holder = list(m.LN), j
        if any(self.is_waiting(i) for i in range(self.n) if i != j):
            self.send(j, Forward(tuple(self.RN)))

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        self.have_token, self.holder, self.Q, self.LN = True, None, list(m.Q), list(m.LN)
        self.multicast(self.A, Acquired(m.LN))
        self.enter()

    def is_old(self, m: Acquired) -> bool:
        return sum(m.LN) < sum(self.LN)

    def link(self, j: Site) -> None:
        """This site has heard both of a request of j and of the holder: it brings them together."""
        if self.holder is not None and self.holder != j:
            self.send(self.holder, Forward(tuple(self.RN)))

    def is_waiting(self, j: Site) -> bool:
        return self.RN[j] == self.LN[j] + 1

    def serve_if_idle(self) -> None:
        if self.have_token and self.phase is IDLE:
            self.serve_next()

    def serve_next(self) -> None:
        self.Q += [j for j in self.others if j not in self.Q and self.is_waiting(j)]
        if self.Q:
            to, *rest = self.Q
            self.have_token, self.Q = False, []
            self.send(to, Token(tuple(rest), tuple(self.LN)))


def bound(size: Size) -> float:
    """REQUESTs and ACQUIREDs may each cause a FORWARD; one more by the asker itself, and the token."""
    sets: Agreement = size.options["quorums"]
    return max(2 * (len(sets.R[i]) + len(sets.A[i]) - 1) for i in range(size.n))


def light(size: Size) -> float:
    """Whoever is asked forwards to the last site that announced the token to it, right or out of date; each of
    those that announce to it is the last with the same probability."""
    sets: Agreement = size.options["quorums"]
    n = size.n
    total = 0.0
    for i in range(n):
        total += (1 - 1 / n) * (len(sets.R[i]) + len(sets.A[i]) - 1)
        total += sum(j not in sets.R[i] for j in sets.told_by[i]) / len(sets.told_by[i])
        for link in sets.R[i]:
            told_by = sets.told_by[link]
            forwards = sum(j not in (i, link) for j in told_by) / len(told_by)
            if link != i:
                total += forwards if i in told_by else (1 - 1 / n) * forwards
    return total / n


CARD = Card(
    name="mizuno-neilsen-rao",
    title="Mizuno-Neilsen-Rao",
    paper="M. Mizuno, M. L. Neilsen and R. Rao, A token based distributed mutual exclusion algorithm based "
    "on quorum agreements, Proc. 11th ICDCS, 1991",
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, repaired; the original was not at hand",
    process=MizunoNeilsenRao,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("2(|R|+|A|-1), late forwards included", bound),
    light=Formula("(1-1/N)(|R|+|A|-1) + forwards", light),
    fairness="no-starvation",
    structure="quorum agreement",
    options=(
        Option(
            "quorums", "grid", "grid, tree, plane or modified-grid: the request and acquired sets", agreement
        ),
    ),
)
