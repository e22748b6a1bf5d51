"""What `constraints.txt` pins can be had on the oldest Python that we say we run on, not only on newer patch releases of it."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]


def oldest() -> str:
    """The least release that `requires-python` allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return re.fullmatch(r">=\s*([\d.]+)", project["requires-python"]).group(1) + ".0"  # type: ignore[union-attr]


def refused(name: str, requires: str | None) -> list[str]:
    """A pin of something that wants a newer Python."""
    return [] if SpecifierSet(requires or "").contains(oldest()) else [f"{name} wants Python {requires}"]


def test_every_pin_can_be_had_on_the_oldest_python() -> None:
    """Pip takes a release that wants 3.11.5 for one that is not there, where Python is 3.11.2 (Debian 12)."""
    pins = [
        Requirement(line)
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    seen, wrong = 0, []
    for pin in pins:
        try:
            installed = metadata(pin.name)
        except PackageNotFoundError:
            continue  # for another extra, or another Python
        if pin.specifier.contains(installed["Version"]):
            seen += 1
            wrong += refused(str(pin), installed["Requires-Python"])
    assert seen > len(pins) / 2
    assert not wrong


def test_a_pin_for_newer_pythons_only_is_seen() -> None:
    assert refused("a==1", f">={oldest()[:-1]}5")
