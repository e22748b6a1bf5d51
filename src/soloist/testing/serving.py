"""A daemon under a nemesis: a node that joins, and serves a client on its host."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from soloist.net.service.config import load
from soloist.net.service.daemon import serve
from soloist.testing.clocks import set_lease_clock
from soloist.testing.namespaces import enter


def be_daemon(
    path: str, name: str, rate: float, protocols: str, namespace: str | None, pipe: Connection
) -> None:
    """The process: `soloist node` of that file. It answers nobody here."""
    if namespace:
        enter(namespace)
    set_lease_clock(rate)
    os.environ["SOLOIST_PROTOCOLS"] = protocols
    serve(load(Path(path)), name, 0.0)


def write_file(
    path: Path, name: str, where: str, known: Mapping[str, str], options: Mapping[str, Any]
) -> None:
    """The `cluster.toml` of a node that joins by those. Its control socket lies beside the file, and its data too."""
    own = {"address": where, "listen": where, "join": list(known), "data_dir": str(path.parent / name)}
    settings = {**options, "control": "{name}.sock"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    nodes = {**known, name: ", ".join(f"{key} = {json.dumps(value)}" for key, value in own.items())}
    lines += [
        "[nodes]",
        *(f"{each} = {json.dumps(nodes[each])}" for each in known),
        f"{name} = {{ {nodes[name]} }}",
    ]
    path.write_text("\n".join(lines) + "\n")
