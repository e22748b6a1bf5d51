"""Nothing grows beyond what one can read at once: modules, classes and functions have a limit, and exceptions a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import inf
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "soloist"

MODULE_LINES = 400
ALGORITHM_LINES = 120
NODE_LINES = 250
METHODS = 25
METHODS_OF_ROOMS = {"net": 20, "check": 20}
BODY_LINES = 40
"""Without the docstring."""

CLAIMS = "a table of claims, one after another as its paper makes them: nothing in it branches"
RULES = "each rule of the agreement on views is a method of its own, over one state that the checker explores"
PRINTED = "each error of the paper is a class of its own, with the run that shows it"

EXCEPTIONS = {
    "algorithms/__init__.py": "no algorithm: the names of all of them, one line each",
    "algorithms/_arbiter.py": "what the algorithms with arbiters share: Maekawa's and those after it",
    "algorithms/_search.py": "no algorithm: the search for a token that three of them share, and the reason for each rule of it",
    "algorithms/_card.py": "no algorithm: what every card says, with the reason for each field",
    "algorithms/agrawal_el_abbadi_recovery.py": "what becomes of quorums, grants and requests when a site fails, each on its own",
    "algorithms/bulgannawar_vaidya.py": "K tokens with a queue each, and two ways to choose one",
    "algorithms/causal_order.py": "runs any token algorithm inside, whose messages it makes anew",
    "algorithms/helary_plouzeau_raynal.py": "floods a network it does not know, and finds the way back through it",
    "algorithms/helary_plouzeau_raynal_recovery.py": "the flood and the way back once more, with numbers on all messages, and a head that says what is ours",
    "algorithms/lamport.py": "two versions of the acknowledgements, and what of them may arrive early",
    "algorithms/lodha_kshemkalyani.py": "the paper's three improvements are in it, too",
    "algorithms/makki.py": "rebuilt from an abstract, so its head says what was filled in",
    "algorithms/mizuno_neilsen_rao.py": "two quorums, four kinds of messages, and a head that maps the survey's names",
    "algorithms/mishra_srimani_coordinator.py": "rebuilt from two sentences, so its head says what was filled in",
    "algorithms/mishra_srimani_recovery.py": "two searches, for the token and for what is known of it, with eight kinds of messages",
    "algorithms/naimi_trehel_recovery.py": "the survey's five states, with a kind of message for each step between them",
    "algorithms/nishio_recovery.py": "proposals, promises and refusals, and a head that says what was filled in",
    "algorithms/naimi_thiare.py": "queues are merged in causal order at three places, each with its repair",
    "algorithms/printed/__init__.py": "names every module of the room twice",
    "algorithms/printed/bulgannawar_vaidya.py": PRINTED,
    "algorithms/printed/lodha_kshemkalyani.py": PRINTED,
    "algorithms/printed/naimi_thiare.py": PRINTED,
    "algorithms/srimani_reddy.py": "K tokens, and numbers that wrap around",
    "lab/papers/bulgannawar_vaidya_claims.py::of_messages": CLAIMS,
    "lab/papers/bulgannawar_vaidya_claims.py::of_parts": CLAIMS,
    "lab/papers/bulgannawar_vaidya_claims.py::of_time": CLAIMS,
    "lab/papers/bulgannawar_vaidya_decisions.py::claims": CLAIMS,
    "lab/papers/lodha_kshemkalyani.py::claims": CLAIMS,
    "lab/papers/naimi_thiare.py::claims": CLAIMS,
    "lab/papers/suzuki_kasami.py::claims": CLAIMS,
    "net/engine/instance.py::Instance": "each thing that callers, peers and timers can do is a method, over one lock's state",
    "net/link/connection.py::Connection": "asyncio's callbacks, each word of the handshake, and batches: one socket's life",
    "net/link/tcp.py::TcpTransport": "the transport protocol, and what each connection reports to it",
    "net/member/council.py::Council": "each wish of the loop, each effect and each message of three machines in one thread",
    "net/member/membership.py::Membership": "the loop's answer to three protocols: Meeting, Lobby and Events",
    "net/member/renewal.py::Pulse": "a small event loop of its own: sockets, timers, jobs",
    "views/member.py::Member": RULES,
    "views/proposer.py::Proposer": RULES,
    "views/voter.py::Voter": RULES,
}


def limit(path: str) -> int:
    """How many lines a module may have."""
    if path == "net/node.py":
        return NODE_LINES
    return ALGORITHM_LINES if path.startswith("algorithms/") else MODULE_LINES


def too_large(path: str, text: str) -> Iterator[tuple[str, int]]:
    """The module, classes and functions of a file that are beyond their limits, with their sizes."""
    lines = len(text.splitlines())
    if lines > limit(path):
        yield path, lines
    methods = METHODS_OF_ROOMS.get(path.split("/")[0], METHODS)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            size, most = count(node), methods
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size, most = length(node), BODY_LINES
        else:
            continue
        if size > most:
            yield f"{path}::{node.name}", size


def count(node: ast.ClassDef) -> int:
    """The methods of a class."""
    return sum(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in node.body)


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function's body, without its docstring."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def found() -> dict[str, int]:
    return {
        name: size
        for file in sorted(SOURCE.rglob("*.py"))
        for name, size in too_large(file.relative_to(SOURCE).as_posix(), file.read_text())
    }


def test_nothing_is_too_large_but_what_is_named_here() -> None:
    assert {name: size for name, size in found().items() if name not in EXCEPTIONS} == {}


def test_every_exception_is_still_needed() -> None:
    assert EXCEPTIONS.keys() - found().keys() == set()


def licence(name: str) -> float:
    """How large an exception may be: twice the limit; tables of claims are as long as their papers make them."""
    path, _, part = name.partition("::")
    if EXCEPTIONS.get(name) == CLAIMS:
        return inf
    if part:
        return 2 * METHODS_OF_ROOMS.get(path.split("/")[0], METHODS) if part[0].isupper() else BODY_LINES
    return 2 * ALGORITHM_LINES if path.startswith("algorithms/") else limit(path)


def test_an_exception_is_no_licence() -> None:
    """Modules other than algorithms have none, and functions only where they are tables of claims."""
    assert {name: size for name, size in found().items() if size > licence(name)} == {}
    assert licence("net/a.py::C") == 40
    assert licence("net/a.py::f") == 40
    assert licence("net/a.py") == 400
    assert licence("net/node.py") == 250


BRANCHES = ast.If | ast.For | ast.While | ast.Try | ast.Match | ast.With


def branches(name: str) -> list[str]:
    """The statements of a function that make it more than a table."""
    path, _, function = name.partition("::")
    tree = ast.parse((SOURCE / path).read_text())
    [node] = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == function]
    return [type(each).__name__ for each in ast.walk(node) if isinstance(each, BRANCHES)]


def test_tables_of_claims_are_tables() -> None:
    """They alone may be of any length, so the reason has to be true: functions of the papers' room that do not branch."""
    tables = [name for name, reason in EXCEPTIONS.items() if reason == CLAIMS]
    assert all(name.startswith("lab/papers/") and "::" in name for name in tables)
    assert {name: found for name in tables if (found := branches(name))} == {}
    assert branches("lab/papers/suzuki_kasami.py::measure") != []


def test_what_is_too_large_is_noticed() -> None:
    long_body = "def f():\n    '''Says\n    much.'''\n" + "    x = 1\n" * 40
    assert dict(too_large("sim/a.py", long_body)) == {}
    assert dict(too_large("sim/a.py", long_body + "    return x\n")) == {"sim/a.py::f": 41}
    wide = "class C:\n" + "    def f(self): ...\n" * 21
    assert dict(too_large("sim/a.py", wide)) == {}
    assert dict(too_large("net/a.py", wide)) == {"net/a.py::C": 21}
    assert dict(too_large("lab/a.py", "\n" * 401)) == {"lab/a.py": 401}
    assert dict(too_large("net/node.py", "\n" * 251)) == {"net/node.py": 251}
    assert dict(too_large("algorithms/a.py", "\n" * 121)) == {"algorithms/a.py": 121}
