"""The lines of a very large computation, which is read as columns. XLA prints them in one way, so they follow from what was read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opscope.program import Details, NodeColumns
from opscope.readers.hlo.details import HloDetails
from opscope.readers.hlo.instruction import PAYLOAD_ROLES
from opscope.readers.hlo.shapes import Types


class PrintedLines:
    """Lines that are `%name = type opcode(%operand, %operand)` and the attributes that details have as text."""

    def __init__(self, nodes: NodeColumns, types: Types, root: str, written: Mapping[int, str], span: tuple[int, int]) -> None:
        """`types` are those of the module, `written` what is in the parentheses of a line if that is not a list of names."""
        self.nodes = nodes
        self.span = span
        """Where they are in the text."""
        self._types = types
        """They are kept: types are found by the identity of what they mean."""
        self._text_of_type = {id(typed.outputs): text for text, typed in types.items()}
        self._root = root
        self._written = written

    def line(self, i: int) -> str:
        nodes, details = self.nodes, self.nodes.details[i]
        name, op = nodes.ids[i], nodes.ops[i]
        listed = self._written.get(i)
        if listed is None:
            names = [nodes.ids[source] for source in nodes.sources[nodes.starts[i] : nodes.starts[i + 1]]]
            listed = payload_of(details) if op in PAYLOAD_ROLES else f"%{', %'.join(names)}" if names else ""
        tail = details.tail if isinstance(details, HloDetails) else ""
        return f"{'ROOT ' if name == self._root else ''}%{name} = {self._text_of_type[id(nodes.outputs[i])]} {op}({listed}){tail}"

    @property
    def odd(self) -> Collection[int]:
        """The nodes whose lines have something else in their parentheses than names."""
        return self._written.keys()


def payload_of(details: Details) -> str:
    """What is in the parentheses of a parameter or constant."""
    return details.payload if isinstance(details, HloDetails) else ""
