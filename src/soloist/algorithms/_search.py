"""A token that is searched for when it seems lost, and made anew if nobody has it.

    T         how long a site waits for the token before it searches
    Treply    how long it searches: if nobody has said by then that the token is there, it is lost
    inc       number of the newest search that this site has heard of; it takes no token from before
    found     whether it has heard, too, where that search has ended

A search has a number that no other has: the searcher's, modulo N. Who hears of a higher one than before forgets all requests, for it may be
that they died with somebody; it asks nobody until the token is found, and takes no older token, which may be on its way. Whoever has the token
says so at once: it is found, and has that number from now on. If nobody has, the searcher makes one. Then all who wait ask again.
Of two searches the higher one goes on: whoever searches hears of it before its Treply has run out.

**Safety rests on time**: Treply must be longer than a message needs to reach everybody, and an answer to come back.
"""

from __future__ import annotations

from soloist.algorithms._card import Option
from soloist.algorithms._recovery import time
from soloist.core import WAITING, Message, Process, Site, on


class Search(Message, frozen=True):
    """Who has the token? Whoever has not takes none that is older than this search."""

    inc: int


class Found(Message, frozen=True):
    """The token of this number is there: ask again."""

    inc: int


class TokenSearch(Process, kw_only=True):
    T: float
    Treply: float
    have_token: bool
    inc: int = 0
    found: bool = True

    # What an algorithm says of itself.

    def ask(self) -> None:
        """Send a request for the token."""
        raise NotImplementedError

    def forget(self) -> None:
        """Know of no request."""
        raise NotImplementedError

    def spread(self, m: Search | Found, heard_from: Site | None = None) -> None:
        """Tell everybody; where all can be reached at once, nothing needs to be passed on."""
        if heard_from is None:
            self.multicast(self.others, m)

    # Waiting.

    def acquire(self) -> None:
        self.enter() if self.have_token else self.wait()

    def wait(self) -> None:
        self.set_timer("T", self.T)
        if self.found:
            self.ask()

    def take(self) -> None:
        self.have_token = True
        self.cancel_timer("T")
        self.enter()

    def is_of_now(self, inc: int) -> bool:
        """Whether a message of this number counts. One from after a search that has not come here yet tells of it."""
        if inc > self.inc:
            self.start_over(inc)
        if inc == self.inc and not self.found:
            self.found = True
            self.cancel_timer("Treply")
            if self.phase is WAITING:
                self.wait()
        return inc == self.inc

    # Searching.

    def timeout(self, name: str) -> None:
        if name == "T":
            self.start_over((self.inc // self.n + 1) * self.n + self.me)
            self.set_timer("Treply", self.Treply)
            self.spread(Search(self.inc))
        else:
            self.have_token = True
            self.forget()
            self.say_found()
            self.enter()

    def start_over(self, inc: int) -> None:
        self.inc, self.found = inc, False
        self.cancel_timer("Treply")
        self.forget()

    @on(Search)
    def on_search(self, j: Site, m: Search) -> None:
        if m.inc <= self.inc:
            return
        self.start_over(m.inc)
        self.spread(m, heard_from=j)
        if self.have_token:
            self.say_found()
        elif self.phase is WAITING:  # and if nothing is heard of it, whoever searches has failed
            self.set_timer("T", self.T + self.Treply)

    def say_found(self) -> None:
        self.found = True
        self.spread(Found(self.inc))

    @on(Found)
    def on_found(self, j: Site, m: Found) -> None:
        if m.inc > self.inc or not self.found:
            self.spread(m, heard_from=j)
        self.is_of_now(m.inc)


def options(reach: str = "") -> tuple[Option, ...]:
    """The two times; `reach` says how far a message has to go."""
    return (
        time(
            "T", 0.02, "wait so long before the token is searched for: longer than it usually takes to come"
        ),
        time("Treply", 0.003, f"search so long: more than twice the longest delay{reach}, for safety"),
    )
