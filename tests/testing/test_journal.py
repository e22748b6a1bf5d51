"""The judge of journals: it sees two inside, and fences that do not grow; and it accuses nobody wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from soloist.core import UsageError
from soloist.testing.journal import Entry, Journal, problems, read


def entry(holder: str, fence: int, since: float, until: float, lock: int = 0) -> Entry:
    return Entry(holder, lock, fence, since, until)


def test_what_was_noted_is_read_back_though_nothing_was_closed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a-1.journal", most=3)
    first, second = journal.begin(4, 7), journal.begin(5, 8)
    assert not list(read(tmp_path / "a-1.journal")), "nobody has seen these holds good"
    now = 1e12  # later than any boot
    journal.good(second, now)
    journal.good(second, now + 1)
    (found,) = read(tmp_path / "a-1.journal")
    assert (found.holder, found.lock, found.fence, found.until) == ("a", 5, 8, now + 1)
    journal.good(first, now)
    assert [each.fence for each in read(tmp_path / "a-1.journal")] == [7, 8]
    journal.begin(6, 9)
    with pytest.raises(UsageError, match="room for 3 holds"):
        journal.begin(6, 10)
    with pytest.raises(FileExistsError):
        Journal(tmp_path / "a-1.journal")


def test_one_after_the_other_is_well() -> None:
    assert not problems([entry("a", 1, 1.0, 2.0), entry("b", 2, 2.5, 3.0), entry("a", 9, 3.5, 3.5)])
    assert not problems([entry("a", 1, 1.0, 2.0), entry("b", 1, 1.5, 2.0, lock=1)]), "they are two locks"


def test_two_at_once_are_seen_even_if_others_came_between() -> None:
    long, short = entry("a", 1, 1.0, 9.0), entry("b", 2, 2.0, 3.0)
    (found,) = problems([short, long])
    assert "a and b both had it for 7.000000 s (fences 1 and 2)" in found
    assert len(problems([long, short, entry("c", 3, 8.0, 8.5)])) == 2, "a was inside all the time"


def test_fences_grow() -> None:
    (found,) = problems([entry("a", 5, 1.0, 2.0), entry("b", 5, 3.0, 4.0)])
    assert "fence 5 of b after 5 of a" in found
    (found,) = problems([entry("a", 5, 1.0, 2.0), entry("b", 4, 3.0, 4.0), entry("c", 5, 5.0, 6.0)])
    assert "fence 4 of b after 5 of a" in found
