"""pytest-xdist: workers that share one database. The first makes it, and tests that need it for themselves get it so.

SOLOIST_URL=unix:/run/soloist/soloist.sock pytest -n 4
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

import soloist

DATABASE = os.environ.get("DATABASE", "shared.sqlite")


@pytest.fixture(scope="session")
def client() -> Iterator[soloist.SyncClient]:
    with soloist.connect_sync(program=os.environ.get("PYTEST_XDIST_WORKER", "pytest")) as client:
        yield client


@pytest.fixture(scope="session")
def database(client: soloist.SyncClient) -> Iterator[sqlite3.Connection]:
    """The database, made by whoever of the workers comes first; the others wait until it is there."""
    with closing(sqlite3.connect(DATABASE, isolation_level=None)) as database:
        with client.lock("database"):
            if not database.execute("SELECT name FROM sqlite_master").fetchall():
                database.execute("CREATE TABLE stock (item TEXT PRIMARY KEY, amount INTEGER)")
                database.execute("INSERT INTO stock VALUES ('pears', 0)")
                database.execute("CREATE TABLE made_by (worker TEXT)")
                database.execute(
                    "INSERT INTO made_by VALUES (?)", (os.environ.get("PYTEST_XDIST_WORKER", "alone"),)
                )
        yield database


@pytest.fixture
def alone(client: soloist.SyncClient, database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """The database, and nobody else's test at it meanwhile."""
    with client.lock("database"):
        yield database
