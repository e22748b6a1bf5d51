"""Lodha and Kshemkalyani 2000: the examples of section 3.4, the message count of section 4.1, and the order.

The paper's processes P1, P2, … are the sites 0, 1, …; what is compared here is in the paper's numbers.
"""

from __future__ import annotations

from collections import Counter, deque
from random import Random
from typing import Any

import msgspec
import pytest

from soloist.algorithms import find
from soloist.algorithms._lodha_kshemkalyani_fig_2 import ReqID, Request
from soloist.algorithms.lodha_kshemkalyani import DelegatedRequest, Improved
from soloist.algorithms.printed import find_printed
from soloist.check import check
from soloist.core import IDLE, INSIDE, WAITING, Message, Outbox, Port, Send, Site
from soloist.sim import Experiment, Saturated, simulate
from soloist.sim.script import Script


class Figure:
    """A figure of the paper, stepped by hand."""

    def __init__(self, nodes: int, algorithm: str = "lodha-kshemkalyani") -> None:
        self.script = Script()
        self.lines: list[str] = []
        self.do(f"start {algorithm} nodes={nodes}")

    def do(self, *commands: str) -> list[str]:
        """Obey; the answer is what happened."""
        answers = [line.strip() for command in commands for line in self.script.run(command)]
        self.lines += answers
        return answers

    @property
    def messages(self) -> int:
        return sum(" -> " in line for line in self.lines)

    @property
    def entries(self) -> list[int]:
        """The sites in the order in which they entered, in the paper's numbers."""
        return [int(line.split()[0]) + 1 for line in self.lines if line.endswith("enter")]

    def process(self, p: int) -> Any:
        return self.script.ports[p - 1].process

    def LRQ(self, p: int) -> list[ReqID]:  # noqa: N802
        return [(sn, site + 1) for sn, site in self.process(p).LRQ]

    def RV(self, p: int) -> list[int]:  # noqa: N802
        process = self.process(p)
        return [int(j in process.RV) for j in range(process.n)]


# Fig. 3, section 3.4.1: three requests at once.

ALL_THREE = [(1, 1), (1, 2), (1, 3)]


def test_fig_3_the_queues_at_every_instant() -> None:
    figure = Figure(3)
    for p in (1, 2, 3):  # t1
        assert figure.RV(p) == [0, 0, 0]
        assert figure.LRQ(p) == []

    figure.do("acquire 0", "acquire 1", "acquire 2")
    for p in (1, 2, 3):  # t2
        assert figure.RV(p) == [int(p == q) for q in (1, 2, 3)]
        assert figure.LRQ(p) == [(1, p)]

    figure.do("settle")
    for p in (1, 2, 3):  # t3
        assert figure.RV(p) == [1, 1, 1]
        assert figure.LRQ(p) == ALL_THREE
    assert figure.entries == [1]

    assert figure.do("release 0")[1:] == ["0 -> 1  Flush(R=(1, 0))"]  # t4
    for p in (1, 2, 3):
        assert figure.RV(p) == [1, 1, 1]
        assert figure.LRQ(p) == ALL_THREE

    figure.do("deliver 0>1")  # t5
    assert figure.LRQ(2) == [(1, 2), (1, 3)]
    assert figure.LRQ(3) == ALL_THREE
    assert figure.entries == [1, 2]

    assert figure.do("release 1")[1:] == ["1 -> 2  Flush(R=(1, 1))"]  # t6
    assert figure.LRQ(2) == [(1, 2), (1, 3)]
    assert figure.LRQ(3) == ALL_THREE

    figure.do("settle")
    assert figure.entries == [1, 2, 3]
    assert figure.do("release 2")[1:] == [], "P3 sends no FLUSH or REPLY to anybody"


