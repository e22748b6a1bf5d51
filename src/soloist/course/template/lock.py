"""My lock: say the idea in one sentence.

Paper name   here     meaning
             busy     somebody has site 0's grant
             queue    who waits for it, in order of arrival

This file works as it stands: site 0 lets one site in at a time. Wherever it says FILL IN, put your own.
See it:  soloist check FILE --nodes 3 --rounds 1     every order of events
         soloist simulate FILE --nodes 10            what an entry costs
         soloist watch FILE --html run.html          a run to look at
"""

from __future__ import annotations

from soloist.algorithms import Card, Formula
from soloist.core import Message, Process, Site, on

# FILL IN: the messages. Frozen; their fields are numbers, words, and tuples of these.


class Request(Message, frozen=True):
    """The sender wants to enter."""


class Grant(Message, frozen=True):
    """The addressee may enter."""


class Release(Message, frozen=True):
    """The sender has left."""


class TemplateLock(Process):
    # FILL IN: the variables of a site. They are all that it knows, besides self.me, self.n and self.phase.
    busy: bool
    queue: list[Site]

    @classmethod
    def start(cls, me: Site, n: int) -> TemplateLock:
        """A site before anything has happened. Sites are numbered 0 to n-1."""
        return cls(me=me, n=n, busy=False, queue=[])  # FILL IN: what they are at first

    def acquire(self) -> None:
        """This site wants to enter. FILL IN: whom does it ask?"""
        if self.me == 0:
            self.on_request(0, Request())
        else:
            self.send(0, Request())

    def release(self) -> None:
        """This site has left. FILL IN: who has to know, so that the next one may enter?"""
        if self.me == 0:
            self.on_release(0, Release())
        else:
            self.send(0, Release())

    # FILL IN: a method for each kind of message. Each is one step: it changes variables, sends, perhaps enters, and ends.

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.queue.append(j)
        self.grant_next()

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        self.enter()  # once for each request, and only while this site waits

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        self.busy = False
        self.grant_next()

    def grant_next(self) -> None:
        if self.queue and not self.busy:
            self.busy = True
            j = self.queue.pop(0)
            if j == 0:
                self.enter()
            else:
                self.send(j, Grant())


# FILL IN: what it promises. Simulations and checks hold you to it.
CARD = Card(
    name="template-lock",
    title="Template lock",
    paper="who wrote it, where and when; or: ours",
    section="where its rules are written down",
    process=TemplateLock,
    family="permission",  # or "token"
    capacity="1",  # or "K": then `start` gets k, too
    channels="any",  # or "fifo", if a link has to keep the order of messages
    bound=Formula("3", lambda s: 3),  # most messages per entry; s.n is the number of sites
    light=Formula(
        "3(N-1)/N", lambda s: 3 * (s.n - 1) / s.n
    ),  # the mean when requests are rare; None if unknown
    fairness="arrival",  # or "timestamp" (then define `timestamp`), "causal", "no-starvation", "none"
)
