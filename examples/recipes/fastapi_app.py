"""FastAPI: handlers that hold a lock, in asyncio and in threads.

    SOLOIST_URL=unix:/run/soloist/soloist.sock uvicorn fastapi_app:app --workers 4

Two orders for the same ticket, at whatever worker or host, are served one after the other; a report is made by one at a time.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request, Response

import soloist

DATABASE = os.environ.get("DATABASE", "shop.sqlite")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One client for each kind of handler, for as long as the application lives: made after a server has forked its workers."""
    async with soloist.connect() as client:
        with soloist.connect_sync() as threads:
            app.state.client, app.state.threads = client, threads
            yield


async def ticket_lock(ticket: int, request: Request) -> AsyncIterator[soloist.Hold]:
    """For async handlers. If the lock is lost the handler is cancelled, and the fence keeps what is on its way out."""
    async with request.app.state.client.lock(f"tickets/{ticket}", timeout=10) as hold:
        yield hold


def report_lock(request: Request) -> Iterator[soloist.SyncHold]:
    """For handlers that run in a pool of threads. It may begin in one of them and end in another."""
    try:
        hold = request.app.state.threads.lock("report").acquire(timeout=0)
    except soloist.WouldDeadlock:  # this thread has begun the report that is being made, and is free again
        hold = None
    if hold is None:
        raise HTTPException(409, "a report is being made", headers={"Retry-After": "10"})
    try:
        yield hold
    finally:
        hold.release()


app = FastAPI(lifespan=lifespan)


@app.exception_handler(soloist.AcquireTimeout)
async def busy(request: Request, error: Exception) -> Response:
    return Response("somebody else is at it; try again", 503, headers={"Retry-After": "1"})


@app.post("/tickets/{ticket}/buy")
async def buy(ticket: int, hold: Annotated[soloist.Hold, Depends(ticket_lock)]) -> dict[str, int]:
    with closing(sqlite3.connect(DATABASE)) as database:
        (left,) = database.execute("SELECT left FROM ticket WHERE id = ?", (ticket,)).fetchone()
        if not left:
            raise HTTPException(410, "sold out")
        await asyncio.sleep(0.01)  # the payment: without the lock others would read the same number meanwhile
        with database:
            written = database.execute(
                "UPDATE ticket SET left = ?, fence = ? WHERE id = ? AND fence <= ?",
                (left - 1, hold.fence, ticket, hold.fence),
            )
        if not written.rowcount:
            raise HTTPException(503, "somebody else has been here")
    return {"left": left - 1, "fence": hold.fence}


@app.post("/report")
def report(hold: Annotated[soloist.SyncHold, Depends(report_lock)]) -> dict[str, int]:
    time.sleep(0.2)
    hold.check()
    return {"fence": hold.fence}
