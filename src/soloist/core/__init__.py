"""Messages, the numbers in them, processes, ports, traces and errors: what every layer above agrees on."""

from soloist.core.checked import real, several, shown, whole
from soloist.core.counter import Clock, Counter, HeardNumber, MyClock, MyNumber, Number, Stamp
from soloist.core.errors import PropertyViolated, ProtocolError, SoloistError, UsageError, in_words, unknown
from soloist.core.message import Message, Site, encode, scalar_words, words
from soloist.core.port import Port
from soloist.core.process import IDLE, INSIDE, WAITING, Outbox, Phase, Process, Send, on

__all__ = [
    "IDLE",
    "INSIDE",
    "WAITING",
    "Clock",
    "Counter",
    "HeardNumber",
    "Message",
    "MyClock",
    "MyNumber",
    "Number",
    "Outbox",
    "Phase",
    "Port",
    "Process",
    "PropertyViolated",
    "ProtocolError",
    "Send",
    "Site",
    "SoloistError",
    "Stamp",
    "UsageError",
    "encode",
    "in_words",
    "on",
    "real",
    "scalar_words",
    "several",
    "shown",
    "unknown",
    "whole",
    "words",
]
