"""The local server of `soloist watch`: the page, and what it asks while somebody plays or looks at a cluster.

It listens on loopback only, and answers nobody who does not know its token: that stands in the address once, and from then on in a cookie.
It serves the files of the page and nothing else, tells the browser to load nothing from elsewhere, and ends with its command.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from soloist.check.explore import CutOff, Progress
from soloist.core import SoloistError, UsageError
from soloist.watch.export import PAGE
from soloist.watch.play import Game
from soloist.watch.trace import Trace

HOST = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
MOST_BYTES = 1_000_000
"""Bytes of what a page may ask."""

Endpoint = Callable[[Request], Awaitable[Response]]
Answers = Callable[[dict[str, Any]], Any]


class Door:
    """Who may come in: browsers that have the token, by the name of this host only."""

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self.hosts = {f"{host}:{port}" for host in (HOST, "localhost", "[::1]")}
        self.cookie = f"soloist-{port}"  # cookies do not tell ports apart

    def refusal(self, request: Request) -> str | None:
        """Why somebody is not let in. A foreign name for this host is how foreign pages would come in."""
        if request.headers.get("host", "") not in self.hosts:
            return "this server is asked by another name than its own"
        origin = request.headers.get("origin")
        if origin and origin.removeprefix("http://") not in self.hosts:
            return "another page may not ask this server"
        if not self._knows(request.cookies.get(self.cookie, "")):
            return "open the address that `soloist watch` has printed: it has the token that is missing here"
        return None

    def admits(self, request: Request) -> bool:
        host = request.headers.get("host", "")
        return host in self.hosts and self._knows(request.query_params.get("token", ""))

    def _knows(self, word: str) -> bool:
        return hmac.compare_digest(word.encode(), self.token.encode())


class Guarded:
    """Every request passes by the door, and every answer has the headers that keep the page to itself."""

    def __init__(self, app: Any, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), text.encode()) for name, text in HEADERS.items()),
                ]
            await send(message)

        if scope["type"] != "http":
            return
        request = Request(scope)
        if request.url.path == "/" and self.door.admits(request):
            answer: Any = RedirectResponse("/", 303)
            answer.set_cookie(self.door.cookie, self.door.token, httponly=True, samesite="lax")
        elif refusal := self.door.refusal(request):
            answer = PlainTextResponse(refusal, 403)
        else:
            answer = self.app
        await answer(scope, receive, with_headers)


class Table:
    """The game that is played. One call at a time; a search that takes long ends with the server."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.busy = threading.Lock()
        self.ending = threading.Event()

    def calls(self) -> dict[str, Answers]:
        return {
            "act": lambda body: self.game.act(*_place(body), _text(body, "action")),
            "state": lambda body: self.game.state(*_place(body)),
            "branch": lambda body: self.game.run(_number(body, "branch")),
            "chance": lambda body: self.game.by_chance(
                *_place(body), _number(body, "steps"), _number(body, "seed")
            ),
            "search": lambda body: self.game.look(
                *_place(body), _number(body, "states"), body.get("show", True) is True, self._look_up
            ),
            "hint": lambda body: self.game.hint(*_place(body), self._look_up),
            "new": self._new,
        }

    def answer(self, call: Answers, body: dict[str, Any]) -> Any:
        if not self.busy.acquire(blocking=False):
            raise UsageError("one thing at a time: the last question is not answered yet")
        try:
            return call(body)
        finally:
            self.busy.release()

    def _new(self, body: dict[str, Any]) -> Any:
        game = Game.new(body)
        answer = game.run()
        self.game = game
        return answer

    def _look_up(self, progress: Progress) -> None:
        if self.ending.is_set():
            raise CutOff("the end of the server")


def game_routes(table: Table) -> list[Route]:
    async def run(request: Request) -> Response:
        return _json(await run_in_threadpool(lambda: table.game.run()))

    def route(name: str, call: Answers) -> Route:
        async def answer(request: Request) -> Response:
            body = await _body(request)
            return _json(await run_in_threadpool(table.answer, call, body))

        return Route(f"/api/{name}", answer, methods=["POST"])

    return [Route("/api/run", run), *(route(name, call) for name, call in table.calls().items())]


def look_routes(trace: Trace) -> list[Route]:
    """A run that can be looked at, but not be played on."""

    async def run(request: Request) -> Response:
        return _json({"head": trace.head, "steps": trace.steps})

    return [Route("/api/run", run)]


def application(routes: list[Route], door: Door, first: str = "page.html") -> Guarded:
    """The page that `first` names at /, the files beside it, and these routes."""
    app = Starlette(
        routes=[
            Route("/", _file(first)),
            *(Route(f"/{path.name}", _file(path.name)) for path in PAGE.iterdir() if path.suffix in KINDS),
            *routes,
        ],
        exception_handlers={SoloistError: _refused, Exception: _failed},
    )
    return Guarded(app, door)


def _file(name: str) -> Endpoint:
    async def answer(request: Request) -> Response:
        path = PAGE / name
        return Response(path.read_bytes(), media_type=KINDS[path.suffix])

    return answer


async def _refused(request: Request, error: Exception) -> Response:
    return PlainTextResponse(" ".join(str(error).split()), 400)


async def _failed(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"the server failed: {type(error).__name__}: {error}", 500)


async def _body(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise UsageError("questions are asked as JSON")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MOST_BYTES:
            raise UsageError(f"a question has at most {MOST_BYTES} bytes")
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise UsageError(f"this is not a question: {error}") from None


def _place(body: dict[str, Any]) -> tuple[int, int]:
    return _number(body, "branch"), _number(body, "at")


def _number(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{name} must be a whole number, not {value!r}")
    return value


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{name} must be a text, not {value!r}")
    return value


def _json(answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")


def listening(port: int = 0) -> socket.socket:
    """A socket on loopback; 0 takes any free port."""
    if not 0 <= port <= 65535:
        raise UsageError(f"--port must be from 0 to 65535, not {port}")
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        made.listen()
    except OSError as error:
        made.close()
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror}; --port 0 takes a free one"
        ) from None
    return made


class _Server(uvicorn.Server):
    """Says when it begins to end: what takes long can stop then."""

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        super().__init__(config)
        self.ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.ending()
        super().handle_exit(sig, frame)


def serve(app: Any, sock: socket.socket, ending: Callable[[], None] = lambda: None) -> None:
    """Until Ctrl-C or SIGTERM. Streams that are open then are cut off."""
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, lifespan="off", timeout_graceful_shutdown=1
    )
    _Server(config, ending).run(sockets=[sock])
