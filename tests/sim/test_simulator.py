"""The simulator: its clock, its cost model, its books, and what it refuses to overlook."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

import msgspec
import pytest

from soloist.algorithms import CATALOGUE, Card, find
from soloist.algorithms.naimi_trehel import NaimiTrehel
from soloist.algorithms.ricart_agrawala import REPLY, Request, RicartAgrawala
from soloist.algorithms.suzuki_kasami import SuzukiKasami
from soloist.core import Message, Process, PropertyViolated, Site, UsageError, on
from soloist.core.trace import Recorder
from soloist.durations import duration
from soloist.sim import Experiment, Listed, Result, Saturated, Thinking, simulate
from soloist.sim.drawn import DrawnEngine, serves
from soloist.sim.engine import Engine
from soloist.sim.experiment import run
from soloist.sim.links import BLOCK, Constant, Delay, Exponential, Lognormal, Network, Uniform, delay

DRAWN = [Constant(0.001), Uniform(0.0, 0.002), Exponential(0.001), Lognormal(0.001, 1.0)]


@pytest.fixture
def variant() -> Iterator[object]:
    """Puts a changed algorithm into the catalogue for the time of a test."""
    added: list[str] = []

    def add(name: str, of: str, **changes: object) -> Card:
        CATALOGUE[name] = card = msgspec.structs.replace(find(of), name=name, **changes)
        added.append(name)
        return card

    yield add
    for name in added:
        del CATALOGUE[name]


def trace_of(experiment: Experiment) -> list[str]:
    recorder = Recorder()
    simulate(experiment, recorder=recorder)
    return recorder.lines()


def without_wall_time(result: Result) -> Result:
    return msgspec.structs.replace(result, wall_seconds=0.0)


# One seed, one run.


@pytest.mark.smoke
@pytest.mark.parametrize("links", DRAWN, ids=lambda d: type(d).__name__)
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_same_seed_gives_the_same_trace(name: str, links: Constant) -> None:
    experiment = Experiment(name, nodes=5, workload=Thinking(50.0), network=Network(links, True), entries=50)
    first = trace_of(experiment)
    assert first == trace_of(experiment)
    assert first != trace_of(msgspec.structs.replace(experiment, seed=2))


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_same_seed_gives_the_same_figures_in_one_process_and_in_several(name: str) -> None:
    experiment = Experiment(name, nodes=4, entries=200, replications=3)
    alone = without_wall_time(simulate(experiment))
    assert alone == without_wall_time(simulate(experiment))
    assert alone == without_wall_time(simulate(experiment, jobs=2))


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_recorder_does_not_change_the_figures(name: str) -> None:
    experiment = Experiment(name, nodes=4, entries=200)
    watched = simulate(experiment, recorder=Recorder())
    assert without_wall_time(watched) == without_wall_time(simulate(experiment))


# The lane is only a faster heap.


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_lane_and_the_heap_tell_the_same_story(name: str) -> None:
    """A delay that is always the same takes the lane as `Constant`, and the heap as `Uniform`."""
    lane = Experiment(name, nodes=6, workload=Thinking(20.0), network=Network(Constant(0.001)), entries=300)
    heap = msgspec.structs.replace(lane, network=Network(Uniform(0.001, 0.001)))
    assert sorted(trace_of(lane)) == sorted(trace_of(heap))
    assert without_wall_time(simulate(lane)) == without_wall_time(simulate(heap))


# Past the port is only a faster way through it.


@pytest.mark.parametrize("name", CATALOGUE)
def test_deliveries_through_ports_tell_the_same_story(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment(name, nodes=4, workload=Thinking(20.0), entries=200)
    fast = without_wall_time(simulate(experiment))
    delivered = []

    def handlers(engine: Engine) -> dict[type[Message], Any]:
        def deliver(process: Process, sender: Site, message: Message) -> None:
            engine.out.sends = engine.ports[process.me].deliver(sender, message)  # with what was sent before
            delivered.append(message)

        return dict.fromkeys(engine.processes[0].handlers, deliver)

    monkeypatch.setattr(Engine, "_handlers", handlers)
    assert without_wall_time(simulate(experiment)) == fast
    assert delivered


# The cost model of Bulgannawar and Vaidya, section 4.


def times(experiment: Experiment, kind: str) -> list[tuple[float, int]]:
    recorder = Recorder()
    simulate(experiment, recorder=recorder)
    return [(round(s.time or 0, 9), s.site) for s in recorder.steps if s.kind == kind]


@pytest.mark.smoke
def test_copies_leave_one_after_another_and_handlers_run_after_the_receive_cost() -> None:
    """N=3, Ts=0.1, Tr=0.2, Tt=1. Site 0 asks at 0. Its copies leave at 0.1 and 0.2, arrive at 1.1 and
    1.2, and are handled at 1.3 and 1.4. The replies leave 0.1 later, arrive at 2.4 and 2.5, and wait for
    the layer of site 0: the first is through at 2.6, the second at 2.8."""
    experiment = Experiment(
        "ricart-agrawala",
        nodes=3,
        workload=Listed(((0.0, 0),)),
        network=Network(Constant(1.0), send_cost=0.1, receive_cost=0.2),
        inside=0.5,
    )
    assert times(experiment, "deliver") == [(1.3, 1), (1.4, 2), (2.6, 0), (2.8, 0)]
    assert times(experiment, "enter") == [(2.8, 0)]
    assert times(experiment, "exit") == [(3.3, 0)]


def test_sending_and_receiving_share_one_layer() -> None:
    """N=2, Ts=Tr=1, Tt=1. Site 1 asks at 1.5 and sends until 2.5; the request of site 0, which arrives
    at 2, waits for that and is handled at 3.5."""
    experiment = Experiment(
        "ricart-agrawala",
        nodes=2,
        workload=Listed(((0.0, 0), (1.5, 1))),
        network=Network(Constant(1.0), send_cost=1.0, receive_cost=1.0),
    )
    assert times(experiment, "deliver")[0] == (3.5, 1)


def overtakings(fifo: bool) -> int:
    """How often a message arrives before one that was sent earlier on the same link."""
    recorder = Recorder()
    links = Network(Exponential(0.01), fifo)
    simulate(
        Experiment("suzuki-kasami", 3, workload=Thinking(200.0), network=links, entries=500),
        recorder=recorder,
    )
    on_link: dict[tuple[Site, Site | None], list[Message | None]] = {}
    count = 0
    for step in recorder.steps:
        if step.kind == "send":
            on_link.setdefault((step.site, step.peer), []).append(step.message)
        elif step.kind == "deliver" and step.peer is not None:
            queue = on_link[step.peer, step.site]
            count += queue.index(step.message) > 0
            queue.remove(step.message)
    return count


@pytest.mark.smoke
def test_fifo_links_keep_the_order_and_others_do_not() -> None:
    assert overtakings(fifo=True) == 0
    assert overtakings(fifo=False) > 0


# The books.


def test_every_message_is_charged_to_one_request_and_only_whole_requests_count() -> None:
    """Ricart-Agrawala costs 2(N-1) for each request, so the count is exact whatever the window."""
    for load in (Thinking(0.1), Thinking(1000.0), Saturated()):
        for warmup in (0, 7, 100):
            experiment = Experiment("ricart-agrawala", nodes=6, workload=load, entries=123, warmup=warmup)
            result = simulate(experiment)
            assert result.messages == 123 * 10
            assert result.by_kind == {"Reply": 5.0, "Request": 5.0}


def test_a_list_of_requests_is_served_whole() -> None:
    experiment = Experiment("suzuki-kasami", nodes=3, workload=Listed(((0.0, 1), (0.0, 2), (0.1, 1))))
    result = simulate(experiment)
    assert result.entries == 3
    assert result.messages == 9


def test_times_to_enter_and_synchronisation_delay() -> None:
    """Two sites ask a central idle holder at the same time: the second enters one inside and one hop later."""
    experiment = Experiment(
        "naimi-trehel",
        nodes=3,
        workload=Listed(((0.0, 1), (0.0, 2))),
        network=Network(Constant(1.0)),
        inside=5.0,
    )
    result = simulate(experiment)
    assert result.response_time.p50 == 2.0
    assert result.response_time.p99 == 8.0
    assert result.sync_delay.mean == 1.0


def test_one_site_needs_nobody() -> None:
    for name in CATALOGUE:
        result = simulate(Experiment(name, nodes=1, entries=10))
        assert result.messages == 0
        assert result.response_time.mean == 0
        assert result.words_per_message is None


@pytest.mark.smoke
def test_progress_ends_at_the_total() -> None:
    seen: list[tuple[int, int]] = []
    simulate(
        Experiment("lamport", nodes=2, entries=100, replications=2),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (200, 200)
    assert seen == sorted(seen)


# What observers must not overlook: each of these variants breaks one promise.


class Impatient(RicartAgrawala):
    """Never defers."""

    @classmethod
    def start(cls, me: Site, n: int) -> Impatient:
        return cls(me=me, n=n, sn=0, H=0, outstanding=0, deferred=[])

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.send(j, REPLY)


class Forgetful(NaimiTrehel):
    """Loses the token at exit."""

    @classmethod
    def start(cls, me: Site, n: int) -> Forgetful:
        return cls(me=me, n=n, last=0, next=None, token=me == 0)

    def release(self) -> None:
        self.token = False


class Favouring(SuzukiKasami):
    """Serves the highest site first, always."""

    @classmethod
    def start(cls, me: Site, n: int) -> Favouring:
        return cls(me=me, n=n, have_privilege=me == 0, RN=[-1] * n, LN=[-1] * n, Q=[])

    def release(self) -> None:
        self.LN[self.me] = self.RN[self.me]
        self.Q = [j for j in reversed(range(self.n)) if j != self.me and self.is_waiting(j)]
        if self.Q:
            self.pass_privilege(self.Q.pop(0))


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("process", "of", "property", "message"),
    [
        (Impatient, "ricart-agrawala", "exclusion", "are inside together at time"),
        (Forgetful, "naimi-trehel", "service", "deadlock at time"),
        (Favouring, "suzuki-kasami", "service", "still wait at time"),
    ],
)
def test_a_broken_promise_is_reported_with_its_seed(
    process: type[Process], of: str, property: str, message: str, variant: object
) -> None:
    variant("wrong", of, process=process)  # type: ignore[operator]
    with pytest.raises(PropertyViolated, match=rf"wrong: .*{message}.*\(seed 4\)") as caught:
        simulate(Experiment("wrong", nodes=4, workload=Saturated(), entries=200, seed=4))
    assert caught.value.property == property


def test_an_exceeded_bound_is_reported(variant: object) -> None:
    variant("costly", "lamport", bound=find("ricart-agrawala").bound)  # type: ignore[operator]
    with pytest.raises(PropertyViolated, match=r"27.000 messages per entry exceed the bound 2\(N-1\) = 18"):
        simulate(Experiment("costly", nodes=10, entries=50))


def test_entries_out_of_timestamp_order_are_reported(variant: object) -> None:
    class Stamped(NaimiTrehel):
        def timestamp(self) -> tuple[int, Site]:
            return (self.n - self.me, self.me)

        @classmethod
        def start(cls, me: Site, n: int) -> Stamped:
            return cls(me=me, n=n, last=0, next=None, token=me == 0)

    variant("stamped", "naimi-trehel", process=Stamped, fairness="timestamp")  # type: ignore[operator]
    with pytest.raises(PropertyViolated, match="not served in timestamp order"):
        simulate(Experiment("stamped", nodes=4, entries=50))


# Timers.


class Ring(Message, frozen=True):
    """The bell."""


class Sleeper(Process):
    """Alone, it enters when its timer runs out; a cancelled timer and a replaced one must not."""

    @classmethod
    def start(cls, me: Site, n: int) -> Sleeper:
        return cls(me=me, n=n)

    def acquire(self) -> None:
        self.set_timer("never", 1.0)
        self.set_timer("late", 2.0)
        self.set_timer("late", 3.0)
        self.cancel_timer("never")

    def timeout(self, name: str) -> None:
        assert name == "late"
        self.enter()

    def release(self) -> None: ...

    @on(Ring)
    def on_ring(self, j: Site, m: Ring) -> None: ...


@pytest.mark.smoke
def test_timers_run_out_once_unless_cancelled_or_set_anew(variant: object) -> None:
    variant("sleeper", "naimi-trehel", process=Sleeper)  # type: ignore[operator]
    result = simulate(Experiment("sleeper", nodes=1, workload=Listed(((0.0, 0), (9.0, 0)))))
    assert result.response_time.mean == 3.0


# Bad input.


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"algorithm": "raymond"}, "unknown algorithm 'raymond'; did you mean raymond-k or raymond-tree"),
        ({"nodes": 0}, "nodes must be at least 1, not 0"),
        ({"k": 2}, "lets one site in at a time"),
        ({"options": {"speed": 3}}, "unknown option of lamport 'speed'"),
        ({"workload": Listed(((0.0, 99),))}, "names site 99; sites are 0 to 4"),
        ({"workload": Listed(((-1.0, 0),))}, "times must not be negative"),
    ],
)
def test_an_impossible_experiment_is_refused(change: dict[str, object], complaint: str) -> None:
    experiment = Experiment("lamport", nodes=5, entries=10)
    with pytest.raises(UsageError, match=complaint):
        simulate(msgspec.structs.replace(experiment, **change))


def test_impossible_records_are_refused() -> None:
    with pytest.raises(UsageError, match="send cost must not be negative"):
        Network(send_cost=-1)
    with pytest.raises(UsageError, match="entries must be at least 1"):
        Experiment("lamport", entries=0)
    with pytest.raises(UsageError, match="rate must be above 0"):
        Thinking(0)
    with pytest.raises(UsageError, match="low <= high"):
        Uniform(2, 1)


def test_delays_as_users_write_them() -> None:
    assert delay("0.8") == Constant(0.8)
    assert delay("2ms") == Constant(0.002)
    assert delay("uniform:1ms,3ms") == Uniform(0.001, 0.003)
    assert delay("exponential:1e-3") == Exponential(0.001)
    assert delay("lognormal:1ms,0.25") == Lognormal(0.001, 0.25)
    assert delay("lognormal:1ms") == Lognormal(0.001, 0.5)
    assert duration("30us") == pytest.approx(3e-5)
    for wrong in ("fast", "1 hour", "uniform:1", "exponential:1,2", "gamma:1", "-1", "1.2.3"):
        with pytest.raises(UsageError):
            delay(wrong)


@pytest.mark.parametrize("links", DRAWN, ids=lambda d: type(d).__name__)
def test_drawn_delays_have_the_mean_they_claim(links: Constant) -> None:
    drawn = islice(links.draws(Random(3)), 50_000)
    assert sum(drawn) / 50_000 == pytest.approx(links.mean, rel=0.03)


def test_delays_drawn_in_blocks_are_those_drawn_one_by_one() -> None:
    """Blocks change no figure that was ever published: they take the same numbers from the same stream."""
    count = 2 * BLOCK + 1  # a block's end changes nothing
    one, log = Random(3), math.log
    assert list(islice(Exponential(2.0).draws(Random(3)), count)) == [
        -2.0 * log(1.0 - one.random()) for _ in range(count)
    ]
    one = Random(3)
    assert list(islice(Uniform(1.0, 3.0).draws(Random(3)), count)) == [
        1.0 + 2.0 * one.random() for _ in range(count)
    ]
    one, mu = Random(3), log(2.0) - 0.5**2 / 2
    assert list(islice(Lognormal(2.0).draws(Random(3)), count)) == [
        one.lognormvariate(mu, 0.5) for _ in range(count)
    ]


WITH_TIES = (*DRAWN[1:], Uniform(0.01, 0.01))
"""Links that draw, and some where everything sent at one instant arrives at one instant."""


@pytest.mark.parametrize("links", WITH_TIES, ids=repr)
@pytest.mark.parametrize("workload", [Thinking(1.0), Saturated()], ids=repr)
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_loop_for_drawn_delays_does_what_the_general_one_does(
    name: str, workload: Thinking | Saturated, links: Delay, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = find(name)
    network = Network(links, fifo=card.channels == "fifo")
    experiment = Experiment(name, nodes=5, workload=workload, network=network, inside=0.01, entries=60)
    assert serves(network)
    fast = run(experiment, seed=3)
    monkeypatch.setattr("soloist.sim.experiment.serves", lambda network: False)
    assert run(experiment, seed=3) == fast


@pytest.mark.parametrize("links", WITH_TIES, ids=repr)
@pytest.mark.parametrize("name", ["ricart-agrawala", "lamport", "maekawa", "suzuki-kasami", "raymond-k"])
def test_messages_that_are_put_off_come_in_their_turn(
    name: str, links: Delay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where hundreds are on their way, though it takes a few here."""
    network = Network(links, fifo=find(name).channels == "fifo")
    experiment = Experiment(name, nodes=7, workload=Saturated(), network=network, inside=0.01, entries=60)
    alike = run(experiment, seed=3)
    put_off: list[None] = []
    really = DrawnEngine._put_off
    monkeypatch.setattr("soloist.sim.drawn.MANY", 4)
    monkeypatch.setattr("soloist.sim.drawn.KEPT", 2)
    monkeypatch.setattr(DrawnEngine, "_put_off", lambda self: put_off.append(really(self)))
    assert run(experiment, seed=3) == alike
    assert put_off


def test_both_loops_say_when_a_run_stood_still(monkeypatch: pytest.MonkeyPatch, variant: object) -> None:
    variant("wrong", "naimi-trehel", process=Forgetful)  # type: ignore[operator]
    network = Network(Exponential(0.01))
    experiment = Experiment("wrong", nodes=3, workload=Saturated(), network=network, entries=50)
    with pytest.raises(PropertyViolated, match="deadlock at time") as fast:
        run(experiment, seed=3)
    monkeypatch.setattr("soloist.sim.experiment.serves", lambda network: False)
    with pytest.raises(PropertyViolated) as slow:
        run(experiment, seed=3)
    assert str(fast.value) == str(slow.value)
