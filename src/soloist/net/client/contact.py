"""A client's contact with its nodes: the one in use, its session there, and the search for another one."""

from __future__ import annotations

import asyncio
import contextlib
import math
import ssl
from typing import TYPE_CHECKING

from soloist.net.client import memory
from soloist.net.client.desk import Desk
from soloist.net.client.greeting import Credentials, Greeting
from soloist.net.client.line import Line, dial
from soloist.net.client.renewal import Renewal
from soloist.net.client.session import Session, clock
from soloist.net.client.url import Target
from soloist.net.errors import NodeClosed
from soloist.net.link.security import Address
from soloist.net.link.wire import encode, frame
from soloist.net.service.dialogue import Bye, Release, Welcome

if TYPE_CHECKING:
    from soloist.net.client.client import Client

PAUSE = 0.05
MOST_PAUSE = 1.0
"""Seconds from one search for a node to the next."""
USELESS_SECONDS = 10.0
"""Seconds after which the next node is tried, if there is one: this one hangs, or has no lease and lets nobody in."""


class Contact:
    """All in the loop of its client."""

    loop: asyncio.AbstractEventLoop

    def __init__(
        self, client: Client, target: Target, who: Credentials, tls: ssl.SSLContext | None, patience: float
    ) -> None:
        self.target, self.who, self.tls, self.patience = target, who, tls, patience
        self.desk = Desk(client, self)
        self.session = Session(clock())
        self.line: Line | None = None
        self.welcome: Welcome | None = None
        self.why = ""
        """Why there is no connection."""
        self.closed = False
        self._place: Address | None = None
        """Of the node in use, or of the last one."""
        self._onward = False
        """Whether that one was of no use, and the next one is tried first."""
        self._renewal: Renewal | None = None
        self._search: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        """Set, and replaced, whenever there is news of the connection or the session."""
        self._memory: memory.Guest | None = None

    async def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        if self.target.kind == "memory":
            self._memory = await memory.enter(self.target.name)
        try:
            await self._dial_any()
        except BaseException:
            if self._memory:
                await self._memory.leave()
            raise

    def descriptors(self) -> list[int]:
        numbers = [self.line.fileno()] if self.line else []
        numbers += self._renewal.descriptors() if self._renewal else []
        return [number for number in numbers if number >= 0]

    async def close(self) -> None:
        self.closed = True
        if self._search:
            self._search.cancel()
        self._end_session("the client was closed")
        if line := self.line:
            self.line = None
            line.write(frame(encode(Bye())))
            self._tell()
            await line.end()
        self._tell()
        if self._memory:
            await self._memory.leave()

    # The connection.

    def write(self, data: bytes) -> None:
        """Said now, or never: what waits is said again over the next connection."""
        if self.line:
            self.line.write(data)

    def wanted(self) -> None:
        """Somebody asks for a lock."""
        if self.line is None:
            self._look_for_node()
        elif self.session.renewed and self._renewal is None:
            self._renew()

    async def connected(self) -> None:
        """Wait for a connection, as long as there is somebody to look for one."""
        while self.line is None:
            self._look_for_node()
            await self._news.wait()
            if self.line is None and self._search is None:
                raise NodeClosed(self.why or "the client was closed")

    async def _dial_any(self) -> None:
        """One of the places, as a rule the one in use first; or an error that says why it is none of them."""
        places: list[Address | None] = list(self.target.places) or [None]
        if self._place in places:
            turn = (places.index(self._place) + self._onward) % len(places)
            places = places[turn:] + places[:turn]
        failures = []
        for place in places:
            try:
                await self._dial(place)
                return
            except NodeClosed as error:
                failures.append(str(error))
        raise NodeClosed("; ".join(failures))

    async def _dial(self, place: Address | None) -> None:
        """A session is with one node: the next node knows nothing of it."""
        where = f"the node at {place.host if place and place.unix else place or self.target.text}"
        moves = place != self._place
        if not self.session.alive():
            self._end_session("its session is over")
        key = Session(self.session.clock) if moves else self.session
        key.turn += 1
        live = self.desk.live() if key.node else ()  # else no node has anything of it
        greeting = Greeting(self.who, where, key.key, live, turn=key.turn)
        if self._memory:
            line, welcome = await self._memory.dial(self.desk.client, greeting)
        else:
            assert place
            line, welcome = await dial(self.desk.client, place, greeting, self.tls)
        if not moves and key is not self.session:  # it has run out meanwhile
            line.write(frame(encode(Bye())))
            line.transport.close()
            await self._dial(place)
            return
        if moves or (key.node and not (welcome.resumed and welcome.instance == key.instance)):
            following = key if moves else Session(key.clock, key.key)
            following.turn = key.turn
            knows = "has it no more" if key.node == welcome.node else "knows nothing of it"
            self._end_session(f"its node is gone, and {where} {knows}", following)
        self._place, self._onward = place, False
        self.line, self.welcome, self.why = line, welcome, ""
        session = self.session
        session.renewed, session.lease, session.node = welcome.renewed, welcome.lease, welcome.node
        session.instance = welcome.instance
        if not session.lease:
            session.ends_with(line.fileno())
        kept = welcome.live if welcome.resumed else ()
        for number in set(kept).difference(self.desk.live()):  # given back since our hello was written
            line.write(frame(encode(Release(number))))
        self.desk.lose_all(f"{where} has it no more", kept)
        if self.desk.wanted:
            self.wanted()
        self.desk.say_again()
        self._tell()
        self.loop.call_soon(line.begins)

    def line_lost(self, line: Line, why: str) -> None:
        if line is not self.line:
            return
        self.line, self.why = None, why
        if self.closed:
            return
        if not self.session.lease:  # it has ended with its connection
            self._end_session(why)
        self.desk.fail_questions(NodeClosed(why))
        self._look_for_node()
        self._tell()

    def _look_for_node(self, gone: bool = True) -> None:
        if self._search is None and not self.closed:
            self._search = self.loop.create_task(self._look(gone))
            self._search.add_done_callback(self._looked)

    def _looked(self, search: asyncio.Task[None]) -> None:
        self._search = None
        if not search.cancelled():
            if error := search.exception():
                self.desk.fail_all(error if isinstance(error, NodeClosed) else NodeClosed(repr(error)))
            elif self.line is None:  # lost as soon as it was found
                self._look_for_node()
        self._tell()

    async def _look(self, gone: bool) -> None:
        """Until there is a connection, or nobody has any patience left: who has none asks only a node that is not gone."""
        end, pause = self.loop.time() + self.patience, PAUSE
        while True:
            try:
                if gone and not self.patience:
                    raise NodeClosed(self.why)
                await self._dial_any()
                return
            except NodeClosed as error:
                self.why = str(error)
                if self.loop.time() >= end:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, MOST_PAUSE)

    # The session.

    def _renew(self) -> None:
        """With the node at the other end of the line: others may have its name."""
        session, loop = self.session, self.loop
        assert self._place
        assert self.line
        place, there = self._place, self.line.transport.get_extra_info("peername")
        if not place.unix and there:
            place = Address(there[0], there[1])

        def told() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._heard_of, session)

        patience = USELESS_SECONDS if len(self.target.places) > 1 else math.inf
        self._renewal = Renewal(session, place, self.who, self.tls, told, patience)

    def _heard_of(self, session: Session) -> None:
        """Something may be held in it; or it is over, and who waits goes on in another one."""
        if session is self.session and not (session.alive() and session.begun):
            self._end_session(f"{session.node} was not heard for longer than the session lasts")
            self._onward = True
            if line := self.line:
                self.line, self.why = None, f"the session with {session.node} is over"
                line.write(frame(encode(Bye())))  # if it hears that, it need not wait for us
                line.transport.close()
                self.desk.fail_questions(NodeClosed(self.why))
                self._look_for_node(gone=False)
        elif session is self.session:
            self.desk.begun()
        self._tell()

    def _end_session(self, why: str, following: Session | None = None) -> None:
        """What was held in it is lost; the next one has another number."""
        self.session.ended = True
        if self._renewal:
            self._renewal.close()
            self._renewal = None
        self.session = following or Session(self.session.clock)
        self.desk.lose_all(why)

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
