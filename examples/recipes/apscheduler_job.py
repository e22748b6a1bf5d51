"""APScheduler: the same scheduler on many hosts, whose jobs run on the one that leads.

SOLOIST_URL=unix:/run/soloist/soloist.sock python apscheduler_job.py web-1
"""

from __future__ import annotations

import os
import sys

from apscheduler.schedulers.blocking import BlockingScheduler

import soloist

LOG = os.environ.get("LOG", "ticks")
EVERY = float(os.environ.get("EVERY", "60"))
HOST = sys.argv[1] if len(sys.argv) > 1 else os.uname().nodename


def tick(leader: soloist.SyncLeader) -> None:
    """Each host comes here at each tick; one of them goes on."""
    if (term := leader.term) is None:
        return
    with open(LOG, "a") as log:  # whatever is changed should refuse a lower term
        log.write(f"{term} {HOST}\n")


def main() -> None:
    scheduler = BlockingScheduler()
    with soloist.connect_sync() as client, client.leader("scheduler", note=HOST) as leader:
        scheduler.add_job(tick, "interval", args=[leader], seconds=EVERY, max_instances=1, coalesce=True)
        print("ready", flush=True)
        try:
            scheduler.start()
        except KeyboardInterrupt:
            scheduler.shutdown()


if __name__ == "__main__":
    main()
