"""A run that is played by hand: forth, back, and otherwise from there."""

from __future__ import annotations

from random import Random

import pytest

from soloist.algorithms import CATALOGUE
from soloist.algorithms.printed import find_printed
from soloist.core import UsageError
from soloist.watch.session import Session
from soloist.watch.validate import validate


def test_it_goes_back_and_on_otherwise() -> None:
    session = Session("start suzuki-kasami nodes=3")
    session.do("acquire 1")
    (step,) = session.do("deliver 1>0")
    assert [sent.kind for sent in step.sent] == ["Privilege"]
    session.undo()
    session.do("deliver 1>2")
    assert session.commands == ["start suzuki-kasami nodes=3", "acquire 1", "deliver 1>2"]
    assert session.branches == [("start suzuki-kasami nodes=3", "acquire 1", "deliver 1>0")]
    session.branch(0)
    assert session.commands[-1] == "deliver 1>0"
    assert session.branches[0][-1] == "deliver 1>2"
    assert Session(session.commands[0]).text() == "start suzuki-kasami nodes=3\n"
    assert validate(session.trace()) is None


def test_what_cannot_be_done_changes_nothing() -> None:
    session = Session("start suzuki-kasami nodes=3")
    with pytest.raises(UsageError, match="no message is on its way"):
        session.do("deliver 1>0")
    with pytest.raises(UsageError, match="cannot go back"):
        session.undo()
    with pytest.raises(UsageError, match="a session has one run"):
        session.do("start lamport nodes=2")
    with pytest.raises(UsageError, match="there is no branch 0"):
        session.branch(0)
    assert session.commands == ["start suzuki-kasami nodes=3"]
    assert len(session.steps) == 1


@pytest.mark.parametrize("name", ["lamport", "naimi-trehel", "raynal", "maekawa"])
def test_whatever_is_enabled_can_be_done(name: str) -> None:
    session, random = Session(f"start {name} nodes=3"), Random(1)
    for _ in range(60):
        session.do(random.choice(session.enabled()))
        if session.failed:
            assert session.enabled() == []
            session.undo()
    assert {command.split()[0] for command in session.commands} > {"start", "acquire", "deliver"}
    again = Session(session.commands[0])
    for command in session.commands[1:]:
        again.do(command)
    assert again.steps == session.steps


def test_links_that_keep_the_order_offer_the_first_message_only() -> None:
    session = Session("start lamport nodes=2")
    for command in ("acquire 0", "deliver 0>1", "acquire 1"):
        session.do(command)
    offered = [command for command in session.enabled() if command.startswith("deliver 1>0")]
    assert CATALOGUE["lamport"].channels == "fifo"
    assert len(session._script.flights) == 2
    assert len(offered) == 1
    assert "Ack" in offered[0]


def test_a_printed_version_is_played_by_its_card() -> None:
    card = find_printed("ricart-agrawala")
    session = Session("start ricart-agrawala nodes=2", card)
    assert type(session._script.ports[0].process) is card.process
