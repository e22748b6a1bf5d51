"""Timestamp order: entries come in increasing timestamp over all requests of the run.

The timestamp of the latest entry is enough (`Pool.served`).
"""

from __future__ import annotations

from soloist.check.history import Ghost
from soloist.check.parts import Pool
from soloist.check.properties._property import Property
from soloist.check.setting import Setting
from soloist.core import Process, Site


class Timestamp(Property):
    name = "timestamp"
    says = "entries come in the order of their requests' timestamps"
    look = "Compare (number, site) of what was asked, and let the older one go first."
    remembers = True

    def is_promised(self, setting: Setting) -> bool:
        return setting.card.fairness == self.name

    def refusal(self, setting: Setting) -> str:
        if setting.card.process.timestamp is not Process.timestamp:
            return ""
        return f"{setting.card.name} gives its requests no timestamps to be served by"

    def ghost(self, sites: int) -> Ghost:
        return LastServed(sites)


class LastServed(Ghost, frozen=True):
    def noted(self, process: Process) -> tuple[int, Site] | None:
        return process.timestamp()

    def served(self, pool: Pool, site: Site, noted: object) -> Pool:
        stamp = noted
        if not isinstance(stamp, tuple):
            return pool._replace(wrong=f"timestamp: site {site} enters without a timestamp")
        if pool.served is not None and stamp <= pool.served:
            wrong = f"timestamp: site {site} enters with {stamp} after {pool.served} has been served"
            return pool._replace(wrong=wrong)
        return pool._replace(served=stamp)
