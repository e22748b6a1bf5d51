"""Options of the test suite, the signals that its processes inherit, and where its nodes keep their data."""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
import uuid
from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite", action="store_true", help="rewrite golden traces and digests; then read the diff"
    )


def pytest_configure() -> None:
    """Ctrl-C means something again where the tests run in the background of a script.

    There a shell has it ignored, and whatever a test starts would inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    no_deadlines()


def no_deadlines() -> None:
    """How long an example of Hypothesis takes says how busy the machine is. The smoke tests do without it."""
    with contextlib.suppress(ImportError):
        from hypothesis import HealthCheck, settings

        settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
        settings.load_profile("ours")


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that are not told where to keep their data do so where no other test finds it, nor the user.

    What is in the user's own home would go before a place that is not there yet: an example of the docs leaves data of a node `a`.
    """
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    state = tmp_path_factory.getbasetemp() / "state" / uuid.uuid4().hex
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    (home := state / "home").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    # Which fonts there are is the same for all, and looked for once.
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path_factory.getbasetemp() / "matplotlib"))


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """What a command of one test logs to is closed by then, and no place for what another one's packages have to say."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    for handler in root.handlers[:]:
        if handler not in before and type(handler) is logging.StreamHandler:
            root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    """A file that one test has loaded does not keep the name on its card from another test's."""
    yield
    if own := sys.modules.get("soloist.algorithms._own"):
        own.loaded.clear()
        own.installed.cache_clear()
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]
