"""The operator's page has every key of `cluster.toml` and every figure, and quotes what the program says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from prometheus_client import CollectorRegistry

from soloist.net.service import settings
from soloist.net.telemetry.metrics import Metrics
from soloist.testing import memory_nodes

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "operating.md").read_text()


def part(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_every_key_of_the_file_is_there_and_no_other() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", part("The file, key by key"), re.MULTILINE))
    keys = {field for kind in (settings.Top, settings.NodeSettings) for field in kind.__struct_fields__}
    assert rows == keys
    assert all(f"`{key}`" in PAGE for key in settings.TlsSettings.__struct_fields__)


def test_every_figure_is_there_and_no_other() -> None:
    registry = CollectorRegistry()
    Metrics(memory_nodes("a", lease=10)[0], registry)
    told = set(re.findall(r"`(soloist_\w+)", part("What to watch")))
    names = {family.name for family in registry.collect()} | {
        "soloist_lease_margin_seconds",  # once the node is started
        "soloist_voters",
        "soloist_voters_heard",
    }
    in_words = {"messages_sent", "messages_received", "batches_sent", "reconnects"}
    assert {name.removesuffix("_total") for name in told} == names - {f"soloist_{each}" for each in in_words}


def said_by_the_program() -> list[str]:
    """All that is between the variable parts of what it can say."""
    found = []
    for path in (ROOT / "src" / "soloist").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found += re.split(r"%[sdr]", node.value)
    return found


def test_each_symptom_is_what_the_program_says() -> None:
    said = said_by_the_program()
    heads = re.findall(r"^- ((?:`[^`]+` ?)+): ", part("At three in the morning"), re.MULTILINE)
    quotes = [quote for head in heads for quote in re.findall(r"`([^`]+)`", head)]
    assert len(quotes) > 25
    for quote in quotes:
        for fragment in filter(None, (each.strip() for each in quote.split("…"))):
            assert any(fragment in each for each in said), f"nothing says {fragment!r}"
