"""What follows from an operation's name alone. Everything that draws, counts or compares operations uses these facts."""

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
    "result",
)
"""Kinds of work, for colours and counts. The same names in the same order as in `web/src/core/program/types.ts`; a test compares them."""

AUTOGRAD_KINDS = {"function": "function", "leaf": "leaf", "saved": "saved", "base": "base", "cut": "cut", "output": "result"}
"""By kind of a node in an autograd graph, its category. Only these graphs have them; their colours have the same meaning as in torchviz."""

CUT = "cut: "
"""How the operation of a mark in an autograd graph begins, through which no gradient flows back."""

Forwards = Literal["", "value", "tuple", "element"]
FORWARDS: tuple[Forwards, ...] = ("", "value", "tuple", "element")

Control = Literal["", "call", "fusion", "cond", "while", "for", "scan"]
CONTROL: tuple[Control, ...] = ("", "call", "fusion", "cond", "while", "for", "scan")
LOOPS = frozenset[Control](("while", "for", "scan"))
BARRIERS = frozenset(["opt_barrier", "optimization_barrier"])
"""Operations that return their operands, and keep a compiler from moving others past them."""

TitledBy = Literal["op", "called", "id", "text"]
TITLED_BY: tuple[TitledBy, ...] = ("op", "called", "id", "text")

Quantization = Literal["", "quantize", "dequantize", "parameters", "auxiliary"]
QUANTIZATION: tuple[Quantization, ...] = ("", "quantize", "dequantize", "parameters", "auxiliary")


@dataclass(frozen=True, slots=True)
class Facts:
    """A row of the table. The defaults describe an operation that computes something and is shown by its own name."""

    category: str = "other"
    """One of CATEGORIES."""
    forwards: Forwards = ""
    """Whether it computes nothing and disappears into edges: "value" forwards its first operand, "tuple" bundles its operands,
    "element" forwards one of several outputs of an operation, and computes something if there is only one (indexing a tensor)."""
    spreads: bool = False
    """Whether it only copies, converts or broadcasts its operand: a broadcast number is still that number."""
    unnumbered: bool = False
    """Whether numbering its operands would be pointless: they commute (an addition), or are a plain list (a tuple)."""
    control: Control = ""
    """What it does with the graphs that it calls. "call" runs one as it is, "fusion" is one step made of several."""
    titled_by: TitledBy = "op"
    """What a box shows instead of its name: the graph that it calls, its id, or its text (the routine of a custom call)."""
    sign: str = ""
    """The sign between its two operands: "+"."""
    free: bool = False
    """Whether it costs nothing: no arithmetic, no bytes moved."""
    view: bool = False
    """Whether its results are (parts of) its first operand, in the same memory."""
    quantization: Quantization = ""
    """Its role in quantized arithmetic. "parameters" computes scales; "auxiliary" is done on the way (an activation, a copy)."""

    def __post_init__(self) -> None:
        """Check the values: a row may come from another package, and a mistake should be reported where it was made."""
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
"""Names, separated by spaces, and facts that hold for all of them. Names are in the form of `plain_name`: `get_tuple_element`."""


class Dialect(NamedTuple):
    """Names that begin with the same word: `aten.add.Tensor`, `stablehlo.add`."""

    prefixes: str
    """The words, separated by spaces. Rows of a dialect without prefixes apply in every dialect."""
    rows: Rows = ()
    """Names that mean something else here than in other dialects. An overload has its own row: `max.other`."""
    views: str = ""
    """Names of operations that give views here, while in other dialects the same names mean copies."""
    titles: Literal["bare", "first", "whole"] = "bare"
    """Titles without the prefix; only the first word after it (an overload follows); or whole, if a bare name says too little."""
