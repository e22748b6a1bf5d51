"""Bulgannawar and Vaidya 1995: K tokens, and a forest for each; whoever holds any token serves the request.

Paper name                here         meaning
token_id                  token        the token that is here, if any
holding                   phase is INSIDE
waiting_for_token         wait         the token asked for, if any
pointer[t]                pointer[t]   where this site believes token t to be found
node-queue                nq           sites that asked this one for the token it waits for itself
token-queue, with tags    tq, tags     (valid with the token) sites to visit next, and for each a tag: who turned its
                                       request for another token into one for this token, if somebody did
(last seen token)         seen         the token that was here last, or that an INFORM told of last
nu                        inform       how many sites to INFORM when a token is left idle
(destination of INFORM)   whom, heard  random; following: the next sites, cyclically; asking: those whose requests came by here last,
                                       which are remembered in `heard`, the last first

Where text and code of section 2 differ, this follows the code; the node-queue is emptied when it has gone into
the token-queue, which neither says. An INFORM only suggests a token to ask for. As printed it sets a
pointer as well, and an old one can close a circle in which a request never meets a token.
A token is always sent to the first of its queue. Where there is only one, no request is for another: there are no tags.
Links must be FIFO where K > 1: a request that overtakes a token finds pointers that lead back to the asker.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula, Size, choice, number
from soloist.algorithms.naimi_trehel import harmonic
from soloist.core import INSIDE, Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(Y, t): site Y asks for token t; passed on along the pointers."""

    Y: Site
    t: int


class Token(Message, frozen=True):
    """TOKEN(t), with its queue, and as many tags; none where K = 1."""

    t: int
    tq: tuple[Site, ...]
    tags: tuple[Site | None, ...]


class Inform(Message, frozen=True):
    """INFORM(X, t): site X, the sender, has token t."""

    X: Site
    t: int


class BulgannawarVaidya(Process):
    last_seen: bool
    inform: int
    whom: str
    heard: list[Site]
    token: int | None
    wait: int | None
    pointer: list[Site]
    nq: list[Site]
    tq: list[Site]
    tags: list[Site | None]
    seen: int

    @classmethod
    def start(cls, me: Site, n: int, k: int, token: str, inform: int, whom: str) -> BulgannawarVaidya:
        return cls(
            me=me,
            n=n,
            last_seen=token == "last-seen",
            inform=inform,
            whom=whom,
            heard=[],
            token=me if me < k else None,
            wait=None,
            pointer=list(range(k)),
            nq=[],
            tq=[],
            tags=[],
            seen=me % k,
        )

    def acquire(self) -> None:
        if self.token is not None:
            self.enter()
            return
        several = len(self.pointer) > 1 and not self.last_seen
        self.wait = self.choose(range(len(self.pointer))) if several else self.seen
        self.send(self.pointer[self.wait], Request(self.me, self.wait))

    def release(self) -> None:
        assert self.token is not None
        if self.tq:
            self.pass_token(self.last_unmodified() if self.tags else self.tq[-1])
            return
        if not self.inform:
            return
        others = self.preferred()
        for _ in range(min(self.inform, len(others))):
            others.remove(j := self.choose(others) if self.whom == "random" else others[0])
            self.send(j, Inform(self.me, self.token))

    def preferred(self) -> list[Site]:
        """Whom to INFORM, those first that it may help most."""
        if self.whom == "random":
            return list(self.others)
        following = [*self.others[self.me :], *self.others[: self.me]]
        return [*self.heard, *(j for j in following if j not in self.heard)]

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if self.whom == "asking":
            self.heard = [m.Y, *(i for i in self.heard if i != m.Y)][: self.inform]
        if self.token is not None:
            self.tq.append(m.Y)
            if len(self.pointer) > 1:
                self.tags.append(None if self.token == m.t else self.me)
            if self.phase is not INSIDE:
                self.pass_token(m.Y)
        elif self.wait == m.t:
            self.nq.append(m.Y)
        else:
            self.send(self.pointer[m.t], m)
            self.pointer[m.t] = m.Y

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        assert self.wait is not None
        if m.tags:
            tag, *tags = m.tags
            if self.wait != m.t:
                assert tag is not None
                self.pointer[self.wait] = tag
            self.tags = [*tags, *[tag] * len(self.nq)]
        self.tq = [*m.tq[1:], *self.nq]
        self.nq = []
        self.wait = None
        self.token = self.seen = m.t
        self.pointer[m.t] = self.me
        self.enter()

    @on(Inform)
    def on_inform(self, j: Site, m: Inform) -> None:
        self.seen = m.t

    def slot(self) -> int | None:
        return self.token

    def last_unmodified(self) -> Site:
        """Whom this token's new tree should lead to: the last that asked for it; the first, if none did."""
        unmodified = [site for site, tag in zip(self.tq, self.tags, strict=True) if tag is None]
        return unmodified[-1] if unmodified else self.tq[0]

    def pass_token(self, pointer: Site) -> None:
        assert self.token is not None
        self.send(self.tq[0], Token(self.token, tuple(self.tq), tuple(self.tags)))
        self.pointer[self.token] = pointer
        self.token, self.tq, self.tags = None, [], []


def light(s: Size) -> float:
    """A site that always asks for the token it saw last, and is told of no other, stays in one of K groups, each
    with an algorithm like Naimi and Trehel's. Otherwise one of N-K sites asks, and its request takes
    H(N-1) N/(N-1) messages if K = 1, and 2 if K = N-1; in between we interpolate (within 3 % of what
    is measured up to K = 3, and within 7 % beyond)."""
    informs: float = min(s.options["inform"], s.n - 1)
    if s.options["token"] == "last-seen" and not informs:
        groups = [len(range(g, s.n, s.k)) for g in range(s.k)]
        return sum(harmonic(size - 1) * size / s.n for size in groups)
    if s.n - s.k < 1:
        return informs
    one = harmonic(s.n - 1) * s.n / (s.n - 1)
    cost = one - (one - 2) * (s.k - 1) / max(s.n - 2, 1)
    return cost * (s.n - s.k) / s.n + informs


CARD = Card(
    name="bulgannawar-vaidya",
    title="Bulgannawar-Vaidya",
    paper="S. Bulgannawar and N. H. Vaidya, A distributed K-mutual exclusion algorithm, Proc. 15th ICDCS, 1995",
    section="section 2, the pseudo-code, with INFORM and the node-queue repaired",
    process=BulgannawarVaidya,
    family="token",
    capacity="K",
    channels="fifo",
    channels_of_one="any",
    bound=Formula("N, and ν for the INFORMs", lambda s: s.n + s.options["inform"]),
    light=Formula("H(N-1)+ν if K=1; less for more tokens", light),
    fairness="no-starvation",
    structure="dynamic forest per token",
    options=(
        choice("token", ("random", "last-seen"), "which token to ask for"),
        number("inform", 0, 0, "how many sites to tell of an idle token (the paper's nu)"),
        choice(
            "whom",
            ("random", "following", "asking"),
            "which: any, the next ones, or those that asked here last",
        ),
    ),
)
