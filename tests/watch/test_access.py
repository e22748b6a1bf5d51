"""The page for those who do not see it or see it otherwise, by the rules of axe-core, which comes from npm."""

from __future__ import annotations

from typing import Any

import pytest

from soloist.watch.setup import Setup, fragment
from tests.watch.conftest import Open, golden
from tests.watch.serving import served
from tests.watch.test_foreign import installed_module


@pytest.fixture(scope="module")
def axe() -> str:
    path = installed_module("axe-core/axe.min.js")
    if path is None:
        pytest.skip("NOT RUN: needs axe-core (npm install -g axe-core)")
    return path.read_text(encoding="utf-8")


def broken_rules(page: Any, axe: str) -> Any:
    page.evaluate(axe)
    return page.evaluate(
        "axe.run(document).then(({violations}) => violations.map((each) => [each.id, each.nodes.map((node) => node.html)]))"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run_breaks_no_rule(opened: Open, axe: str, scheme: str) -> None:
    page = opened(golden("naimi-trehel"), "#step=5", color_scheme=scheme)
    assert broken_rules(page, axe) == []
    page.keyboard.press("?")
    assert broken_rules(page, axe) == []


def test_play_breaks_no_rule(blank: Any, axe: str) -> None:
    with served("--open", fragment(Setup("suzuki-kasami", 3, steps=("acquire 1", "pause 2")))) as started:
        blank.goto(started.address)
        blank.wait_for_selector("[data-action='acquire 0']")
        blank.get_by_text("What may go wrong").click()
        blank.get_by_text("Another run").click()
        assert broken_rules(blank, axe) == []
