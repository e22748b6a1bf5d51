"""The properties of a history: each judge says what it judged, how far, and shows what is wrong.

Two holds overlap for sure if no clock that is wrong by at most the skew could set them apart: each began before the other
ended, by more than the skew. Any number of holds that overlap in pairs have a moment in common, so this is enough for K, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import Literal

import msgspec

from soloist.history.holds import Book, Hold, Request

Verdict = Literal["holds", "violated", "undecided", "not judged"]


class Example(msgspec.Struct, frozen=True):
    """Holds that show what is wrong, or what cannot be decided."""

    lock: str
    holds: list[Hold]
    files: list[str]


class Finding(msgspec.Struct, frozen=True):
    """One property, judged."""

    property: str
    verdict: Verdict
    judged: str
    """What there was to judge."""
    reason: str = ""
    violations: int = 0
    undecided: int = 0
    example: Example | None = None
    figures: dict[str, int] = {}


def crowds(
    holds: Sequence[Hold], k: int, skew: float, possibly: bool = False
) -> Iterator[tuple[Hold, list[Hold]]]:
    """Each hold that began while K others were inside, with the first K of these. Holds are in the order of their beginnings.

    Of those that were inside when it began, by more than the skew, the K that began first are the ones that it surely met
    before its own end, if it met K at all.
    """
    inside: dict[int, Hold] = {}
    ends: list[tuple[float, int]] = []
    for number, hold in enumerate(holds):
        while ends and ends[0][0] <= hold.since + skew:
            del inside[heappop(ends)[1]]
        if len(inside) >= k:
            others = list(islice(inside.values(), k))
            if others[-1].since + skew < _end(hold, possibly):
                yield hold, others
        inside[number] = hold
        heappush(ends, (_end(hold, possibly), number))


def _end(hold: Hold, possibly: bool) -> float:
    return hold.over if possibly else hold.until


def exclusion(books: Sequence[Book], skew: float) -> Finding:
    """At most K inside."""
    example = doubtful = None
    violations = undecided = 0
    for book in books:
        sure = set()
        for hold, others in crowds(book.holds, book.k, skew):
            example = example or Example(book.lock, [*others, hold], book.files)
            sure.add(id(hold))
        violations += len(sure)
        for hold, others in crowds(book.holds, book.k, 0.0, possibly=True):
            if id(hold) not in sure:
                doubtful = doubtful or Example(book.lock, [*others, hold], book.files)
                undecided += 1
    total = sum(len(book.holds) for book in books)
    judged = f"{count(total, 'hold')} of {count(len(books), 'lock')}"
    if not total:
        return Finding("exclusion", "not judged", judged, "nobody was ever inside")
    verdict: Verdict = "violated" if violations else "undecided" if undecided else "holds"
    reason = ""
    if example:
        reason = _overlap(example)
    elif doubtful:
        reason = _doubt(doubtful, skew)
    return Finding("exclusion", verdict, judged, reason, violations, undecided, example or doubtful)


def _overlap(example: Example) -> str:
    holds = example.holds
    both = min(hold.until for hold in holds) - max(hold.since for hold in holds)
    for_long = f", for {both:.6g}" if both > 0 else ""
    return f"{_lock(example.lock)}{len(holds)} inside together{for_long}: {_named(holds, example.files)}"


def _doubt(example: Example, skew: float) -> str:
    *others, hold = example.holds
    files = example.files
    unknown = next((each for each in others if each.over > each.until and each.until <= hold.since), None)
    if unknown:
        how = f"{_named([unknown], files)} has no known end: it may have been inside when {_named([hold], files)} came"
    else:
        how = f"{_named(example.holds, files)} overlap by no more than clocks may differ ({skew:g})"
    return f"{_lock(example.lock)}{how}"


def fence(books: Sequence[Book], skew: float) -> Finding:
    """A hold that began after another had ended has a higher fence. With K places, nothing leads from one holder to the next, so no
    order of fences can be asked for."""
    example = doubtful = None
    violations = undecided = fenced = 0
    for book in books:
        holds = [hold for hold in book.holds if hold.fence is not None] if book.k == 1 else []
        fenced += len(holds)
        sure = set()
        for before, hold in _not_grown(holds, skew):
            example = example or Example(book.lock, [before, hold], book.files)
            sure.add(id(hold))
        violations += len(sure)
        for before, hold in _not_grown(holds, 0.0) if skew else ():
            if id(hold) not in sure:
                doubtful = doubtful or Example(book.lock, [before, hold], book.files)
                undecided += 1
    total = sum(len(book.holds) for book in books)
    judged = f"{fenced} of {count(total, 'hold')}"
    if not fenced:
        alone = any(book.k == 1 for book in books)
        why = "the history has no fences" if alone else "fences grow from holder to holder only where K is 1"
        return Finding("fence", "not judged", f"0 of {count(total, 'hold')}", why)
    verdict: Verdict = "violated" if violations else "undecided" if undecided else "holds"
    shown = example or doubtful
    reason = ""
    if shown:
        before, hold = shown.holds
        newer, older = _named([hold], shown.files), _named([before], shown.files)
        reason = f"{_lock(shown.lock)}fence {hold.fence} of {newer} after {before.fence} of {older}"
    return Finding("fence", verdict, judged, reason, violations, undecided, shown)


def _not_grown(holds: Sequence[Hold], skew: float) -> Iterator[tuple[Hold, Hold]]:
    """Each hold whose fence is not above all fences of holds that had ended, by more than the skew, when it began."""
    ended: list[tuple[float, int, Hold]] = []
    highest: Hold | None = None
    for number, hold in enumerate(holds):
        while ended and ended[0][0] + skew <= hold.since and ended[0][2].since < hold.since:
            before = heappop(ended)[2]
            if highest is None or (before.fence or 0) > (highest.fence or 0):
                highest = before
        if highest is not None and (hold.fence or 0) <= (highest.fence or 0):
            yield highest, hold
        heappush(ended, (hold.until, number, hold))


class Passing(msgspec.Struct):
    """The request that was passed most often by later ones."""

    most: int = 0
    book: Book | None = None
    of: Hold | None = None
    out_of_order: int = 0
    """Entries that passed at least one earlier request."""
    starved: int = 0
    """The same as `most`, of requests without an answer."""
    starving: Request | None = None


def fairness(books: Sequence[Book], skew: float, bypass: int | None) -> Finding:
    """How often a request was passed by later ones; at most `bypass` times, if that is asked for."""
    asked = sum(hold.asked is not None for book in books for hold in book.holds)
    unanswered = sum(len(book.unanswered) for book in books)
    judged = f"{count(asked, 'request')} served, {unanswered} without an answer"
    if not asked:
        return Finding("fairness", "not judged", judged, "the history has no requests that were served")
    passing = Passing()
    for book in books:
        _pass(book, skew, passing)
    figures = {
        "bypass": passing.most,
        "out_of_order": passing.out_of_order,
        "unanswered_bypass": passing.starved,
    }
    reason = _most_passed(passing)
    if bypass is None:
        return Finding(
            "fairness", "not judged", judged, f"{reason}; --bypass B makes B a promise", figures=figures
        )
    if passing.most > bypass:
        return Finding("fairness", "violated", judged, reason, violations=1, figures=figures)
    if passing.starving and passing.starved > bypass:
        why = f"{_named([passing.starving], books[0].files)} has no answer, and {passing.starved} later requests were served"
        return Finding("fairness", "undecided", judged, why, undecided=1, figures=figures)
    return Finding("fairness", "holds", judged, reason, figures=figures)


def _most_passed(passing: Passing) -> str:
    if passing.of is None or passing.book is None:
        return "requests were served in their order"
    times = "once" if passing.most == 1 else f"{passing.most} times"
    return (
        f"{_lock(passing.book.lock)}a request of {_named([passing.of], passing.book.files)} was passed {times} by later ones; "
        f"{count(passing.out_of_order, 'entry')} out of order"
    )


def _pass(book: Book, skew: float, passing: Passing) -> None:
    """Walk through the entries of one lock, with those that wait in the order of their requests."""
    entries = [hold for hold in book.holds if hold.asked is not None]
    everybody: list[Hold | Request] = [*entries, *book.unanswered]
    everybody.sort(key=_asked)
    waiting: dict[int, Hold | Request] = {}
    passed: dict[int, int] = {}
    coming = iter(everybody)
    following = next(coming, None)
    for entry in entries:
        while following and _asked(following) <= entry.since:
            waiting[id(following)] = following
            following = next(coming, None)
        waiting.pop(id(entry), None)
        _overtake(entry, waiting, passed, skew)
        times = passed.pop(id(entry), 0)
        if times > passing.most:
            passing.most, passing.of, passing.book = times, entry, book
        passing.out_of_order += bool(_first_passed(entry, waiting, skew))
    for each in book.unanswered:
        if passed.get(id(each), 0) > passing.starved:
            passing.starved, passing.starving = passed[id(each)], each


def _overtake(entry: Hold, waiting: dict[int, Hold | Request], passed: dict[int, int], skew: float) -> None:
    gone = []
    for number, each in waiting.items():
        if _asked(each) + skew >= _asked(entry):
            break
        if isinstance(each, Request) and each.given_up <= entry.since:
            gone.append(number)
        else:
            passed[number] = passed.get(number, 0) + 1
    for number in gone:
        del waiting[number]


def _first_passed(entry: Hold, waiting: dict[int, Hold | Request], skew: float) -> Hold | Request | None:
    first = next(iter(waiting.values()), None)
    return first if first and _asked(first) + skew < _asked(entry) else None


def _asked(each: Hold | Request) -> float:
    assert each.asked is not None
    return each.asked


def _lock(lock: str) -> str:
    return f"{lock}: " if lock else ""


def _named(holds: Sequence[Hold | Request], files: Sequence[str]) -> str:
    """Who, and on which line; of which file, too, where there are several."""
    return " and ".join(
        f"{each.process} ({f'{files[each.file]}, ' if len(files) > 1 else ''}line {each.where})"
        for each in holds
    )


def count(number: int, what: str) -> str:
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"
