"""A nemesis: it kills, stops and cuts off the nodes of a real cluster, by a seed, while they contend for locks.

Afterwards the journals are judged (`soloist.testing.judge`), and how long each lock was out of reach.
"""

from __future__ import annotations

import itertools
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from soloist.core import SoloistError, UsageError, unknown
from soloist.net.link.wire import VERSION
from soloist.testing.afflictions import AFFLICTIONS, NEED_PROXIES, VOTES
from soloist.testing.crew import Crew
from soloist.testing.haunted import Part, Tally, haunt
from soloist.testing.journal import read
from soloist.testing.judge import SLACK_SECONDS, Evidence, Fault, Judgement, judge
from soloist.testing.places import STORE, STRANGER, Apart, Places
from soloist.testing.serving import be_daemon, write_file
from soloist.testing.store import keep_store
from soloist.testing.waiting import until

KINDS = tuple(AFFLICTIONS)
UNCUT = tuple(kind for kind in KINDS if kind not in NEED_PROXIES)
"""Those that need no proxies."""
UNSPOILT = tuple(kind for kind in KINDS if kind != "spoil")
"""Those for which cables will do."""
DRIFT = 0.01
"""Fraction by which a clock may be fast or slow: as much as leases allow for."""
ENTRIES_AFTER = 50
"""Entries of each task, after all faults."""


