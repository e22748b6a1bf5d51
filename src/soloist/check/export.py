"""The graph of a small system, for other programs: to draw it, to walk it, and to judge it again.

It is the graph itself, every state and every step of it, as it was explored with no other reduction than `messages`.
A tool that judges it anew confirms the judgement: that no state has too many inside, that nobody waits for ever where it
ends. That the steps are those of the paper it does not confirm: they come from the Python source, and no translation of
that would be more than another thing to trust.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from soloist.algorithms import Card
from soloist.check.counterexample import command
from soloist.check.explore import Graph, Limits, explore
from soloist.check.local import Local
from soloist.check.model import Model
from soloist.check.reductions import Space
from soloist.check.setting import setting
from soloist.core import INSIDE, WAITING, UsageError

REDUCTIONS = ("messages",)
"""Inboxes are sets of messages, or one queue per link: what a network is, not a trick of the search."""


class State(NamedTuple):
    """One state, as people name what is in it."""

    inside: list[int]
    waiting: list[int]
    sites: list[dict[str, str]]
    """The variables of each site."""
    mail: list[str]
    """What is in flight: `0>1 Request(n=1)`."""


class Exported(NamedTuple):
    """A graph without the numbers of the search: states by number, the first one first, and steps with their names."""

    title: str
    k: int
    states: list[State]
    steps: list[tuple[int, int, str]]
    """From, to, and what happens."""

    def ends(self) -> set[int]:
        """States that nothing follows."""
        return {*range(len(self.states))} - {origin for origin, _, _ in self.steps}


def exported(
    card: Card,
    nodes: int = 2,
    rounds: int | list[int] = 1,
    k: int = 1,
    channels: str | None = None,
    options: Mapping[str, Any] | None = None,
    most: int = 5000,
) -> Exported:
    """Explore a system to its end, beyond states that must not be. One that has more states than `most` is refused."""
    what = setting(card, nodes, rounds, k, channels, options)
    space = Space(what, REDUCTIONS)
    graph = explore(space, Limits(states=most), alarms=0, stuck=False)
    if graph.cut == "interrupted":
        raise KeyboardInterrupt
    if graph.cut:
        raise UsageError(
            f"the graph has more than {graph.cut}; give it fewer --nodes or --rounds (1,1,0 by site), or raise --states"
        )
    if graph.alarm is not None:
        raise UsageError(f"{card.name} fails in one of its steps; soloist check {card.name} shows where")
    model, numbers = space.model, graph.index
    steps = [
        (origin, numbers[target], command(model, model.things(state)[action.site], action))
        for origin, state in enumerate(graph.states)
        for action, target in space.actions(state)
    ]
    each = ",".join(map(str, what.rounds))
    title = f"{card.name}, N={nodes}{f', K={k}' if k > 1 else ''}, requests {each}, channels {what.channels}"
    return Exported(title, k, [_state(graph, state) for state in graph.states], steps)


def _state(graph: Graph, state: int) -> State:
    model = graph.space.model
    locals_: list[Local] = model.things(state)[:-1]
    phases = [model.library.phases[local.process] for local in locals_]
    return State(
        [site for site, phase in enumerate(phases) if phase is INSIDE],
        [site for site, phase in enumerate(phases) if phase is WAITING],
        [_variables(model, local) for local in locals_],
        [
            f"{item.sender}>{site} {model.library.messages[item.message]}"
            for site, local in enumerate(locals_)
            for item in local.inbox
        ],
    )


def _variables(model: Model, local: Local) -> dict[str, str]:
    return {name: str(value) for name, value in model.library.process(local.process).fields().items()}


# For people: Graphviz.


def dot(found: Exported) -> str:
    """A picture of it: `dot -Tsvg graph.dot`. A state shows who is inside or waits, and what is in flight; its variables
    are shown where the mouse is."""
    return "\n".join([*_dot(found), ""])


def _dot(found: Exported) -> Iterator[str]:
    yield f"digraph {_quoted(found.title)} {{"
    yield f'  label={_quoted(found.title)} labelloc=t fontname="sans-serif"'
    yield '  node [shape=box style="rounded,filled" fillcolor=white fontname="sans-serif" fontsize=10]'
    yield '  edge [fontname="sans-serif" fontsize=9]'
    ends = found.ends()
    for number, state in enumerate(found.states):
        words = [f"site {i} inside" for i in state.inside] + [f"site {i} waits" for i in state.waiting]
        label = "\n".join([str(number), *words, *state.mail])
        variables = "\n".join(
            f"site {i}: {', '.join(f'{name}={value}' for name, value in fields.items())}"
            for i, fields in enumerate(state.sites)
        )
        looks = (
            f"fillcolor={_colour(found, state, number in ends)}{' peripheries=2' if number in ends else ''}"
        )
        yield f"  {number} [label={_quoted(label)} tooltip={_quoted(variables)} {looks}]"
    for origin, target, name in found.steps:
        yield f"  {origin} -> {target} [label={_quoted(name)}]"
    yield "}"


def _colour(found: Exported, state: State, end: bool) -> str:
    if len(state.inside) > found.k:
        return "tomato"
    if end and state.waiting:
        return "orange"
    return "palegreen" if state.inside else "white"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# For another checker: SPIN.


PROMELA = """\
/* {title}: {states} states, {steps} steps.

   The graph is in tables: the steps of state i are TO(FIRST(i)) to TO(FIRST(i + 1) - 1). To judge it anew:

       spin -a graph.pml && gcc -DSAFETY -DNOREDUCE -o pan pan.c && ./pan

   An assertion that is violated is a state with more than {k} inside. An invalid end state is one in which somebody waits
   and nothing can happen any more: a deadlock. SPIN stores a state for each of ours, and two of its own for each end in
   which nobody waits.
   Not in here: starvation, order and fences, which are judged with fairness, or with a memory of the run. */

