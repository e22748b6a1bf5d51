"""Sessions of clients, explored exhaustively: is there a schedule with two good holds of one lock?

One client holds a lock in a session with one node; the node has a lease of its own from voters. Three clocks run at rates of
their own, 1 or 3 for each tick of true time: the client's is slow and the voters' are fast, since the other way round only
makes holds shorter and patience longer (`every_rate` tries that, too); the node's changes from tick to tick. Renewals and their acknowledgements may be lost, late and in any order;
each side may be paused at any time, and the node may have somebody else waiting for the lock, and so may its peers. The rules
are those of `soloist.views.session`, the very code that clients and nodes run; `MISTAKES` are versions of it that are wrong.

A lock goes on to somebody else when the node lets go of the session (S4), when the node's own lease had run out and it has
a new one, when its voters have out-waited the node, or when it has said goodbye to them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import msgspec

from soloist.views import ClientSession, Lease, NodeSession
from soloist.views.session import slower

DRIFT = 0.5
"""Rates of 1 and 3 differ by a half each way from what is between them; floats have these exactly."""
SESSION = Lease(4.0, drift=DRIFT)
SHORT, LONG = 6.0, 600.0
"""Leases of the node, in ticks: one that decides, and one that leaves it to the session's."""
SLOW, FAST = 1, 3


class State(NamedTuple):
    """All times are on the clock of their owner."""

    client_clock: float = 0.0
    node_clock: float = 0.0
    voter_clock: float = 0.0
    ticks: int = 0
    until: float = float("-inf")
    over: bool = False
    number: int = 0
    sent: tuple[tuple[int, float], ...] = ()
    kept: float = SESSION.at_voter
    ended: bool = False
    renewals: frozenset[int] = frozenset()
    acknowledgements: frozenset[tuple[int, float]] = frozenset()
    node_ends: float = 0.0
    node_leases: int = 1
    voter_ends: float = 0.0
    believed: float = float("-inf")
    passed: bool = False
    """Whether somebody else holds the lock."""
    known_lost: bool = False
    """Whether the client has asked, and been told that it is lost."""


class Rules:
    """As they are: a mistake changes one of them."""

    def __init__(self, lease: float = SHORT) -> None:
        self.lease = Lease(lease, drift=DRIFT)

    def client(self, state: State) -> ClientSession:
        return ClientSession(state.until, state.over, state.number, dict(state.sent))

    def node(self, state: State) -> NodeSession:
        return NodeSession(SESSION, state.kept, state.ended)

    def worth(self, node: NodeSession, left: float, now: float) -> float:
        return node.renew(left, now)

    def renewed(self, client: ClientSession, number: int, worth: float, now: float) -> None:
        client.renewed(number, worth, now)

    def elsewhere(self, client: ClientSession, number: int, now: float) -> None:
        """Another node that knows the session's number, as behind one address there may be several, acknowledges a renewal."""

    def good(self, state: State) -> bool:
        return state.until > float("-inf") and self.client(state).good(state.client_clock)

    def lets_go(self, state: State) -> bool:
        return self.node(state).ended(state.node_clock)

    def may_leave(self, state: State) -> bool:
        return state.node_clock >= state.believed


class Found(msgspec.Struct, frozen=True):
    """What came of it. `schedule` leads to what must not be; it is empty if nothing does."""

    states: int
    schedule: tuple[str, ...] = ()
    passed: int = 0
    """States in which somebody else had the lock, and states in which the client did: neither may be none."""
    held: int = 0


def explore(
    rules: Rules, ticks: int = 4, renewals: int = 2, node_leases: int = 2, every_rate: bool = False
) -> Found:
    """All that can happen within so many ticks, or the shortest way to a violation."""
    start = State(node_ends=rules.lease.at_member, voter_ends=rules.lease.at_voter)
    came: dict[State, tuple[State, str] | None] = {start: None}
    queue, passed, held = deque([start]), 0, 0
    while queue:
        state = queue.popleft()
        good = rules.good(state)
        passed, held = passed + state.passed, held + good
        if good and (state.passed or state.known_lost):
            return Found(len(came), _way(came, state), passed, held)
        for action, following in _moves(rules, state, ticks, renewals, node_leases, every_rate):
            if following not in came:
                came[following] = (state, action)
                queue.append(following)
    return Found(len(came), (), passed, held)


