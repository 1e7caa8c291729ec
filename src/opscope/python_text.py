"""Python code from files, parsed and never run."""

from __future__ import annotations

import ast
import threading
import warnings

_ONE_AT_A_TIME = threading.Lock()
"""Python's filters of warnings belong to all threads."""


def parsed_code(text: str) -> ast.Module:
    """The syntax tree of statements."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python quotes the text in them, and they are not ours to print
        return ast.parse(text)


def parsed_expression(text: str) -> ast.expr:
    """The syntax tree of one expression."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval").body