{tables}
#define STEPS(s) (FIRST((s) + 1) - FIRST(s))
#define STEP(n) now.s = TO(FIRST(now.s) + n); now.inside = IN(now.s); now.waiting = WAITS(now.s);

int s;
byte inside, waiting;

active proctype graph()
{{
	do
{options}
	:: c_expr {{ !STEPS(now.s) && !now.waiting }} -> break
	od
}}
"""
OPTION = "\t:: d_step {{ c_expr {{ STEPS(now.s) > {0} }} -> c_code {{ STEP({0}) }}; assert(inside <= {1}) }}"
PIECE = 2000
"""Numbers in one piece of C: SPIN takes no longer ones than some tens of kilobytes."""


def promela(found: Exported) -> str:
    """A model for SPIN that has just these states and steps, and asserts exclusion and the absence of deadlock.

    As labels and gotos it would be easier to read, and more than SPIN's parser takes.
    """
    first = [0] * (len(found.states) + 1)
    for origin, _, _ in found.steps:
        first[origin + 1] += 1
    most = max(first)
    tables = [
        *_table("FIRST", list(accumulate(first))),
        *_table("TO", [target for _, target, _ in sorted(found.steps)]),
        *_table("IN", [len(state.inside) for state in found.states]),
        *_table("WAITS", [len(state.waiting) for state in found.states]),
    ]
    return PROMELA.format(
        title=found.title,
        k=found.k,
        states=len(found.states),
        steps=len(found.steps),
        tables="\n".join(tables),
        options="\n".join(OPTION.format(number, found.k) for number in range(most)),
    )


def _table(name: str, numbers: list[int]) -> Iterator[str]:
    """Numbers in C, and a macro that gives one of them."""
    pieces = [numbers[start : start + PIECE] for start in range(0, len(numbers), PIECE)]
    for place, piece in enumerate(pieces):
        listed = textwrap.fill(", ".join(map(str, piece)), 120)
        yield f"c_decl {{ static const int {name}_{place}[] = {{\n{listed}\n}}; }}"
    names = ", ".join(f"{name}_{place}" for place in range(len(pieces)))
    yield f"c_decl {{ static const int *{name}_[] = {{{names}}}; }}"
    yield f"#define {name}(i) {name}_[(i) / {PIECE}][(i) % {PIECE}]"


# For programs.


def as_json(found: Exported) -> str:
    """States and steps as plain values; a state's number is its place."""
    states = ",\n  ".join(json.dumps(state._asdict()) for state in found.states)
    steps = ",\n  ".join(json.dumps(step) for step in found.steps)
    head = f'"title": {json.dumps(found.title)}, "k": {found.k}'
    return f'{{{head},\n "states": [\n  {states}],\n "steps": [\n  {steps}]}}\n'


FORMATS: dict[str, Callable[[Exported], str]] = {"dot": dot, "promela": promela, "json": as_json}
SUFFIXES = {".dot": "dot", ".gv": "dot", ".pml": "promela", ".json": "json"}
