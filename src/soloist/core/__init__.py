"""Messages, processes, ports, traces and errors: what every layer above agrees on."""

from soloist.core.errors import PropertyViolated, ProtocolError, SoloistError, UsageError, unknown
from soloist.core.message import NEVER, Counter, Message, Site, encode, scalar_words, words
from soloist.core.port import Port
from soloist.core.process import IDLE, INSIDE, WAITING, Outbox, Phase, Process, Send, on

__all__ = [
    "IDLE",
    "INSIDE",
    "NEVER",
    "WAITING",
    "Counter",
    "Message",
    "Outbox",
    "Phase",
    "Port",
    "Process",
    "PropertyViolated",
    "ProtocolError",
    "Send",
    "Site",
    "SoloistError",
    "UsageError",
    "encode",
    "on",
    "scalar_words",
    "unknown",
    "words",
]
