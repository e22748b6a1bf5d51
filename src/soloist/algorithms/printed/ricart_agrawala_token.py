"""Ricart and Agrawala's token algorithm in the survey's words: an idle holder obeys any request."""

from __future__ import annotations

import msgspec

from soloist.algorithms._ring_order import Request
from soloist.algorithms.printed._erratum import Erratum
from soloist.algorithms.ricart_agrawala_token import CARD, RicartAgrawalaToken
from soloist.core import IDLE, Site, on


class ObeysAnyRequest(RicartAgrawalaToken):
    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.request_data[j] = max(self.request_data[j], m.sn)
        if self.have_token and self.phase is IDLE:
            self.have_token = False
            self.send_token(j)


PRINTED = msgspec.structs.replace(CARD, process=ObeysAnyRequest)

ERRATA = (
    Erratum(
        algorithm="ricart-agrawala-token",
        code="S1",
        text="survey of 1993, section 4, Ricart-Agrawala; the original was not at hand",
        says="A node that holds the token and is not inside sends it to whoever a request comes from. A "
        "request that was served through other nodes long ago still earns the token, for a node that does "
        "not ask.",
        repair="The token is sent only if request_data[j] > token_data[j], the test that the exit makes as "
        "well: token_data[j] is the last request of j that was served, so a smaller one is old.",
        card=PRINTED,
        breaks="error",
        nodes=3,
    ),
)
