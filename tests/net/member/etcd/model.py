"""Membership in etcd as a small transition system, over the classes that nodes use: `Member` and `Chair`.

Two nodes, one lock of one token. A setting says who has it first, who renews (the lease of one who does not lasts), who
makes views, and whether a third node waits to join, which does nothing else. A renewal makes a lease the moment it is sent, which is the worst case, and its write may be
done at any time after, or never; its answer may be late or lost. The lease of an entry may be over from its time on, at
any moment. Each node looks when it likes, and what it then writes about the next view is done at any time after, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from soloist.net.member.etcd.chair import ETCD, Chair, Decide, Mark
from soloist.net.member.etcd.store import Entry, Snapshot
from soloist.views import Activate, Ballot, Holder, Lease, Member, Node, Send, View, fence
from soloist.views.messages import Ack, Decided, Prepare, Renew, Report

NODES = (Node("a", "a"), Node("b", "b"))
JOINER = Node("c", "c")
LOCK = "lock:x"
TERM = 2
"""Ticks that a lease lasts, in etcd and for its member."""
LEASE = Lease(TERM, drift=0.0)
FIRST = View(epoch=1, voters=(ETCD,), members=NODES, lease=LEASE)


class Key(NamedTuple):
    """An entry as etcd has it."""

    entry: Entry
    revision: int
    granted: int


class Write(NamedTuple):
    """A request that is on its way: over this revision; bound to the lease of that moment, or to the one it has."""

    site: int
    entry: Entry
    over: int
    granted: int | None
    number: int = 0


class Step(NamedTuple):
    """The same for a step of the next view."""

    what: Mark | Decide
    over: int


class Site(NamedTuple):
    """One node."""

    view: View
    wedged: bool
    ends: int
    """When its lease is over."""
    sent: int | None
    """When the renewal was sent that it waits for."""
    holds: tuple[Holder, ...]
    ended: bool
    token: int | None
    """The counter that came with the token, if it is here."""
    written: int
    report: Report | None
    answer: tuple[bool, Any] | None
    seen: Any


class State(NamedTuple):
    now: int
    view: View
    revision: int
    change: int
    keys: tuple[tuple[str, Key], ...]
    flying: frozenset[Write | Step]
    sites: tuple[Site, ...]
    last: int
    """The highest fence that was given."""
    left: tuple[int, int, int, int]
    """How many renewals, time-outs, entries and steps of views there may still be."""


class Setting(NamedTuple):
    ticks: int
    renewals: int
    timeouts: int
    entries: int
    steps: int
    renewing: tuple[int, ...] = (0,)
    proposing: tuple[int, ...] = (1,)
    token: int = 0
    joiner: bool = False


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """As they are, or with one of them broken."""

    from_sending: bool = True
    over_revision: bool = True
    compares_entries: bool = True
    waits_for_reports: bool = True
    reports_holds: bool = True
    wedges: bool = True


FOR_EVER, WENT_BACK = 1000, -1


def start(setting: Setting) -> State:
    def site(number: int) -> Site:
        ends = TERM if number in setting.renewing else FOR_EVER
        return Site(
            FIRST, False, ends, None, (), False, 0 if number == setting.token else None, 1, None, None, None
        )

    def key(number: int) -> Key:
        return Key(Entry(NODES[number], epoch=1), 1, 0 if number in setting.renewing else FOR_EVER)

    keys = tuple((node.name, key(number)) for number, node in enumerate(NODES))
    if setting.joiner:
        keys = (*keys, (JOINER.name, Key(Entry(JOINER), 1, FOR_EVER)))
    sites = tuple(map(site, range(len(NODES))))
    left = (setting.renewals, setting.timeouts, setting.entries, setting.steps)
    return State(0, FIRST, 1, 0, keys, frozenset(), sites, 0, left)


def snapshot(state: State) -> tuple[View, int, int, tuple[tuple[str, Entry, int], ...]]:
    return (
        state.view,
        state.revision,
        state.change,
        tuple((name, key.entry, key.revision) for name, key in state.keys),
    )


class Model:
    """What may happen next."""

    def __init__(self, rules: Rules, setting: Setting) -> None:
        self.rules, self.setting = rules, setting

    def moves(self, state: State) -> Iterator[tuple[str, State]]:
        if state.now < self.setting.ticks:
            yield "tick", state._replace(now=state.now + 1)
        for name, key in state.keys:
            if state.now >= key.granted + TERM:
                rest = tuple(each for each in state.keys if each[0] != name)
                yield f"the lease of {name} is over", state._replace(keys=rest)
        for request in state.flying:
            yield f"{request} is done", self.done(state, request)
        for number in range(len(NODES)):
            if not state.sites[number].ended:
                yield from self.of_site(state, number)

    def of_site(self, state: State, number: int) -> Iterator[tuple[str, State]]:
        site, (renewals, timeouts, entries, steps) = state.sites[number], state.left
        name = NODES[number].name
        if renewals and number in self.setting.renewing and site.sent is None:
            yield f"{name} renews", self.renew(state, number)
        if site.answer is not None:
            yield f"{name} is answered", self.answered(state, number)
        if timeouts and (site.sent is not None):
            late = put(state, number, site._replace(sent=None, answer=None))
            yield f"{name} waits no longer", late._replace(left=(renewals, timeouts - 1, entries, steps))
        if site.seen != snapshot(state):  # or there is nothing new
            yield f"{name} looks", self.see(state, number, snapshot(state))
        if (
            steps
            and number in self.setting.proposing
            and site.seen
            and (step := self.propose(site, number))
            and step not in state.flying
        ):
            flying = state.flying | {step}
            yield (
                f"{name}: {step.what}",
                state._replace(flying=flying, left=(renewals, timeouts, entries, steps - 1)),
            )
        if site.holds:
            yield f"{name} leaves", self.leave(state, number)
        elif entries and site.token is not None and (entered := self.enter(state, number)):
            yield f"{name} enters", entered._replace(left=(renewals, timeouts, entries - 1, steps))

    # What nodes do.

    def renew(self, state: State, number: int) -> State:
        site = state.sites[number]
        member = thawed(site, number)
        member.renew(state.now)
        sent = [effect.message for effect in member.out if isinstance(effect, Send)]
        (said,) = [message for message in sent if isinstance(message, Renew)]
        site = site._replace(holds=tuple(member.holds.values()))
        entry = self.entry(site, number, said.report)
        write = Write(number, entry, site.written, state.now, 1)
        renewals, *rest = state.left
        return put(state, number, site._replace(sent=state.now))._replace(
            flying=state.flying | {write},
            left=(renewals - 1, *rest),  # type: ignore[arg-type]
        )

    def entry(self, site: Site, number: int, report: Report | None) -> Entry:
        if report and not self.rules.reports_holds:
            report = msgspec.structs.replace(report, holds=())
        return Entry(NODES[number], 0, site.view.epoch, report)

    def answered(self, state: State, number: int) -> State:
        site = state.sites[number]
        assert site.answer
        done, seen = site.answer
        sent, site = site.sent, site._replace(sent=None, answer=None)
        state = self.see(put(state, number, site), number, seen)
        site = state.sites[number]
        if not done or site.ended or sent is None:
            return state
        member = thawed(site, number)
        member.number, member.sent = 1, {1: sent if self.rules.from_sending else state.now}
        member.receive(ETCD, Ack(ETCD, 1, seen[0].epoch, False), state.now)
        return put(state, number, site._replace(ends=int(member.worth[ETCD])))

    def see(self, state: State, number: int, seen: Any) -> State:
        """As `EtcdCouncil._see`."""
        view, _, change, entries = seen
        site = state.sites[number]
        if number in self.setting.proposing:
            site = site._replace(seen=seen)
        revisions = {name: revision for name, _, revision in entries}
        name = NODES[number].name
        if name not in revisions:
            return put(state, number, site._replace(ended=True, holds=(), token=None))
        site = site._replace(written=revisions[name])
        member = thawed(site, number)
        if view.epoch > site.view.epoch:
            member.receive(ETCD, Decided(view), state.now)
            site = activated(site, member)
        if not site.ended and change == site.view.epoch + 1 and not site.wedged:
            member.receive(ETCD, Prepare(change, Ballot(0, ETCD)), state.now)
            report = Report(site.view.epoch, name, tuple(member.holds.values()))
            site = site._replace(wedged=self.rules.wedges, holds=report.holds, report=report)
        found = next((entry for each, entry, _ in entries if each == name), None)
        return self.keep_written(put(state, number, site), number, found)

    def keep_written(self, state: State, number: int, found: Entry | None) -> State:
        """A report, and what was let go since, is written at once, whenever that is done."""
        site = state.sites[number]
        if site.report is None or site.ended:
            return state
        entry = self.entry(site, number, msgspec.structs.replace(site.report, holds=site.holds))
        if found == entry:
            return state
        return state._replace(flying=state.flying | {Write(number, entry, site.written, None)})

    def enter(self, state: State, number: int) -> State | None:
        site = state.sites[number]
        member, token = thawed(site, number), (site.token or 0) + 1
        given = fence(site.view.epoch, token)
        if not member.enter(LOCK, 0, given, state.now):
            return None
        site = site._replace(holds=tuple(member.holds.values()), token=token)
        return put(state, number, site)._replace(last=given if given > state.last else WENT_BACK)

    def leave(self, state: State, number: int) -> State:
        site = state.sites[number]._replace(holds=())
        return self.keep_written(put(state, number, site), number, None)

    def propose(self, site: Site, number: int) -> Step | None:
        view, revision, change, entries = site.seen
        there = {name: entry for name, entry, _ in entries}
        if not self.rules.waits_for_reports:
            there = {
                name: entry for name, entry in there.items() if entry.report or name == NODES[number].name
            }
        at = Snapshot(view=view, revision=revision, change=change, entries=there)
        if NODES[number].name not in there:
            return None
        step = Chair(LEASE)._next(at, NODES[number].name, {each.name for each in (*NODES, JOINER)})
        return Step(step, revision) if step else None

    # What etcd does.

    def done(self, state: State, request: Write | Step) -> State:
        state = state._replace(flying=state.flying - {request})
        if isinstance(request, Step):
            return self.step_done(state, request)
        keys = dict(state.keys)
        name = NODES[request.site].name
        key = keys.get(name)
        same = key is not None and key.revision == request.over
        if not self.rules.over_revision:
            same = key is not None
        if same:
            assert key
            granted = key.granted if request.granted is None else request.granted
            keys[name] = Key(request.entry, key.revision + 1, granted)
            state = state._replace(keys=tuple(sorted(keys.items())))
        site = state.sites[request.site]
        if request.number and site.sent == request.granted and site.answer is None and not site.ended:
            site = site._replace(answer=(same, snapshot(state)))
        return put(state, request.site, site)

    def step_done(self, state: State, request: Step) -> State:
        if request.over != state.revision:
            return state
        if isinstance(request.what, Mark):
            return state._replace(change=request.what.epoch)
        there = {name for name, _ in state.keys}
        if self.rules.compares_entries and there.intersection(request.what.absent):
            return state
        return state._replace(view=request.what.view, revision=state.revision + 1, change=0)


def put(state: State, number: int, site: Site) -> State:
    sites = tuple(site if each == number else other for each, other in enumerate(state.sites))
    return state._replace(sites=sites)


def thawed(site: Site, number: int) -> Member:
    """The member that this node has."""
    holds = {(hold.lock, hold.slot): hold for hold in site.holds}
    return Member(
        node=NODES[number],
        view=site.view,
        wedged=site.wedged,
        worth={ETCD: site.ends},
        holds=holds,
        ended=site.ended,
        askers=(ETCD,) if site.wedged else (),
    )


def activated(site: Site, member: Member) -> Site:
    """What became of a node that has heard of the next view."""
    if member.ended or member.view == site.view:
        return site._replace(ended=True, holds=(), token=None)
    assert member.view
    assert any(isinstance(effect, Activate) for effect in member.out)
    holder = member.view.holders[0].incarnation if member.view.holders else member.view.members[0].incarnation
    return site._replace(
        view=member.view,
        wedged=False,
        report=None,
        holds=tuple(member.holds.values()),
        token=0 if holder == member.me else None,
    )


def wrong(state: State) -> bool:
    """Whether two nodes hold the lock, and each takes that for good; or a fence is not above all before."""
    good = [site for site in state.sites if site.holds and not site.ended and state.now < site.ends]
    return len(good) > 1 or state.last == WENT_BACK


class Found(NamedTuple):
    states: int
    run: list[str]
    """The shortest that leads to what is wrong; empty if there is none."""
    epochs: int
    entries: int


def explore(setting: Setting, rules: Rules | None = None) -> Found:
    """Breadth first, all of it."""
    model, first = Model(rules or Rules(), setting), start(setting)
    came: dict[State, tuple[State, str] | None] = {first: None}
    layer, epochs, entries = [first], 1, 0
    while layer:
        following = []
        for state in layer:
            for words, after in model.moves(state):
                if after in came:
                    continue
                came[after] = state, words
                if wrong(after):
                    return Found(len(came), path(came, after), epochs, entries)
                epochs, entries = max(epochs, after.view.epoch), max(entries, setting.entries - after.left[2])
                following.append(after)
        layer = following
    return Found(len(came), [], epochs, entries)


def path(came: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    words: list[str] = []
    while before := came[state]:
        state, said = before
        words.append(said)
    return words[::-1]
