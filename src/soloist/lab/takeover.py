"""From the crash of a holder until the next one is inside: the published schemes, and recovery by views, on the same fault.

All sites ask again and again. At a random moment the site that is inside crashes, half-way through its stay. A first run of the same seed, without
the crash, tells who that is.
"""

from __future__ import annotations

from random import Random

from soloist.algorithms import find, find_any
from soloist.core import PropertyViolated
from soloist.core.trace import Recorder, Step
from soloist.lab.view_change import Takeover
from soloist.lab.view_change import takeover as view_change
from soloist.sim import Experiment, Saturated
from soloist.sim.experiment import run
from soloist.sim.faults import faults
from soloist.sim.links import Network, Uniform

NODES, D, ENTRIES = 5, 0.001, 30
"""`D`: time units; the longest delay, and the length of a stay."""
EARLIEST, LATEST = 10 * D, 20 * D
STEPS = 100_000
BACK = 0.05
"""Time units until a site comes back, where a scheme is made for that."""
RETURNS = {"nishio-recovery": "crash", "raymond-tree-recovery": "crash-new"}

BY_PROOF, BY_SILENCE = "views, a proof of the end", "views, silence for a lease"
VIEWS = {BY_PROOF: True, BY_SILENCE: False}
LOCKS = "naimi-trehel"
"""What runs the real locks, unless a user says otherwise."""


def takeover(name: str, seed: int, options: dict[str, float], lease: float = 0.0) -> Takeover:
    """One crash and what it takes. `name` is a scheme, or one of `VIEWS`."""
    if name in VIEWS:
        return view_change(find(LOCKS), NODES, D, lease, seed, proof=VIEWS[name])
    calm = _steps(name, seed, options, "loss=0")
    moment = Random(f"{seed}/moment").uniform(EARLIEST, LATEST)
    holder = next(step for step in calm if step.kind == "enter" and _time(step) >= moment)
    kind, back = (RETURNS[name], f"+{BACK}") if name in RETURNS else ("crash", "")
    crash = _time(holder) + D / 2
    after = [
        step
        for step in _steps(name, seed, options, f"{kind}={holder.site}@{crash!r}{back}")
        if _time(step) > crash
    ]
    ends = next((i for i, step in enumerate(after) if step.kind == "enter"), None)
    if ends is None:
        raise PropertyViolated("service", f"nobody entered after the crash of site {holder.site}")
    entry = _time(after[ends])
    sent = sum(step.kind == "send" for step in after if _time(step) <= entry)
    return Takeover(entry - crash, sent)


def _steps(name: str, seed: int, options: dict[str, float], fault: str) -> list[Step]:
    network = Network(Uniform(0.0, D), fifo=find_any(name).links(1) == "fifo")
    experiment = Experiment(
        name,
        NODES,
        options=dict(options),
        workload=Saturated(),
        network=network,
        inside=D,
        entries=ENTRIES,
        warmup=0,
        faults=faults([fault]),
    )
    recorder = Recorder(STEPS)
    run(experiment, seed, recorder)
    return recorder.steps


def _time(step: Step) -> float:
    return step.time or 0.0
