"""Where a file lies: on which machine, which file system, under which inode. A copy of it lies somewhere else."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec


class Place(msgspec.Struct, frozen=True):
    """What tells a file from a copy of it, as far as that can be told."""

    machine: str
    boot: str
    device: int
    filesystem: int
    inode: int

    @classmethod
    def of(cls, descriptor: int) -> Place:
        found = os.fstat(descriptor)
        return cls(machine_id(), boot_id(), found.st_dev, os.fstatvfs(descriptor).f_fsid, found.st_ino)

    def differs(self, now: Place) -> str:
        """Why a file that was written here cannot be the one that lies at `now`, in words; or nothing.

        Device numbers are dealt anew at each boot by some systems, so they count only within one; the file system's
        own id counts always. (It is 0 where there is none.)
        """
        if self.machine != now.machine:
            return "on another machine"
        if self.filesystem != now.filesystem or (self.boot == now.boot and self.device != now.device):
            return "on another file system"
        if self.inode != now.inode:
            return "in another directory"
        return ""

    def __str__(self) -> str:
        return f"{self.machine}/{self.filesystem:x}/{self.inode}"


def machine_id() -> str:
    """Drawn when the system was installed. Empty where there is none, as in many containers."""
    return _line("/etc/machine-id")


def boot_id() -> str:
    """Drawn when the kernel was started; empty where there is none."""
    return _line("/proc/sys/kernel/random/boot_id")


def _line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
