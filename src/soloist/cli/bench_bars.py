"""What benchmarks print last: what we want to reach, and whether we do."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from soloist.bench.bars import Bar, bar_table
from soloist.cli.output import print_json, print_table


def print_measured(rows: Sequence[msgspec.Struct], bars: Sequence[Bar]) -> None:
    """The same as JSON, with what was measured."""
    print_json({"rows": rows, "bars": [{**msgspec.structs.asdict(bar), "met": bar.met} for bar in bars]})


def print_bars(bars: Sequence[Bar]) -> None:
    if bars:
        print_table("What we want to reach", *bar_table(bars))
