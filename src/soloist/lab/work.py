"""One run of a sweep, wherever it is done: in this process, in a pool, on a machine of a cluster."""

from __future__ import annotations

import math

import msgspec

from soloist import __version__
from soloist.core import PropertyViolated
from soloist.lab.sweep import Cell, option_text
from soloist.lab.table import Row
from soloist.sim import Result, Thinking, simulate
from soloist.sim.links import Delay


class SignedRow(msgspec.Struct, frozen=True):
    """A row, and the version of soloist that made it: a cluster may have another one installed."""

    soloist: str
    row: Row


def run_cell(cell: Cell) -> SignedRow:
    """A broken promise is a finding, so it becomes a row; anything else that is raised is our own fault."""
    row = situation(cell)
    try:
        row = _figures(row, simulate(cell.experiment))
    except PropertyViolated as error:
        row = msgspec.structs.replace(row, error=f"{error.property}: {error}")
    # As it will be read from the journal: 9 messages become 9.0, so that it makes no difference who writes the table.
    return SignedRow(__version__, msgspec.json.decode(msgspec.json.encode(row), type=Row))


def situation(cell: Cell) -> Row:
    """The row of a run that has not been made: all that is known beforehand."""
    e = cell.experiment
    size, card = e.size(), e.card()
    bound = card.bound(size)
    return Row(
        label=cell.label,
        algorithm=e.algorithm,
        printed=bool(e.printed),
        options=option_text(e.options),
        nodes=e.nodes,
        k=e.k,
        rate=e.workload.rate if isinstance(e.workload, Thinking) else None,
        saturate=not isinstance(e.workload, Thinking),
        latency=e.network.delay.mean,
        latency_shape=_shape(e.network.delay),
        send_cost=e.network.send_cost,
        receive_cost=e.network.receive_cost,
        inside=e.inside,
        entries=e.entries,
        warmup=e.cohort()[0],
        channels="fifo" if e.network.fifo else "any",
        seed=e.seed,
        faults=" ".join(fault.text for fault in e.faults),
        bound=bound if math.isfinite(bound) else None,
        light_load=card.light(size) if card.light else None,
    )


def _shape(delay: Delay) -> str:
    """As a user would write it: `uniform:0.5,1.5`."""
    return (
        f"{delay.__struct_config__.tag}:{','.join(f'{value:g}' for value in msgspec.structs.astuple(delay))}"
    )


def _figures(row: Row, result: Result) -> Row:
    return msgspec.structs.replace(
        row,
        messages_per_entry=result.messages_per_entry.mean,
        by_kind=result.by_kind,
        response_time=result.response_time.mean,
        response_time_p50=result.response_time.p50,
        response_time_p99=result.response_time.p99,
        sync_delay=result.sync_delay.mean,
        throughput=result.throughput.mean,
        words_per_message=result.words_per_message,
        bytes_per_message=result.bytes_per_message,
        jain=result.fairness.jain,
        inversions=result.fairness.inversions,
        max_bypass=result.fairness.max_bypass,
    )
