"""What a nemesis does to a cluster: one function for each kind of fault. It begins, lasts, and has ended on return."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from soloist.testing.failpoints import POINTS
from soloist.testing.haunted import Doom
from soloist.testing.proxies import Proxies
from soloist.testing.proxy import Mischief
from soloist.testing.waiting import until

if TYPE_CHECKING:
    from soloist.testing.nemesis import Nemesis

PAUSES = (0.5, 1, 1.5, 5)
"""Leases for which a process is stopped."""
CUTS = (0.5, 1.5, 3)
"""Leases for which links are cut."""
MOST_TIMES = 6
"""Times that a doomed process may pass the point before it dies there."""
MISCHIEF = Mischief(lose=0.01, repeat=0.05, truncate=0.002)
VOTES, ASIDE = "votes", "aside"


def kill(nemesis: Nemesis) -> None:
    """kill -9, and a start on the same data, soon or late."""
    name = nemesis.draw.choice(nemesis.names)
    nemesis.fell(name)
    time.sleep(nemesis.draw.choice((0.1, 0.5, 1.5 * nemesis.lease)))
    nemesis.revive(name)


def point(nemesis: Nemesis) -> None:
    """One is killed; and one that takes part in what follows dies in the middle of it."""
    victim, doomed = nemesis.draw.sample(nemesis.names, 2)
    where = nemesis.draw.choice(POINTS)
    times = nemesis.draw.randint(1, MOST_TIMES)
    nemesis.dead.append(nemesis.tally(doomed))
    nemesis.crew.tell(doomed, Doom(where, times))
    nemesis.note(f"{doomed} is to die at {where}, {times} from now", "point")
    nemesis.fell(victim)
    _may_end(nemesis, doomed)
    nemesis.revive(victim)
    _may_end(nemesis, doomed)
    died = "has died there" if not nemesis.crew.alive(doomed) else "did not come there, and is killed"
    nemesis.note(f"{doomed} {died}")
    nemesis.crew.kill(doomed)
    nemesis.revive(doomed)


def _may_end(nemesis: Nemesis, name: str) -> None:
    """Wait for its end, but not for longer than a lease."""
    end = time.monotonic() + nemesis.lease
    while nemesis.crew.alive(name) and time.monotonic() < end:
        time.sleep(0.01)


def pause(nemesis: Nemesis) -> None:
    """SIGSTOP of one."""
    _pause(nemesis, "pause", [nemesis.draw.choice(nemesis.names)])


def pause_most(nemesis: Nemesis) -> None:
    """SIGSTOP of so many that there is no majority."""
    most = len(nemesis.names) - (len(nemesis.names) - 1) // 2
    _pause(nemesis, "pause-most", nemesis.draw.sample(nemesis.names, most))


def _pause(nemesis: Nemesis, kind: str, names: list[str]) -> None:
    leases = nemesis.draw.choice(PAUSES)
    nemesis.note(f"pause {', '.join(names)} for {leases:g} leases", kind)
    for name in names:
        nemesis.crew.pause(name)
    time.sleep(leases * nemesis.lease)
    for name in names:
        nemesis.crew.resume(name)
    nemesis.note(f"{', '.join(names)}: gone on")


def split(nemesis: Nemesis) -> None:
    """Some are alone, and are too few."""
    names = nemesis.names
    few = nemesis.draw.sample(names, nemesis.draw.randint(1, (len(names) - 1) // 2))
    rest = [name for name in names if name not in few]
    _cut(nemesis, "split", f"{', '.join(few)} alone", lambda: nemesis.cuts.split(few, rest), few)


def one_way(nemesis: Nemesis) -> None:
    a, b = nemesis.draw.sample(nemesis.names, 2)
    _cut(nemesis, "one-way", f"{a} is not heard by {b}", lambda: nemesis.cuts.cut_one_way(a, b))


def ring(nemesis: Nemesis) -> None:
    """Each hears its two neighbours only."""
    _cut(nemesis, "ring", "a ring", nemesis.cuts.ring)


def bridge(nemesis: Nemesis) -> None:
    """Two halves, and one that hears both: each half has a majority with it."""
    names = nemesis.draw.sample(nemesis.names, len(nemesis.names))
    half = (len(names) - 1) // 2
    one, other, middle = names[:half], names[half : 2 * half], names[2 * half :]
    what = f"{', '.join(one)} and {', '.join(other)} hear only {', '.join(middle)}"
    _cut(nemesis, "bridge", what, lambda: nemesis.cuts.bridge(one, other))


def _cut(
    nemesis: Nemesis, kind: str, what: str, cut: Callable[[], None], few: list[str] | None = None
) -> None:
    nemesis.note(what, kind)
    cut()
    nemesis.note(what, few=tuple(few or ()))  # only now nothing passes any more
    time.sleep(nemesis.draw.choice(CUTS) * nemesis.lease)
    nemesis.note("is healed")
    nemesis.cuts.heal()
    nemesis.note("healed")


def spoil(nemesis: Nemesis) -> None:
    """Frames are lost, repeated and cut short, everywhere."""
    proxies = nemesis.cuts
    assert isinstance(proxies, Proxies)
    _cut(nemesis, "spoil", "frames are spoilt", lambda: proxies.spoil(MISCHIEF))


def leave(nemesis: Nemesis) -> None:
    """A rolling upgrade: each in turn says goodbye, ends, and comes back with a later version of the protocol."""
    for name in nemesis.draw.sample(nemesis.names, len(nemesis.names)):
        nemesis.dead.append(nemesis.tally(name))
        nemesis.note(f"{name} leaves", "leave")
        nemesis.crew.end(name)
        nemesis.upgraded.add(name)
        nemesis.revive(name)
        nemesis.await_member(name)


def join(nemesis: Nemesis) -> None:
    """A stranger joins, contends with the others for a while, and leaves, or is killed and does not come back."""
    name = nemesis.take_in()
    time.sleep(nemesis.draw.choice((0.1, 0.5, 1.5)) * nemesis.lease)
    if nemesis.draw.random() < 0.5:
        nemesis.fell(name)
        return
    nemesis.dead.append(nemesis.tally(name))
    nemesis.note(f"{name} leaves")
    nemesis.crew.end(name)


def daemon(nemesis: Nemesis) -> None:
    """A daemon joins, and is killed while its client holds something. The client lives on: that the daemon has ended proves nothing."""
    name, client = nemesis.take_in_daemon()
    time.sleep(nemesis.draw.choice((0.1, 0.5, 1.5)) * nemesis.lease)
    nemesis.note(f"kill {name}, whose client goes on", "daemon")
    nemesis.crew.kill(name)
    time.sleep(nemesis.draw.choice((0.1, 0.5, 1.5)) * nemesis.lease)
    nemesis.dead.append(nemesis.tally(client))
    nemesis.note(f"{client} leaves")
    nemesis.crew.end(client)


def amnesia(nemesis: Nemesis) -> None:
    """One starts on a copy of its data, on none, or on an old vote file: it is a member, and must not vote."""
    name = nemesis.draw.choice(nemesis.names)
    how = nemesis.draw.choice(("a copy of its data", "nothing", "an old vote file"))
    data, aside = nemesis.data(name), nemesis.folder / ASIDE
    nemesis.note(f"{name} is to forget", "amnesia")
    nemesis.fell(name)
    if how == "an old vote file" and nemesis.old_votes(name).read_bytes() == (data / VOTES).read_bytes():
        how = "nothing"  # nothing was stored since: that file is the newest, and good
    if how == "an old vote file":
        shutil.copy(data / VOTES, aside)
        shutil.copy(nemesis.old_votes(name), data / VOTES)
    else:
        data.rename(aside)
    if how == "a copy of its data":
        shutil.copytree(aside, data)
    nemesis.revive(name)
    if how != "nothing":
        until(
            lambda: nemesis.tally(name).unvoting, f"{name} is found out to have {how} (seed {nemesis.seed})"
        )
    nemesis.await_member(name)
    nemesis.note(f"{name} goes on with {how}")
    time.sleep(nemesis.draw.choice((0.5, 1.5)) * nemesis.lease)
    nemesis.fell(name)
    if how == "an old vote file":
        shutil.move(aside, data / VOTES)
    else:
        shutil.rmtree(data)
        aside.rename(data)
    nemesis.revive(name)


Affliction = Callable[["Nemesis"], None]
NEED_PROXIES: dict[str, Affliction] = {
    "split": split,
    "one-way": one_way,
    "ring": ring,
    "bridge": bridge,
    "spoil": spoil,
}
AFFLICTIONS: dict[str, Affliction] = {
    "kill": kill,
    "point": point,
    "pause": pause,
    "pause-most": pause_most,
    "leave": leave,
    "join": join,
    "daemon": daemon,
    "amnesia": amnesia,
    **NEED_PROXIES,
}
