"""`soloist maelstrom`: an algorithm as a node that Maelstrom, or anything that speaks its protocol, can test."""

from __future__ import annotations

from typing import Annotated

import typer

from soloist.algorithms import load
from soloist.cli import arguments as arg
from soloist.core import UsageError
from soloist.net.maelstrom.loop import serve


def maelstrom(
    name: Annotated[str, typer.Argument(help="The algorithm, or a file of yours: my_lock.py.")],
    k: arg.K = 1,
) -> None:
    """Be a node of Maelstrom's: messages are JSON lines on standard input and output.

    Clients send {"type": "lock", "lock": NAME, "timeout": MILLISECONDS} (both may be left out) and get lock_ok with a fence, or an
    error of Maelstrom's: 11 if the lock was not free in time. {"type": "unlock", "lock": NAME} is answered by unlock_ok, or by 22 if they do not hold
    it at this node. `soloist history check` judges the history.

    Examples:

        soloist maelstrom naimi-trehel

        soloist maelstrom raymond-k --k 2

        soloist maelstrom my_lock.py
    """
    card = load(name)
    if k < 1 or (card.capacity == "1" and k != 1):
        raise UsageError(f"k must be {'1 for ' + name if card.capacity == '1' else 'at least 1'}, not {k}")
    serve(card, k)
