"""The program of a sentinel: wait until a process has ended, then say so to all voters, and end.

`soloist.net.member.sentinel` starts it, as a script of its own, with two files: a pidfd of the node, and a pipe with
lines from it. It imports nothing but the few modules below, and knows nothing but what the lines say, in hexadecimal
digits but for the first word:

    will FRAME ANSWER   what to say, and how a voter answers once it has heard
    to ADDRESS ...      to whom: HOST:PORT or unix:/path; each line replaces the one before
    close               the node ends in peace: say nothing

The end of the pipe means nothing by itself: the node may have been killed, or be about to run another program.
"""

from __future__ import annotations

import os
import select
import socket
import time

PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 0.5
"""Seconds between one try and the next: at first, and at most."""
TRY_SECONDS = 1.0


class Lookout:
    def __init__(self, process: int, pipe: int, seconds: float) -> None:
        self.process, self.pipe, self.seconds = process, pipe, seconds
        self.frame = self.answer = b""
        self.voters: dict[str, tuple[int, object] | None] = {}
        """Where each address leads; None while nobody knows."""
        self.unread = b""
        self.peace = False

    def wait(self) -> None:
        """Until the process has ended, or has closed in peace."""
        poll = select.poll()
        poll.register(self.process, select.POLLIN)
        poll.register(self.pipe, select.POLLIN)
        while not self.peace:
            ready = [number for number, _ in poll.poll()]
            if self.pipe in ready and not self.listen():
                poll.unregister(self.pipe)
            elif self.process in ready:  # after all that it has said
                return

    def listen(self) -> bool:
        """Whether there may be more to come."""
        said = os.read(self.pipe, 65536)
        *lines, self.unread = (self.unread + said).split(b"\n")
        for line in lines:
            word, *rest = line.split(b" ")
            parts = [bytes.fromhex(part.decode()) for part in rest]
            if word == b"will":
                self.frame, self.answer = parts
            elif word == b"to":
                self.voters = {each: self.voters.get(each) or find(each) for each in map(os.fsdecode, parts)}
            elif word == b"close":
                self.peace = True
        return bool(said)

    def tell(self) -> None:
        """All voters, again and again, until each has answered or it is no use any more."""
        end = time.monotonic() + self.seconds
        pause = PAUSE_SECONDS
        while self.frame and self.voters and time.monotonic() < end:
            for address in self.tried(min(end, time.monotonic() + TRY_SECONDS)):
                del self.voters[address]
            if self.voters:
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
                self.voters = {address: where or find(address) for address, where in self.voters.items()}

    def tried(self, end: float) -> list[str]:
        """Say it to all at once; those who have answered."""
        poll = select.poll()
        calls: dict[int, Call] = {}
        for address, where in self.voters.items():
            if where and (sock := dialled(where)):
                calls[sock.fileno()] = Call(address, sock)
                poll.register(sock, select.POLLOUT)
        heard = []
        while calls and (left := end - time.monotonic()) > 0:
            for number, _ in poll.poll(left * 1000):
                call = calls[number]
                if call.go_on(self.frame, self.answer):
                    poll.modify(number, select.POLLIN)
                    continue
                heard += [call.address] if call.heard else []
                poll.unregister(number)
                calls.pop(number).sock.close()
        for call in calls.values():
            call.sock.close()
        return heard


class Call:
    """One try to reach one voter."""

    def __init__(self, address: str, sock: socket.socket) -> None:
        self.address, self.sock = address, sock
        self.said = self.heard = False

    def go_on(self, frame: bytes, answer: bytes) -> bool:
        """The socket is ready. Whether there is still an answer to wait for."""
        try:
            if not self.said:
                self.sock.send(frame)  # it is short, and the first that is sent: it fits
                self.said = True
                return True
            self.heard = self.sock.recv(len(answer)) == answer
        except OSError:
            pass
        return False


def find(address: str) -> tuple[int, object] | None:
    if address.startswith("unix:"):
        return socket.AF_UNIX, address[5:]
    host, _, port = address.rpartition(":")
    try:
        family, _, _, _, where = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
    except OSError:
        return None
    return family, where


def dialled(where: tuple[int, object]) -> socket.socket | None:
    """A socket that is about to be connected."""
    sock = socket.socket(where[0])
    sock.setblocking(False)
    try:
        sock.connect_ex(where[1])  # type: ignore[arg-type]
    except OSError:  # a path that cannot be one
        sock.close()
        return None
    return sock


def main(process: str, pipe: str, seconds: str) -> None:
    lookout = Lookout(int(process), int(pipe), float(seconds))
    lookout.wait()
    if not lookout.peace:
        lookout.tell()


if __name__ == "__main__":
    import sys

    main(*sys.argv[1:])
