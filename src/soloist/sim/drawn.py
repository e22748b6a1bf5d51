"""The simulator where delays are drawn and nobody writes down each step: the same run as `Engine`'s, and a loop of its own.

Messages have a heap to themselves, the *mail*: it is small, since they are short on their way, while every site that thinks
has an event on the other. Many a delivery causes one message to one site, such as a reply: that message takes the place of the
delivered one at the head of the mail, in one move instead of two.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush, heapreplace
from math import inf
from typing import Any

from soloist.core import Message, Send, Site
from soloist.sim.engine import Engine, Post
from soloist.sim.links import Constant, Network


def serves(network: Network) -> bool:
    """Whether these links draw their delays, and sites spend nothing on messages."""
    return not isinstance(network.delay, Constant) and not network.send_cost and not network.receive_cost


LAST: tuple[float, int, Any, Site, Site, int] = (inf, 0, None, 0, 0, 0)
"""Stands at the end of the mail, which so is never empty."""


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
        entered, timers, heap, journal = out.entered, out.timers, self.heap, self.ledger.journal
        draw_delay, tick, in_order, note = self.draw_delay, self.tick, self.in_order, journal.append
        self._begin()
        self._first_requests()
        mail.append(LAST)
        now, due = self.now, heap[0][0] if heap else inf
        sends = out.sends = []
        while not self.done:
            event = mail[0]
            if event[0] < due or (event[0] == due < inf and event < heap[0]):
                now, _, message, site, sender, out.mark = event
                handlers[message.__class__](processes[site], sender, message)
                if not (entered or timers):
                    if not sends:
                        heappop(mail)
                        continue
                    send = sends.pop()
                    sender, to, message, mark = send
                    if not sends and len(to) == 1:
                        note(send)
                        time = now + draw_delay()
                        if in_order:
                            time = in_order(sender, to[0], time)
                        heapreplace(mail, (time, tick(), message, to[0], sender, mark))
                        continue
                    sends.append(send)
                heappop(mail)
                self.now = now
            else:
                self._act(now)
            self._effects()
            sends, due = out.sends, heap[0][0] if heap else inf
        self.ledger.charge()

    def _act(self, now: float) -> None:
        if not self.heap:
            self.now = now
            raise self._deadlock()
        self.now, _, _, site, action, detail = heappop(self.heap)
        self.out.mark, self.out.sends = detail, []
        action(site, detail)

    def _in_flight(self) -> Iterator[tuple[float, int]]:
        for event in self.mail:
            if event is not LAST:
                yield event[0], event[5]
