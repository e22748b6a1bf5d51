"""What councils say to each other, packed: everything that one step has for one peer goes together."""

from __future__ import annotations

import msgspec

from soloist.views.messages import Said

VOTER = "voter"
"""The addressee, where a voter is meant whose id is not known."""


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    """What one node says to another in one step: to whom there, and what."""

    incarnation: str
    """Of the sender."""
    hears: list[str]
    """Peers that the sender has heard lately."""
    said: list[tuple[str, Said]]
    voter: str = ""
    """The id of the sender's vote file, if it votes."""
    edition: int = 0
    """How often that was stored: see `soloist.net.member.editions`."""
    seen: dict[str, int] = {}
    """The highest edition that the sender has seen of the addressee's vote file, or files."""


decode_parcel = msgspec.msgpack.Decoder(Parcel).decode
