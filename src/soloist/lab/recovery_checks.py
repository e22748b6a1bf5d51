"""The recovery schemes in every order of events, with one crash: what is searched, and how far.

Two kinds of search. *In vain*: timers are as long as the schemes ask for. Those for answers (`slow`) outlast all messages under way, and those by
which a failure is presumed (`last`) run out only when waiting is in vain; then everything is judged, also that all can still be served. *Early*:
failures are presumed at any moment, so nearly always wrongly, but so many times at most, and answers are still waited for. With a limit to timers it is
judged whether it is safe, and whether somebody waits without any timer.
"""

from __future__ import annotations

from typing import Any

import msgspec

from soloist.algorithms import find_any
from soloist.check import Limits, Report, check

SAFETY = ("exclusion", "error", "deadlock")
SERVICE = (*SAFETY, "livelock")
COMES_BACK = ("exclusion", "error", "livelock")
"""Where a site that is down may come back, to wait for it is no deadlock."""


class Search(msgspec.Struct, frozen=True):
    """One search."""

    algorithm: str
    kind: str
    rounds: tuple[int, ...]
    properties: tuple[str, ...]
    network: dict[str, Any]

    def run(self, card: Any = None, states: int = 400_000) -> Report:
        return check(
            card or find_any(self.algorithm),
            nodes=len(self.rounds),
            rounds=self.rounds,
            properties=self.properties,
            limits=Limits(states=states),
            **self.network,
        )

    @property
    def command(self) -> str:
        rounds = ",".join(map(str, self.rounds))
        words = ["soloist check", self.algorithm, f"-n {len(self.rounds)} -r {rounds} --crashes 1"]
        for name, value in self.network.items():
            if name != "crashes":
                words += [f"--{name} {each}" for each in (value if isinstance(value, tuple) else (value,))]
        return " ".join([*words, *(f"--property {name}" for name in self.properties)])


def _pair(
    name: str,
    full: tuple[int, ...] = (2, 1, 1),
    early: tuple[int, ...] = (0, 1, 1),
    timeouts: int = 2,
    **more: str,
) -> tuple[Search, Search]:
    """Most schemes: crashes are for ever, T is for patience and Treply for answers. `more` keeps a search small."""
    naimi = name == "naimi-trehel-recovery"
    slow, last = (("Telec",), ("Twait",)) if naimi else (("Treply",), ("T",))
    hasty = {"crashes": 1, "slow": slow, "timeouts": timeouts, **more}
    return (
        Search(name, "in vain", full, SERVICE, {"crashes": 1, "slow": slow, "last": last}),
        Search(name, "early", early, SAFETY, hasty),
    )


SEARCHES: tuple[Search, ...] = (
    *_pair("agrawal-el-abbadi-recovery", timeouts=3),
    *_pair("helary-plouzeau-raynal-recovery", full=(1, 1, 1), early=(1, 1, 0), channels="fifo"),
    *_pair("mishra-srimani-coordinator"),
    *_pair("mishra-srimani-recovery", channels="fifo"),
    *_pair("naimi-trehel-recovery", early=(1, 1, 1), timeouts=4, channels="fifo"),
    Search("nishio-recovery", "free", (1, 1), SAFETY, {"crashes": 1, "restart": "snapshot", "timeouts": 2}),
    Search(
        "nishio-recovery", "early", (1, 1, 0), SAFETY, {"crashes": 1, "restart": "snapshot", "timeouts": 1}
    ),
    Search("raymond-tree-recovery", "no timers", (1, 1, 1), COMES_BACK, {"crashes": 1, "restart": "fresh"}),
    Search(
        "raymond-tree-recovery", "no timers", (1, 1, 1), COMES_BACK, {"crashes": 1, "restart": "snapshot"}
    ),
    *_pair("singhal-dynamic-recovery", timeouts=4),
    *_pair("singhal-heuristic-recovery", channels="fifo"),
)
