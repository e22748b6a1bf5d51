"""The simulator where delays are drawn and nobody writes down each step: the same run as `Engine`'s, and a loop of its own.

Messages have a queue to themselves, the *mail*: a list in order, the next one last, with times and numbers below zero for that. They
are few as a rule, since they are short on their way: then it takes less to put one in its place than to keep a heap, and
nothing to take the next one. Of many, those that arrive last are put *off*, into a heap.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

from soloist.core import Send, Site
from soloist.sim.engine import Engine, Post
from soloist.sim.links import Constant, Network

Event = tuple[float, int, Any, Site, Site, int]

LAST: Event = (-inf, 0, None, 0, 0, 0)
"""Stands at the other end of the mail, which so is never empty."""
MANY, KEPT = 1024, 512
"""Messages from which on some are put off, and how many are not."""


def serves(network: Network) -> bool:
    """Whether these links draw their delays, and sites spend nothing on messages."""
    return not isinstance(network.delay, Constant) and not network.send_cost and not network.receive_cost


class DrawnEngine(Engine):
    """One run of one system, over links that `serves` names, without a tracer."""

    def _post_for(self, network: Network) -> Post:
        self.mail: list[Event] = [LAST]
        self.off: list[tuple[float, int, Event]] = []
        self.ticks = count(0, -1)
        self.number = number = self.ticks.__next__
        self.tick = lambda: -number()
        self.in_order = self._in_order if network.fifo else None
        return self._post_one_by_one if network.fifo else self._post_at_once

    def _post_one_by_one(self, sends: list[Send]) -> None:
        for sender, to, message, mark in sends:
            for site in to:
                time = self._in_order(sender, site, self.now + self.draw_delay())
                insort(self.mail, (-time, self.number(), message, site, sender, mark))
        if len(self.mail) > MANY:
            self._put_off()

    def _post_at_once(self, sends: list[Send]) -> None:
        now, mail, numbers, delays = -self.now, self.mail, self.ticks, self.delays
        for sender, to, message, mark in sends:
            events = [
                (now - delay, number, message, site, sender, mark)
                for site, number, delay in zip(to, numbers, delays, strict=False)
            ]
            if len(events) > len(mail) // 8:
                mail += events
                mail.sort()
            else:
                for event in events:
                    insort(mail, event)
        if len(mail) > MANY:
            self._put_off()

    def _put_off(self) -> None:
        """Those that arrive last."""
        for event in self.mail[1:-KEPT]:
            heappush(self.off, (-event[0], -event[1], event))
        del self.mail[1:-KEPT]

    def _take_up(self) -> None:
        """Those that were put off and arrive next."""
        self.mail += [heappop(self.off)[2] for _ in range(min(KEPT, len(self.off)))]
        self.mail.sort()
        if len(self.mail) > MANY:
            self._put_off()

    def run(self) -> None:
        handlers, processes, out, heap = self.processes[0].handlers, self.processes, self.out, self.heap
        entered, timers, mail, off = out.entered, out.timers, self.mail, self.off
        note = self.ledger.journal.append
        draw_delay, number, in_order, take = self.draw_delay, self.number, self.in_order, mail.pop
        self._begin()
        self._first_requests()
        now, due = -self.now, self._due()
        sends = out.sends = []
        while not self.done:
            event = take()
            if event[0] > due or (event[0] == due and self._is_next(event)):
                now, _, message, site, sender, out.mark = event
                handlers[message.__class__](processes[site], sender, message)
                if not (entered or timers):
                    if not sends:
                        continue
                    send = sends.pop()
                    sender, to, message, mark = send
                    if not sends and len(to) == 1:  # such as a reply
                        note(send)
                        time = now - draw_delay()
                        if in_order:
                            time = -in_order(sender, to[0], -time)
                        insort(mail, (time, number(), message, to[0], sender, mark))
                        continue
                    sends.append(send)
                self.now = -now
            else:
                mail.append(event)
                if off and (not heap or off[0][:2] < heap[0][:2]):
                    self._take_up()
                else:
                    self._act(-now)
            self._effects()
            sends, due = out.sends, self._due()
        self.ledger.charge()

    def _due(self) -> float:
        """When something else than the mail is next, below zero."""
        due = -self.heap[0][0] if self.heap else -inf
        return max(due, -self.off[0][0]) if self.off else due

    def _is_next(self, event: Event) -> bool:
        """Whether a message comes before what else is due at the same time: by their numbers."""
        rivals = [each[0][:2] for each in (self.heap, self.off) if each]
        return bool(rivals) and (-event[0], -event[1]) < min(rivals)

    def _act(self, now: float) -> None:
        if not self.heap:
            self.now = now
            raise self._deadlock()
        self.now, _, _, site, action, detail = heappop(self.heap)
        self.out.mark, self.out.sends = detail, []
        action(site, detail)

    def _in_flight(self) -> Iterator[tuple[float, int]]:
        for event in (*self.mail[1:], *(event for _, _, event in self.off)):
            yield -event[0], event[5]
