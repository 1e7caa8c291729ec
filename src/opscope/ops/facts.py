"""What can be known of an operation from its name alone. Everything that draws, counts or compares operations asks for these facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

CATEGORIES = (
    "other",
    "elementwise",
    "matmul",
    "reduce",
    "shape",
    "communication",
    "control",
    "data",
    "parameter",
    "constant",
    "custom",
    "output",
    "random",
    "function",
    "leaf",
    "saved",
    "base",
    "cut",
)
"""Kinds of work, for colours and counts. The same names in the same order as in `web/src/core/program/types.ts`; a test compares them."""

AUTOGRAD_KINDS = frozenset(("function", "leaf", "saved", "base", "cut"))
"""Categories that only graphs behind tensors have: there, colours say what torchviz's say."""

Forwards = Literal["", "value", "tuple"]
FORWARDS: tuple[Forwards, ...] = ("", "value", "tuple")

Control = Literal["", "call", "fusion", "cond", "while", "for", "scan"]
CONTROL: tuple[Control, ...] = ("", "call", "fusion", "cond", "while", "for", "scan")
LOOPS = frozenset[Control](("while", "for", "scan"))

TitledBy = Literal["op", "called", "id", "text"]
TITLED_BY: tuple[TitledBy, ...] = ("op", "called", "id", "text")

Quantization = Literal["", "quantize", "dequantize", "parameters", "auxiliary"]
QUANTIZATION: tuple[Quantization, ...] = ("", "quantize", "dequantize", "parameters", "auxiliary")


@dataclass(frozen=True, slots=True)
class Facts:
    """A row of the table. The defaults are what is true of an operation that computes something and says its own name."""

    category: str = "other"
    """One of CATEGORIES."""
    forwards: Forwards = ""
    """It computes nothing and disappears into edges: "value" hands on what its first operand gives, "tuple" bundles its operands."""
    spreads: bool = False
    """It only copies, converts or broadcasts its operand: spread, a number is still that number."""
    unnumbered: bool = False
    """Numbers at its operands would say nothing: they commute (an addition), or are a plain list (a tuple)."""
    control: Control = ""
    """What it does with the graphs that it calls. "call" runs one as it is, "fusion" is one step made of several."""
    titled_by: TitledBy = "op"
    """What a box says instead of its name: the graph that it calls, its id, or its text (the routine of a custom call)."""
    sign: str = ""
    """What is written between its two operands: "+"."""
    free: bool = False
    """It costs nothing: no arithmetic, no bytes moved."""
    quantization: Quantization = ""
    """What it is to quantized arithmetic. "parameters" computes scales; "auxiliary" is done on the way (an activation, a copy)."""

    def __post_init__(self) -> None:
        """A row may come from a package outside: a slip is refused where it is made."""
        for value, allowed in (
            (self.category, CATEGORIES),
            (self.forwards, FORWARDS),
            (self.control, CONTROL),
            (self.titled_by, TITLED_BY),
            (self.quantization, QUANTIZATION),
        ):
            if value not in allowed:
                raise ValueError(f"{value!r} is not one of {', '.join(map(repr, allowed))}")


Rows: TypeAlias = tuple[tuple[str, Facts], ...]
"""Names, separated by spaces, and what is true of all of them. Names are written as `plain_name` gives them: `get_tuple_element`."""


class Dialect(NamedTuple):
    """Names that begin with the same word: `aten.add.Tensor`, `stablehlo.add`."""

    prefixes: str
    """The words, separated by spaces. Rows of a dialect without any are added to those that count everywhere."""
    rows: Rows = ()
    """What its names mean where it is not what they mean elsewhere. An overload has a row of its own: `max.other`."""
    titles: Literal["bare", "first", "whole"] = "bare"
    """Titles without the prefix; only the first word after it (an overload follows); or whole, where a bare name tells too little."""
