"""Symbolic sizes of `.pt2` files as readable text: "Add(Mul(Integer(2), Symbol('s77')), Integer(1))" becomes "2*s77 + 1".

The files contain the output of SymPy's `srepr`. SymPy comes with torch, and opening a file must need neither.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from opscope.python_text import parsed_expression

_LONGEST = 10_000
"""Python's parser takes memory without bounds for longer texts."""
_ADD, _MUL, _ATOM = 1, 2, 3
_INFIX = {
    "Add": (" + ", _ADD),
    "Mul": ("*", _MUL),
    "FloorDiv": ("//", _MUL),
    "Mod": (" % ", _MUL),
    "PythonMod": (" % ", _MUL),
    "Pow": ("**", _ATOM),
}
_COMPARE = {
    "Equality": "==",
    "Unequality": "!=",
    "LessThan": "<=",
    "GreaterThan": ">=",
    "StrictLessThan": "<",
    "StrictGreaterThan": ">",
}


@lru_cache(maxsize=4096)
def symbol_text(expression: str) -> str:
    """Readable text of an expression; the text itself if it is not such an expression."""
    if len(expression) > _LONGEST:
        return expression
    try:
        return _print(parsed_expression(expression))[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, _UnknownForm):
        return expression


class _UnknownForm(Exception):
    pass


def _print(node: ast.expr) -> tuple[str, int]:
    """The text and its operator precedence."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return str(node.value), _ATOM
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{_print(node.operand)[0]}", _MUL
    if isinstance(node, ast.Name):
        return node.id, _ATOM
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise _UnknownForm
    name = node.func.id
    if name in ("Symbol", "Integer", "Float") and node.args:
        text = _print(node.args[0])[0]
        return text, _MUL if text.startswith("-") else _ATOM
    if name in _COMPARE and len(node.args) == 2:
        return f"{_print(node.args[0])[0]} {_COMPARE[name]} {_print(node.args[1])[0]}", _ADD
    if name not in _INFIX:
        return f"{name}({', '.join(_print(argument)[0] for argument in node.args)})", _ATOM
    sign, binding = _INFIX[name]
    parts = [_print(argument) for argument in _in_reading_order(name, node.args)]
    needs = binding + (name in ("FloorDiv", "Mod", "PythonMod", "Pow"))
    texts = [text if bound >= needs else f"({text})" for text, bound in parts]
    return sign.join(texts).replace("+ -", "- "), binding


def _in_reading_order(name: str, arguments: list[ast.expr]) -> list[ast.expr]:
    """The arguments with numbers last in sums and first in products."""
    if name not in ("Add", "Mul"):
        return arguments
    return sorted(arguments, key=lambda argument: _is_number(argument) == (name == "Add"))


def _is_number(node: Any) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Integer", "Float")
