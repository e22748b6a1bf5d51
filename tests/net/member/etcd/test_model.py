"""The argument of docs/etcd.md, explored: never two holders, and fences that grow, whatever is late; and each rule is needed."""

from __future__ import annotations

import pytest

from .model import Rules, Setting, explore

LATE = Setting(ticks=2, renewals=2, timeouts=1, entries=2, steps=2)
"""The holder's renewals are late or lost while the other makes a view without it."""
ONCE = LATE._replace(ticks=1, renewals=0, timeouts=0)
JOINED = Setting(
    ticks=0, renewals=0, timeouts=0, entries=2, steps=3, renewing=(), proposing=(0,), token=1, joiner=True
)
"""The holder lives, and a view is made with it."""
RIVALS = JOINED._replace(proposing=(0, 1), steps=4)
BOTH = Setting(ticks=3, renewals=3, timeouts=1, entries=2, steps=3, proposing=(0, 1))


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(LATE, id="late"),
        pytest.param(JOINED, id="joined"),
        pytest.param(RIVALS, id="rivals"),
        pytest.param(BOTH, id="both", marks=pytest.mark.soak),
    ],
)
def test_never_two_holders(setting: Setting) -> None:
    found = explore(setting)
    assert found.run == []
    assert found.epochs > 1  # or nothing was shown
    assert found.entries == setting.entries


@pytest.mark.parametrize(
    ("setting", "rules"),
    [
        pytest.param(
            LATE._replace(renewals=1, timeouts=0), Rules(from_sending=False), id="counted-from-receipt"
        ),
        pytest.param(LATE, Rules(over_revision=False), id="late-request-taken"),
        pytest.param(ONCE, Rules(waits_for_reports=False, compares_entries=False), id="dropped-on-suspicion"),
        pytest.param(JOINED, Rules(reports_holds=False), id="holder-forgotten"),
        pytest.param(JOINED, Rules(wedges=False), id="no-wedge"),
    ],
)
def test_each_rule_is_needed(setting: Setting, rules: Rules) -> None:
    assert explore(setting, rules).run


def test_who_would_drop_somebody_on_suspicion_is_refused() -> None:
    assert explore(ONCE, Rules(waits_for_reports=False)).run == []
