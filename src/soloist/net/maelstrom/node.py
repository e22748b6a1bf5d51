"""What a node answers to Maelstrom, without I/O: whatever comes in is heard, and what is to be said is sent.

Clients `lock` and `unlock`; nodes carry the messages of the algorithm to each other, with the fence's counter as everywhere. Maelstrom's network
may let one message overtake another: each link has numbers, so that an algorithm that needs order gets it, and nothing is heard twice.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from itertools import count
from typing import Any

import msgspec

from soloist.algorithms import Card
from soloist.core import SoloistError
from soloist.net.engine.instance import Instance
from soloist.net.engine.layout import Layout
from soloist.net.engine.sites import begins, fresh
from soloist.net.engine.ticket import CallLater, Effects, Terms, Ticket
from soloist.net.errors import LockError
from soloist.net.link.wire import Envelope

Body = dict[str, Any]
Sender = Callable[[str, Body], None]
"""Told the addressee and the body."""
MILLISECOND = 0.001
"""Seconds."""


class Code(IntEnum):
    """Maelstrom's errors, those that are ours to give; all but `CRASH` say that nothing has happened."""

    NOT_SUPPORTED = 10
    TEMPORARILY_UNAVAILABLE = 11
    MALFORMED_REQUEST = 12
    CRASH = 13
    PRECONDITION_FAILED = 22