@pytest.mark.parametrize(
    ("algorithm", "messages"), [("lodha-kshemkalyani", 8), ("ricart-agrawala", 12), ("lamport", 18)]
)
def test_fig_3_eight_messages_against_twelve(algorithm: str, messages: int) -> None:
    """Section 3.4.1 for the first two; 3 x 3(N-1) for Lamport, section 1."""
    figure = Figure(3, algorithm)
    figure.do("acquire 0", "acquire 1", "acquire 2", "settle")
    for site in range(3):
        figure.do(f"release {site}", "settle")
    assert figure.entries == [1, 2, 3]
    assert figure.messages == messages


# Figs. 4 to 7, section 3.4.2.


def test_fig_4_one_process_of_six() -> None:
    figure = Figure(6)
    figure.do("acquire 0", "acquire 2", "acquire 3", "acquire 4")
    assert figure.RV(4) == [0, 0, 0, 1, 0, 0]  # (a)
    assert figure.LRQ(4) == [(1, 4)]

    # Higher requests from P1 and P3, a lower one from P5, a REPLY from P2, and nothing from P6.
    figure.do("deliver 0>3", "deliver 2>3", "deliver 4>3", "deliver 3>1", "deliver 1>3")
    assert figure.RV(4) == [1, 1, 1, 1, 1, 0]  # (b)
    assert figure.LRQ(4) == [(1, 1), (1, 3), (1, 4), (1, 5)]
    assert figure.process(4).phase is WAITING

    figure.do("settle", "release 0", "settle", "release 2")
    assert figure.LRQ(4) == [(1, 1), (1, 3), (1, 4), (1, 5)]
    figure.do("settle")
    assert figure.RV(4) == [1, 1, 1, 1, 1, 1]  # (c)
    assert figure.LRQ(4) == [(1, 4), (1, 5)]
    assert figure.process(4).phase is INSIDE


def test_fig_5_scenario_1_alone() -> None:
    figure = Figure(3)
    figure.do("acquire 0", "settle")
    assert figure.entries == [1]
    assert figure.messages == 4


def test_fig_5_scenario_2a_a_request_is_a_reply() -> None:
    figure = Figure(3)
    figure.do("acquire 0", "acquire 1", "settle")
    assert figure.entries == [1]
    assert figure.do("release 0")[1:] == ["0 -> 1  Flush(R=(1, 0))"]
    figure.do("settle")
    assert figure.entries == [1, 2]


def test_fig_5_scenario_2b_a_later_request_is_deferred() -> None:
    figure = Figure(3)
    figure.do("acquire 0", "deliver 0>1", "deliver 1>0 Reply", "acquire 1", "deliver 1>0")
    assert figure.process(1).deferred == [(2, 1)]
    assert figure.LRQ(1) == [(1, 1)]
    figure.do("deliver 0>2", "deliver 2>0")
    assert figure.entries == [1]
    assert figure.do("release 0")[1:] == ["0 -> 1  Reply(R=(1, 0))"]


def test_fig_5_scenario_2c_a_second_request_is_deferred() -> None:
    figure = Figure(3)
    figure.do("acquire 0", "acquire 1", "deliver 0>1", "deliver 1>0", "deliver 0>2", "deliver 2>0")
    assert figure.entries == [1]
    figure.do("release 0", "deliver 0>1 Flush")
    assert figure.entries == [1], "P_j still waits for P_k"
    figure.do("acquire 0", "deliver 0>1")
    assert figure.process(2).deferred == [(2, 0)]
    figure.do("deliver 1>2", "deliver 2>1")
    assert figure.entries == [1, 2]
    assert figure.do("release 1")[1:] == ["1 -> 0  Reply(R=(1, 1))"]


def test_fig_6_a_reply_stands_for_all_before_it() -> None:
    figure = Figure(3)
    figure.do("acquire 0", "acquire 1", "deliver 1>2", "acquire 2")  # P_j's request is known to P_k
    figure.do("deliver 0>2", "deliver 2>1 Reply", "deliver 2>1 Request")
    figure.do("deliver 0>1", "deliver 1>0", "deliver 2>0")
    assert figure.entries == [1]
    assert figure.LRQ(3) == [(1, 1), (2, 3)]

    assert figure.do("release 0")[1:] == ["0 -> 1  Flush(R=(1, 0))"], "to P_j, and not to P_k"
    figure.do("deliver 0>1")
    assert figure.do("release 1")[1:] == ["1 -> 2  Reply(R=(1, 1))"]
    assert figure.LRQ(3) == [(1, 1), (2, 3)]
    figure.do("deliver 1>2")
    assert figure.LRQ(3) == [(2, 3)]
    assert figure.entries == [1, 2, 3]