class Nemesis:
    """A cluster and what is done to it. Use it with `with`, then `haunt` it. Options are those of `Node`."""

    def __init__(
        self,
        names: Iterable[str] = "abcde",
        *,
        seed: int,
        lease: float = 2.0,
        locks: int = 8,
        tasks: int = 4,
        semaphore: int = 0,
        kinds: Sequence[str] | None = None,
        every: tuple[float, float] = (3.0, 5.0),
        drift: float = DRIFT,
        direct: bool = False,
        apart: bool = False,
        quiet: bool = False,
        **options: Any,
    ) -> None:
        """`direct`: without proxies, so that nodes of one host know at once of each other's end; nothing can be cut.
        `apart`: each in a network namespace of its own, as on another host; frames cannot be spoilt then.

        `kinds`: of `KINDS`. `semaphore`: not locks but semaphores of that value, of an algorithm that tells slots apart.
        `quiet`: the nodes warn nobody of what befalls them.
        """
        self.names, self.seed, self.lease = list(names), seed, lease
        self.locks, self.tasks, self.semaphore = locks, tasks, semaphore
        self.every, self.drift, self.quiet = every, drift, quiet
        self.kinds = list(possible_kinds(kinds, direct, apart))
        self.draw = random.Random(seed)
        self.faults: list[Fault] = []
        self.dead: list[Tally] = []
        """What those had done who were killed."""
        self.upgraded: set[str] = set()
        """Nodes that offer a version of the protocol more than they did in the beginning."""
        self.places = Apart(self.names, seed, False) if apart else Places(self.names, seed, direct)
        self._options = {
            "cluster": "nemesis",
            "lease": lease,
            "shortcut": direct,
            **self.places.options,
            **options,
        }
        self._held = ExitStack()
        self._starts = self._strangers = 0

    def __enter__(self) -> Nemesis:
        with ExitStack() as held:  # whatever fails, nothing of it is left
            self.folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="nemesis-")))
            held.enter_context(self.places)
            self.cuts = self.places.cuts
            self.crew = held.enter_context(Crew(self.quiet))
            self.crew.start(STORE, keep_store, self.places.host, self.places.namespace(STORE))
            self._store = self.crew.hear(STORE)
            for name in self.names:
                self._start(name)
            for name in self.names:
                self.crew.hear(name)
            for name in self.names:
                self.await_member(name)
                shutil.copy(self.data(name) / VOTES, self.old_votes(name))
            self._held = held.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._held.__exit__(*error)

    def _start(self, name: str, through: str = "", **told: Any) -> None:
        """With all the others, or with what it is told instead; or as a client of the daemon at that URL."""
        self._starts += 1
        part = Part(
            name=name,
            peers={} if told or through else self.places.peers(name),
            options={} if through else {**self._options, "data_dir": str(self.data(name)), **told},
            through=through,
            namespace=self.places.namespace(name),
            locks=self.locks,
            tasks=self.tasks,
            journal=str(self.folder / f"{name}-{self._starts}.journal"),
            store=self._store,
            rate=self.rate(name),
            protocols=self._protocols(name),
            semaphore=self.semaphore,
        )
        self.crew.start(name, haunt, part)

    def _protocols(self, name: str) -> str:
        return f"{VERSION}..{VERSION + (name in self.upgraded)}"

    def rate(self, name: str) -> float:
        """How fast the clock goes by which that node measures its lease, from this start on."""
        return 1 + self.draw.choice((-1, 0, 1)) * self.drift

    # What afflictions use.

    def data(self, name: str) -> Path:
        """The data directory of a node."""
        return self.folder / name

    def old_votes(self, name: str) -> Path:
        """The vote file of that node as it was in the beginning."""
        return self.folder / f"{name}.{VOTES}"

    def tally(self, name: str) -> Tally:
        """What a node has counted so far."""
        found: Tally = self.crew.ask(name, "tally")
        return found

    def note(self, what: str, kind: str | None = None, few: tuple[str, ...] = ()) -> None:
        """Remember a fault, for the judgement."""
        self.faults.append(Fault(time.monotonic(), what, kind, few))

    def fell(self, name: str) -> None:
        """kill -9."""
        self.dead.append(self.tally(name))
        time.sleep(self.draw.uniform(0, 0.02))  # or it would always die just after it was asked
        self.note(f"kill {name}", "kill")
        self.crew.kill(name)

    def revive(self, name: str) -> None:
        """Start it again; when this returns, it is."""
        self._start(name)
        self.crew.hear(name)
        self.note(f"{name} is started again")

    def take_in(self) -> str:
        """Start a node that nobody was told of, and that was told of two of the others; gives its name. One at a time."""
        name, where, known = self._stranger()
        self._start(name, join=known, listen=where, address=where)
        self.crew.hear(name)
        self.await_member(name)
        return name

    def take_in_daemon(self) -> tuple[str, str]:
        """Start such a node as a daemon, and a client of it; gives their names. The client is inside now and then."""
        name, where, known = self._stranger()
        path, client = self.folder / f"{name}.toml", f"client{self._strangers}"
        write_file(path, name, where, known, self._options)
        rate, versions = self.rate(name), self._protocols(name)
        self.crew.start(name, be_daemon, str(path), name, rate, versions, self.places.namespace(name))
        control = path.with_suffix(".sock")
        until(control.exists, f"{name} serves clients (seed {self.seed})")
        self._start(client, through=f"unix:{control}")
        self.crew.hear(client)
        until(lambda: self.tally(client).entries, f"{client} is let in (seed {self.seed})")
        return name, client

    def _stranger(self) -> tuple[str, str, dict[str, str]]:
        """Its name and address, and whom it was told of."""
        self._strangers += 1
        name = f"{STRANGER}{self._strangers}"
        known = {each: self.places.addresses[each] for each in self.draw.sample(self.names, 2)}
        self.upgraded.add(name)  # whatever version the others have come to
        self.note(f"{name} joins by {' and '.join(known)}", "join")
        return name, self.places.addresses[STRANGER], known

    def await_member(self, name: str) -> None:
        """A node that is not let in is an error."""
        until(lambda: self.tally(name).epoch, f"{name} is a member (seed {self.seed})")

    # What is done.

    def haunt(
        self, seconds: float, progress: Callable[[float], None] = lambda share: None, least: int = 1
    ) -> Judgement:
        """For so long, and at least so many faults; then a lease of peace, and the judgement. A node that is not let in again is an error."""
        began = time.monotonic()
        for number in itertools.count():
            if (passed := time.monotonic() - began) >= seconds and number >= least:
                break
            progress(passed / max(seconds, passed, 1e-9))
            if number % len(self.kinds) == 0:  # each kind in turn, but in another order each time
                self.draw.shuffle(self.kinds)
            AFFLICTIONS[self.kinds[number % len(self.kinds)]](self)
            time.sleep(self.draw.uniform(*self.every))
        time.sleep(self.lease + SLACK_SECONDS)
        ended = time.monotonic()
        self._all_go_on()
        return self.judgement(began, ended)

    def _all_go_on(self) -> None:
        """One lock that is out of reach for ever would soon keep all tasks of a node."""
        wanted = {name: self.tally(name).entries + ENTRIES_AFTER * self.tasks for name in self.names}
        for name in self.names:
            goes_on = partial(self._has_entered, name, wanted[name])
            until(goes_on, f"{name} goes on (seed {self.seed})")

    def _has_entered(self, name: str, times: int) -> bool:
        return self.tally(name).entries >= times

    def judgement(self, began: float, ended: float) -> Judgement:
        """Of all that was entered, and of how long locks were out of reach from one time to the other."""
        entries = [entry for path in sorted(self.folder.glob("*.journal")) for entry in read(path)]
        if not entries:
            raise SoloistError(f"nobody was ever let in (seed {self.seed})")
        evidence = Evidence(
            entries=entries,
            faults=self.faults,
            tallies=[*self.dead, *(self.tally(name) for name in self.names)],
            books=self.crew.ask(STORE, "books"),
            began=began,
            ended=ended,
            locks=self.locks * max(1, self.semaphore),
            lease=self.lease,
        )
        return judge(self.seed, evidence)


def possible_kinds(kinds: Sequence[str] | None, direct: bool, apart: bool) -> Sequence[str]:
    """Those that were chosen, or all that can be done."""
    if direct and apart:
        raise UsageError("direct is about nodes of one host, and apart about one for each; choose")
    possible = UNCUT if direct else UNSPOILT if apart else KINDS
    for kind in kinds or ():
        if kind not in KINDS:
            raise unknown("kind of fault", kind, KINDS)
        if kind not in possible:
            what = "cut" if direct else "spoilt"
            raise UsageError(f"{kind}: nothing can be {what} without proxies; only {', '.join(possible)}")
    return kinds or possible
