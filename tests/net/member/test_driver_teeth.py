"""The rules of views at run time, one by one; and deliberate mistakes of the driver, each caught by one of these checks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from soloist.core import Message
from soloist.net import Hold, LockError, MemoryHub, Node
from soloist.net.engine.table import Table
from soloist.net.engine.ticket import Room, Ticket
from soloist.net.member import gate
from soloist.net.member.council import Council
from soloist.net.member.gate import Gate
from soloist.net.member.membership import Membership
from soloist.net.member.renewal import Pulse
from soloist.testing import crash, eventually, memory_cluster
from soloist.views import Send, Store, View
from soloist.views.messages import Accepted, Promise
from tests.net.helpers import run, with_a_lease
from tests.net.member.test_membership import council, membership

FOR_EVER = 600.0
LEASE = 2.0

Check = Callable[[], Awaitable[None]]


class Late:
    """The loop of a node hears of a new view only when it is told: its thread is ahead of it."""

    def __init__(self, node: Node) -> None:
        self.views: list[View] = []
        self.node = membership(node)
        self.node.activated = self.views.append  # type: ignore[method-assign]

    def hear(self) -> None:
        del self.node.activated
        for view in self.views:
            self.node.activated(view)


async def later_than(node: Node, epoch: int) -> None:
    await eventually(lambda: node.epoch > epoch, "there is a later view")


async def nobody_enters_in_an_epoch_that_is_over() -> None:
    """M3, where the loop lags behind the thread: in the new epoch others may be inside already."""
    async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
        hold = await c.lock("x").acquire_or_raise(None)
        await hold.release()  # the token rests at c, in the old epoch
        late = Late(c)
        await crash(b, a, c)
        await eventually(lambda: late.views, "there is a new view")
        mine = asyncio.create_task(c.lock("x").acquire_or_raise(None))
        other = await asyncio.wait_for(a.lock("x").acquire_or_raise(None), 2) if mine.done() else None
        await asyncio.sleep(0.05)
        assert not mine.done()
        assert other is None
        late.hear()
        assert (await mine).fence >> 40 == a.epoch


@contextmanager
def wedged(node: Node) -> Iterator[None]:
    """A change has begun, and its end is not heard of here: the thread has its hands full."""
    over = threading.Event()
    council(node).pulse.do(lambda: over.wait() and None)
    with council(node).gate.step() as member:
        member.wedge(council(node).clock())
    try:
        yield
    finally:
        over.set()


async def nobody_enters_once_wedged() -> None:
    """M3 and M4: what is reported is all that is held."""
    async with memory_cluster("abc", lease=FOR_EVER) as (a, _, _):
        await (await a.lock("x").acquire_or_raise(None)).release()
        with wedged(a):
            assert await a.lock("x").acquire(timeout=0.05) is None
            assert not council(a).member.holds


async def what_is_released_while_wedged_is_not_passed_on() -> None:
    """M4: it has been reported, so the next view has it; whoever got it from here would be the second there."""
    async with memory_cluster("abc", lease=FOR_EVER) as (a, b, _):
        hold = await a.lock("x").acquire_or_raise(None)
        waiting = asyncio.create_task(b.lock("x").acquire_or_raise(None))
        await eventually(lambda: "lock:x" in b.instances and a.stats.messages_received, "b has asked")
        with wedged(a):
            await hold.release()
            await asyncio.sleep(0.05)
            assert not waiting.done()
        waiting.cancel()


async def a_hanging_loop_loses_nothing() -> None:
    """M1: renewals have a thread of their own."""
    async with memory_cluster("abc", lease=LEASE) as (a, _, _):
        hold = await a.lock("x").acquire_or_raise(None)
        time.sleep(1.5 * LEASE)
        assert hold.valid


async def validity_is_worked_out_when_it_is_asked_for() -> None:
    """M2: whoever has no lease has no lock, though nobody could tell the loop yet."""
    async with memory_cluster("abc", lease=LEASE / 4) as (a, _, _):
        hold = await a.lock("x", on_lost="flag").acquire_or_raise(None)
        over = threading.Event()
        council(a).pulse.do(lambda: over.wait() and None)
        try:
            await eventually(lambda: not hold.valid, "the lease runs out", seconds=1.5 * LEASE)
        finally:
            over.set()


async def what_is_not_stored_is_not_said() -> None:
    """Each store comes before what it is about: a vote that a crash can erase is none."""
    async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
        await a.lock("x").acquire_or_raise(None)
        said: list[bool] = []

        def watch(council: Council) -> None:
            send = council._send

            def watched(to: str, message: Message) -> None:
                if isinstance(message, Promise | Accepted):
                    ballot = council.votes.file.ballot
                    said.append(ballot is not None and ballot >= message.ballot)
                send(to, message)

            council._send = watched  # type: ignore[method-assign]

        for node in (a, c):
            watch(council(node))
        before = a.epoch
        await crash(b, a, c)
        await eventually(lambda: a.epoch > before, "the next view")
        assert len(said) >= 4
        assert all(said)


async def holds_are_carried_over() -> None:
    """M5: nobody gets what a living node holds."""
    async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
        hold = await a.lock("x").acquire_or_raise(None)
        before = a.epoch
        await crash(b, a, c)
        await eventually(lambda: min(a.epoch, c.epoch) > before, "the next view")
        assert hold.valid
        assert await c.lock("x").acquire(timeout=0.3) is None
        await hold.release()
        assert await c.lock("x").acquire(timeout=10)


async def mail_of_a_later_epoch_is_kept() -> None:
    """M6: and judged by the view that it belongs to, in which its sender is a newcomer."""
    hub = MemoryHub()
    nodes = [
        Node(name, dict.fromkeys("abc", ""), transport=hub.transport(name), lease=FOR_EVER) for name in "abc"
    ]
    for node in nodes:
        await node.start()
    a, b, c = nodes
    try:
        hold = await c.lock("x").acquire_or_raise(None)
        await crash(b, a, c)
        await eventually(lambda: c.members == ["a", "c"], "b is out")
        late = Late(c)
        b = nodes[1] = Node("b", dict.fromkeys("abc", ""), transport=hub.transport("b"), lease=FOR_EVER)
        await b.start()
        waiting = asyncio.create_task(b.lock("x").acquire_or_raise(None))
        await eventually(lambda: membership(b).open and b.instances, "b is a member and has asked")
        await asyncio.sleep(0.05)
        assert hold.valid
        late.hear()
        await eventually(lambda: c.epoch == b.epoch, "c has heard of it")
        await hold.release()
        assert (await asyncio.wait_for(waiting, 3)).fence > hold.fence
    finally:
        await asyncio.gather(*(node.close() for node in nodes))


async def places_are_told_apart_over_epochs() -> None:
    """The counters of fences begin anew in each epoch, while holds of earlier ones go on."""
    async with memory_cluster("abcdefg", lease=FOR_EVER) as (a, b, c, d, e, f, g):
        holds = [await a.semaphore("s", 3).acquire_or_raise(None)]
        for gone, others in ((g, (a, b, c, d, e, f)), (f, (a, b, c, d, e)), (e, (a, b, c, d))):
            before = a.epoch
            await crash(gone, *others)
            await later_than(a, before)
            if len(holds) < 3:
                holds.append(await a.semaphore("s", 3).acquire_or_raise(None))
        assert all(hold.valid for hold in holds)
        assert await b.semaphore("s", 3).acquire(blocking=False) is None  # all three were carried over


# The mistakes.


def ignores_the_epoch(patch: pytest.MonkeyPatch) -> None:
    def enter(self: Gate, room: Room, ticket: Ticket) -> bool:
        with self.mutex:
            place = gate.place(ticket) if room.capacity > 1 else 0
            return self.member.enter(room.lock, place, ticket.fence, self.clock(), room.capacity)

    patch.setattr(Gate, "enter", enter)


def ignores_the_wedge(patch: pytest.MonkeyPatch) -> None:
    right = Gate._refresh

    def refresh(self: Gate) -> None:
        wedged, self.member.wedged = self.member.wedged, False
        right(self)
        self.member.wedged = wedged

    patch.setattr(Gate, "_refresh", refresh)


def passes_on_while_wedged(patch: pytest.MonkeyPatch) -> None:
    def leave(self: Gate, room: Room, ticket: Ticket) -> bool:
        with self.mutex:
            self.member.release(room.lock, gate.place(ticket) if room.capacity > 1 else 0, self.clock())
        return True

    patch.setattr(Gate, "leave", leave)


def renews_in_the_loop(patch: pytest.MonkeyPatch) -> None:
    in_thread = Pulse.call_every

    def in_loop(self: Pulse, seconds: float, work: Callable[[], None]) -> Callable[[], None]:
        events: Any = work.__closure__[0].cell_contents.events  # type: ignore[index]
        return in_thread(self, seconds, lambda: events._in_loop(lambda: self.do(work)))

    patch.setattr(Pulse, "call_every", in_loop)


def caches_validity(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Hold, "valid", property(lambda self: not self.released and not self._why))


def says_before_it_stores(patch: pytest.MonkeyPatch) -> None:
    perform = Council._perform

    def hasty(self: Council, machine: Any) -> None:
        with self.gate.mutex:
            machine.out.sort(key=lambda effect: isinstance(effect, Store) - isinstance(effect, Send))
        perform(self, machine)

    patch.setattr(Council, "_perform", hasty)


def forgets_who_holds(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("soloist.net.engine.table.by_lock", lambda holders: {})


def forgets_who_holds_what_is_not_its_own(patch: pytest.MonkeyPatch) -> None:
    activate = Table.activate

    def forgetful(self: Table, view: View, inside: Any = ()) -> None:
        activate(self, view, inside)
        self.held = {}

    patch.setattr(Table, "activate", forgetful)


def drops_what_comes_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Membership, "keep", lambda self, peer, envelope: self.council.fetch())


def judges_mail_by_the_view_before(patch: pytest.MonkeyPatch) -> None:
    keep = Membership.keep

    def judging(self: Membership, peer: str, envelope: Any) -> None:
        if peer not in self.board.outsiders:
            keep(self, peer, envelope)

    patch.setattr(Membership, "keep", judging)


def counts_places_anew(patch: pytest.MonkeyPatch) -> None:
    def place(ticket: Ticket) -> int:
        return -(ticket.fence & (1 << 40) - 1)

    patch.setattr(gate, "place", place)


TEETH: list[tuple[Callable[[pytest.MonkeyPatch], None], Check]] = [
    (ignores_the_epoch, nobody_enters_in_an_epoch_that_is_over),
    (ignores_the_wedge, nobody_enters_once_wedged),
    (passes_on_while_wedged, what_is_released_while_wedged_is_not_passed_on),
    (renews_in_the_loop, a_hanging_loop_loses_nothing),
    (caches_validity, validity_is_worked_out_when_it_is_asked_for),
    (says_before_it_stores, what_is_not_stored_is_not_said),
    (forgets_who_holds, holds_are_carried_over),
    (forgets_who_holds_what_is_not_its_own, holds_are_carried_over),
    (drops_what_comes_early, mail_of_a_later_epoch_is_kept),
    (judges_mail_by_the_view_before, mail_of_a_later_epoch_is_kept),
    (counts_places_anew, places_are_told_apart_over_epochs),
]


@pytest.mark.parametrize(
    "check", sorted({check for _, check in TEETH}, key=str), ids=lambda each: each.__name__
)
def test_the_rule(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def so(lease: float) -> None:
        monkeypatch.setitem(globals(), "LEASE", lease)
        run(check(), 60)

    leased = check in (a_hanging_loop_loses_nothing, validity_is_worked_out_when_it_is_asked_for)
    with_a_lease(so, LEASE, *([6 * LEASE] if leased else []))


@pytest.mark.parametrize(("mistake", "check"), TEETH, ids=lambda each: each.__name__)
def test_the_mistake_is_caught(mistake: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError, LockError)):
        run(check())
