"""What beginners get wrong in the file of an algorithm, each with a sentence that says what to do.

Read from the source and from the classes, before anything runs: a search would find most of it, too, but could only show what
comes of it. What is said here is certain; what only looks odd is not said.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from linecache import getlines
from types import ModuleType
from typing import Any, get_origin, get_type_hints

import msgspec

from soloist.algorithms import Card
from soloist.check.reading import Reading, is_set, text_of
from soloist.core import Message, Process
from soloist.core.checked import a

MUTABLE = (list, set, dict, bytearray)
OUTSIDE = frozenset(
    [
        "asyncio",
        "datetime",
        "io",
        "os",
        "pathlib",
        "queue",
        "random",
        "secrets",
        "select",
        "shutil",
        "signal",
        "socket",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "uuid",
    ]
)
"""Modules that read a clock, draw by chance, wait, or talk to the outside."""
BUILTINS = {"open": "reads a file", "input": "waits for the keyboard"}
SENDS = ("send", "multicast")


class Mistake(msgspec.Struct, frozen=True):
    """Where it is, and what to do."""

    line: int
    text: str


def mistakes(card: Card) -> list[Mistake]:
    """What is certainly wrong in the module of an algorithm, from its first line to its last."""
    module = sys.modules[a(Card, "what is looked at", card).process.__module__]
    tree = ast.parse("".join(getlines(module.__file__ or "")))
    reading = Reading(module, tree)
    found = {
        *_of_messages(reading, card),
        *_of_process(reading, card),
        *(each for function in reading.functions for each in _of_function(reading, function)),
    }
    return sorted(found, key=lambda each: (each.line, each.text))


# Messages.


def _of_messages(reading: Reading, card: Card) -> Iterator[Mistake]:
    handled = tuple(card.process.handlers)
    for name, line in reading.classes.items():
        kind = getattr(reading.module, name, None)
        if not (isinstance(kind, type) and issubclass(kind, Message)):
            continue
        if not kind.__struct_config__.frozen:
            yield Mistake(
                line, f"{name} can be changed after it was sent; write `class {name}(Message, frozen=True):`"
            )
        for field, hint in get_type_hints(kind).items():
            if (get_origin(hint) or hint) in MUTABLE:
                yield Mistake(
                    line,
                    f"{name}.{field} can be changed after it was sent; write `{field}: tuple[int, ...]`, and send tuple(…)",
                )
        if not any(issubclass(each, kind) for each in handled) and name in reading.sent:
            yield Mistake(
                line,
                f"nobody receives {name}; add a method `def on_{name.lower()}(self, j, m)` with `@on({name})` above it",
            )
    for name, line in reading.sent.items():
        kind = getattr(reading.module, name, None)
        if isinstance(kind, type) and not issubclass(kind, Message):
            yield Mistake(
                line, f"{name} is sent, but is no message; write `class {name}(Message, frozen=True):`"
            )


# The process.


def _of_process(reading: Reading, card: Card) -> Iterator[Mistake]:
    kind, line = card.process, reading.classes.get(card.process.__name__, 1)
    for name in ("acquire", "release"):
        if getattr(kind, name) is getattr(Process, name):
            when = "wants to enter" if name == "acquire" else "has left"
            yield Mistake(line, f"{kind.__name__} has no `def {name}(self)`: what happens when a site {when}")
    own = [each for each in kind.__mro__ if each.__module__ == kind.__module__]
    if Process in own[-1].__bases__ and "enter" not in reading.called:
        yield Mistake(line, "nobody is ever let in; call `self.enter()` once a waiting site may go in")
    for body in reading.bodies(Process):
        yield from _of_body(reading, body)


def _of_body(reading: Reading, body: ast.ClassDef) -> Iterator[Mistake]:
    kind = getattr(reading.module, body.name)
    for node in body.body:
        if isinstance(node, ast.Assign) and _is_mutable(node.value):
            name = text_of(node.targets[0])
            yield Mistake(
                node.lineno,
                f"{name} belongs to all sites together; write `{name}: list[Site]`, and give each site its own in `start`",
            )
        elif isinstance(node, ast.FunctionDef) and _is_forgotten(reading, node):
            message = node.name.removeprefix("on_").title().replace("_", "")
            yield Mistake(node.lineno, f"nobody calls {node.name}; write `@on({message})` above it")
    known = {*kind.__struct_fields__, *dir(kind)}
    for part in ast.walk(body):
        if not (isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)):
            continue
        if text_of(part.value) == "self" and part.attr == "phase":
            told = "self.phase is not yours to set; call `self.enter()` to go in, the rest is done for you"
            yield Mistake(part.lineno, told)
        elif text_of(part.value) == "self" and part.attr not in known:
            told = f"self.{part.attr} is no field; write `{part.attr}: int` (or what it is) in {body.name}, and give it in `start`"
            yield Mistake(part.lineno, told)


def _is_forgotten(reading: Reading, node: ast.FunctionDef) -> bool:
    """A handler by its name and its parameters, which handles nothing and is mentioned nowhere."""
    arguments = len(node.args.args)
    return (
        node.name.startswith("on_")
        and arguments == 3
        and not node.decorator_list
        and node.name not in reading.mentioned
    )


def _is_mutable(node: ast.expr) -> bool:
    makes = isinstance(node, ast.Call) and text_of(node.func) in ("list", "set", "dict", "bytearray")
    return makes or isinstance(
        node, ast.List | ast.Set | ast.Dict | ast.ListComp | ast.SetComp | ast.DictComp
    )


# Functions.


def _of_function(reading: Reading, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Mistake]:
    if isinstance(function, ast.AsyncFunctionDef):
        yield Mistake(
            function.lineno,
            f"{function.name} is async, but a step must not wait; write `def`, send a message, and go on when its answer comes",
        )
    for default in (*function.args.defaults, *function.args.kw_defaults):
        if default and _is_mutable(default):
            yield Mistake(
                default.lineno,
                f"the default {text_of(default)} is shared by all calls; make it a field, and give it in `start`",
            )
    for node in ast.walk(function):
        if isinstance(node, ast.Global):
            yield Mistake(
                node.lineno,
                f"{node.names[0]} would be known to all sites at once; make it a field, and send what others need",
            )
        elif isinstance(node, ast.While) and _is_endless(node):
            yield Mistake(
                node.lineno, "this loop never ends; a step must not wait: go on when the next message comes"
            )
        elif isinstance(node, ast.Call):
            yield from _of_call(reading, node)
        elif isinstance(node, ast.For) and is_set(reading, node.iter) and _sends(node):
            yield _unsorted(node.lineno, node.iter)


def _of_call(reading: Reading, call: ast.Call) -> Iterator[Mistake]:
    name = text_of(call.func)
    if name in BUILTINS:
        yield Mistake(
            call.lineno,
            f"{name}() {BUILTINS[name]}; a step knows its fields and its message, and nothing else",
        )
    elif (module := _module_of(reading.module, call.func)) in OUTSIDE:
        instead = (
            "use self.choose(options)" if module in ("random", "secrets", "uuid") else "use self.set_timer"
        )
        yield Mistake(
            call.lineno,
            f"{name}() comes from outside, so that no run could be repeated; {instead}, or do without {module}",
        )
    if name == "self.multicast" and call.args:
        for each in ast.walk(call.args[0]):
            looped = each.iter if isinstance(each, ast.comprehension) else each
            if (
                isinstance(looped, ast.expr)
                and (looped is call.args[0] or looped is not each)
                and is_set(reading, looped)
            ):
                yield _unsorted(call.lineno, looped)


def _unsorted(line: int, node: ast.expr) -> Mistake:
    said = text_of(node)
    return Mistake(line, f"sends in the order of a set, which differs from run to run; write sorted({said})")


def _sends(loop: ast.For) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SENDS
        for node in ast.walk(loop)
    )


def _is_endless(loop: ast.While) -> bool:
    certain = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return certain and not any(
        isinstance(node, ast.Break | ast.Return | ast.Raise) for node in ast.walk(loop)
    )


def _module_of(module: ModuleType, node: ast.expr) -> str:
    """The library that a function is of: `time` for time.sleep, and for `sleep` where that was imported from there."""
    found: Any = None
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name):
        found = vars(module).get(root.id)
    named = (
        found if isinstance(found, ModuleType) else inspect.getmodule(found) if found is not None else None
    )
    name = named.__name__ if named else str(getattr(found, "__module__", "") or "")
    return name.split(".")[0].lstrip("_")
