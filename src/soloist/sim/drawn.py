"""The simulator where delays are drawn and nobody writes down each step: the same run as `Engine`'s, and a loop of its own.

Messages have a heap to themselves, the *mail*: it is small, since they are short on their way, while every site that thinks
has an event on the other. Many a delivery causes one message to one site, such as a reply: that message takes the place of the
delivered one at the head of the mail, in one move instead of two.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush, heapreplace
from math import inf

from soloist.core import Message, Send, Site
from soloist.sim.engine import Engine, Post
from soloist.sim.links import Constant, Network


def serves(network: Network) -> bool:
    """Whether these links draw their delays, and sites spend nothing on messages."""
    return not isinstance(network.delay, Constant) and not network.send_cost and not network.receive_cost


class DrawnEngine(Engine):
    """One run of one system, over links that `serves` names, without a tracer."""

    def _post_for(self, network: Network) -> Post:
        self.mail: list[tuple[float, int, Message, Site, Site, int]] = []
        self.in_order = self._in_order if network.fifo else None
        return self._post_one_by_one if network.fifo else self._post_at_once

    def _post_one_by_one(self, sends: list[Send]) -> None:
        for sender, to, message, mark in sends:
            for site in to:
                time = self._in_order(sender, site, self.now + self.draw_delay())
                heappush(self.mail, (time, self.tick(), message, site, sender, mark))

    def _post_at_once(self, sends: list[Send]) -> None:
        now, mail, ticks, delays = self.now, self.mail, self.ticks, self.delays
        for sender, to, message, mark in sends:
            events = [
                (now + delay, number, message, site, sender, mark)
                for site, number, delay in zip(to, ticks, delays, strict=False)
            ]
            if len(events) > len(mail):
                mail += events
                mail.sort()  # a list in order is a heap, too
            else:
                for event in events:
                    heappush(mail, event)

    def run(self) -> None:
        handlers, processes, mail, out = self.processes[0].handlers, self.processes, self.mail, self.out
        entered, timers, journal = out.entered, out.timers, self.ledger.journal
        draw_delay, tick, in_order = self.draw_delay, self.tick, self.in_order
        self._begin()
        self._first_requests()
        now, posted, due, out.sends = self.now, len(journal), self._due(), journal
        while not self.done:
            if mail and (mail[0][0] < due or (mail[0][0] == due and mail[0] < self.heap[0])):
                now, _, message, site, sender, out.mark = mail[0]
                handlers[message.__class__](processes[site], sender, message)
                if not (entered or timers):
                    if len(journal) == posted:
                        heappop(mail)
                        continue
                    sender, to, message, mark = journal[-1]
                    if len(to) == 1 == len(journal) - posted:
                        time = now + draw_delay()
                        if in_order:
                            time = in_order(sender, to[0], time)
                        heapreplace(mail, (time, tick(), message, to[0], sender, mark))
                        posted += 1
                        continue
                heappop(mail)
                self.now = now
                out.sends = journal[posted:]
                del journal[posted:]
            else:
                self._act(now)
            self._effects()
            posted, due, out.sends = len(journal), self._due(), journal
        self.ledger.charge()

    def _due(self) -> float:
        """When the next event comes that is no message."""
        return self.heap[0][0] if self.heap else inf

    def _act(self, now: float) -> None:
        if not self.heap:
            self.now = now
            raise self._deadlock()
        self.now, _, _, site, action, detail = heappop(self.heap)
        self.out.mark, self.out.sends = detail, []
        action(site, detail)

    def _in_flight(self) -> Iterator[tuple[float, int]]:
        for event in self.mail:
            yield event[0], event[5]
