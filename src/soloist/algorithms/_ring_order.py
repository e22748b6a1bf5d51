"""What Ricart and Agrawala's token algorithm and Nishio's share: everybody is asked, and the token goes
to the next site, in ring order, that has asked since it was last served."""

from __future__ import annotations

from typing import Self

from soloist.core import IDLE, Message, Number, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(sn, j): site j, the sender, makes its sn-th request."""

    sn: Number


class RingOrder(Process):
    """Everything but the token itself: a subclass says what it carries."""

    request_data: list[Number]
    token_data: list[Number]
    have_token: bool

    @classmethod
    def start(cls, me: Site, n: int) -> Self:
        return cls(me=me, n=n, request_data=[0] * n, token_data=[0] * n, have_token=me == 0)

    def acquire(self) -> None:
        if self.have_token:
            self.enter()
        else:
            self.ask()

    def release(self) -> None:
        self.token_data[self.me] = self.request_data[self.me]
        self.pass_on()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.request_data[j] = max(self.request_data[j], m.sn)
        if self.have_token and self.phase is IDLE:
            self.pass_on()

    def ask(self) -> None:
        self.request_data[self.me] += 1
        self.multicast(self.others, Request(self.request_data[self.me]))

    def pass_on(self) -> None:
        """The token goes to the first one that waits, counting from here; if nobody does, it stays."""
        after_me = (*range(self.me + 1, self.n), *range(self.me))
        to = next((j for j in after_me if self.is_waiting(j)), None)
        if to is not None:
            self.have_token = False
            self.send_token(to)

    def is_waiting(self, j: Site) -> bool:
        return self.request_data[j] > self.token_data[j]

    def send_token(self, to: Site) -> None:
        raise NotImplementedError
