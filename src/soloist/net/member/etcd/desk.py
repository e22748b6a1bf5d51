"""Two threads that wait for etcd, so that nobody else has to: one asks, the other is told of changes."""

from __future__ import annotations

import logging
import queue
import threading
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from soloist.core import SoloistError
from soloist.net.member.etcd.client import Client, Unreachable
from soloist.net.member.etcd.endpoints import Etcd
from soloist.net.member.etcd.store import Store

log = logging.getLogger("soloist.net")

PAUSE_SECONDS = 0.2
"""Seconds between one try to watch and the next."""

Patience = tuple[float, float]
"""Seconds for an endpoint to answer, at first and at most, as those of `Client`."""


class Desk:
    """Asks etcd for one thing after the other, in the order in which they were wanted."""

    def __init__(
        self, etcd: Etcd, cluster: str, patience: Patience, post: Callable[[Callable[[], None]], Any]
    ) -> None:
        """What came of a request is told through `post`, in whatever thread that is."""
        self.client = Client(etcd, *patience)
        self.store = Store(self.client, cluster)
        self.trouble = ""
        """Why the last request got no answer; nothing if it got one."""
        self._post = post
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._run, name="soloist-etcd", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Do it; then tell what came of it, or None if nobody knows."""
        self._jobs.put((work, then))

    def ask_last(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """The same, and nothing that waits: a node that leaves does not wait for it."""
        with suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        self.ask(work, then)

    def _run(self) -> None:
        while (job := self._jobs.get()) and not self.client.closed:
            work, then = job
            result = self._attempt(work)
            self._post(lambda then=then, result=result: then(result))  # type: ignore[misc]
        self.client.disconnect()

    def _attempt(self, work: Callable[[], Any]) -> Any:
        try:
            result = work()
        except Unreachable as error:
            self._note(f"etcd does not answer ({error})")
            return None
        except SoloistError as error:
            self._note(str(error))
            return None
        except Exception as error:  # whatever etcd may have said: the next request may be answered
            log.exception("an answer of etcd was not understood")
            self._note(f"etcd cannot be understood: {error!r}")
            return None
        self._note("")
        return result

    def _note(self, trouble: str) -> None:
        if self.client.closed:
            return
        if trouble and not self.trouble:
            log.warning("%s", trouble)
        elif self.trouble and not trouble:
            log.info("etcd answers again")
        self.trouble = trouble

    def close(self) -> None:
        """Whatever is not done yet is not done."""
        self.client.interrupt()
        self._jobs.put(None)
        if self._thread.is_alive():
            self._thread.join()


class Watch:
    """Tells of changes, soon. Only a hint: a node that hears of one asks what is so."""

    def __init__(
        self,
        etcd: Etcd,
        cluster: str,
        seconds: float,
        known: Callable[[], Mapping[str, bytes]],
        changed: Callable[[], Any],
    ) -> None:
        """`changed` is called unless what was heard is `known` already: renewals change no value, and are no news.

        Where nothing was heard for so many seconds another endpoint is asked.
        """
        self.client = Client(etcd, seconds)
        self.store = Store(self.client, cluster)
        self._known, self._changed = known, changed
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soloist-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                for said in self.client.stream("/v3/watch", self.store.watched()):
                    self._hear(said.get("result", {}))
            except Unreachable:
                self._closing.wait(PAUSE_SECONDS)
            except Exception:  # as above
                log.exception("an event of etcd was not understood")
                self.client.disconnect()
                self._closing.wait(PAUSE_SECONDS)
        self.client.disconnect()

    def _hear(self, result: dict[str, Any]) -> None:
        changes, known = dict(map(self._change, result.get("events", []))), self._known()
        if not changes or any(known.get(key) != value for key, value in changes.items()):
            self._changed()  # without an event: something may have been missed

    def _change(self, event: dict[str, Any]) -> tuple[str, bytes | None]:
        found = event["kv"]
        value = None if event.get("type") == "DELETE" else b64decode(found.get("value", ""))
        return self.store.named(found["key"]), value

    def close(self) -> None:
        self._closing.set()
        self.client.interrupt()
        if self._thread.is_alive():
            self._thread.join()
