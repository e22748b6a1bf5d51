"""Who hears whom: what each node knows of its peers by what they say, and how long ago."""

from __future__ import annotations

from soloist.views import Node, View


class Hearing:
    """One node's ears. Only one thread uses them: that of its council, or the loop of its assembly."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.incarnations: dict[str, str] = {}
        """Of the peers that are connected, by name."""
        self.heard_at: dict[str, float] = {}
        """When each of them last said something."""
        self.heard_by: dict[str, bool] = {}
        """Whether each of them says that it hears us."""
        self.files: dict[str, str] = {}
        """The vote files of those of them that vote, as they say."""
        self.told: set[str] = set()
        """Peers that know that we hear them."""
        self.fellows: dict[str, float] = {}
        """The incarnations of our view, and since when each has been in it with us."""
        self.left_out: tuple[View, float] | None = None
        """The view that we were left out of, and when."""

    def heard(self, peer: str, hears: list[str], now: float, file: str = "") -> None:
        self.heard_at[peer] = now
        self.heard_by[peer] = self.name in hears
        self.files[peer] = file

    def meet(self, peer: str, incarnation: str) -> None:
        self.lost(peer)
        self.incarnations[peer] = incarnation

    def lost(self, peer: str) -> None:
        """There is no connection. When it was heard last is remembered: a connection that breaks is no silence."""
        self.told.discard(peer)
        self.incarnations.pop(peer, None)
        self.heard_by.pop(peer, None)
        self.files.pop(peer, None)

    def begin(self, view: View, now: float) -> None:
        """We are in that view."""
        if self.fellows.keys() == view.incarnations:  # nobody could be left out: not before another lease
            self.fellows.clear()
        self.fellows = {each: self.fellows.get(each, now) for each in view.incarnations}
        self.left_out = None

    def become_another(self) -> None:
        """We begin again as another incarnation: a peer that heard the one before has yet to say that it hears this one."""
        self.heard_by.clear()
        self.files.clear()

    def peer_of(self, incarnation: str) -> str | None:
        return next((peer for peer, each in self.incarnations.items() if each == incarnation), None)

    def lately(self, lease: float, now: float) -> list[str]:
        """Peers that were heard within a lease, over the connection that there is."""
        return sorted(peer for peer in self.heard_by if now - self.heard_at[peer] < lease)

    def deaf_to(self, view: View, now: float) -> tuple[str, ...]:
        """Members that we have not heard for a lease, though the voters may: mail between us would wait for ever."""
        since = {node.incarnation: self._last_heard(node) for node in view.members if node.name != self.name}
        return tuple(sorted(each for each, at in since.items() if now - at >= view.lease.length))

    def _last_heard(self, node: Node) -> float:
        """At the earliest, when it became a member; or another one of that name may be meant."""
        return max(self.heard_at.get(node.name, 0.0), self.fellows.get(node.incarnation, 0.0))

    def may_join(self, newest: View | None, now: float) -> bool:
        """Who was left out because somebody does not hear it comes back when everybody does; or tries again, some day."""
        if self.left_out is None:
            return True
        view, since = self.left_out
        if newest and newest.epoch > view.epoch:
            view = newest  # of those who were in the way some may be out by now
        others = {node.name for node in view.members if node.name != self.name}
        # Not within a lease: a link that was cut since would pass, and with it a view whose members do not hear each other.
        lately = self.lately(view.lease.length / 2, now)
        hearers = {peer for peer in lately if self.heard_by[peer]}
        return others <= hearers or now - since > 10 * view.lease.length


def name_of(incarnation: str, view: View | None) -> str:
    """The name of a member, or as much of its incarnation as people can read."""
    members = view.members if view else ()
    return next((node.name for node in members if node.incarnation == incarnation), incarnation[:8])
