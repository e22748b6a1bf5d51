"""What `soloist watch` does where it opens a page in a browser."""

from __future__ import annotations

import importlib.util
import sys
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from soloist.core import UsageError

if TYPE_CHECKING:
    from soloist.net.service.config import Config, Member
    from soloist.watch.play import Game
    from soloist.watch.server import Door
    from soloist.watch.trace import Trace

INSTALL = "pip install 'soloist[watch]'"


def can_serve() -> bool:
    return all(importlib.util.find_spec(name) for name in ("starlette", "uvicorn"))


def need_server() -> None:
    if not can_serve():
        raise UsageError(f"the page needs a local server: {INSTALL}; --text, --svg and --html need none")


def play(trace: Trace | None, shared: str | None, port: int, browse: bool, beside: str | None = None) -> None:
    """Serve a run to be played on, one that was shared, or, of a live cluster, one to be looked at."""
    need_server()
    from soloist.watch import server
    from soloist.watch.play import Game

    game = playable(trace, beside) if trace else Game.new({"shared": shared})
    if game is None:
        assert trace, "what was shared is played"
        routes = server.look_routes(trace)
        run(lambda door: server.application(routes, door), port, browse)
        return
    table = server.Table(game)
    run(lambda door: server.application(server.game_routes(table), door), port, browse, table.ending.set)


def playable(trace: Trace, beside: str | None) -> Game | None:
    """What cannot be replayed, or has too many sites, can still be seen: that is said, and it is None."""
    from soloist.watch.play import Game
    from soloist.watch.validate import card_of

    if trace.head.origin == "live" and not beside:
        return None
    try:
        card_of(trace.head)
        return Game.of(trace, beside)
    except UsageError as error:
        if beside:
            raise
        print(f"soloist: to be looked at only: {error}", file=sys.stderr)
        return None


def dashboard(config: Config, member: Member, port: int, browse: bool) -> None:
    """Serve what one node of a cluster knows of it, for as long as somebody looks."""
    need_server()
    from soloist.watch import dashboard, server

    routes = dashboard.routes(dashboard.Watcher(config, member))
    run(lambda door: server.application(routes, door, "dashboard.html"), port, browse)


def run(
    make: Callable[[Door], Any], port: int, browse: bool, ending: Callable[[], None] = lambda: None
) -> None:
    from soloist.watch import server

    sock = server.listening(port)
    port = sock.getsockname()[1]
    door = server.Door(port)
    address = f"http://{server.HOST}:{port}/?token={door.token}"
    print(f"{address}  (Ctrl-C ends it)", flush=True)
    if browse:
        webbrowser.open(address)
    server.serve(make(door), sock, ending)
