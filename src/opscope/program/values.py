"""The parts of nodes: value references, tensor types, source frames, links, and details that are decoded on demand."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, TypeAlias

Role = Literal["op", "parameter", "constant", "output", "gradient", "saved", "input", "buffer"]
ROLES: tuple[Role, ...] = ("op", "parameter", "constant", "output", "gradient", "saved", "input", "buffer")
ARGUMENT_ROLES = frozenset[Role](("parameter", "input", "buffer"))
"""The arguments of a graph: the model's parameters and buffers, and the data that flows through it. Sources that do not distinguish
them (HLO, JAX functions) call all of them parameters."""

ValueRef: TypeAlias = tuple[str, int]
"""(node id, output index). The index WHOLE means all outputs together: a tuple passed on as one value."""
WHOLE = -1

NodeKey: TypeAlias = tuple[str, str]
"""(graph name, node id): a node of a Program."""

Path: TypeAlias = tuple[str, ...]
"""Group names from the outside in. A name "mlp: LlamaMLP" is the group `mlp` of class `LlamaMLP`."""

EMPTY: Mapping[str, Any] = MappingProxyType({})

FORWARD, RECOMPUTED, BACKWARD, UPDATE = "forward", "recomputed", "backward", "update"
"""The parts of a training step. RECOMPUTED is what the forward half did not save, and is computed again for the backward half."""
BACKWARD_OF = "backward_of"
"""The kind of a link from a backward node to the forward node that it differentiates."""
RECOMPUTES = "recomputes"
"""The kind of a link from a recomputed node to the forward node that it repeats."""
SAVED_FROM = "saved_from"
"""The kind of a link from a value that the backward half receives to the forward node that computed it: slot by slot, between loops."""
DIRECTION_ATTR = "opscope.direction"
"""The part of a training step that a node belongs to: FORWARD, RECOMPUTED or BACKWARD.

Attributes set by opscope have names that no source uses: `direction` is an attribute of HLO's compare and of ONNX's LSTM.
"""
INFERRED_ATTR = "opscope.direction_inferred"
"""Of a node or program whose directions opscope inferred, because the source does not state them: from what."""
TRANSFORMS_ATTR = "opscope.transforms"
"""The JAX transformations that a node went through: "transpose, jvp"."""
OPERAND_SHAPES_ATTR = "opscope.operand_shapes"
"""Of an operation whose operands are views of its inputs: the shape of each view."""
CODE_ATTR = "code"
"""Of a launch of a kernel: the text of the kernel."""
LINES_ATTR = "opscope.lines"
"""Of a node that computes what several lines of the user's program say: each of them, as (file, line, function)."""


_LAYOUT = re.compile(r"\{[^{}]*\}")


class TensorType(NamedTuple):
    """The type of one output. Dimensions that are not numbers ("s0", "<=10", "?") are text.

    A type other than a tensor ("token", a nested tuple's text "(f32[2]{0}, s32[])") is a dtype without a shape. A value about which nothing
    is known, not even its rank, has the type UNKNOWN_TYPE.
    """

    dtype: str
    shape: tuple[int | str, ...] = ()
    layout: str = ""

    def __str__(self) -> str:
        """Without the layout."""
        if self._is_tensor:
            return f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        return _LAYOUT.sub("", self.dtype) if self.dtype.startswith("(") else self.dtype

    @property
    def _is_tensor(self) -> bool:
        return not self.dtype.startswith("(") and (self.dtype != _UNKNOWN or self.shape != ())

    @property
    def elements(self) -> int | None:
        """The number of elements, or None if a dimension or the rank is unknown."""
        sizes = [d for d in self.shape if isinstance(d, int)]
        return prod(sizes) if len(sizes) == len(self.shape) and self._is_tensor else None

    @property
    def bytes(self) -> int | None:
        """The packed size, or None if the dtype or a dimension is unknown."""
        elements, bits = self.elements, dtype_bits(self.dtype)
        return None if elements is None or bits is None else (elements * bits + 7) // 8


_UNKNOWN = "?"
UNKNOWN_TYPE = TensorType(_UNKNOWN)


@lru_cache(maxsize=512)
def dtype_bits(dtype: str) -> int | None:
    """Bits per element, for the dtype names of XLA, PyTorch, NumPy and ONNX; None if unknown."""
    if dtype in ("pred", "bool"):
        return 8
    if dtype == "token":
        return 0
    match = re.fullmatch(r"q?b?(?:f|float|s|i|u|int|uint|c|complex|bits)([0-9]{1,6})(?:e\d.*|_.*)?", dtype)
    return int(match[1]) if match else None


_MOST_DIGITS = 18
"""Every whole number with so many digits fits into 64 bits."""


def whole_number(value: Any) -> int | None:
    """A whole number that a source gives as a number or as text; None for anything else, and for one that does not fit into 64 bits."""
    if isinstance(value, str):
        digits = value.removeprefix("-")
        return int(value) if len(digits) <= _MOST_DIGITS and digits.isdecimal() else None
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_MOST_DIGITS else None


def dimension(text: str) -> int | str:
    """One dimension of a shape; what is not a number stays text."""
    size = whole_number(text)
    return text if size is None or size < 0 else size


DtypeKind = Literal["other", "float", "complex", "integer", "boolean", "key"]
DTYPE_KINDS: tuple[DtypeKind, ...] = ("other", "float", "complex", "integer", "boolean", "key")
_KINDS: tuple[tuple[str, DtypeKind], ...] = (
    (r"b?(f|float)\d+.*", "float"),
    (r"(c|complex)\d+", "complex"),
    (r"(s|u|i|int|uint)\d+", "integer"),
    (r"pred|bool", "boolean"),
    (r"key<.*", "key"),
)


