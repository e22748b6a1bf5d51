"""Syntax trees as text: what a program says, whatever its comments, its lines and the version of Python."""

from __future__ import annotations

import ast
from typing import Any

IGNORED = {"ctx", "kind", "type_comment", "type_params"}
"""Fields of the syntax tree that say nothing, or that only some versions of Python have."""


def dump(node: Any) -> str:
    """The tree as text, without docstrings, the same in every version of Python."""
    if isinstance(node, list):
        return f"[{', '.join(dump(each) for each in node if not _is_comment(each))}]"
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__} {node.value!r}"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, getattr(node, name, None)) for name in node._fields if name not in IGNORED]
    said = [f"{name}={dump(value)}" for name, value in fields if value not in (None, [])]
    return f"{type(node).__name__}({', '.join(said)})"


def _is_comment(node: Any) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