def _way(came: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    words = []
    while step := came[state]:
        state, action = step
        words.append(action)
    return tuple(reversed(words))


Moves = Iterator[tuple[str, State]]


def _moves(
    rules: Rules, state: State, ticks: int, renewals: int, node_leases: int, every_rate: bool
) -> Moves:
    if state.passed and state.until == float("-inf") and not state.acknowledgements:
        return  # the client never held it, and never will
    if state.ticks < ticks:
        yield from _time(state, every_rate)
    yield from _client_moves(rules, state, renewals)
    yield from _node_moves(rules, state, node_leases)
    yield from _passing(rules, state)


def _time(state: State, every_rate: bool) -> Moves:
    both: tuple[int, ...] = (SLOW, FAST)
    clients, voters = (both, both) if every_rate else (both[:1], both[1:])
    nodes = both
    if state.passed:  # then only the client's clock matters
        nodes, voters = (SLOW,), (SLOW,)
    for client, node, voter in product(clients, nodes, voters):
        yield (
            f"tick {client} {node} {voter}",
            state._replace(
                client_clock=state.client_clock + client,
                node_clock=state.node_clock + node,
                voter_clock=state.voter_clock + voter,
                ticks=state.ticks + 1,
            ),
        )


def _client_moves(rules: Rules, state: State, renewals: int) -> Moves:
    now = state.client_clock
    if state.number < renewals:
        client = rules.client(state)
        number = client.renew(now)
        yield f"renew {number}", _with(state, client)._replace(renewals=state.renewals | {number})
    for number, worth in state.acknowledgements:
        client = rules.client(state)
        rules.renewed(client, number, worth, now)
        heard = state.acknowledgements - {(number, worth)}
        yield f"hear {number}", _with(state, client)._replace(acknowledgements=heard)
    for number, _ in state.sent:
        client = rules.client(state)
        rules.elsewhere(client, number, now)
        yield f"hear {number} from elsewhere", _with(state, client)
    if state.until > float("-inf") and not rules.good(state) and not state.known_lost:
        client = rules.client(state)
        client.good(now)
        yield "ask", _with(state, client)._replace(known_lost=True)


def _with(state: State, client: ClientSession) -> State:
    return state._replace(
        until=client.until, over=client.over, number=client.number, sent=tuple(sorted(client.sent.items()))
    )


def _node_moves(rules: Rules, state: State, node_leases: int) -> Moves:
    if state.passed:  # what the node does now is no matter
        return
    now = state.node_clock
    for number in state.renewals:
        node = rules.node(state)
        worth = rules.worth(node, max(0.0, state.node_ends - now), now)
        believed = max(state.believed, now + worth * (1 + DRIFT) / (1 - DRIFT))
        yield (
            f"acknowledge {number}",
            state._replace(
                kept=node.until,
                ended=node.over,
                believed=believed,
                renewals=state.renewals - {number},
                acknowledgements=state.acknowledgements | {(number, worth)},
            ),
        )
    if state.node_leases < node_leases and state.voter_clock < state.voter_ends:
        lost = now >= state.node_ends  # and with the new lease, somebody who waits here gets in
        renewed = state._replace(
            node_ends=now + rules.lease.at_member,
            voter_ends=state.voter_clock + rules.lease.at_voter,
            node_leases=state.node_leases + 1,
        )
        yield "renew the node", _passed(renewed) if lost else renewed


def _passing(rules: Rules, state: State) -> Moves:
    if state.passed:
        return
    if rules.lets_go(state):
        yield "let go", _passed(state)
    if state.voter_clock >= state.voter_ends:
        yield "out-wait the node", _passed(state)
    if rules.may_leave(state):
        yield "say goodbye", _passed(state)


def _passed(state: State) -> State:
    """Somebody else has it. From now on only the client matters, and what is on its way to it."""
    return State()._replace(
        client_clock=state.client_clock,
        ticks=state.ticks,
        until=state.until,
        over=state.over,
        number=state.number,
        sent=state.sent,
        acknowledgements=state.acknowledgements,
        known_lost=state.known_lost,
        passed=True,
    )


# Mistakes, each of which must be found.


class FromReceipt(Rules):
    """The client counts from the acknowledgement."""

    def renewed(self, client: ClientSession, number: int, worth: float, now: float) -> None:
        client.sent[number] = now
        client.renewed(number, worth, now)


class NodeForgotten(Rules):
    """An acknowledgement is worth the session's lease, whatever is left of the node's own."""

    def worth(self, node: NodeSession, left: float, now: float) -> float:
        return node.renew(float("inf"), now)


class ClocksAlike(Rules):
    """What is left of the node's lease is passed on as it is, though the client's clock may be slower."""

    def worth(self, node: NodeSession, left: float, now: float) -> float:
        worth = node.renew(float("inf"), now)
        return min(worth, left) if slower(left, DRIFT) < worth else worth


class NoDrift(Rules):
    """The node waits as long as the client counts, and no longer."""

    def lets_go(self, state: State) -> bool:
        return self.node(state).ended(state.node_clock + SESSION.at_voter - SESSION.at_member)


class EndOfConnection(Rules):
    """The node takes the end of a connection from elsewhere for the end of its client."""

    def lets_go(self, state: State) -> bool:
        return True


class RenewedTooLate(Rules):
    """The node acknowledges renewals of a session that it has let go of already."""

    def worth(self, node: NodeSession, left: float, now: float) -> float:
        return NodeSession(node.lease, now).renew(left, now - 1) if node.ended(now) else node.renew(left, now)

    def lets_go(self, state: State) -> bool:
        return state.node_clock >= SESSION.at_voter


class Revived(Rules):
    """A late acknowledgement makes good again what the client was told is lost."""

    def renewed(self, client: ClientSession, number: int, worth: float, now: float) -> None:
        sent = client.sent.pop(number, None)
        if sent is not None:
            client.until = max(client.until, sent + worth)
            client.over = now >= client.until


class Anywhere(Rules):
    """A node that knows the session's number may acknowledge a renewal."""

    def elsewhere(self, client: ClientSession, number: int, now: float) -> None:
        client.renewed(number, SESSION.at_member, now)


class AtOnce(Rules):
    """The node says goodbye without a thought for clients that it cannot reach."""

    def may_leave(self, state: State) -> bool:
        return True


MISTAKES = (
    FromReceipt,
    NodeForgotten,
    ClocksAlike,
    NoDrift,
    EndOfConnection,
    RenewedTooLate,
    Revived,
    Anywhere,
    AtOnce,
)
