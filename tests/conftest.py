"""Options of the test suite, and where its nodes keep their data."""

from __future__ import annotations

import uuid

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite", action="store_true", help="rewrite golden traces and digests; then read the diff"
    )


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that are not told where to keep their data do so where no other test finds it, nor the user."""
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state" / uuid.uuid4().hex))
