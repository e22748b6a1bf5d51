"""Which algorithms a node runs: those that it was told, or those that the others run, or the usual ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from soloist.algorithms import Card, find, load
from soloist.algorithms._source import source_digest
from soloist.core import UsageError
from soloist.net.errors import ConfigMismatch
from soloist.net.link.handshake import Who, incarnation
from soloist.net.link.versions import offered
from soloist.net.told import check_words
from soloist.views import Algorithm, View

USUAL = ("bulgannawar-vaidya", "srimani-reddy")
"""For locks and for semaphores, where nobody says. Why these: `docs/decisions/default-lock.md`, `docs/decisions/default-semaphore.md`."""
Cards = tuple[Card, Card]


def chosen(algorithm: str | None, semaphore_algorithm: str | None) -> Cards:
    """What serves several can serve one, but not the other way round."""
    check_words({"algorithm": algorithm, "semaphore_algorithm": semaphore_algorithm})
    lock, semaphore = load(algorithm or USUAL[0]), load(semaphore_algorithm or USUAL[1])
    if semaphore.capacity != "K":
        raise UsageError(f"{semaphore.name} is for locks; choose another, `soloist algorithms` lists them")
    return lock, semaphore


def introduction(
    cluster: str, node: str, members: Collection[str], cards: Cards, named: tuple[bool, bool]
) -> Who:
    """What a node says of itself before it knows anybody."""
    return Who(
        cluster,
        node,
        " ".join(card.name for card in cards),
        tuple(sorted(members)),
        incarnation(),
        origin=0,
        versions=offered(),
        digests=(source_digest(cards[0].process), source_digest(cards[1].process)),
        named=named,
    )


def algorithms_of(who: Who) -> tuple[Algorithm, ...]:
    """What it would have a view say: nothing, as long as it would run something else just as well.

    Where etcd decides there is no birth at which all have met, so that the first node decides.
    """
    if not (all(who.named) or who.engine):
        return ()
    return tuple(
        Algorithm(name, "", digest) for name, digest in zip(who.algorithm.split(), who.digests, strict=True)
    )


def agreed_algorithms(company: Mapping[str, Who]) -> tuple[Algorithm, ...]:
    """What all run who were born together: what one of them was told, if any was. The same at all of them."""
    found = []
    for kind in range(2):
        said = [(who.named[kind], who.algorithm.split()[kind], who.digests[kind]) for who in company.values()]
        name = max(said)[1]
        found.append(Algorithm(name, "", max(digest for _, each, digest in said if each == name)))
    return tuple(found)


def bound(who: Who, view: View) -> Who:
    """The same node, in that view: from now on it runs what the view says."""
    algorithms = view.algorithms
    if len(algorithms) != 2:
        return msgspec.structs.replace(who, protocol=view.protocol)
    return msgspec.structs.replace(
        who,
        protocol=view.protocol,
        algorithm=" ".join(each.name for each in algorithms),
        digests=(algorithms[0].digest, algorithms[1].digest),
        named=(True, True),
    )


def of_view(view: View, cards: Cards) -> Cards:
    """What runs the locks of that view; the usual or chosen ones, if it does not say."""
    if len(view.algorithms) != 2:
        return cards
    lock, semaphore = (find(each.name) for each in view.algorithms)
    return lock, semaphore


def check_view(who: Who, view: View) -> None:
    """Raise if that view, which has this node, runs something else than it was told to."""
    for named, mine, theirs in zip(who.named, who.algorithm.split(), view.algorithms, strict=False):
        if named and mine != theirs.name:
            raise ConfigMismatch(f"the cluster runs {theirs.name}, but {who.node!r} was told to run {mine}")
