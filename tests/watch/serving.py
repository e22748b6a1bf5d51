"""`soloist watch` as its own process, as people start it."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 240
"""Seconds that a process or a page gets: nothing is measured here, and the machine may be busy."""


class Served:
    """A server that runs, and its address with the token."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.process = process
        self.address = process.stdout.readline().split(" ")[0].strip()
        self.port = urlsplit(self.address).port
        self.cookie = f"soloist-{self.port}={self.address.partition('token=')[2]}"

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, str, dict[str, str]]:
        """As a program would, with the cookie unless it says otherwise."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given = {"cookie": self.cookie, "content-type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, given)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, {name.lower(): value for name, value in answer.getheaders()}

    def end(self) -> tuple[int, str, str]:
        """Ctrl-C; its exit code, and what it said since."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


@contextmanager
def served(*arguments: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "soloist", "watch", *arguments, "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield Served(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
