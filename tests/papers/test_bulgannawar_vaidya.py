"""Bulgannawar and Vaidya 1995, section 2: the examples of Figs. 1 and 2, step by step.

Sites and tokens have the paper's numbers; site 0 and token 0 take no part. Of the figures themselves only what
the text says about them has come down to us.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from soloist.algorithms.bulgannawar_vaidya import BulgannawarVaidya, Inform, Request, Token
from soloist.core import IDLE, WAITING, Port, Site, words
from soloist.core.trace import Recorder
from soloist.sim import Experiment, Saturated, simulate

FIGURE_1 = (3, 7, 9), (2, None, None)
"""The token-queue of token 2, and its tags."""


def site(me: Site, **fields: Any) -> Port:
    """A site somewhere in the middle of a run: of ten, with tokens 1 and 2."""
    process = BulgannawarVaidya.start(me, 10, k=3, token="last-seen", inform=0, whom="random")
    phase = WAITING if "wait" in fields else IDLE
    given = {"token": None, "pointer": [0, 1, 2], "phase": phase, **fields}
    return Port(msgspec.structs.replace(process, **given))


def sent(sends: list[Any]) -> list[tuple[Site, Any]]:
    return [(to, message) for _, sites, message, _ in sends for to in sites]


def inside(me: Site, **fields: Any) -> Port:
    port = site(me, **fields)
    port.acquire()
    assert port.inside
    return port


# Figure 1: a token-queue.


def test_exit_passes_the_token_and_points_at_the_last_unmodified_node() -> None:
    """Exit_CS: token 2 goes to node 3, and pointer[2] becomes 9."""
    port = inside(1, token=2, tq=[3, 7, 9], tags=[2, None, None])
    assert sent(port.release()) == [(3, Token(2, *FIGURE_1))]
    assert port.process.fields()["pointer"][2] == 9
    assert port.process.fields()["token"] is None


def test_without_unmodified_nodes_the_pointer_goes_to_the_first() -> None:
    """Fig. 1, if the tags of nodes 7 and 9 were not null: node 3."""
    port = inside(1, token=2, tq=[3, 7, 9], tags=[2, 4, 4])
    port.release()
    assert port.process.fields()["pointer"][2] == 3


def test_a_node_that_receives_another_token_points_at_its_tag() -> None:
    """Handle_TOKEN, case 1: node 3 had asked for token 1; pointer[1] becomes 2, and its node-queue gets that tag, too."""
    port = site(3, wait=1, nq=[5])
    assert port.deliver(1, Token(2, *FIGURE_1)) == []
    state = port.process.fields()
    assert port.inside
    assert state["pointer"] == [0, 2, 3]
    assert (state["tq"], state["tags"]) == ([7, 9, 5], [None, None, 2])
    assert (state["token"], state["wait"], state["nq"]) == (2, None, [])


def test_a_node_that_receives_its_token_appends_its_queue_without_tags() -> None:
    """Handle_TOKEN, case 2."""
    port = site(7, wait=2, nq=[5, 6])
    port.deliver(3, Token(2, (7, 9), (None, None)))
    state = port.process.fields()
    assert (state["tq"], state["tags"]) == ([9, 5, 6], [None, None, None])
    assert port.process.fields()["pointer"] == [0, 1, 7]


# Figure 2: the forest of token 1, in which 4 points at 3 and 3 at 5.


def test_a_request_goes_to_the_parent() -> None:
    """Entry_CS: node 4 sends REQUEST(4, 1) to node 3."""
    port = site(4, pointer=[0, 3, 2], seen=1)
    assert sent(port.acquire()) == [(3, Request(4, 1))]
    assert port.process.fields()["wait"] == 1


def test_a_request_is_passed_on_and_the_pointer_turned() -> None:
    """Handle_REQUEST, case 3: node 3 forwards it to node 5 and then points at 4."""
    port = site(3, pointer=[0, 5, 2])
    assert sent(port.deliver(4, Request(4, 1))) == [(5, Request(4, 1))]
    assert port.process.fields()["pointer"] == [0, 4, 2]


def test_a_node_that_waits_for_the_token_keeps_the_request() -> None:
    """Handle_REQUEST, case 2."""
    port = site(3, wait=1, pointer=[0, 5, 2])
    assert sent(port.deliver(4, Request(4, 1))) == []
    assert port.process.fields()["nq"] == [4]
    assert port.process.fields()["pointer"] == [0, 5, 2]


@pytest.mark.parametrize(("asked", "tag"), [(1, None), (2, 5)])
def test_a_holder_serves_any_request(asked: int, tag: Site | None) -> None:
    """Handle_REQUEST, case 1: whatever was asked for; a request for another token is tagged with the holder's name."""
    port = inside(5, token=1, pointer=[0, 5, 2])
    assert port.deliver(3, Request(4, asked)) == []
    assert (port.process.fields()["tq"], port.process.fields()["tags"]) == ([4], [tag])
    idle = site(5, token=1, pointer=[0, 5, 2])
    assert sent(idle.deliver(3, Request(4, asked))) == [(4, Token(1, (4,), (tag,)))]
    assert idle.process.fields()["pointer"] == [0, 4, 2]