class Refusal(SoloistError):
    """What a client gets instead of an answer."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code


class Call(msgspec.Struct):
    """A client that waits for a lock, or has it."""

    client: str
    lock: str
    ticket: Ticket
    number: int | None


class Link:
    """What a peer says, in the order of its numbers, or as it comes; each once."""

    def __init__(self, in_order: bool) -> None:
        self.in_order = in_order
        self.next = 0
        self.early: dict[int, Body] = {}
        self.sent = count()

    def arrived(self, number: int, body: Body) -> list[Body]:
        """What may be heard now."""
        if number < self.next or number in self.early:
            return []
        self.early[number] = body
        found = [] if self.in_order else [body]
        while self.next in self.early:
            following = self.early.pop(self.next)
            self.next += 1
            if self.in_order:
                found.append(following)
        return found


class MaelstromNode:
    """One node, from its `init` on."""

    def __init__(self, card: Card, k: int, send: Sender, call_later: CallLater) -> None:
        self.card, self.k, self._send, self._call_later = card, k, send, call_later
        self.me, self.names = "", list[str]()
        self._effects = Effects()
        self._terms = Terms(self._effects, call_later=call_later)
        self._instances: dict[str, Instance] = {}
        self._links: dict[str, Link] = {}
        self._waiting: list[Call] = []
        self._holding: list[Call] = []
        self._before_init: list[tuple[str, Body]] = []
        self._next_id = count(1).__next__

    def hear(self, source: str, body: Body) -> None:
        """A message of a client, or of a node."""
        if body.get("type") == "algorithm":
            if self.me:
                self._from_peer(source, body)
            else:
                self._before_init.append((source, body))
        else:
            try:
                self._from_client(source, body)
            except Refusal as refusal:
                self._reply(source, body, {"type": "error", "code": int(refusal.code), "text": str(refusal)})
        self.perform()

    def perform(self) -> None:
        """Send what the algorithm wants sent, and tell clients who are in."""
        sends = self._effects.sends
        while sends:
            to, envelope = sends.pop(0)
            self._to_peer(self.names[to], envelope)
        for call in [each for each in self._waiting if each.ticket.gone]:
            self._waiting.remove(call)
            if call.ticket.error:
                self._answer(call, {"type": "error", "code": int(Code.CRASH), "text": str(call.ticket.error)})
            elif call.ticket.fence:
                self._holding.append(call)
                self._answer(call, {"type": "lock_ok", "lock": call.lock, "fence": call.ticket.fence})

    # Clients.

    def _from_client(self, source: str, body: Body) -> None:
        type_ = body.get("type")
        if type_ == "init":
            self._init(source, body)
        elif not self.me:
            raise Refusal(Code.TEMPORARILY_UNAVAILABLE, "the node has had no init yet")
        elif type_ == "lock":
            self._lock(source, body)
        elif type_ == "unlock":
            self._unlock(source, body)
        elif isinstance(type_, str):
            raise Refusal(Code.NOT_SUPPORTED, f"the types are init, lock and unlock, not {type_}")
        else:
            raise Refusal(Code.MALFORMED_REQUEST, "a body has a type, as text")

    def _init(self, source: str, body: Body) -> None:
        me, names = body.get("node_id"), body.get("node_ids")
        if self.me:
            raise Refusal(Code.PRECONDITION_FAILED, f"the node is {self.me} already")
        if not isinstance(names, list) or me not in names or len(set(map(str, names))) < len(names):
            raise Refusal(
                Code.MALFORMED_REQUEST,
                "init has a node_id that is one of its node_ids, each of which is there once",
            )
        self.names = [str(each) for each in names]
        self.card.size(len(self.names) * self.k, self.k)  # a `UsageError` ends the node: it could never work
        self.me = str(me)
        self._links = {name: Link(self.card.channels == "fifo") for name in self.names}
        self._reply(source, body, {"type": "init_ok"})
        early, self._before_init = self._before_init, []
        for sender, message in early:
            self._from_peer(sender, message)

    def _lock(self, source: str, body: Body) -> None:
        lock, timeout = _name(body), body.get("timeout")
        if timeout is not None and (
            isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout < 0
        ):
            raise Refusal(Code.MALFORMED_REQUEST, "timeout is a number of milliseconds")
        call = Call(source, lock, Ticket(), body.get("msg_id"))
        try:
            self._instance(lock).request(call.ticket)
        except LockError as error:
            raise Refusal(Code.CRASH, str(error)) from None
        self._waiting.append(call)
        if timeout is not None and not call.ticket.gone:
            self._call_later(timeout * MILLISECOND, self._give_up, call)

    def _give_up(self, call: Call) -> None:
        if call in self._waiting and not call.ticket.gone:
            self._instance(call.lock).withdraw(call.ticket)
            self._waiting.remove(call)
            text = f"{call.lock} was not free in time; the request is withdrawn"
            self._answer(call, {"type": "error", "code": int(Code.TEMPORARILY_UNAVAILABLE), "text": text})

    def _unlock(self, source: str, body: Body) -> None:
        lock, fence = _name(body), body.get("fence")
        for call in self._holding:
            if (call.client, call.lock) == (source, lock) and fence in (None, call.ticket.fence):
                self._holding.remove(call)
                self._instance(lock).release(call.ticket)
                self._reply(source, body, {"type": "unlock_ok", "lock": lock, "fence": call.ticket.fence})
                return
        which = f"{lock} with fence {fence}" if fence is not None else lock
        raise Refusal(Code.PRECONDITION_FAILED, f"{source} does not hold {which} at {self.me}")

    def _answer(self, call: Call, answer: Body) -> None:
        self._reply(call.client, {"msg_id": call.number}, answer)

    def _reply(self, to: str, request: Body, answer: Body) -> None:
        about = {} if request.get("msg_id") is None else {"in_reply_to": request["msg_id"]}
        self._send(to, {**answer, "msg_id": self._next_id(), **about})

    # Peers.

    def _instance(self, lock: str) -> Instance:
        instance = self._instances.get(lock)
        if instance is None:
            layout = Layout.of(lock, len(self.names), self.names.index(self.me), self.k)
            processes = fresh(self.card, layout)
            instance = self._instances[lock] = Instance(lock, self.card, layout, self._terms, processes)
            if begins(self.card):
                instance.begin()
        return instance

    def _to_peer(self, name: str, envelope: Envelope) -> None:
        body = {
            "type": "algorithm",
            "number": next(self._links[name].sent),
            "lock": envelope.lock,
            "counter": envelope.counter,
            "sender": envelope.sender,
            "to": envelope.to,
            "message": msgspec.to_builtins(envelope.body),
        }
        self._send(name, body)

    def _from_peer(self, source: str, body: Body) -> None:
        link, number = self._links.get(source), body.get("number")
        if link is None or not isinstance(number, int):
            raise SoloistError(
                f"{source!r} sent a message of the algorithm, and is none of {', '.join(self.names)}, or gave it no number"
            )
        for each in link.arrived(number, body):
            try:
                packed = msgspec.Raw(msgspec.msgpack.encode(each["message"]))
                lock, counter, sender, to = each["lock"], each["counter"], each["sender"], each["to"]
                envelope = Envelope(lock, self.k, 0, counter, sender, to, packed)
                self._instance(lock).deliver(self.names.index(source), envelope)
            except (KeyError, TypeError, msgspec.MsgspecError) as error:
                raise SoloistError(f"{source} sent what is no message of {self.card.name}: {error}") from None


def _name(body: Body) -> str:
    lock = body.get("lock", "lock")
    if not isinstance(lock, str | int) or isinstance(lock, bool):
        raise Refusal(Code.MALFORMED_REQUEST, "lock is the name of a lock")
    return str(lock)
