"""What is left out of the states makes no difference to what the parts can become."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from soloist.check.views import Setting, book, find_setting, model, world_moves
from soloist.check.views.model import Model
from soloist.check.views.parts import frozen
from soloist.check.views.search import search


def reached(setting: Setting) -> tuple[int, set[Any]]:
    """The number of states, and all combinations of parts in them, whatever mail there is."""
    found = search(Model(setting))
    assert not found.cut
    return len(found.states), {
        tuple(frozen(part) for part in found.model.parts(state)) for state in found.states
    }


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param("epochs", {"ticks": 0, "ballots": 1}, id="epochs"),
        pytest.param("relayed", {}, id="relayed", marks=pytest.mark.soak),
        pytest.param("bans", {"ticks": 1}, id="bans", marks=pytest.mark.soak),
    ],
)
def test_mail_that_means_nothing_is_not_missed(
    name: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = msgspec.structs.replace(find_setting(name), **changes)
    monkeypatch.setattr(model, "is_over", lambda state, rivals: False)
    fewer, reduced = reached(setting)
    for module in (book, model):
        monkeypatch.setattr(module, "is_void", lambda *_: False)
    more, full = reached(setting)
    assert fewer < more
    assert reduced == full


def test_what_is_over_stays_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the states that are not followed there are many more, and nothing is wrong in them."""
    setting = find_setting("relayed")
    assert world_moves.is_over(0, rivals=False)
    fewer = search(Model(setting))
    monkeypatch.setattr(model, "is_over", lambda state, rivals: False)
    more = search(Model(setting))
    assert len(fewer.states) < len(more.states)
    assert (fewer.property, more.property) == ("", "")
