"""Ports, processes, messages and traces."""

from __future__ import annotations

import msgspec
import pytest

from soloist.algorithms import CATALOGUE, find
from soloist.algorithms.ricart_agrawala import Reply, Request
from soloist.algorithms.suzuki_kasami import Privilege
from soloist.core import (
    IDLE,
    INSIDE,
    WAITING,
    Message,
    Port,
    ProtocolError,
    UsageError,
    encode,
    in_words,
    words,
)
from soloist.core.trace import Recorder, Step
from soloist.sim.script import Script

pytestmark = pytest.mark.smoke


def port(name: str = "ricart-agrawala", nodes: int = 3, site: int = 1) -> Port:
    card = find(name)
    return Port(card.start(card.size(nodes))[site])


def test_a_port_returns_what_a_step_sends() -> None:
    assert port().acquire() == [(1, (0, 2), Request(1), -1)]


def test_a_site_goes_from_idle_to_waiting_to_inside_and_back() -> None:
    p = port()
    assert p.process.phase is IDLE
    p.acquire()
    assert p.process.phase is WAITING
    p.deliver(0, Reply())
    p.deliver(2, Reply())
    assert p.process.phase is INSIDE
    assert p.inside
    p.release()
    assert p.process.phase is IDLE


def test_a_call_out_of_turn_is_a_usage_error_and_changes_nothing() -> None:
    p = port()
    before = p.process.snapshot()
    with pytest.raises(UsageError, match="release at site 1, which is idle; it must be inside"):
        p.release()
    assert p.process.snapshot() == before
    p.acquire()
    with pytest.raises(UsageError, match="acquire at site 1, which is waiting; it must be idle"):
        p.acquire()


def test_a_message_of_another_algorithm_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="site 0 sent Privilege, which RicartAgrawala does not know"):
        port().deliver(0, Privilege((), ()))


def test_an_answer_that_nobody_asked_for_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="site 1 was let in while idle"):
        port("suzuki-kasami").deliver(0, Privilege((), (0, 0, 0)))


def test_a_timeout_without_timer_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="sets no timer"):
        port().timeout("wait")


@pytest.mark.parametrize("name", CATALOGUE)
def test_snapshots_and_messages_survive_a_round_trip(name: str) -> None:
    """Two sites contend; after each step every process and every message is encoded and decoded."""
    script = Script()
    script.run(f"start {name} nodes=4")
    for command in ("acquire 1", "acquire 3", "acquire 2", "settle"):
        script.run(command)
        for p in script.ports:
            copy = type(p.process).restore(p.process.snapshot())
            assert copy.snapshot() == p.process.snapshot()
            assert copy.fields() == p.process.fields()
            assert copy.phase is p.process.phase
        for flight in script.flights:
            kinds = tuple(find(name).process.handlers)
            decoder = msgspec.msgpack.Decoder(type=kinds[0] if len(kinds) == 1 else _union(kinds))
            assert decoder.decode(encode(flight.message)) == flight.message


def _union(kinds: tuple[type[Message], ...]) -> type:
    union = kinds[0]
    for kind in kinds[1:]:
        union = union | kind  # type: ignore[assignment]
    return union


def test_words_count_scalars_and_the_header() -> None:
    """Bulgannawar and Vaidya, section 4: source, destination and type are in every message."""
    assert words(Reply()) == 3
    assert words(Request(7)) == 4
    assert words(Privilege((1, 2), (0, 0, 0))) == 8


def test_a_recorder_keeps_no_more_than_its_limit() -> None:
    recorder = Recorder(limit=2)
    for site in range(5):
        recorder.add(Step("request", site))
    assert recorder.lines() == ["0  request", "1  request"]
    assert recorder.dropped == 3


def test_a_step_as_record_leaves_out_what_does_not_apply() -> None:
    step = Step("send", 0, 1.5, 2, Request(4))
    assert step.record() == {
        "kind": "send",
        "site": 0,
        "time": 1.5,
        "peer": 2,
        "message": {"kind": "Request", "sn": 4},
    }
    assert Step("enter", 3).record() == {"kind": "enter", "site": 3}


def test_an_assertion_without_words_is_told_by_its_line() -> None:
    nothing = None
    with pytest.raises(AssertionError) as caught:
        assert nothing is not None
    caught.value.args = ()  # pytest puts words into it
    assert in_words(caught.value) == "AssertionError: assert nothing is not None"
    assert in_words(ValueError("too much")) == "ValueError: too much"
