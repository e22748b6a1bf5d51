"""A nightly job that is installed on every host and must run on one of them only.

Every host runs `python nightly_job.py NAME` at the same minute. Whoever gets the lock first does the work; the others try
once, see that it is being done, and go home.
"""

from __future__ import annotations

import json
import os
import sys
import time

from soloist import SyncNode

PEERS = {"a": "127.0.0.1:7401", "b": "127.0.0.1:7402", "c": "127.0.0.1:7403"}
PEERS = json.loads(os.environ.get("PEERS", json.dumps(PEERS)))


def nightly(fence: int) -> None:
    print(f"doing the work, fence {fence}", flush=True)


def main(name: str) -> None:
    with SyncNode(name, PEERS) as node:
        while node.missing():  # all hosts start at about the same time
            time.sleep(0.05)
        lock = node.lock("nightly", note="the nightly job")
        if hold := lock.acquire(timeout=0.5):
            nightly(hold.fence)
            time.sleep(2)  # longer than the others wait, so that they do not do it again
            hold.release()
        else:
            print("somebody else does it", flush=True)
            time.sleep(2)  # a node serves its peers while it lives: do not leave in the middle


if __name__ == "__main__":
    main(sys.argv[1])
