"""The birth of a cluster alone, as a state machine: every order of events of small clusters, with restarts."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from itertools import combinations

import pytest

from soloist.net import MemoryHub, Node
from soloist.net.link.wire import Muster
from soloist.net.member.birth import Birth, Newborn
from soloist.testing import crash
from soloist.views.view import COUNTER_BITS
from tests.net.helpers import run


class World:
    """Members that may be started again, and links between their incarnations that keep order."""

    def __init__(self, members: str, restarts: int, kind: type[Birth] = Birth) -> None:
        self.members, self.restarts, self.kind = members, restarts, kind
        self.lives = dict.fromkeys(members, 0)
        self.births = {name: self._new(name) for name in members}
        self.links: dict[tuple[str, str], list[Muster]] = {}
        """Between living incarnations that have met, with what is under way."""
        self.companies: frozenset[tuple[tuple[str, Newborn], ...]] = frozenset()
        """Of those who were born, ever."""

    def _new(self, name: str) -> Birth:
        life = self.lives[name]
        return self.kind(name, self.members, Newborn(f"{name}{life}", ord(name) + life))

    def key(self) -> object:
        return (
            tuple(sorted(self.lives.items())),
            tuple(
                sorted((pair, tuple((m.company, m.bound) for m in mail)) for pair, mail in self.links.items())
            ),
            tuple(
                (
                    sorted(b.met.items()),
                    b.bound,
                    b.born,
                    b._said,
                    sorted(b._heard.items(), key=lambda p: p[0]),
                )
                for b in self.births.values()
            ).__repr__(),
            self.companies,
        )

    def steps(self) -> Iterator[tuple[str, World]]:
        for one, other in combinations(self.members, 2):
            if (one, other) not in self.links:
                yield f"{one} and {other} meet", self._changed("meet", one, other)
        for (sender, to), mail in sorted(self.links.items()):
            if mail:
                yield f"{to} hears {sender}", self._changed("hear", sender, to)
        if self.restarts:
            for name in self.members:
                yield f"{name} is started again", self._changed("restart", name)

    def _changed(self, what: str, *names: str) -> World:
        world = copy.copy(self)
        world.lives, world.births = dict(self.lives), dict(self.births)
        world.links = {pair: list(mail) for pair, mail in self.links.items()}
        for name in names if what != "restart" else ():
            world.births[name] = copy.deepcopy(self.births[name])
        getattr(world, what)(*names)
        for name in names:
            world._post(name)
        return world

    def meet(self, one: str, other: str) -> None:
        births = self.births
        if births[one].refusal(other, births[other].met[other]) or births[other].refusal(
            one, births[one].met[one]
        ):
            return
        self.links[one, other], self.links[other, one] = [], []
        births[one].meet(other, births[other].met[other])
        births[other].meet(one, births[one].met[one])

    def hear(self, sender: str, to: str) -> None:
        self.births[to].hear(sender, self.links[sender, to].pop(0))

    def restart(self, name: str) -> None:
        self.restarts -= 1
        self.lives[name] += 1
        self.births[name] = self._new(name)
        self.links = {pair: mail for pair, mail in self.links.items() if name not in pair}

    def _post(self, name: str) -> None:
        birth = self.births[name]
        for to, muster in birth.sends:
            if (name, to) in self.links:
                self.links[name, to].append(muster)
        birth.sends = []
        if birth.born:
            self.companies |= {tuple(sorted(birth.met.items()))}

    def disjoint(self) -> bool:
        """Whether no incarnation belongs to two companies of which somebody was born."""
        return all(not set(one) & set(other) for one, other in combinations(self.companies, 2))


class Unbound(Birth):
    """Confirms whomever it has met last, again and again."""

    def refusal(self, peer: str, theirs: Newborn) -> str | None:
        return None

    def _go_on(self) -> None:
        self.bound = self.born = False
        super()._go_on()


class Hasty(Birth):
    """Is born as soon as it has met all."""

    def _go_on(self) -> None:
        super()._go_on()
        self.born = self.born or not self.absent


def explore(members: str, restarts: int, kind: type[Birth]) -> tuple[list[World], list[str] | None]:
    """All worlds that can be reached; and the shortest way to two companies with somebody in common, if there is one."""
    first = World(members, restarts, kind)
    seen = {first.key()}
    worlds = [first]
    queue: deque[tuple[World, list[str]]] = deque([(first, [])])
    while queue:
        world, way = queue.popleft()
        for what, following in world.steps():
            if (key := following.key()) in seen:
                continue
            if not following.disjoint():
                return worlds, [*way, what]
            seen.add(key)
            worlds.append(following)
            queue.append((following, [*way, what]))
    return worlds, None


@pytest.mark.parametrize(("members", "restarts"), [("ab", 4), ("abc", 1)])
def test_nobody_belongs_to_two_companies(members: str, restarts: int) -> None:
    worlds, way = explore(members, restarts, Birth)
    assert way is None, way
    assert any(len(world.companies) == (2 if restarts >= len(members) else 1) for world in worlds), (
        "births occur"
    )


@pytest.mark.parametrize("kind", [Unbound, Hasty])
def test_that_is_seen_where_it_is_not_so(kind: type[Birth]) -> None:
    _, way = explore("ab", 2, kind)
    assert way


def at_rest(world: World) -> World:
    """When all that can happen without a restart has happened."""
    following: World | None = world
    while following:
        world = following
        following = next(
            (after for what, after in world.steps() if "again" not in what and after.key() != world.key()),
            None,
        )
    return world


@pytest.mark.parametrize(("members", "restarts"), [("ab", 2), ("abc", 1)])
def test_once_all_are_started_again_there_is_a_company(members: str, restarts: int) -> None:
    """Whatever happened before; and without a restart there is one, too."""
    worlds, _ = explore(members, restarts, Birth)
    for world in worlds[:: max(1, len(worlds) // 200)]:
        world = copy.copy(world)
        for name in members:
            world = world._changed("restart", name)
        end = at_rest(world)
        assert all(birth.born for birth in end.births.values())
        assert len({birth.origin for birth in end.births.values()}) == 1
    assert all(birth.born for birth in at_rest(worlds[0]).births.values())


def test_whoever_is_bound_says_who_has_to_be_restarted() -> None:
    world = at_rest(World("ab", 1))._changed("restart", "a")
    words = world.births["b"].refusal("a", world.births["a"].met["a"])
    assert words
    assert "'a' was started again" in words
    assert "restart 'b', too" in words
    assert world.births["a"].absent == ["b"]


def test_whoever_has_confirmed_one_company_confirms_no_other() -> None:
    """Whatever others say afterwards: they have met a newcomer, perhaps, and are not bound yet."""
    birth = Birth("a", "abc", Newborn("a0", 1))
    for name in "bc":
        birth.meet(name, Newborn(f"{name}0", 1))
    _, confirmed = birth.sends[-1]
    for name in "bc":
        birth.hear(name, confirmed)
    assert birth.bound
    birth.hear("b", Muster(b"another", False))
    assert birth.bound
    assert birth.refusal("c", Newborn("c1", 1))
    assert not birth.born


def test_fences_begin_above_the_largest_that_a_member_knows_of() -> None:
    """One of them may have a directory that remembers, or a clock that was not set back."""
    births = at_rest(World("abc", 0)).births.values()
    assert {birth.met[birth.me].origin for birth in births} == {ord("a"), ord("b"), ord("c")}
    for birth in births:
        view = birth.view()
        assert birth.origin == view.epoch << COUNTER_BITS | view.counter == ord("c")


def test_alone_one_is_born_at_once() -> None:
    assert Birth("a", ["a"], Newborn("x", 1)).born


@pytest.mark.parametrize("algorithm", ["naimi-trehel", "suzuki-kasami", "raymond-tree", "central", "maekawa"])
def test_whoever_is_started_again_makes_no_second_token(algorithm: str) -> None:
    async def main() -> None:
        hub, peers = MemoryHub(), dict.fromkeys("abc", "")

        def node(name: str) -> Node:
            return Node(name, peers, algorithm=algorithm, transport=hub.transport(name), lease=None)

        async with node("b") as b, node("c"):
            names = [f"n{number}" for number in range(9)]  # tokens begin at all of them
            a = await node("a").start()
            holds = [await b.lock(name, timeout=10).acquire() for name in names]
            await crash(a)  # without a goodbye
            async with node("a") as again:
                for name in names:
                    assert await again.lock(name).acquire(timeout=0.01) is None
                assert "'a' was started again" in again.trouble()
                assert "'a' was started again" in b.trouble()
            assert all(hold and hold.valid for hold in holds)

    run(main())
