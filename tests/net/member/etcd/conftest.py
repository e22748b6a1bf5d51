from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from .etcds import Etcds


@pytest.fixture(scope="package")
def etcds() -> Iterator[Etcds]:
    with Etcds() as found:
        yield found


@pytest.fixture
def cluster() -> str:
    """A name that no other test uses: they share one etcd."""
    return uuid.uuid4().hex
