"""The data directory of a node: where votes have to survive a crash."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from soloist.doctor.finding import Finding, State
from soloist.net.member.home import places
from soloist.net.service.config import Config, Member

FORGETFUL = {"tmpfs": "it is in memory, and forgotten at the next start", "ramfs": "it is in memory"}
FAR = {"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "ceph", "glusterfs"}
ROOM = 16 << 20
"""Bytes. The vote file has a few hundred kilobytes at most; a disk with less room than this is full soon."""
SLOW = 0.1
"""Share of a lease; a store that takes longer is slow."""


def data_directory(config: Config, member: Member, lease: float) -> Finding:
    """Where it is or would be, whether it can be written, and how long it takes until something is on disk.

    Nothing is left there: the file that is written has no name.
    """
    name = f"{member.name} data"
    wanted = [member.data_dir] if member.data_dir else places(config.cluster, member.name)
    place = next((each for each in wanted if each.exists()), None) or next(
        (each for each in wanted if _can_be_made(each)), None
    )
    if place is None:
        said = f"no place can be written: {', '.join(map(str, wanted)) or 'there is no home directory'}"
        return Finding("cluster", name, "problem", said, "say where, with `data_dir` in the file")
    standing = _ancestor(place)
    kind = file_system(standing)
    try:
        seconds = stored(standing)
    except OSError as error:
        said = f"{place}: nothing can be written ({error.strerror})"
        return Finding(
            "cluster", name, "problem", said, "as the user that the node runs as; or another data_dir"
        )
    state, said = judged(kind, shutil.disk_usage(standing).free, seconds, lease)
    remedy = "" if state == "ok" else "a disk of this host, with `data_dir` in the file"
    there = "" if place.exists() else ", not made yet"
    return Finding("cluster", name, state, f"{place}{there}: {said}", remedy)


def judged(kind: str, free: int, seconds: float, lease: float) -> tuple[State, str]:
    told = f"{seconds * 1000:.1f} ms until it is on disk{f' ({kind})' if kind else ''}"
    if free < ROOM:
        return "problem", f"{free >> 20} MiB are left; {told}"
    if kind in FORGETFUL:
        return "warning", FORGETFUL[kind]
    if kind in FAR:
        return "warning", f"{kind} is not a disk of this host; {told}"
    if seconds > SLOW * lease:
        return "warning", f"{told}, more than a tenth of the lease"
    return "ok", told


def stored(folder: Path, times: int = 5) -> float:
    """Seconds until a little is on disk, as a vote is stored: the median of a few."""
    found = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(times):
            start = perf_counter()
            file.write(b"x" * 512)
            file.flush()
            os.fsync(file.fileno())
            found.append(perf_counter() - start)
    return median(found)


def _ancestor(place: Path) -> Path:
    """The place, or what it would be made in."""
    return next(each for each in (place, *place.absolute().parents) if each.exists())


def _can_be_made(place: Path) -> bool:
    return os.access(_ancestor(place), os.W_OK | os.X_OK)


def file_system(place: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """Its kind, as the system calls it; nothing where that is not known."""
    try:
        lines = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return ""
    whole = place.resolve()
    held = [(len(line[1]), line[2]) for line in lines if whole.is_relative_to(line[1].replace("\\040", " "))]
    return max(held, default=(0, ""), key=lambda each: each[0])[1]