def test_a_temporary_cycle_is_broken_when_the_token_arrives() -> None:
    """'Temporary cycles': A = 4 asked for token 1, B = 5 holds token 2, and each points at the other for token 2."""
    a, b = site(4, wait=1, pointer=[0, 5, 5]), inside(5, token=2, pointer=[0, 1, 5])
    b.deliver(4, Request(4, 1))
    ((to, token),) = sent(b.release())
    assert to == 4
    assert (a.process.fields()["pointer"][2], b.process.fields()["pointer"][2]) == (5, 4)
    a.deliver(5, token)
    assert a.process.fields()["pointer"] == [0, 5, 4]


# Section 4: words and messages.


@pytest.mark.parametrize(
    ("message", "size"),
    [(Request(4, 1), 5), (Inform(4, 1), 5), (Token(1, (), ()), 4), (Token(2, *FIGURE_1), 10)],
)
def test_words(message: Any, size: int) -> None:
    """Source, destination and type, and every field; a queue entry is a node and its tag."""
    assert words(message) == size


def test_what_a_site_has_to_say_to_itself_is_no_message() -> None:
    recorder = Recorder()
    simulate(Experiment("bulgannawar-vaidya", 5, 2, workload=Saturated(), entries=200), recorder=recorder)
    assert not [step for step in recorder.steps if step.kind == "send" and step.peer == step.site]
    alone = simulate(Experiment("bulgannawar-vaidya", 3, 3, entries=50))
    assert alone.messages == 0


def test_informs_are_sent_only_when_nobody_waits() -> None:
    """Exit_CS: nu INFORMs to nodes chosen at random, if the token-queue is empty."""
    light = simulate(Experiment("bulgannawar-vaidya", 10, options={"inform": 2}, entries=200))
    assert light.by_kind["Inform"] > 1.5
    heavy = simulate(
        Experiment("bulgannawar-vaidya", 10, options={"inform": 2}, workload=Saturated(), entries=200)
    )
    assert heavy.by_kind.get("Inform", 0) == 0


# One token.


def test_with_one_token_there_are_no_tags() -> None:
    """No request can be for another token. So the queue is a list of sites, and a word for each on the wire."""
    process = BulgannawarVaidya.start(0, 4, k=1, token="random", inform=0, whom="random")
    port = Port(process)
    port.acquire()
    for j in (2, 1, 3):
        assert port.deliver(j, Request(j, 0)) == []
    assert port.process.fields()["tags"] == []
    ((to, token),) = sent(port.release())
    assert (to, token) == (2, Token(0, (2, 1, 3), ()))
    assert words(token) == 4 + 3
    assert port.process.fields()["pointer"] == [3]


@pytest.mark.parametrize("nodes", [2, 8, 32])
def test_with_one_token_an_entry_costs_two_messages_when_all_ask(nodes: int) -> None:
    """A request, which meets the last of the queue, and the token."""
    found = simulate(Experiment("bulgannawar-vaidya", nodes, workload=Saturated(), entries=1000))
    assert found.messages_per_entry.mean == pytest.approx(2.0, abs=0.01)
