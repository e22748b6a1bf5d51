"""Where a node keeps its data if nobody says."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from soloist.core import UsageError


def default_directory(cluster: str, node: str) -> Path:
    """The first place that has this node's data, or else the first where it can be begun.

    A place that has it but cannot be written any more is not passed over: elsewhere the node would have forgotten
    all that it promised.
    """
    found = places(cluster, node)
    for place in found:
        if os.path.exists(place):
            return place
    refused = []
    for place in found:
        try:
            place.mkdir(mode=0o700, parents=True)
            return place
        except OSError as error:
            refused.append(f"{place}: {os.strerror(error.errno or 0)}")
    raise UsageError(
        f"no data directory for {node!r}, and a lease needs one; give data_dir=, or lease=None to do without both "
        f"({'; '.join(refused) or 'no home directory'})"
    )


def places(cluster: str, node: str) -> list[Path]:
    """Where it may be, in this order. None of them is made."""
    return [base / "soloist" / _segment(cluster) / _segment(node) for base in _bases()]


def _bases() -> list[Path]:
    """What the service manager, the desktop and the home directory offer, in this order."""
    offered = [os.environ.get("STATE_DIRECTORY", "").partition(":")[0], os.environ.get("XDG_STATE_HOME", "")]
    bases = [Path(each) for each in offered if os.path.isabs(each)]
    home = os.path.expanduser("~")
    return [*bases, Path(home, ".local", "state")] if os.path.isabs(home) else bases


def _segment(name: str) -> str:
    """A name as one part of a path, whatever is in it; two names are never the same part."""
    written = quote(name, safe=" ")
    return written.replace(".", "%2E") if not written.strip(".") else written
