"""The source of one module, taken apart: its classes and functions, what is called and what is sent."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType
from typing import get_origin, get_type_hints

SETS = (set, frozenset)
OPERATORS = (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)


class Reading:
    """A module and its syntax tree."""

    def __init__(self, module: ModuleType, tree: ast.Module) -> None:
        self.module, self.tree = module, tree
        nodes = list(ast.walk(tree))
        self.classes = {node.name: node.lineno for node in tree.body if isinstance(node, ast.ClassDef)}
        self.functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        self.called = {node.func.attr for node in calls if isinstance(node.func, ast.Attribute)}
        """The names of all methods that are called."""
        self.mentioned = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        self.mentioned |= {node.id for node in nodes if isinstance(node, ast.Name)}
        self.sent = {
            argument.func.id: argument.lineno
            for call in reversed(calls)
            if text_of(call.func) in ("self.send", "self.multicast")
            for argument in call.args[1:]
            if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Name)
        }
        """The classes whose instances are made to be sent, each with the first line that does so."""

    def bodies(self, kind: type) -> Iterator[ast.ClassDef]:
        """The classes of the module that are of a kind."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                made = getattr(self.module, node.name, None)
                if isinstance(made, type) and issubclass(made, kind):
                    yield node

    def hints(self, field: str) -> Iterator[object]:
        """What a field of that name is, in each class that has one."""
        for name in self.classes:
            made = getattr(self.module, name, None)
            if isinstance(made, type) and field in (known := get_type_hints(made)):
                yield known[field]


def is_set(reading: Reading, node: ast.expr) -> bool:
    """Whether an expression is certainly a set."""
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call):
        return text_of(node.func) in ("set", "frozenset")
    if isinstance(node, ast.BinOp) and isinstance(node.op, OPERATORS):
        return is_set(reading, node.left)
    if isinstance(node, ast.Attribute) and text_of(node.value) == "self":
        hints = list(reading.hints(node.attr))
        return bool(hints) and all((get_origin(hint) or hint) in SETS for hint in hints)
    return False


def text_of(node: ast.AST) -> str:
    return ast.unparse(node)
