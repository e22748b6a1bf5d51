"""A crew of workers, one node each, and the witness before whom they contend."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Self

from soloist.core import SoloistError
from soloist.testing.crew import Crew
from soloist.testing.ports import ports
from soloist.testing.testimony import attend
from soloist.testing.waiting import PATIENCE
from soloist.testing.witness import Findings
from soloist.testing.worker import HALT, HELD, MEET, MESSAGES, Contend, Do, Done, Free, Grab, work

WITNESS = "witness"


class Workers(Crew):
    """Real processes that talk TCP on loopback, started with `with`. Options are those of `Node`.

    `peers` says what each takes for the addresses of all, as `Proxies.peers` does; without it they talk directly.
    `remember`: the witness keeps the order of all entries. Unless `lease` is None each node has a data directory of its own,
    for as long as the crew is together. `before` is called in each process before it makes its node. Into the directory
    `traces` each node records what it does.
    """

    def __init__(
        self,
        names: Iterable[str] = "abc",
        *,
        peers: Callable[[str], Mapping[str, str]] | None = None,
        remember: bool = False,
        quiet: bool = False,
        before: Callable[[], None] | None = None,
        traces: Path | None = None,
        **options: Any,
    ) -> None:
        super().__init__(quiet)
        self.nodes = list(names)
        self.options = {"cluster": "testing", "shortcut": False, **options}
        self._peers, self._remember, self._before = peers, remember, before
        self._traces = None if traces is None else str(traces)
        self._held = ExitStack()

    @property
    def _remembers(self) -> bool:
        """Whether its nodes may want a place for what they must not forget."""
        return self.options.get("lease", "auto") is not None

    def __enter__(self) -> Self:
        try:
            if not self._peers:
                direct = self._held.enter_context(ports(*self.nodes))
                self._peers = lambda name: direct
            if self._remembers:
                self.folder = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="workers-")))
            self.start(WITNESS, attend, self._remember)
            self.witness: tuple[str, int] = self.hear(WITNESS)
            for name in self.nodes:
                self.hire(name)
            for name in self.nodes:
                self.hear(name)
            self.meet()
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        super().__exit__(kind, *error)
        self._held.close()

    def hire(self, name: str, **options: Any) -> None:
        """Start that worker, with options of its own if need be; it says its name once its node is started.

        With `join` it is not told of the others, and with `peers` of those.
        """
        assert self._peers
        if self._remembers:
            options = {"data_dir": str(self.folder / name), **options}
        given = {**self.options, **options}
        peers = given.pop("peers", None) or self._peers(name)
        self.start(name, work, name, dict(peers), given, self.witness, self._before, self._traces)

    def meet(self) -> None:
        """Wait until each is connected with all."""
        self._all(MEET)

    def restart(self, name: str) -> None:
        """Kill it if it lives, and start it again; returns when its node is started."""
        super().restart(name)
        self.hear(name)

    def forget(self, name: str) -> None:
        """Kill it if it lives, and remove its data directory."""
        self.kill(name)
        shutil.rmtree(self.folder / name)

    def contend(
        self, job: Contend, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> list[Done]:
        """All do the job, at the same time. `progress` is told the number of entries so far, and of all."""
        before = self.count()
        self.begin(job)
        if job.entries is not None:
            self._follow(before, len(self.nodes) * job.entries, progress)
        return [self.hear(name) for name in self.nodes]

    def begin(self, job: Contend, names: Sequence[str] | None = None) -> None:
        """Let them contend, and return at once; what came of it `hear` tells, after `halt` if need be."""
        for name in names or self.nodes:
            self.tell(name, job)

    def halt(self, names: Sequence[str] | None = None) -> list[Done]:
        """Let them finish the visit that they are at."""
        for name in names or self.nodes:
            self.tell(name, HALT)
        return [self.hear(name) for name in names or self.nodes]

    def _follow(self, before: int, total: int, progress: Callable[[int, int], None]) -> None:
        seen, since = before, time.monotonic()
        while seen - before < total and (at_it := [name for name in self.nodes if not self.says(name)]):
            wait([self._hand(name).pipe for name in at_it], 0.1)
            now = self.count()
            if now > seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > PATIENCE:
                raise SoloistError(f"no entry in {PATIENCE:g} s: the cluster is stuck")
            progress(seen - before, total)

    def grab(self, name: str, *locks: str, timeout: float | None = None) -> dict[str, int | str]:
        """Let one take locks and keep them: for each its fence, or the error in words."""
        found: dict[str, int | str] = self.ask(name, Grab(locks, timeout))
        return found

    def free(self, name: str, *locks: str) -> dict[str, int]:
        """Let it give them back."""
        found: dict[str, int] = self.ask(name, Free(locks))
        return found

    def held(self, name: str) -> dict[str, int | str]:
        """What it has grabbed and not given back: for each its fence, or in words why it is lost."""
        found: dict[str, int | str] = self.ask(name, HELD)
        return found

    def do(self, name: str, work: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Let one await `work(worker, *arguments)`, and give what that gives."""
        return self.ask(name, Do(work, arguments))

    def messages(self) -> int:
        """How many all nodes have sent."""
        return sum(self._all(MESSAGES))

    def _all(self, what: object) -> list[Any]:
        for name in self.nodes:
            self.tell(name, what)
        return [self.hear(name) for name in self.nodes]

    def count(self) -> int:
        """How many entries the witness has seen."""
        return int(self.ask(WITNESS, "count"))

    def findings(self) -> dict[str, Findings]:
        """What the witness has seen of each lock."""
        found: dict[str, Findings] = self.ask(WITNESS, "findings")
        return found
