"""Types in HLO text: `f32[2,<=8]{1,0:T(8,128)S(5)}`, tuples `(f32[2], s32[])`, `token[]`, buffers `b(f32[2])`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from opscope.program import WHOLE, TensorType
from opscope.readers.hlo.lexing import expected, fail, group_end, skip, split_list, without_comments

_ARRAY = re.compile(r"([a-z][a-z0-9]*+)\s*+\[([^\]\[{}()\"]*+)\]")
_PRINTED = re.compile(r"[a-z][a-z0-9]*+\[[0-9,<=?]*+\](?:\{[^{}]*+\})?+")
_LAYOUT = re.compile(r"\{(?=\})|\s*+\{(?=\s*+[\d:])")
_SIGNATURE_LAYOUT = re.compile(r"\s*+\{(?=\s*+[\d:])")
_START = re.compile(r"[a-z][a-z0-9]*+\s*+\[|b?\(")


class Typed(NamedTuple):
    """An instruction's outputs, and the output index by which users refer to them (WHOLE for a tuple)."""

    outputs: tuple[TensorType, ...]
    at: int


def at_shape(text: str, pos: int) -> bool:
    """Whether a type begins here."""
    return _START.match(text, pos) is not None


def shape_end(text: str, pos: int, *, in_signature: bool = False) -> int:
    """The end of the type that begins here. After a signature, a brace opens the body unless it opens a layout."""
    if text.startswith(("(", "b("), pos):
        return group_end(text, pos + (text[pos] == "b"))
    array = _ARRAY.match(text, pos)
    if not array:
        raise expected(text, pos, "a type like f32[2,3]")
    layout = (_SIGNATURE_LAYOUT if in_signature else _LAYOUT).match(text, array.end())
    if not layout:
        return array.end()
    end = group_end(text, layout.end() - 1)
    if "\n" in text[layout.end() : end]:
        raise fail(text, layout.end() - 1, "'{' of a layout is never closed; expected something like {1,0}")
    return end


@lru_cache(maxsize=4096)
def tensor_type(text: str) -> TensorType:
    """Parse one type. A nested tuple stays text."""
    if text.startswith(("(", "b(")):
        return TensorType(" ".join(without_comments(text).split()))
    array = _ARRAY.match(text)
    if not array:
        raise expected(text, 0, "a type like f32[2,3]")
    sizes = [size.strip() for size in without_comments(array[2]).split(",")] if array[2].strip() else []
    return TensorType(array[1], tuple(int(s) if s.isdecimal() and len(s) < 20 else s for s in sizes), text[array.end() :].strip())


class Types(dict[str, Typed]):
    """Types by their text: a module has a hundred thousand instructions but only a hundred types."""

    def __missing__(self, text: str) -> Typed:
        if text.startswith("("):
            typed = Typed(tuple(map(tensor_type, _elements(text))), WHOLE)
        else:
            if shape_end(text, 0) != len(text):
                raise expected(text, skip(text, shape_end(text, 0)), "the end of the type")
            typed = Typed((tensor_type(text),), 0)
        self[text] = typed
        return typed


def _elements(text: str) -> list[str]:
    """The texts of a tuple's element types. A tuple of a thousand arrays, as XLA prints it, is split in one step."""
    if "(" not in text[1:] and text.endswith(")"):
        parts = without_comments(text[1:-1]).split(", ")
        if all(map(_PRINTED.fullmatch, parts)):
            return parts
    return [text[start:end] for start, end in split_list(text, 1, group_end(text, 0) - 1)]
