"""Tests that would disturb each other: each counts what it finds, lets some time go by, and writes one more."""

from __future__ import annotations

import sqlite3
import time

import pytest


@pytest.mark.parametrize("delivery", range(20))
def test_a_delivery(alone: sqlite3.Connection, delivery: int) -> None:
    (before,) = alone.execute("SELECT amount FROM stock WHERE item = 'pears'").fetchone()
    time.sleep(0.01)
    alone.execute("UPDATE stock SET amount = ? WHERE item = 'pears'", (before + 1,))
    (after,) = alone.execute("SELECT amount FROM stock WHERE item = 'pears'").fetchone()
    assert after == before + 1
