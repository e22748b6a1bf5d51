"""What the token knew is of no use where it is not."""

from __future__ import annotations

from soloist.algorithms._ring_order import RingOrder
from soloist.check.declarations import Declaration, declare

declare(
    RingOrder,
    Declaration(
        settled={"token_data": lambda p: p.token_data if p.have_token else list(p.request_data)},
    ),
)
