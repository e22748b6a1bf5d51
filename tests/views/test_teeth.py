"""Each deliberate mistake in the rules of views is caught, by the shortest run that shows it.

All 29 are caught here, over the model, and so are those about breaking a lock, about registered holds and about views without a lease; so none of them needs real processes. Those will have to show that a driver does
what these classes ask for: that a store is synced, that a proof of death is true, that an incarnation is never used twice.
"""

from __future__ import annotations

import pytest

from soloist.check import Limits
from soloist.check.views import check_views

from .breaks import BREAKS
from .registrations import REGISTRATIONS
from .teeth import TEETH, Tooth
from .without_lease import WITHOUT_LEASE

ALL_TEETH = [*TEETH, *BREAKS, *REGISTRATIONS, *WITHOUT_LEASE]


def test_all_of_them_are_here() -> None:
    assert len(TEETH) == len({tooth.name for tooth in TEETH}) == 29


@pytest.mark.parametrize("tooth", ALL_TEETH, ids=lambda tooth: tooth.name.replace(" ", "-"))
def test_a_mistake_is_caught(tooth: Tooth) -> None:
    report = check_views(tooth.setting, Limits(states=500_000), kit=tooth.kit, every=tooth.every)
    assert (report.verdict, report.property, len(report.trace)) == ("violated", tooth.property, tooth.steps)


@pytest.mark.parametrize(
    "tooth",
    [t for t in ALL_TEETH if t.property == "progress"],
    ids=lambda tooth: tooth.name.replace(" ", "-"),
)
def test_without_the_mistake_there_is_progress(tooth: Tooth) -> None:
    """In the same setting, from as many states as it took to catch the mistake and many more."""
    report = check_views(tooth.setting, Limits(states=800), every=1)
    assert report.property is None
    assert report.progress_tried == report.states or report.progress_tried > 100
