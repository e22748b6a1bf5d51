"""Which addresses stay on this host, and which mean all of its own: as `ipaddress` says, which nodes do without."""

from __future__ import annotations

import ipaddress

import pytest

from soloist.net.link.security import Address

NUMBERS = [
    "127.0.0.1",
    "127.8.9.1",
    "10.0.0.1",
    "0.0.0.0",
    "::1",
    "0:0::1",
    "::1%lo",
    "::",
    "1::",
    "fe80::1%eth0",
    "::ffff:10.0.0.1",
]


@pytest.mark.parametrize("host", NUMBERS)
def test_numbers_are_what_they_are(host: str) -> None:
    number = ipaddress.ip_address(host)
    found = Address(host, 7400)
    assert (found.local, found.anywhere) == (number.is_loopback, number.is_unspecified)


@pytest.mark.parametrize("host", ["db.example", "256.1.1.1", "127.1", "0", "a\0b", ""])
def test_names_are_elsewhere(host: str) -> None:
    found = Address(host, 7400)
    assert (found.local, found.anywhere) == (False, False)


def test_a_socket_file_is_here() -> None:
    found = Address("/run/a.sock")
    assert (found.local, found.anywhere) == (True, False)
