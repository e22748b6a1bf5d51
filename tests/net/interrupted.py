"""A process that waits for a lock until it is interrupted, and stays: `python -m tests.net.interrupted NAME PEERS`,
or URL where it is a client.
"""

from __future__ import annotations

import ast
import sys
from typing import Any

from soloist.net import SyncNode, connect_sync


def home(words: list[str]) -> Any:
    return connect_sync(*words) if len(words) == 1 else SyncNode(words[0], ast.literal_eval(words[1]))


if __name__ == "__main__":
    with home(sys.argv[1:]) as node:
        sys.stdin.readline()
        try:
            with node.lock("x"):
                print("entered", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        sys.stdin.readline()
