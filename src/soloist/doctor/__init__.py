"""What is here and what is not, before somebody runs into it: `soloist doctor`."""

from __future__ import annotations

from pathlib import Path

from soloist.doctor.cluster import examine_cluster
from soloist.doctor.finding import Finding, exit_code, summary
from soloist.doctor.machine import examine_machine
from soloist.doctor.software import examine_software

__all__ = ["Finding", "examine", "exit_code", "summary"]


def examine(config: Path | None = None, name: str | None = None) -> list[Finding]:
    """Look at what is installed, at this machine, and at the cluster of that file, if there is one."""
    return [*examine_software(), *examine_machine(), *examine_cluster(config, name)]