@lru_cache(maxsize=512)
def dtype_kind(dtype: str) -> DtypeKind:
    """The kind of number that an element is, for the same dtype names."""
    return next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, dtype)), "other")


MOST_LINES = (1 << 31) - 1


def line_number(text: str) -> int:
    """The number of a line; 0, which means unknown, if no file has so many."""
    number = whole_number(text)
    return number if number is not None and 0 <= number <= MOST_LINES else 0


class Frame(NamedTuple):
    """One line of the user's program. A node's frames start with the innermost."""

    file: str
    line: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" {self.function}" if self.function else "")


class Link(NamedTuple):
    """A relation other than data flow, such as ("backward_of", "dot.2"). `graph` is empty for a node of the same graph."""

    kind: str
    node: str
    graph: str = ""


class Resembling(NamedTuple):
    """Of many details: what each has in common with others, so that only one attribute differs between these; None if nothing. Their
    scopes differ too, and decide no other attribute."""

    commons: Sequence[Hashable]
    scopes: Sequence[Path]
    """The scope of each that has something in common with others."""
    attribute: str
    """The attribute that differs."""
    texts: Iterable[str]
    """What it is in each."""


class Details:
    """Attributes, scope and source frames of a node. Readers of large text subclass this and decode on demand."""

    __slots__ = ()

    @property
    def attrs(self) -> Mapping[str, Any]:
        return EMPTY

    @property
    def settings(self) -> Mapping[str, Any]:
        """The attributes that decide what an operation computes. A reader may leave out names and places in the source: every node has
        others, and decoding them for a million nodes takes longest."""
        return self.attrs

    def whole(self) -> tuple[Mapping[str, Any], Path, tuple[Frame, ...]]:
        """Attributes, scope and source frames, for those who need all of them."""
        return self.attrs, self.scope, self.source

    @classmethod
    def resembling(cls, details: Sequence[Self]) -> Resembling | None:
        """What details of this class have in common with each other; None if each is on its own."""
        return None

    def origin(self) -> tuple[str, str | tuple[str, ...], str, Path, tuple[Frame, ...]]:
        """Where a node comes from: its name, what tells its frames from others of equal lines (the compiler's number, or columns), its
        direction, scope and source."""
        attrs, scope, source = self.whole()
        # A sum of gradients belongs to no function of PyTorch: its scope and line say nothing, and its reader links it where it can.
        direction = "" if attrs.get("is_gradient_acc") else str(attrs.get(DIRECTION_ATTR, ""))
        name = attrs.get("metadata.op_name") or attrs.get("op_name") or ""
        return str(name), str(attrs.get("metadata.stack_frame_id") or "") or self.columns, direction, scope, source

    def key(self, names: frozenset[str] | None) -> Hashable:
        """Equal for details of one program with equal settings of these names, or with equal settings if no names are given."""
        settings = self.settings
        return None if not settings or (names is not None and names.isdisjoint(settings)) else id(self)

    @property
    def scope(self) -> Path:
        return ()

    @property
    def source(self) -> tuple[Frame, ...]:
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Where on the line of each frame, as the compiler says it; empty if it does not. Several calls may share a line."""
        return ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Details):
            return NotImplemented
        if self is other:
            return True
        return self.scope == other.scope and self.source == other.source and dict(self.attrs) == dict(other.attrs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Details(attrs={dict(self.attrs)}, scope={self.scope}, source={self.source})"


class _PlacedDetails(Details):
    """Details whose scope and source are already there."""

    __slots__ = ("_scope", "_source")
    _scope: Path
    _source: tuple[Frame, ...]

    @property
    def scope(self) -> Path:
        return self._scope

    @property
    def source(self) -> tuple[Frame, ...]:
        return self._source


class KnownDetails(_PlacedDetails):
    """Details that are already there."""

    __slots__ = ("_attrs",)

    def __init__(self, attrs: Mapping[str, Any] = EMPTY, scope: Path = (), source: tuple[Frame, ...] = ()) -> None:
        self._attrs = attrs
        self._scope = scope  # not by a call: every node of a file makes one
        self._source = source

    @property
    def attrs(self) -> Mapping[str, Any]:
        return MappingProxyType(self._attrs) if isinstance(self._attrs, dict) else self._attrs


class ColumnDetails(KnownDetails):
    """Details whose frames have columns."""

    __slots__ = ("_columns",)

    def __init__(self, attrs: Mapping[str, Any], scope: Path, source: tuple[Frame, ...], columns: tuple[str, ...]) -> None:
        super().__init__(attrs, scope, source)
        self._columns = columns

    @property
    def columns(self) -> tuple[str, ...]:
        return self._columns


class TextDetails(_PlacedDetails):
    """Details whose attributes are texts, in a third of the memory of a dictionary."""

    __slots__ = ("_keys", "_values")

    def __init__(self, keys: tuple[str, ...], values: tuple[str, ...], scope: Path, source: tuple[Frame, ...]) -> None:
        self._keys = keys
        self._values = values
        self._scope = scope
        self._source = source

    def key(self, names: frozenset[str] | None) -> Hashable:
        return None if names is not None and names.isdisjoint(self._keys) else id(self)

    @property
    def attrs(self) -> Mapping[str, Any]:
        return MappingProxyType(dict(zip(self._keys, self._values, strict=True)))


PRINTED = "printed"
"""Attribute of a graph: the text that its framework prints of it."""
NO_DETAILS = Details()
