"""A process that waits for a lock until it is interrupted, and stays: `python -m tests.net.interrupted NAME PEERS`."""

from __future__ import annotations

import ast
import sys

from soloist.net import SyncNode

if __name__ == "__main__":
    with SyncNode(sys.argv[1], ast.literal_eval(sys.argv[2])) as node:
        sys.stdin.readline()
        try:
            with node.lock("x"):
                print("entered", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        sys.stdin.readline()
