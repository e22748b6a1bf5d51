"""Web workers and task queues: threads that share one node, as in Django or Celery with a thread pool.

One `SyncNode` a process, made after the fork (in `post_fork`, `worker_process_init` and the like), not before.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

from soloist import SyncNode

PEERS = {"web1": "127.0.0.1:7411", "web2": "127.0.0.1:7412"}
PEERS = json.loads(os.environ.get("PEERS", json.dumps(PEERS)))


def main() -> None:
    with SyncNode("web1", PEERS) as web1, SyncNode("web2", PEERS) as web2:
        stock = {"left": 5}

        def sell(request: int) -> str:
            node = web1 if request % 2 else web2
            with node.lock("stock", timeout=10, note=f"request {request}"):
                if stock["left"] == 0:
                    return "sold out"
                left = stock["left"] - 1  # without the lock, two threads could read the same number here
                stock["left"] = left
                return f"sold, {left} left"

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(sell, range(12)))

        @web1.lock("report")
        def report() -> None:
            print(f"{sum(answer.startswith('sold,') for answer in answers)} sold, {stock['left']} left")

        report()


if __name__ == "__main__":
    main()