def test_fig_7_two_flushes() -> None:
    figure = Figure(3)
    figure.do("acquire 0", "acquire 1", "deliver 0>2", "acquire 2")  # P_i's first is known to P_k
    figure.do("deliver 1>2", "deliver 0>1", "deliver 1>0", "deliver 2>0 Reply")
    assert figure.entries == [1]
    figure.do(
        "release 0", "acquire 0", "deliver 2>0", "deliver 0>2"
    )  # P_i asks again, before it hears of P_k
    figure.do("deliver 2>1", "deliver 0>1 Flush")
    assert figure.entries == [1, 2]
    assert figure.LRQ(3) == [(1, 2), (2, 1), (2, 3)]

    assert figure.do("release 1")[1:] == ["1 -> 2  Flush(R=(1, 1))"]
    figure.do("deliver 1>2")
    assert figure.LRQ(3) == [(2, 1), (2, 3)]
    assert figure.entries == [1, 2], "P_k has to wait for P_i's second request"

    figure.do("deliver 0>1", "deliver 1>0")
    assert figure.entries == [1, 2, 1]
    assert figure.do("release 0")[1:] == ["0 -> 2  Flush(R=(2, 0))"]
    figure.do("deliver 0>2")
    assert figure.entries == [1, 2, 1, 3]


# Section 4.1: the number of messages of each request, over random runs.


class RandomRun:
    """A run in which chance decides what happens next, on FIFO links, and its log."""

    def __init__(self, nodes: int, rounds: int, seed: int, improvement: str = "0") -> None:
        card = find("lodha-kshemkalyani")
        self.random = Random(seed)
        self.out = Outbox()
        self.nodes = nodes
        processes = card.start(card.size(nodes, options={"improvement": improvement}))
        self.ports = [Port(process, self.out) for process in processes]
        self.left = [rounds] * nodes
        self.links: dict[tuple[Site, Site], deque[Message]] = {}
        self.timers: set[tuple[Site, str]] = set()
        self.now = 0
        self.made: dict[ReqID, int] = {}
        self.received: dict[tuple[ReqID, Site], int] = {}
        self.cost: Counter[ReqID] = Counter()
        self.served: list[ReqID] = []
        while events := self.events():
            self.now += 1
            self.step(self.random.choice(events))
            inside = sum(port.inside for port in self.ports)
            assert inside <= 1, f"{inside} inside, seed {seed}"
        assert len(self.served) == nodes * rounds, f"deadlock, seed {seed}"

    def events(self) -> list[tuple[Any, ...]]:
        asks = [("acquire", i) for i in range(self.nodes) if self.left[i] and self.process(i).phase is IDLE]
        leaves = [("release", i) for i in range(self.nodes) if self.ports[i].inside]
        mail = [("deliver", *link) for link, queue in self.links.items() if queue]
        return [*asks, *leaves, *mail, *(("timeout", *timer) for timer in sorted(self.timers))]

    def step(self, event: tuple[Any, ...]) -> None:
        match event:
            case ("acquire", site):
                self.left[site] -= 1
                sends = self.ports[site].acquire()
                self.made[self.process(site).timestamp()] = self.now
            case ("release", site):
                sends = self.ports[site].release()
            case ("timeout", site, name):
                self.timers.discard((site, name))
                sends = self.ports[site].timeout(name)
            case (_, sender, site):
                sends = self.deliver(sender, site, self.links[sender, site].popleft())
        self.post(site, sends)

    def deliver(self, sender: Site, site: Site, message: Message) -> list[Send]:
        if isinstance(message, Request):
            self.received[message.R, site] = self.now
        elif type(message).__name__ in ("Reply", "Delegation", "NumberedReply", "NumberedDelegation"):
            assert self.process(site).phase is WAITING
            self.cost[self.process(site).timestamp()] += 1
        return self.ports[site].deliver(sender, message)

    def post(self, site: Site, sends: list[Send]) -> None:
        mine = self.process(site).timestamp()
        for sender, to, message, _ in sends:
            if isinstance(message, Request | DelegatedRequest) or "Flush" in type(message).__name__:
                self.cost[mine] += len(to)
            for other in to:
                self.links.setdefault((sender, other), deque()).append(message)
        if self.out.entered:
            self.served.append(mine)
            self.out.entered.clear()
        for who, name, delay in self.out.timers:
            (self.timers.discard if delay is None else self.timers.add)((who, name))
        self.out.timers.clear()

    def process(self, site: Site) -> Improved:
        process = self.ports[site].process
        assert isinstance(process, Improved)
        return process

    def concurrency_set(self, mine: ReqID) -> set[ReqID]:
        """Definitions 1 and 2: each request came after the other had been made."""
        i = mine[1]
        return {mine} | {
            other
            for other, made in self.made.items()
            if other[1] != i
            and self.received[mine, other[1]] > made
            and self.received[other, i] > self.made[mine]
        }


