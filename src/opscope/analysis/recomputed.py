"""Which forward node a recomputed node repeats: the same operation at the same place of the source, with the same operands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from opscope.analysis.called_values import CalledValues, Place
from opscope.analysis.forward_index import ForwardIndex
from opscope.analysis.forward_nodes import Forward, Part, rows_of
from opscope.analysis.origins import CALL, LINE, Key, Origin
from opscope.program import Graph, Node, ValueRef

_MOST_STEPS = 8
"""From a value to its constant. A damaged graph may be a circle."""


class Repeats:
    """Finds what recomputed nodes repeat, in the order of the program: operands must have been looked up before."""

    def __init__(self, index: ForwardIndex, values: CalledValues) -> None:
        self._index = index
        self._values = values
        self._places: dict[Place, Place] = {}
        self._unmarked: dict[tuple[Key, str], list[Forward]] = defaultdict(list)

    def add_unmarked(self, part: Part, origins: Sequence[Origin]) -> None:
        """Nodes of no half may be repeated too: JAX computes what does not depend on the arguments of a loop before it, and without the
        names around the loop. Their line is the evidence."""
        for row, role, origin in zip(rows_of(part.graph), part.graph.roles, origins, strict=True):
            if not origin.direction and role == "op" and CALL in origin.levels:
                self._unmarked[origin.key(CALL), origin.primitive].append(Forward(part, row, origin, False))

    def find(self, part: Part, node: Node, origin: Origin) -> Forward | None:
        """The forward node, or None for what only the derivative needs. Of several nodes that could be meant (three products on one
        line), the first that nothing else of the graph repeats is."""
        operands = [self._place(part.graph, ref) for ref in node.inputs]
        levels = origin.levels[: origin.levels.index(LINE) + 1] if LINE in origin.levels else origin.levels
        index = self._index
        rows = [index.of_primitive(index.rows(False, level).get(origin.key(level), ()), origin.primitive) for level in levels]
        for candidates in (*rows, self._unmarked.get((origin.key(CALL), origin.primitive), ())):
            best: tuple[int, bool] | None = None
            for each in candidates:
                agreeing = self._agreeing(part, node, operands, each)
                if agreeing is None:
                    continue
                rank = agreeing, each not in part.repeated
                if best is None or rank > best:
                    best, forward = rank, each
            if best is not None:
                part.repeated.add(forward)
                return forward
        return None

    def _place(self, graph: Graph, ref: ValueRef) -> Place:
        """Where a value comes from, across calls, loops and what is computed again."""
        start = place = (graph.name, ref)
        while place not in self._places:
            name, (node, output) = self._values.source(self._index.parts[place[0]].graph, place[1])
            part = self._index.parts.get(name)
            forward = part.forward[part.graph.position[node]] if part else None
            if forward is None or forward.key == (name, node):
                self._places[name, (node, output)] = name, (node, output)
            place = (name, (node, output)) if forward is None else (*forward.key[:1], (forward.key[1], output))
            if part is None:
                break
        self._places[start] = self._places.get(place, place)
        return self._places[start]

    def _agreeing(self, part: Part, node: Node, operands: list[Place], repeated: Forward) -> int | None:
        """How many operands are certainly the same as those of a forward node; None if it is another operation, or one operand differs."""
        if repeated.op != node.op or len(repeated.read) != len(node.inputs):
            return None
        forward = repeated.part.graph[repeated.position]
        if not _gives_the_same(node, forward):
            return None
        agreeing = 0
        for (name, _), ref, operand in zip(node.inputs, forward.inputs, operands, strict=True):
            ours, theirs = part.graph[name], repeated.part.graph[ref[0]]
            if "constant" in (ours.role, theirs.role):
                if (ours.role, ours.attrs.get("value")) != (theirs.role, theirs.attrs.get("value")):
                    return None
            elif operand == self._place(repeated.part.graph, ref):
                agreeing += 1
            elif self._is_known(operand) and not _are_equal_constants(part, ours, repeated.part, theirs):
                return None
        return agreeing

    def _is_known(self, place: Place) -> bool:
        """Whether a value is one of the forward half, or an argument of the program."""
        part = self._index.parts.get(place[0])
        if part is None:
            return False
        position = part.graph.position[place[1][0]]
        return part.forward[position] is not None or (part.is_entry and position in part.arguments)


def _are_equal_constants(part: Part, node: Node, forward_part: Part, forward: Node) -> bool:
    """Whether two nodes make the same of equal constants, as broadcasts do: every layer has its own, and nothing tells them apart."""
    for _ in range(_MOST_STEPS):
        if node.op != forward.op or node.outputs != forward.outputs:
            return False
        if node.role == "constant":
            return node.attrs.get("value") == forward.attrs.get("value")
        if not len(node.inputs) == len(forward.inputs) == 1:
            return False
        node, forward = part.graph[node.inputs[0][0]], forward_part.graph[forward.inputs[0][0]]
    return False


def _gives_the_same(node: Node, forward: Node) -> bool:
    """Whether a node has the results of another, by their types and its parameters: x² is not x³. A call that is computed again also
    returns what only the derivative needs, and names another graph."""
    if node.calls and forward.calls:
        return node.outputs[: len(forward.outputs)] == forward.outputs
    return node.outputs == forward.outputs and _parameters(node) == _parameters(forward)


def _parameters(node: Node) -> dict[str, Any]:
    """Without what says where the node comes from."""
    return {name: value for name, value in node.settings.items() if name != "op_name" and not name.startswith(("opscope.", "metadata."))}
