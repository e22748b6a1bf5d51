"""`soloist bench page`: what it measures is there, and what it needs is said."""

from __future__ import annotations

import json

import pytest

from soloist.bench import page
from soloist.cli import main
from soloist.testing import browser


def test_a_run_has_as_many_steps_as_wanted() -> None:
    for events in (10, 777):
        assert len(page.run_of(events).steps) == events


def test_without_a_browser_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(browser, "NAMES", ("no-such-browser",))
    assert main(["bench", "page"]) == 2
    assert "apt-get install chromium" in capsys.readouterr().err


def test_figures_are_measured_in_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if lacking := browser.missing():
        pytest.skip(f"NOT RUN: needs a browser ({lacking})")
    monkeypatch.setattr(page, "MOVES", 6)
    assert main(["bench", "page", "--events", "300", "--rounds", "1", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["events"] == 300
    assert 0 < figures["bytes"] < figures["plain_bytes"]
    assert figures["drawn"] > 0
    assert [frames["what"] for frames in figures["frames"]] == [
        "stepping",
        "scrubbing",
        "stepping, all of the run in view",
        "scrubbing, all of the run in view",
    ]
    assert all(0 < frames["per_second"] <= 200 for frames in figures["frames"])
    assert figures["elements"] < 2_000