@pytest.mark.parametrize("nodes", [2, 3, 4, 6, 9])
def test_section_4_1_counts_the_messages_of_every_request(nodes: int) -> None:
    """REQUESTs sent, REPLYs received and FLUSHes sent, for each request of 60 runs."""
    short = 0
    for seed in range(60):
        run = RandomRun(nodes, rounds=4, seed=seed)
        for request in run.made:
            concurrent = run.concurrency_set(request)
            flush = any(other > request for other in concurrent)
            expected = 2 * nodes - 1 - len(concurrent) + flush
            assert run.cost[request] == expected, f"{request}, seed {seed}"
            assert nodes - 1 <= expected <= 2 * (nodes - 1)
            # The abstract, section 1 and section 5 say 2(N-1) - x with x = |CSet| - 1 (erratum E8).
            short += 2 * (nodes - 1) - (len(concurrent) - 1) < expected
    assert short > 0, "the shorter formula leaves out the FLUSH"


@pytest.mark.parametrize("nodes", [3, 5, 7])
@pytest.mark.parametrize("improvement", ["0", "1", "2", "1+2", "1+2+3"])
def test_the_improvements_keep_the_order(improvement: str, nodes: int) -> None:
    """Section 5, with what it needs beyond the text; sizes that the checker does not reach."""
    for seed in range(60):
        run = RandomRun(nodes, rounds=4, seed=seed, improvement=improvement)
        assert run.served == sorted(run.served), f"seed {seed}"


# Theorems 1 and 2, section 4, and section 5.


def test_entries_are_in_strict_order_of_the_timestamps() -> None:
    """All runs of three sites with two requests each."""
    wanted = ["exclusion", "deadlock", "timestamp"]
    report = check(find("lodha-kshemkalyani"), nodes=3, rounds=2, properties=wanted)
    assert report.verdict == "holds"
    assert report.properties["timestamp"] == "proved"


def test_as_printed_it_deadlocks() -> None:
    report = check(find_printed("lodha-kshemkalyani"), nodes=3, rounds=2)
    assert (report.verdict, report.property, len(report.trace)) == ("violated", "deadlock", 13)


@pytest.mark.parametrize("nodes", [5, 10])
@pytest.mark.parametrize("improvement", ["1", "2"])
def test_the_first_two_improvements_cost_about_n_when_all_ask(improvement: str, nodes: int) -> None:
    """Section 5: one REPLY instead of many, or none."""
    options = {"improvement": improvement}
    experiment = Experiment("lodha-kshemkalyani", nodes, options=options, workload=Saturated(), entries=1000)
    mean = simulate(experiment).messages_per_entry.mean
    assert nodes - 1 <= mean <= nodes
    plain = simulate(msgspec.structs.replace(experiment, options={})).messages_per_entry.mean
    assert plain > mean
