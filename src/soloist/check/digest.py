"""What a class does, as a digest: its syntax tree, that of its bases, and of all functions and classes that they use; and
what is declared about it.

Two classes have the same digest only if they are written alike, whatever their files and modules are called.
Docstrings, comments and the places of lines do not count; what the names in the text stand for does.
A class has none where the source is not at hand, or is not what runs: then nobody can say what it does.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from soloist.core import Process, unknown
from soloist.core.syntax import dump

Definition = ast.ClassDef | ast.FunctionDef | ast.Lambda
LIBRARIES = sys.stdlib_module_names | {"msgspec"}
"""What comes from here goes by its name."""

FORMS = {Annotated: "Annotated", Union: "Union", UnionType: "Union"}
"""Types that are not the same things in every version of Python."""
RENAMED = {"typing._TypedCacheSpecialForm": "typing._LiteralSpecialForm"}
"""Types of values that newer versions of Python call another way, with their older names."""


class Unreadable(Exception):
    """What runs cannot be read."""


def digest(kind: type[Process], declared: msgspec.Struct | None = None) -> str | None:
    """The digest of a class as it is now, with what is declared about it; None if it cannot be read."""
    try:
        return sha256("\n".join(Reading(kind, declared).lines()).encode()).hexdigest()
    except Unreadable:
        return None


class Reading:
    """A class and all that it uses, each in turn; they refer to each other by number."""

    def __init__(self, kind: type, declared: msgspec.Struct | None) -> None:
        self.found: list[Any] = []
        self._refer(kind)
        self.declared = declared

    def lines(self) -> Iterator[str]:
        yield self._value(self.declared and msgspec.structs.asdict(self.declared))
        for number, thing in enumerate(self.found):
            yield f"{number}: {self._class(thing) if isinstance(thing, type) else self._function(thing)}"

    def _refer(self, thing: Any) -> str:
        """By name what belongs to a library or is an error, by number what is read here."""
        if _goes_by_name(thing):
            return f"{thing.__module__}.{thing.__qualname__}"
        if not any(thing is known for known in self.found):
            self.found.append(thing)
        return f"#{next(i for i, known in enumerate(self.found) if known is thing)}"

    def _class(self, kind: type) -> str:
        module = sys.modules.get(kind.__module__)
        file = getattr(module, "__file__", None)
        if module is None or file is None:
            raise Unreadable(kind)
        node = _only(n for name, n in _definitions(file) if name == kind.__qualname__)
        for attribute in _functions(kind):
            _is_read_there(attribute, kind)
        bases = [self._refer(base) for base in kind.__mro__[1:] if base is not object]
        values = self._value({name: getattr(kind, name) for name in _values(kind)} | _types(kind))
        uses = self._uses(node, vars(module), _closures(kind))
        return f"{_dump(node)} bases {bases} values {values} uses {uses}"

    def _function(self, function: FunctionType) -> str:
        code = function.__code__
        if _key(code) not in _codes(code.co_filename):
            raise Unreadable(function)
        first = code.co_firstlineno
        node = _only(n for _, n in _definitions(code.co_filename) if _line(n) == first)
        defaults = self._value((function.__defaults__, function.__kwdefaults__))
        return f"{_dump(node)} defaults {defaults} uses {self._uses(node, function.__globals__, _cells(function))}"

    def _uses(self, node: ast.AST, names: Mapping[str, Any], closures: Mapping[str, Any]) -> list[str]:
        """What the names in a text stand for, as far as they are not its own."""
        found = []
        for path in _paths(node):
            name, *rest = path
            if name in closures or name in names:
                value = closures[name] if name in closures else names[name]
                while isinstance(value, ModuleType) and rest:
                    value = getattr(value, rest.pop(0), None)
                found.append(f"{'.'.join(path)}={self._value(value)}")
            elif hasattr(builtins, name):
                found.append(f"{name}=builtin")
        return found

    def _value(self, value: Any) -> str:
        if (origin := get_origin(value)) is not None:
            name = FORMS.get(origin) or self._value(origin)
            return f"{name}[{', '.join(map(self._value, get_args(value)))}]"
        value = inspect.unwrap(value) if callable(value) else value
        if type(value).__module__ == "typing" and (form := getattr(value, "_name", None)):
            return f"typing.{form}"  # its class is not the same in every version of Python
        if isinstance(value, ModuleType):
            return f"module {value.__name__}"
        if isinstance(value, Enum):
            return f"{self._refer(type(value))}.{value.name}"
        if isinstance(value, type | FunctionType) and hasattr(value, "__qualname__"):
            return self._refer(value)
        if isinstance(value, msgspec.Struct):
            fields = [self._value(getattr(value, name)) for name in value.__struct_fields__]
            return f"{self._refer(type(value))}({', '.join(fields)})"
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{k!r}: {self._value(v)}' for k, v in value.items())}}}"
        if isinstance(value, set | frozenset):
            return f"set {sorted(map(self._value, value))}"
        if isinstance(value, list | tuple):
            return f"{type(value).__name__} [{', '.join(map(self._value, value))}]"
        if value is None or isinstance(value, int | float | str | bytes):
            return repr(value)
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        return f"a {RENAMED.get(name, name)}"


def _goes_by_name(thing: Any) -> bool:
    if isinstance(thing, type) and issubclass(thing, Process | BaseException):
        return not issubclass(thing, Process)
    return _top(thing) in LIBRARIES or thing is unknown  # which makes an error


def _top(thing: Any) -> str:
    return str(getattr(thing, "__module__", None) or "").split(".")[0]


def _only(found: Iterator[Definition]) -> Definition:
    nodes = list(found)
    if len(nodes) != 1:
        raise Unreadable
    return nodes[0]


# What runs is what is written.


def _functions(kind: type) -> Iterator[FunctionType]:
    """All that can be called through a class: its methods, and the functions in its tables."""
    for value in vars(kind).values():
        for each in value.values() if isinstance(value, Mapping) else [value]:
            inner = getattr(each, "__func__", None) or getattr(each, "fget", None) or each
            inner = inspect.unwrap(inner) if callable(inner) else inner
            if isinstance(inner, FunctionType) and _top(inner) not in LIBRARIES:
                yield inner


def _values(kind: type) -> list[str]:
    """Its attributes that are plain values: they are what they are now, whatever the text says."""
    plain = (int, float, str, bytes, tuple)
    return sorted(
        name for name, value in vars(kind).items() if isinstance(value, plain) and not name.startswith("__")
    )


def _types(kind: type) -> dict[str, Any]:
    """The types of its fields: some say what is counted."""
    if not issubclass(kind, msgspec.Struct):
        return {}
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def _is_read_there(function: FunctionType, kind: type) -> None:
    """A function of a class is one that the text of this class shows, or that of one of its bases."""
    code = function.__code__
    for owner in kind.__mro__:
        if _top(owner) not in LIBRARIES and code.co_qualname.startswith(f"{owner.__qualname__}."):
            file = getattr(sys.modules.get(owner.__module__), "__file__", None)
            if file is not None and _key(code) in _codes(file):
                return
    raise Unreadable(function)


def _closures(kind: type) -> dict[str, Any]:
    return {name: value for function in _functions(kind) for name, value in _cells(function).items()}


def _cells(function: FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    try:
        return {name: cell.cell_contents for name, cell in cells if name != "__class__"}
    except ValueError as empty:
        raise Unreadable(function) from empty


# Reading files.


def _source(file: str) -> str:
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


def _definitions(file: str) -> list[tuple[str, Definition]]:
    return _parse(_source(file))


def _codes(file: str) -> set[object]:
    return _compile(_source(file), file)


@lru_cache(maxsize=64)
def _parse(source: str) -> list[tuple[str, Definition]]:
    """Classes, functions and lambdas with their full names."""
    return list(_named(ast.parse(source), ""))


def _named(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, ast.ClassDef):
            name = f"{prefix}{child.name}."
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{child.name}.<locals>."
        if isinstance(child, Definition):
            full = name.removesuffix(".").removesuffix(".<locals>") if name != prefix else f"{prefix}<lambda>"
            yield full, child
        yield from _named(child, name)


@lru_cache(maxsize=64)
def _compile(source: str, file: str) -> set[object]:
    """Every piece of code that a file compiles to."""
    found, queue = set(), [compile(source, file, "exec", dont_inherit=True)]
    for code in queue:
        found.add(_key(code))
        queue += [const for const in code.co_consts if isinstance(const, CodeType)]
    return found


def _key(code: CodeType) -> object:
    """What makes code what it is, and where it stands."""
    consts = tuple(_key(c) if isinstance(c, CodeType) else (type(c), c) for c in code.co_consts)
    where = (code.co_qualname, code.co_firstlineno)
    return (*where, code.co_code, code.co_names, code.co_varnames, code.co_freevars, consts)


def _line(node: Definition) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min(each.lineno for each in (node, *decorators))


# Syntax trees. What has been parsed is not changed any more, so each is read once.


@lru_cache(maxsize=4096)
def _dump(node: ast.AST) -> str:
    if any(isinstance(each, ast.Import | ast.ImportFrom) for each in ast.walk(node)):
        raise Unreadable("an import inside is not followed")
    return dump(node)


@lru_cache(maxsize=4096)
def _paths(node: ast.AST) -> list[tuple[str, ...]]:
    """The names in a text, in order."""
    return sorted(set(_lookups(node)))


def _lookups(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The names in a text, each with the attributes that are looked up in it: `maekawa.Maekawa.grant`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield (each.id,)
        path: list[str] = []
        inner: ast.AST = each
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if path and isinstance(inner, ast.Name):
            yield (inner.id, *path)
