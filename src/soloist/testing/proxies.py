"""A proxy between any two nodes, so that links can be cut by the names of their ends.

They run in a thread of their own: a test that disturbs a cluster may wait for it, and need not be asynchronous.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any, Self, TypeVar

from soloist.core import UsageError
from soloist.testing.cuts import Cuts
from soloist.testing.ports import ports
from soloist.testing.proxy import Direction, FaultProxy, Mischief

T = TypeVar("T")


class Proxies(Cuts):
    """One proxy for each node and each of its peers, with an address for all; started with `with`.

    Seed and `framed` are those of `FaultProxy`.
    """

    def __init__(self, names: Iterable[str] = "abc", seed: int | None = None, framed: bool = False) -> None:
        self.names, self._seed, self._framed = list(names), seed, framed
        self._proxies: dict[tuple[str, str], FaultProxy] = {}
        """By who dials, and whom."""
        self._held = ExitStack()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)

    def __enter__(self) -> Self:
        pairs = {f"{a} to {b}": (a, b) for a in self.names for b in self.names if a != b}
        addresses = self._held.enter_context(ports(*self.names, *pairs))
        self._own = {name: addresses[name] for name in self.names}
        self._between = {pair: addresses[words] for words, pair in pairs.items()}
        self._proxies = {
            pair: FaultProxy(self._own[pair[1]], self._seed, self._framed) for pair in pairs.values()
        }
        self._thread.start()
        for pair, proxy in self._proxies.items():
            asyncio.run_coroutine_threadsafe(proxy.start(self._between[pair]), self._loop).result()
        return self

    def __exit__(self, *error: object) -> None:
        for proxy in self._proxies.values():
            asyncio.run_coroutine_threadsafe(proxy.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._held.close()

    def peers(self, name: str) -> dict[str, str]:
        """What that node must take for the addresses of all: its own, and the proxies that lead to the others."""
        self._check(name)
        return {each: self._own[each] if each == name else self._between[name, each] for each in self.names}

    @property
    def direct(self) -> dict[str, str]:
        """The addresses of all without proxies: nothing can be done to links that go there."""
        return dict(self._own)

    def cut_one_way(self, a: str, b: str) -> None:
        """What the first says does not get to the second any more; the other way it does."""
        self._link(a, b, lambda proxy, direction: proxy.stop(direction))

    def spoil(self, mischief: Mischief) -> None:
        """Lose, repeat and cut short frames, on all links."""
        for proxy in self._proxies.values():
            self._call(partial(proxy.spoil, mischief))

    @property
    def spoilt(self) -> int:
        """Frames to which that was done."""
        return sum(proxy.spoilt for proxy in self._proxies.values())

    def delay(self, a: str, b: str, seconds: float) -> None:
        """What the first says gets to the second so much later."""
        self._link(a, b, lambda proxy, direction: proxy.delay(seconds, direction))

    def reset(self, a: str, b: str) -> None:
        """Break the connections of the two, once."""
        self._link(a, b, lambda proxy, direction: proxy.reset())

    def reset_after(self, a: str, b: str, size: int) -> None:
        """The same, after so many more bytes between them."""
        self._link(a, b, lambda proxy, direction: proxy.reset_after(size))

    def heal(self) -> None:
        """All links are whole again. What was held back goes on its way."""
        for proxy in self._proxies.values():
            self._call(proxy.heal)

    @property
    def resets(self) -> int:
        return sum(proxy.resets for proxy in self._proxies.values())

    def _link(self, a: str, b: str, do: Callable[[FaultProxy, Direction], None]) -> None:
        """With both proxies through which one may speak to the other, whichever has dialled."""
        self._check(a)
        self._check(b)
        if a == b:
            raise UsageError(f"a link has two ends, not twice {a!r}")
        self._call(lambda: do(self._proxies[a, b], "there"))
        self._call(lambda: do(self._proxies[b, a], "back"))

    def _check(self, name: str) -> None:
        if name not in self.names:
            raise UsageError(f"there is no node {name!r}, only {', '.join(self.names)}")

    def _call(self, do: Callable[[], Any]) -> None:
        """Where the proxies live; when this returns, it is done."""

        async def called() -> None:
            do()

        asyncio.run_coroutine_threadsafe(called(), self._loop).result()
