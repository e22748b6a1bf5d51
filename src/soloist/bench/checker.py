"""How fast the checker is: beside SPIN exploring the same steps, in one run.

ours    Ricart-Agrawala as `soloist check` explores it, without reductions and with all of them, in CPU
        seconds of the search
SPIN    the Promela model below: the same atomic steps (asking, leaving, receiving; the site that has
        all replies is inside at once), one channel for each link, verified exhaustively with
        `-DSAFETY -O2`. Its time is what the verifier spends searching, not what it takes to compile.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import msgspec

from soloist.algorithms import find
from soloist.bench.bars import Bar
from soloist.check import REDUCTIONS, Space, explore, setting

ALGORITHM = "ricart-agrawala"
CASES = ((3, 2), (3, 3))
LEAST_OF_SPIN = 0.5
"""States per CPU second, as a share of SPIN's, that we promise for three sites and three rounds."""


class Measurement(msgspec.Struct, frozen=True):
    """States, and states per CPU second, of both; SPIN's are None where it is not installed."""

    nodes: int
    rounds: int
    states: int
    rate: float
    reduced_states: int
    reduced_seconds: float
    spin_states: int | None
    spin_rate: float | None
    times_slower: float | None
    """SPIN's states per second over ours."""


def measure(
    cases: tuple[tuple[int, int], ...] = CASES,
    repeat: int = 5,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Measurement]:
    """One row for each number of sites and rounds; of several measurements the best counts."""
    rows = []
    for done, (nodes, rounds) in enumerate(cases):
        progress(done, len(cases))
        rows.append(_row(nodes, rounds, repeat))
    progress(len(cases), len(cases))
    return rows


def _row(nodes: int, rounds: int, repeat: int) -> Measurement:
    states, seconds = _ours(nodes, rounds, (), repeat)
    fewer, fewer_seconds = _ours(nodes, rounds, REDUCTIONS, repeat)
    theirs = spin(nodes, rounds, repeat) if installed() else None
    rate = states / seconds
    return Measurement(
        nodes=nodes,
        rounds=rounds,
        states=states,
        rate=rate,
        reduced_states=fewer,
        reduced_seconds=fewer_seconds,
        spin_states=theirs[0] if theirs else None,
        spin_rate=theirs[0] / theirs[1] if theirs else None,
        times_slower=theirs[0] / theirs[1] / rate if theirs else None,
    )


def bars(rows: list[Measurement]) -> list[Bar]:
    return [
        Bar("of SPIN's rate", ALGORITHM, "3 sites, 3 rounds", row.rate / row.spin_rate, LEAST_OF_SPIN, False)
        for row in rows
        if (row.nodes, row.rounds) == (3, 3) and row.spin_rate
    ]


def _ours(nodes: int, rounds: int, reductions: tuple[str, ...], repeat: int) -> tuple[int, float]:
    what = setting(find(ALGORITHM), nodes, rounds, channels="fifo")
    best, states = float("inf"), 0
    for _ in range(repeat):
        start = process_time()
        graph = explore(Space(what, reductions))
        if graph.cut:  # there is no limit: somebody pressed Ctrl-C
            raise KeyboardInterrupt
        best, states = min(best, process_time() - start), len(graph.states)
    return states, best


def installed() -> bool:
    return all(shutil.which(tool) for tool in ("spin", "gcc"))


def spin(nodes: int, rounds: int, repeat: int) -> tuple[int, float]:
    """States stored by SPIN, and the least CPU time that its verifier took."""
    with TemporaryDirectory() as folder:
        Path(folder, "model.pml").write_text(promela(nodes, rounds))
        _run(["spin", "-a", "model.pml"], folder)
        _run(["gcc", "-O2", "-w", "-DSAFETY", "-DVECTORSZ=4096", "-o", "pan", "pan.c"], folder)
        runs = [_verify(folder) for _ in range(repeat)]
    return runs[0][0], min(seconds for _, seconds in runs)


def _verify(folder: str) -> tuple[int, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = _run(["./pan", "-m1000000", "-w20"], folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    errors, states = re.search(r"errors: (\d+)", output), re.search(r"(\d+) states, stored", output)
    if errors is None or states is None or errors[1] != "0":
        raise RuntimeError(f"SPIN did not verify the model:\n{output}")
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return int(states[1]), max(seconds, 1e-3)


def _run(command: list[str], folder: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def promela(nodes: int, rounds: int) -> str:
    """Ricart-Agrawala in Promela, step for step as the algorithm here takes them.

    A message is one number: 0 is a REPLY, anything else the number of a REQUEST.
    """
    return f"""\
#define N {nodes}
#define ROUNDS {rounds}
#define EARLIER(s, i, t, j) ((s) < (t) || ((s) == (t) && (i) < (j)))

/* link[i * N + j] leads from i to j */
chan link[N * N] = [4] of {{ byte }};
byte inside = 0;

proctype site(byte me) {{
  byte left = ROUNDS, sn = 0, H = 0, outstanding = 0, message = 0, j = 0;
  byte phase = 0;            /* 0 idle, 1 waiting, 2 inside */
  bool deferred[N];
end:
  do
  :: d_step {{ phase == 0 && left > 0 ->
       left--; H++; sn = H; outstanding = N - 1; phase = 1;
       j = 0; do :: j < N -> if :: j != me -> link[me * N + j]!sn :: else fi; j++ :: else -> break od;
       j = 0 }}
  :: d_step {{ phase == 2 ->
       phase = 0; inside--;
       j = 0; do :: j < N -> if :: deferred[j] -> link[me * N + j]!0; deferred[j] = 0 :: else fi; j++
                 :: else -> break od;
       j = 0 }}
{"".join(_receive(j) for j in range(nodes))}\
  od
}}

init {{ atomic {{ byte i = 0; do :: i < N -> run site(i); i++ :: else -> break od }} }}
"""


def _receive(j: int) -> str:
    """A site takes the first message on the link from j, if it is not j itself."""
    return f"""\
  :: d_step {{ me != {j} && nempty(link[{j} * N + me]) ->
       link[{j} * N + me]?message;
       if
       :: message == 0 -> outstanding--;
          if :: outstanding == 0 -> phase = 2; inside++; assert(inside <= 1) :: else fi
       :: else ->
          if :: message > H -> H = message :: else fi;
          if :: phase != 0 && EARLIER(sn, me, message, {j}) -> deferred[{j}] = 1
             :: else -> link[me * N + {j}]!0
          fi
       fi;
       message = 0 }}
"""


def table(rows: list[Measurement]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and cells, for people."""
    columns = (
        "sites",
        "rounds",
        ">states",
        ">ours/s",
        ">reduced",
        ">s",
        ">SPIN states",
        ">SPIN/s",
        ">SPIN/ours",
    )
    cells: list[tuple[str, ...]] = [
        (
            str(row.nodes),
            str(row.rounds),
            f"{row.states:,}",
            f"{row.rate:,.0f}",
            f"{row.reduced_states:,}",
            f"{row.reduced_seconds:.2f}",
            "-" if row.spin_states is None else f"{row.spin_states:,}",
            "-" if row.spin_rate is None else f"{row.spin_rate:,.0f}",
            "-" if row.times_slower is None else f"{row.times_slower:.1f}",
        )
        for row in rows
    ]
    return columns, cells
