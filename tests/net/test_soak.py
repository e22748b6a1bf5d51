"""Mixed load under trouble, for as long as one likes: `make soak`, or SOLOIST_SOAK_MINUTES=60 for that test alone.

Four processes, tasks in two and threads in the others, 2 000 names and 20 semaphores; timeouts, tries, cancellations,
connections cut at any byte, processes paused. A witness sees every entry and exit. At the end every process takes
every name once more, and memory and descriptors are as they were. Nobody has a lease, so nothing may be lost; what happens with one
the nemesis shows (`tests/testing/test_nemesis.py`).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from contextlib import AsyncExitStack
from statistics import median
from typing import Any

import pytest

from soloist.testing import FaultProxy, Witness, WitnessServer, ports
from tests.net.helpers import ROOT, run

NAMES = 2000
MEMBERS = "abcd"


class Soak:
    def __init__(self, seed: int, minutes: float) -> None:
        self.seed, self.minutes = seed, minutes
        self.random = random.Random(seed)
        self.witness = Witness()
        self.proxies: list[FaultProxy] = []
        self.processes: list[asyncio.subprocess.Process] = []
        self.pauses = 0

    async def run(self) -> list[dict[str, Any]]:
        pairs = [(a, b) for a in MEMBERS for b in MEMBERS if a != b]
        async with AsyncExitStack() as stack:
            places = stack.enter_context(ports(*MEMBERS, *(a + b for a, b in pairs)))
            for a, b in pairs:
                proxy = FaultProxy(places[b], self.seed)
                await proxy.start(places[a + b])
                stack.push_async_callback(proxy.close)
                self.proxies.append(proxy)
            server = WitnessServer(self.witness)
            where = await server.start()
            stack.callback(server.close)
            stack.callback(self._stop)
            for member in MEMBERS:
                peers = {each: places[each if each == member else member + each] for each in MEMBERS}
                await self._start(member, peers, where)
            trouble = asyncio.create_task(self._trouble())
            await asyncio.sleep(self.minutes * 60)
            trouble.cancel()
            await asyncio.gather(trouble, return_exceptions=True)
            assert await self._say("finish") == ["finished"] * len(MEMBERS)
            reports = await self._say("take all")
            await self._say("leave", answer=False)
            for process in self.processes:
                assert await process.wait() == 0
            return reports

    async def _start(self, member: str, peers: dict[str, str], where: tuple[str, int]) -> None:
        task = {"name": member, "peers": peers, "witness": where, "seed": self.seed, "names": NAMES}
        pipes: dict[str, Any] = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
        words = json.dumps({**task, "threads": member in "cd"})
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.net.soaker", words, cwd=ROOT, limit=2**24, **pipes
        )
        self.processes.append(process)

    async def _say(self, what: str, answer: bool = True) -> list[Any]:
        for process in self.processes:
            assert process.stdin
            process.stdin.write(what.encode() + b"\n")
        if not answer:
            return []
        return [json.loads(await process.stdout.readline()) for process in self.processes if process.stdout]

    async def _trouble(self) -> None:
        while True:
            await asyncio.sleep(self.random.expovariate(3))
            proxy, process = self.random.choice(self.proxies), self.random.choice(self.processes)
            if self.random.random() < 0.6:
                proxy.reset()
            elif self.random.random() < 0.7:
                proxy.reset_after(self.random.randrange(1, 2000))
            else:
                self.pauses += 1
                os.kill(process.pid, signal.SIGSTOP)
                try:
                    await asyncio.sleep(min(self.random.expovariate(3), 3))
                finally:
                    os.kill(process.pid, signal.SIGCONT)

    def _stop(self) -> None:
        for process in self.processes:
            if process.returncode is None:
                process.kill()


def level(samples: list[tuple[float, int, int]]) -> tuple[float, float, int, int]:
    """Memory and descriptors in the second quarter, and in the last: once all names were met, nothing may grow."""
    second, last = samples[len(samples) // 4 : len(samples) // 2], samples[-(len(samples) // 4) :]
    memory = [median(size for _, size, _ in part) for part in (second, last)]
    files = [max(files for *_, files in part) for part in (second, last)]
    return memory[0], memory[1], files[0], files[1]


@pytest.mark.soak
def test_mixed_load_under_trouble() -> None:
    minutes = float(os.environ.get("SOLOIST_SOAK_MINUTES", "60"))
    seed = int(os.environ.get("SOLOIST_SOAK_SEED", random.randrange(2**32)))
    print(f"seed {seed}, {minutes:g} minutes")
    soak = Soak(seed, minutes)
    reports = run(soak.run(), minutes * 60 + 600)
    cuts = sum(proxy.resets for proxy in soak.proxies)
    print(f"{soak.witness.entries} entries seen, {cuts} cuts, {soak.pauses} pauses")
    for member, report in zip(MEMBERS, reports, strict=True):
        before, after, files_before, files_after = level(report["samples"])
        print(
            f"{member}: {report['counts']}, memory {before / 2**20:.1f} to {after / 2**20:.1f} MiB, "
            f"descriptors {files_before} to {files_after}"
        )
        assert after < before * 1.1 + 2**20, "memory grows"
        assert files_after <= files_before + 5, "descriptors grow"
    assert not soak.witness.problems(), soak.witness.problems()[:10]
    assert not soak.witness.inside
    assert not any(found.vanished for found in soak.witness.findings().values())
    assert soak.witness.entries > 100 * minutes
