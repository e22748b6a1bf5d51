"""The first words with a node, as a state machine without I/O: for the loop's connection and for the renewals' one."""

from __future__ import annotations

import hmac
import os

import msgspec

from soloist.core import ProtocolError
from soloist.net.errors import NodeClosed
from soloist.net.link.wire import encode, frame
from soloist.net.service.dialogue import (
    VERSION,
    Challenge,
    Hello,
    Proof,
    Sorry,
    Welcome,
    decode_greeting,
    steps,
)
from soloist.net.service.rights import code


class Credentials(msgspec.Struct, frozen=True):
    """Who a client is, to all its nodes."""

    program: str
    client: str = ""
    secret: bytes = b""
    lease: float = 0.0


class Greeting:
    """Say `hello`, then what `heard` gives back, until there is a `welcome`."""

    welcome: Welcome | None = None

    def __init__(
        self,
        who: Credentials,
        where: str,
        session: bytes,
        live: tuple[int, ...] = (),
        pulse: bool = False,
        turn: int = 0,
    ) -> None:
        self.who, self.where = who, where
        nonce = os.urandom(16)
        said = Hello(VERSION, who.program, session, steps(live), who.lease, pulse, who.client, nonce, turn)
        self._hello = encode(said)
        self._challenge: bytes | None = None

    def hello(self) -> bytes:
        return frame(self._hello)

    def heard(self, body: memoryview | bytes) -> bytes:
        """What is to be said next; raises if there will be no conversation."""
        match decode_greeting(body):
            case Challenge(nonce):
                if not self.who.secret:
                    raise NodeClosed(f"{self.where} wants a client's secret: give secret=")
                self._challenge = nonce
                return frame(encode(Proof(code(self.who.secret, "client", self._hello, nonce))))
            case Welcome() as welcome:
                self._check(welcome)
                self.welcome = welcome
                return b""
            case Sorry(why):
                raise NodeClosed(f"{self.where} refused: {why}")
        raise ProtocolError("a node says welcome, or sorry")

    def _check(self, welcome: Welcome) -> None:
        if welcome.version != VERSION:
            raise NodeClosed(
                f"{self.where} speaks version {welcome.version} of the clients' protocol, "
                f"this program speaks {VERSION}"
            )
        if self._challenge is not None:
            ours = code(self.who.secret, "node", self._hello, self._challenge)
            if not hmac.compare_digest(ours, welcome.code):
                raise NodeClosed(f"{self.where} does not know the client's secret itself")
