"""From the crash of a holder until the next one is inside, in simulated time: of published schemes, and by views."""

from __future__ import annotations

import pytest

from soloist.algorithms import RECOVERY, find
from soloist.core import PropertyViolated
from soloist.lab import view_change
from soloist.lab.takeover import BACK, BY_PROOF, BY_SILENCE, LOCKS, NODES, RETURNS, VIEWS, D, takeover
from soloist.views import Member

LEASE = 20 * D


@pytest.mark.parametrize("name", [*RECOVERY, *VIEWS])
def test_somebody_takes_over_and_the_same_seed_tells_the_same(name: str) -> None:
    first = takeover(name, 3, {}, LEASE)
    assert first == takeover(name, 3, {}, LEASE)
    assert 0 < first.time < BACK + LEASE + 20 * D
    assert first.messages > 0
    if name in RETURNS:
        assert first.time > BACK - D, "the site must be back"


def test_a_lease_is_waited_for_and_a_proof_spares_that() -> None:
    for seed in range(1, 6):
        proved, silent = takeover(BY_PROOF, seed, {}, LEASE), takeover(BY_SILENCE, seed, {}, LEASE)
        assert proved.time < LEASE / 2 < silent.time < 1.5 * LEASE
        assert silent.renewals > proved.renewals > 0


def test_a_lease_that_is_trusted_too_long_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What judges here has teeth: a holder that is cut off, but lives, and never looks at its lease."""
    monkeypatch.setattr(view_change.Host, "hear", lambda self, *_: None if self.me == 0 else hear(self, *_))
    monkeypatch.setattr(Member, "valid", lambda self, now: not self.ended)
    world = view_change.World(find(LOCKS), NODES, D, LEASE, 1)
    world.hosts[0].ask()
    world.hosts[0].settle()
    for host in world.hosts:
        host.ask()
    with pytest.raises(PropertyViolated, match="are inside"):
        world.run(lambda: len(world.inside) > 1, 20 * LEASE)


hear = view_change.Host.hear
