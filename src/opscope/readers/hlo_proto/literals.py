"""The values of constants, as HLO text writes them. XLA writes up to ten elements, and `{...}` for more."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from math import isinf, isnan, prod
from typing import Any

from opscope.protobuf.hlo import HLO, PRIMITIVE_TYPES
from opscope.protobuf.wire import Message

OMITTED = "{...}"
_MOST_ELEMENTS = 10
_MOST_ROWS = 10_000
"""Of a constant without elements, whose other sizes can be anything."""
_UNPACKED = {"s8": "b", "u8": "B", "s16": "<h", "u16": "<H", "f16": "<e"}
"""Types whose elements are packed into bytes, with their `struct` formats."""
_INNER_COMMENT_RANK = 3
"""Above this rank XLA numbers the inner braces: `{ /*i0=0*/ …`."""


def literal_text(data: bytes, shape: Message) -> str:
    """A constant of this shape."""
    sizes: list[int] = shape.get("dimensions", [])
    kind = PRIMITIVE_TYPES.get(shape.get("element_type", 0), "")
    if not data or min(sizes, default=1) < 0 or prod(sizes) > _MOST_ELEMENTS or prod(filter(None, sizes)) > _MOST_ROWS:
        return OMITTED
    literal = HLO.decode("LiteralProto", data)
    values = _values(literal, kind)
    if values is None or len(values) != prod(sizes):
        return OMITTED
    write = _WRITERS.get(kind, str)
    if kind == "pred" and sizes:
        write = _bit
    order = literal.get("shape", {}).get("layout", {}).get("minor_to_major", [])
    return _nested([write(value) for value in _row_major(values, sizes, order)], sizes)


def _values(literal: Message, kind: str) -> Sequence[Any] | None:
    """The elements as they are in memory, or None for types that nobody writes constants of (4 bits, 8-bit floats)."""
    stored = literal.get(f"{kind}s", [])
    if kind in _UNPACKED:
        form = struct.Struct(_UNPACKED[kind])
        return [value for (value,) in form.iter_unpack(stored)] if len(stored) % form.size == 0 else None
    if kind == "bf16":
        return [value for (value,) in struct.iter_unpack("<f", _widened(stored))] if len(stored) % 2 == 0 else None
    if kind in ("c64", "c128"):
        return list(zip(stored[::2], stored[1::2], strict=False))
    return stored if isinstance(stored, list) else None


def _widened(stored: bytes) -> bytes:
    """bfloat16 is the upper half of a float."""
    return b"".join(b"\0\0" + stored[i : i + 2] for i in range(0, len(stored), 2))


def _row_major(values: Sequence[Any], sizes: list[int], order: list[int]) -> list[Any]:
    """The elements with the last dimension fastest; `order` says which is fastest in memory."""
    if sorted(order) != list(range(len(sizes))):
        order = list(reversed(range(len(sizes))))
    strides = [0] * len(sizes)
    stride = 1
    for dimension in order:
        strides[dimension] = stride
        stride *= sizes[dimension]
    places = [0]
    for size, step in zip(sizes, strides, strict=True):
        places = [place + i * step for place in places for i in range(size)]
    return [values[place] for place in places]


def _nested(texts: list[str], sizes: list[int]) -> str:
    """The elements in braces, one pair for each dimension, spaced as XLA does."""
    if not sizes:
        return texts[0]
    rank = len(sizes)
    if rank == 1:
        return f"{{{', '.join(texts)}}}"
    space = "" if sizes[-1] <= 1 else " "
    rows = [f"{{{space}{', '.join(texts[i : i + sizes[-1]])}{space}}}" for i in range(0, len(texts), sizes[-1])] if sizes[-1] else []
    if not sizes[-1]:
        rows = ["{}"] * prod(sizes[:-1])
    for depth in range(rank - 2, -1, -1):
        size = sizes[depth]
        outer = range(prod(sizes[:depth]))
        rows = [f"{{ {_mark(rank, depth, sizes, i)}{', '.join(rows[i * size : (i + 1) * size])} }}" for i in outer]
    return rows[0] if rows else "{ }"


def _mark(rank: int, depth: int, sizes: list[int], place: int) -> str:
    if rank <= _INNER_COMMENT_RANK or not depth:
        return ""
    return f"/*i{depth - 1}={place % sizes[depth - 1]}*/ "


def _float(digits: int, exact: Callable[[float], float] | None = None) -> Callable[[float], str]:
    """A writer of floats with so many digits, or with six if those say it all."""

    def write(value: float) -> str:
        if isnan(value):
            return "nan"
        if isinf(value):
            return "inf" if value > 0 else "-inf"
        if exact is not None:
            short = f"{value:.6g}"
            if exact(float(short)) == value:
                return short
        return f"{value:.{digits}g}"

    return write


def _single(value: float) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return value
    return rounded


def _bit(value: Any) -> str:
    return "1" if value else "0"


def _truth(value: Any) -> str:
    return "true" if value else "false"


def _pair(write: Callable[[float], str]) -> Callable[[tuple[float, float]], str]:
    return lambda value: f"({write(value[0])}, {write(value[1])})"


_WRITERS: dict[str, Callable[[Any], str]] = {
    "pred": _truth,
    "bf16": _float(4),
    "f16": _float(5),
    "f32": _float(9, _single),
    "f64": _float(17, float),
    "c64": _pair(_float(9, _single)),
    "c128": _pair(_float(17, float)),
}
