"""The shorter way between nodes of one user on one host: a Unix socket beside each TCP port.

It takes a message a good deal less than TCP's way through the host's own network. Nobody has to ask for it: a node
that listens at a loopback address listens there too, under a name made of that address, and a node that dials tries it
first. Linux alone has such names, which need no file and vanish with the process; elsewhere there is just TCP.

A name can be taken by anybody, so neither side talks to another user there. Who the node is, it has to show by the
same handshake as over TCP.
"""

from __future__ import annotations

import os
import socket
import struct
import sys

from soloist.net.link.security import Address

_CREDENTIALS = struct.Struct("3i")
"""Process, user and group: what the system knows of the other end."""


def name_of(address: Address) -> str | None:
    """The name of the socket beside that port, if there is one."""
    if sys.platform != "linux" or address.unix or not address.local:
        return None
    return f"\0soloist/{address}"


def connect(address: Address) -> socket.socket | None:
    """A socket connected to the listener beside that port, if that is somebody of this user."""
    name = name_of(address)
    if name is None:
        return None
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(name)
        if same_user(sock):
            return sock
    except OSError:  # nobody there, or too many at its door
        pass
    sock.close()
    return None


def same_user(sock: socket.socket) -> bool:
    """Whether the other end of a Unix socket belongs to our user."""
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(credentials)
    return bool(user == os.geteuid())
