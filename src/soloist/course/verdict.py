"""What is said of a hand-in: check by check, with the shortest run that shows what is wrong."""

from __future__ import annotations

from html import escape

import msgspec

from soloist.course.exercise import Exercise

PASSED, FAILED, UNDECIDED, NOT_TRIED = "passed", "failed", "undecided", "not tried"
THE_FILE = "the file can be loaded, and has no beginner's mistake"

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
pre{background:#8881;padding:1rem;overflow:auto} td{padding:.2rem 1rem .2rem 0;vertical-align:top}
iframe{width:100%;height:80vh;border:1px solid #999} .failed{color:#B00020} .passed{color:#00704a}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616} .failed{color:#ff7a88} .passed{color:#4ac99b}}
"""


class Judged(msgspec.Struct, frozen=True):
    """One check of a hand-in."""

    check: str
    """What was checked, in words."""
    verdict: str
    property: str = ""
    """What was broken: a promise, or time, memory, messages and the like."""
    said: str = ""
    """What is wrong."""
    advice: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    """The shortest run that shows it."""
    steps: int = 0
    page: str = ""
    """That run as a page of its own, where one was asked for."""


class Verdict(msgspec.Struct, frozen=True):
    """What is said of one hand-in."""

    hand_in: str
    exercise: int
    title: str
    outcomes: tuple[Judged, ...]

    @property
    def verdict(self) -> str:
        """The worst of all."""
        found = {outcome.verdict for outcome in self.outcomes}
        return next((each for each in (FAILED, UNDECIDED, NOT_TRIED) if each in found), PASSED)

    @property
    def passed(self) -> int:
        return sum(outcome.verdict == PASSED for outcome in self.outcomes)

    @property
    def worst(self) -> Judged | None:
        """The first that was not passed."""
        return next((each for each in self.outcomes if each.verdict != PASSED), None)

    def exit_code(self) -> int:
        return {PASSED: 0, FAILED: 1}.get(self.verdict, 3)


def complete(hand_in: str, exercise: Exercise, outcomes: list[Judged]) -> Verdict:
    """With what was not tried, in the order of the checks."""
    first = len(exercise.checks) - exercise.hidden
    names = [THE_FILE]
    names += [check.words() + (" (hidden)" if n >= first else "") for n, check in enumerate(exercise.checks)]
    done = [msgspec.structs.replace(each, check=name) for each, name in zip(outcomes, names, strict=False)]
    left = [Judged(name, NOT_TRIED) for name in names[len(done) :]]
    return Verdict(hand_in, exercise.number, exercise.title, (*done, *left))


def text(verdict: Verdict) -> str:
    """For a terminal."""
    lines = [_title(verdict), ""]
    for each in verdict.outcomes:
        lines.append(f"  {each.verdict:<9}  {each.check}")
        if each.said:
            lines.append(f"             {each.property}: {each.said}")
    for each in verdict.outcomes:
        if each.run:
            lines += ["", f"The shortest run that shows it, {_steps(each)}:", ""]
            lines += [f"  {line}" for line in each.run]
        if each.advice:
            lines += ["", *each.advice]
    return "\n".join(lines)


def _title(verdict: Verdict) -> str:
    return f"{verdict.hand_in}, exercise {verdict.exercise}, {verdict.title}: {verdict.verdict.upper()}"


def _steps(outcome: Judged) -> str:
    return f"{outcome.steps} {'step' if outcome.steps == 1 else 'steps'}"


def html(verdict: Verdict) -> str:
    """One page that needs nothing but itself; the run in it can be played."""
    title = escape(_title(verdict))
    rows = "".join(
        f'<tr><td class="{each.verdict}">{each.verdict}</td><td>{escape(each.check)}'
        f"{f'<br><b>{escape(each.property)}</b>: {escape(each.said)}' if each.said else ''}</td></tr>"
        for each in verdict.outcomes
    )
    parts = [f"<h1>{title}</h1>", f"<table>{rows}</table>"]
    for each in verdict.outcomes:
        if each.run:
            shown = escape("\n".join(each.run))
            parts.append(f"<h2>The shortest run that shows it, {_steps(each)}</h2><pre>{shown}</pre>")
        parts += [f"<p>{escape(line)}</p>" for line in each.advice]
        if each.page:
            parts.append(
                f'<h2>The run, to play</h2><iframe title="The run" srcdoc="{escape(each.page)}"></iframe>'
            )
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
