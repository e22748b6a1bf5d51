"""A browser for tests and measurements of pages: Chromium without a window, driven by Playwright."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
"""It asks nobody for anything, and needs no graphics card."""


def executable() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def missing() -> str | None:
    """The line that installs what is not there; None where all is."""
    lines = []
    if executable() is None:
        lines.append("apt-get install chromium")
    if importlib.util.find_spec("playwright") is None:
        lines.append("pip install playwright")
    return "; ".join(lines) or None


@contextmanager
def browser() -> Iterator[Browser]:
    """One that was never used before, with a profile of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        try:
            yield started
        finally:
            started.close()
