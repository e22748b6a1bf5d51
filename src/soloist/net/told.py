"""What a program says of a node or of a client that it makes, looked at before anything is made of it.

Types are written down, but nobody checks them where a value comes from a file or from the environment; and what is wrong
would come out later, in the middle of the loop, as an error of something else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from soloist.core import UsageError, shown, whole
from soloist.net.arguments import LONGEST
from soloist.net.link.security import TLS


def check_word(what: str, word: Any) -> None:
    """A name: something that can be written and told from others."""
    _check(what, word, str, "a str")
    if not word:
        raise UsageError(f"{what} must not be empty")
    if len(word) > LONGEST:
        raise UsageError(f"{what} has at most {LONGEST} characters, not {len(word)}")
    _encoded(what, word)


def check_addresses(what: str, addresses: Any) -> None:
    """Names, each with its address; or None."""
    if addresses is None:
        return
    _check(what, addresses, Mapping, 'a dict of names and addresses like {"a": "10.0.0.1:7400"}')
    for name, address in addresses.items():
        check_word(f"a name in {what}", name)
        _check(f"the address of {name!r} in {what}", address, str, 'a str like "10.0.0.1:7400"')


def check_secret(secret: str | bytes | None) -> bytes:
    """As bytes; nothing if there is none. It is not shown, whatever it is."""
    if isinstance(secret, str):
        return _encoded("secret", secret)
    if secret is not None and not isinstance(secret, bytes):
        raise UsageError(f"secret must be a str or bytes, not of type {type(secret).__name__}")
    return secret or b""


def check_tls(tls: Any) -> None:
    if tls is not None:
        _check("tls", tls, TLS, "TLS(certificate, authority, key)")
        for field in ("certificate", "authority"):
            _check(f"{field} of tls", getattr(tls, field), str | os.PathLike, "the path of a file")


def check_told(name: Any, addresses: Mapping[str, Any], words: Mapping[str, Any]) -> None:
    """`addresses` and `words` by the names of the arguments: tables, and what is a str, if it is there at all."""
    check_word("a node's name", name)
    for what, each in addresses.items():
        check_addresses(what, each)
    check_words(words)


def check_words(words: Mapping[str, Any]) -> None:
    for what, each in words.items():
        _check(what, each, str | None, "a str")


def check_rest(cluster: Any, tls: Any, data_dir: Any, locality: Any, transport: Any) -> None:
    check_word("cluster", cluster)
    check_tls(tls)
    if transport is not None and not hasattr(transport, "unread"):
        raise UsageError(f"transport must be a Transport, as MemoryHub makes them, not {shown(transport)}")
    _check("data_dir", data_dir, str | os.PathLike | None, "the path of a directory, or None")
    if whole("locality", locality) < 0:
        raise UsageError(f"locality must not be negative, but is {locality}")


def _check(what: str, value: Any, kind: Any, words: str) -> None:
    if not isinstance(value, kind):
        raise UsageError(f"{what} must be {words}, not {shown(value)}")


def _encoded(what: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} must be text that UTF-8 can write") from None
