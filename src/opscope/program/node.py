"""Node: one operation with its inputs, outputs and details, and how it reads as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opscope.ellipsis import ellipsize
from opscope.program.values import ARGUMENT_ROLES, NO_DETAILS, WHOLE, Details, Frame, Link, Path, Role, TensorType, ValueRef

_LONGEST_VALUE = 97


class Node(NamedTuple):
    """One operation, parameter, constant or output."""

    id: str
    op: str
    inputs: tuple[ValueRef, ...] = ()
    outputs: tuple[TensorType, ...] = ()
    role: Role = "op"
    calls: tuple[str, ...] = ()
    control: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    details: Details = NO_DETAILS

    @property
    def is_argument(self) -> bool:
        """Whether it is an argument of its graph: a parameter, an input or a buffer."""
        return self.role in ARGUMENT_ROLES

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self.details.attrs

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.details.settings

    @property
    def scope(self) -> Path:
        return self.details.scope

    @property
    def source(self) -> tuple[Frame, ...]:
        return self.details.source

    @property
    def type_text(self) -> str:
        """The output type: "f32[2, 3]", or "(f32[2], s32[])" for several outputs."""
        texts = [str(t) for t in self.outputs]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    @property
    def operands(self) -> list[str]:
        """The inputs as text: "dot.3", "while.7#2" for the third output, "while.7#*" for all outputs together."""
        return [name if index == 0 else f"{name}#{'*' if index == WHOLE else index}" for name, index in self.inputs]

    @property
    def short_text(self) -> str:
        """One line without attributes, except a constant's value and a parameter's number."""
        payload = self.attrs.get("value" if self.role == "constant" else "parameter_number" if self.is_argument else "")
        inner = self.operands if payload is None else [*self.operands, _value_text(payload)]
        return _one_line(f"{self.id}: {self.type_text} = {self.op}({', '.join(inner)})")

    def text(self, *, whole: bool = False) -> str:
        """One line: typed result, op, operands and attributes. Long values are cut, unless it is to be `whole`."""
        operands = self.operands
        operands += [f"{key}={_value_text(value, whole)}" for key, value in self.attrs.items()]
        operands += [f"calls={name}" for name in self.calls] + [f"after={name}" for name in self.control]
        typed = f"{self.id}: {self.type_text}" if self.outputs else self.id
        return _one_line(f"{typed} = {self.op}({', '.join(operands)})")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Node {self.short_text}>"


def _one_line(text: str) -> str:
    lines = text.splitlines()
    return text if len(lines) < 2 else " ".join(line for line in map(str.strip, lines) if line)


def _value_text(value: Any, whole: bool = False) -> str:
    """A value on one line. A long one is cut at its end; a list is cut between two items, and then says how many it has."""
    if isinstance(value, list | tuple) and value and not whole:
        return _list_text(value)
    line = _one_line(value if isinstance(value, str) else repr(value))
    return line if whole else ellipsize(line, _LONGEST_VALUE)


def _list_text(items: Sequence[Any]) -> str:
    opening, closing = "[]" if isinstance(items, list) else "()"
    texts: list[str] = []
    length = 0
    for item in items:
        text = ellipsize(repr(item), _LONGEST_VALUE)
        length += len(text) + len(", ")
        if texts and length > _LONGEST_VALUE:
            texts.append(f"… {len(items):,} in total")
            break
        texts.append(text)
    comma = "," if isinstance(items, tuple) and len(items) == 1 else ""
    return f"{opening}{', '.join(texts)}{comma}{closing}"
