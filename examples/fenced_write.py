"""A fenced write: a database that refuses a holder which has been overtaken.

A process may be paused for longer than anybody expects: by a debugger, the garbage collector, a virtual machine that moves. When
it wakes up it still believes that it holds the lock. The fence, checked where the data is, keeps it from doing harm.
"""

from __future__ import annotations

import asyncio
import sqlite3

from soloist import MemoryHub, Node, StaleFence

SCHEMA = "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER NOT NULL DEFAULT 0)"
WRITE = "UPDATE account SET balance = ?, fence = ? WHERE id = ? AND fence <= ?"


def write(database: sqlite3.Connection, account: int, balance: int, fence: int) -> None:
    """Write, unless somebody with a higher fence has been here."""
    changed = database.execute(WRITE, (balance, fence, account, fence)).rowcount
    if changed == 0:
        raise StaleFence(f"account {account} has seen a higher fence than {fence}")


async def main() -> None:
    database = sqlite3.connect(":memory:")
    database.execute(SCHEMA)
    database.execute("INSERT INTO account (id, balance) VALUES (1, 100)")

    hub = MemoryHub()
    peers = {"a": "", "b": ""}
    async with (
        Node("a", peers, transport=hub.transport("a")) as a,
        Node("b", peers, transport=hub.transport("b")) as b,
    ):
        async with a.lock("account/1") as hold:
            write(database, 1, 90, hold.fence)
            stale = hold.fence
        async with b.lock("account/1") as hold:
            write(database, 1, 80, hold.fence)
        try:
            write(database, 1, 0, stale)  # a wakes up late
        except StaleFence as error:
            print(f"refused: {error}")
    print("balance", database.execute("SELECT balance FROM account").fetchone()[0])
    database.close()


if __name__ == "__main__":
    asyncio.run(main())
