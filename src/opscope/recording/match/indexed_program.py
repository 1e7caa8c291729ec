"""Two programs as arrays of numbers for matching: edges by position, and labels that tell how similar two nodes are.

The names of nodes and graphs are not used here: labels consist of ops, types, attributes and places in the user's program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from opscope.ops import facts_of
from opscope.program import DIRECTION_ATTR, INFERRED_ATTR, TRANSFORMS_ATTR, Details, Frame, Node, Program
from opscope.program.call_order import callees_first
from opscope.recording.match.attribute_values import canonical

TAGS = 1 << 29
"""Edges carry (operand position, output index) as one number below this: room for 65,536 operands and 8,192 outputs. A loop
with the state of a training step has thousands."""
RESULTS = 1 << 13
"""The output index is the rest of that number by this: 0 is the whole of a tuple, 1 the first output."""
_LAST_OPERAND, _LAST_OUTPUT = TAGS // RESULTS - 1, RESULTS - 1
"""Those beyond are not told apart."""

_WORD = re.compile(r"[\w.-]+")
_UNSTABLE = frozenset({"metadata.stack_frame_id", DIRECTION_ATTR, INFERRED_ATTR, TRANSFORMS_ATTR})
_NAMES = frozenset(
    (
        "control-predecessors",
        "metadata.scheduling_name",
        "metadata.deduplicated_name",
        "output_names",
        "name",
        "original_name",
        "_original_op_name",
        "args",
        "metadata.pkg.torch.onnx.fx_node",
    )
)
"""Attributes that contain names of nodes. Those that contain names of graphs are recognized by their values."""
_STORAGE = "external."
"""Attributes that say in which file a weight of ONNX is stored, which is not part of the program."""
_REMARKS = frozenset({"task", "category", "device", "note", "share_map"})
"""Attributes that only annotate a node: a copy in another graph may lack them."""
_IN_PLACE = re.compile(r"_(?:\.\w+)?$")
_NUMBERED = re.compile(r"([A-Za-z_.]+)(\d+)")
_MEANT = ("metadata.op_name", "metadata.op_type", "value", "parameter_number")


class Side:
    """One program. The nodes of all graphs are numbered consecutively; graph g has the numbers first[g] … first[g + 1] - 1.

    Graphs that are known to be the same on both sides (`same`) are without their nodes.
    """

    def __init__(self, program: Program, same: frozenset[str] = frozenset()) -> None:
        self.program = program
        self.same = same
        self.graphs = list(program)
        self.graph_number = {graph.name: g for g, graph in enumerate(self.graphs)}
        self.nodes: list[Node] = []
        self.graph: list[int] = []
        self.first = [0]
        self.operands: list[list[int]] = []
        self.users: list[list[int]] = []
        self.callers: list[list[int]] = [[] for _ in self.graphs]
        for g, graph in enumerate(self.graphs):
            self._add(g, () if graph.name in same else graph.nodes)
        self.calls = [[self.graph_number[name] for name in node.calls] for node in self.nodes]
        for i, called in enumerate(self.calls):
            for g in called:
                self.callers[g].append(i)

    def _add(self, g: int, nodes: Sequence[Node]) -> None:
        base = len(self.nodes)
        at = {node.id: base + i for i, node in enumerate(nodes)}
        users: list[list[int]] = [[] for _ in nodes]
        for i, node in enumerate(nodes):
            row = []
            for position, (name, index) in enumerate(node.inputs):
                operand = at[name]
                tag = min(position, _LAST_OPERAND) * RESULTS + min(index + 1, _LAST_OUTPUT)
                row.append(operand * TAGS + tag)
                users[operand - base].append((base + i) * TAGS + tag)
            self.operands.append(row)
        self.users += users
        self.nodes += nodes
        self.graph += [g] * len(nodes)
        self.first.append(len(self.nodes))

    def __len__(self) -> int:
        return len(self.nodes)

    def only_calls(self, node: int) -> bool:
        """Whether it is a call, which is not a fusion: what was outlined, or one of the halves that a graph was split into."""
        op, calls = self.nodes[node].op, self.nodes[node].calls
        return op in calls or facts_of(op).control == "call"

    def members(self, g: int) -> range:
        return range(self.first[g], self.first[g + 1])

    def is_dead(self, i: int) -> bool:
        """Whether nothing uses a value, or only what nothing uses either."""
        return i in self._dead

    @cached_property
    def _dead(self) -> set[int]:
        kept = {self.first[g] + graph.position[id] for g, graph in enumerate(self.graphs) if self.members(g) for id, _ in graph.outputs}
        for g in range(len(self.graphs)):
            position = self.graphs[g].position
            kept.update(self.first[g] + position[name] for i in self.members(g) for name in self.nodes[i].control)
        waiting = [i for i, users in enumerate(self.users) if not users and i not in kept and _only_computes(self.nodes[i])]
        dead, dead_uses = set(waiting), Counter[int]()
        while waiting:
            for edge in self.operands[waiting.pop()]:
                i = edge // TAGS
                dead_uses[i] += 1
                if dead_uses[i] == len(self.users[i]) and i not in kept and _only_computes(self.nodes[i]):
                    dead.add(i)
                    waiting.append(i)
        return dead

    @cached_property
    def callees_last(self) -> list[int]:
        """Graph numbers, callers before callees (call cycles in any order), the entry first."""
        entry = self.graph_number[self.program.entry]
        uncalled = [g for g, callers in enumerate(self.callers) if not callers and g != entry]
        starts = [*uncalled, entry, *range(len(self.graphs))]
        return callees_first(starts, lambda g: (called for i in self.members(g) for called in self.calls[i]))[::-1]


class Labels:
    """Numbers that are equal for similar nodes, on both sides. From strict to loose:

    `deep` is like strict, with the contents of called graphs; `strict` is op, type, layout and every attribute; `work` is op, shapes,
    the attributes that affect the result, and the work of called graphs; `meant` is op, shapes and the place in the user's program; `kind`
    is op and shapes; `op` is op.
    """

    LEVELS = ("deep", "strict", "work", "meant", "kind", "op")

    def __init__(self, a: Side, b: Side) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._texts: dict[int, tuple[Details, tuple[int, int, int, int, int, int]]] = {}
        self._rows: dict[Hashable, tuple[int, int, int, int, int]] = {}
        """The numbers of nodes that are alike: most nodes are on both sides."""
        self._rows_of_objects: dict[int, tuple[tuple[int, int, int, int, int], tuple[int, int, int, int, int, int]]] = {}
        """The same by the node itself: what a pass leaves alone is one object in both programs of a recording."""
        self._number("")  # 0 is nothing
        self._layers: dict[frozenset[tuple[str, str]], int] = {frozenset(): 0}
        self._layer_parts: list[frozenset[tuple[str, str]]] = [frozenset()]
        self._crossings: dict[tuple[int, int], bool] = {}
        self._op_names: dict[str, int] = {"": 0}
        self._op_name_texts = [""]
        self._renamings: dict[tuple[int, int], bool] = {}
        self._output_names_of: dict[int, str] = {}
        self.output_names: tuple[dict[int, str], dict[int, str]] = ({}, {})
        """Per side, the names of nodes' outputs, for nodes that have them."""
        self._graph_names = {*a.graph_number, *b.graph_number}
        self.content: tuple[list[int], list[int]] = ([], [])
        """Per side and graph: equal numbers mean the same nodes in the same order, apart from names."""
        self.form: tuple[list[int], list[int]] = ([], [])
        """The same by kind: equal even after a pass that only sets attributes."""
        self.place: tuple[list[int], list[int]] = ([], [])
        """Per side and node: the place in the user's program (op_name or scope, and source lines), 0 if it has none."""
        self._layer: tuple[list[int], list[int]] = ([], [])
        """Per side and node: the numbered parts of its scope, 0 if it has none."""
        self.op_name: tuple[list[int], list[int]] = ([], [])
        """Per side and node: XLA's name of the operation of the user's program that it belongs to, 0 if it has none."""
        self.of: dict[str, tuple[list[int], list[int]]] = {level: ([], []) for level in self.LEVELS}
        for which, side in enumerate((a, b)):
            self._label(which, side)

    def _number(self, what: Hashable) -> int:
        return self._numbers.setdefault(what, len(self._numbers))

    def _label(self, which: int, side: Side) -> None:
        number, objects = self._number, self._rows_of_objects
        strict, work, meant, kind, op = (self.of[level][which] for level in self.LEVELS[1:])
        output_names, places, layers, op_names = self.output_names[which], self.place[which], self._layer[which], self.op_name[which]
        for i, node in enumerate(side.nodes):
            known = objects.get(id(node))
            if known is None:
                known = objects[id(node)] = self._row(node)
            row, described = known
            strict.append(row[0])
            work.append(row[1])
            meant.append(row[2])
            kind.append(row[3])
            op.append(row[4])
            places.append(described[3])
            layers.append(described[4])
            op_names.append(described[5])
            if self._output_names_of and described[0] in self._output_names_of:
                output_names[i] = self._output_names_of[described[0]]
        deep = self.of["deep"][which]
        deep += strict
        content, form, task = [0] * len(side.graphs), [0] * len(side.graphs), [0] * len(side.graphs)
        for g in reversed(side.callees_last):
            if side.graphs[g].name in side.same:
                content[g] = form[g] = task[g] = number(("same", side.graphs[g].name))
                continue
            members, base = side.members(g), side.first[g]
            for i in members:
                if called := side.calls[i]:
                    deep[i] = number((strict[i], tuple([content[g] for g in called])))
                    work[i] = number((work[i], tuple([task[g] for g in called])))
            wiring = number(tuple([tuple([operand - base * TAGS for operand in side.operands[i]]) for i in members]))
            content[g] = number((wiring, tuple([deep[i] for i in members])))
            form[g] = number((wiring, tuple([kind[i] for i in members])))
            task[g] = number((wiring, tuple([work[i] for i in members])))
        self.content[which].extend(content)
        self.form[which].extend(form)

    def _row(self, node: Node) -> tuple[tuple[int, int, int, int, int], tuple[int, int, int, int, int, int]]:
        """The numbers of a node, without called graphs, from strict to op, and those of its details."""
        number = self._number
        _, name, inputs, outputs, role, calls, control, _, details = node
        described = self._details(details)
        signature = described, name, role, outputs, len(inputs), len(calls), len(control)
        row = self._rows.get(signature)
        if row is None:
            everything, done, meant_place = described[:3]
            shapes = number(tuple([(t.dtype, t.shape) for t in outputs]))
            op_number = number((name, role))
            row = self._rows[signature] = (
                number((op_number, number(outputs), everything, len(inputs), len(calls), len(control))),
                number((op_number, shapes, done, len(inputs))),
                number((op_number, shapes, meant_place)),
                number((op_number, shapes)),
                op_number,
            )
        return row, described

    def elsewhere(self, x: int, y: int) -> bool:
        """Whether two nodes belong to different operations of the user's program, as far as that is known: a pass that moves a reshape
        from before a product to after it makes a new one, which belongs to the product."""
        return self.in_other_layers(x, y) or self._of_other_operations(x, y)

    def _of_other_operations(self, x: int, y: int) -> bool:
        one, other = self.op_name[0][x], self.op_name[1][y]
        if one == other or not one or not other:
            return False
        differs = self._renamings.get((one, other))
        if differs is None:
            first, second = self._op_name_texts[one], self._op_name_texts[other]
            differs = not (first.endswith(second) or second.endswith(first))  # inlining adds the caller's name
            self._renamings[one, other] = differs
        return differs

    def in_other_layers(self, x: int, y: int) -> bool:
        """Whether the scopes of two nodes say that they are in different layers: layer_0 and layer_1."""
        one, other = self._layer[0][x], self._layer[1][y]
        if one == other or not one or not other:
            return False
        crosses = self._crossings.get((one, other))
        if crosses is None:
            crosses = self._crossings[one, other] = _cross(self._layer_parts[one], self._layer_parts[other])
        return crosses

    def settings(self, node: Node) -> int:
        """A number for the attributes that affect the result of a node."""
        return self._details(node.details)[1]

    def _details(self, details: Details) -> tuple[int, int, int, int, int, int]:
        """The numbers of all details, of those that affect the result, of the place with some of them, of the place, of the layer, and of
        the op_name.
        Nodes share details, so each is numbered once."""
        key = getattr(details, "number", None)
        key = id(details) if key is None else ~key
        entry = self._texts.get(key)
        if entry is None or (entry[0] is not details and entry[0] != details):
            texts, done, meant, places, op_name, numbered, output_names, values = _described(details)
            named_graphs = {name for name, value, words in values if self._names_graphs(value, words)}
            if named_graphs:
                texts, done = (tuple([text for text in each if text[0] not in named_graphs]) for each in (texts, done))
            place = self._number(("place", op_name, *places)) if op_name or places[0] else 0
            layer = self._layers.get(numbered)
            if layer is None:
                layer = self._layers[numbered] = len(self._layer_parts)
                self._layer_parts.append(numbered)
            numbers = self._number((texts, *places)), self._number(done), self._number((meant, *places))
            named = self._op_names.get(op_name)
            if named is None:
                named = self._op_names[op_name] = len(self._op_name_texts)
                self._op_name_texts.append(op_name)
            entry = self._texts[key] = (details, (*numbers, place, layer, named))
            if output_names is not None:
                self._output_names_of[numbers[0]] = output_names
        return entry[1]

    def is_name(self, name: str, value: Any) -> bool:
        """Whether an attribute only names nodes, graphs or files, or is derived from others."""
        return _is_named_apart(name) or (isinstance(value, str) and self._names_graphs(value, _listed(value)))

    def _names_graphs(self, value: str, words: Sequence[str]) -> bool:
        return value in self._graph_names or (bool(words) and self._graph_names.issuperset(words))


class _Described(NamedTuple):
    """Details as they are compared, apart from what the programs say about them."""

    texts: tuple[tuple[str, str], ...]
    """Name and text of every attribute, sorted, but for those that are named apart."""
    done: tuple[tuple[str, str], ...]
    """Those that affect the result."""
    meant: tuple[str, ...]
    places: tuple[tuple[str, ...], tuple[Frame, ...]]
    op_name: str
    numbered: frozenset[tuple[str, str]]
    output_names: str | None
    values: list[tuple[str, str, list[str]]]
    """Attributes that may name graphs: the name, the value, and the words of a list."""


def _described(details: Details) -> _Described:
    """Details that are in a store are described once for all passes."""
    described_before: dict[int, _Described] | None = getattr(details, "described", None)
    if described_before is None:
        return _describe(details)
    number: int = getattr(details, "number")  # noqa: B009
    described = described_before.get(number)
    if described is None:
        described = described_before[number] = _describe(details)
    return described


def _describe(details: Details) -> _Described:
    attrs = details.attrs
    compared = [(name, value) for name, value in attrs.items() if not _is_named_apart(name)]
    texts = tuple(sorted([(name, _text(value)) for name, value in compared]))
    scope = () if "metadata.op_name" in attrs else details.scope  # a scope from op_name may depend on the caller
    op_name = str(attrs.get("metadata.op_name", ""))
    return _Described(
        texts,
        tuple([text for text in texts if not text[0].startswith("metadata.") and text[0] not in _REMARKS]),
        tuple([_text(attrs[name]) for name in _MEANT if name in attrs]),
        (scope, details.source),
        op_name,
        frozenset(_NUMBERED.findall(op_name.rpartition("/")[0] if op_name else "/".join(scope))),
        str(attrs["output_names"]) if "output_names" in attrs else None,
        [(name, value, _listed(value)) for name, value in compared if isinstance(value, str)],
    )


def _is_named_apart(name: str) -> bool:
    return name in _UNSTABLE or name in _NAMES or name.startswith(_STORAGE)


def _listed(value: str) -> list[str]:
    """The words of a text that may be a list of graphs: {%a, %b}."""
    return _WORD.findall(value) if value[:1] in ("{", "%") else []


def _only_computes(node: Node) -> bool:
    """Whether a node has no effect but its value: it does not write in place (`add_`), send, or print."""
    if node.role != "op" or not node.outputs or _IN_PLACE.search(node.op) or "custom_call_has_side_effect" in node.attrs:
        return False
    return all(type_.dtype != "token" for type_ in node.outputs)


def _cross(one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]]) -> bool:
    """Whether two scopes have the same name with other numbers, and none in common."""
    common = {name for name, _ in one} & {name for name, _ in other}
    return any({number for stem, number in one if stem == name}.isdisjoint({n for stem, n in other if stem == name}) for name in common)


def _text(value: Any) -> str:
    """An attribute as text that can be compared."""
    if isinstance(value, Mapping):
        value = sorted((str(key), _text(item)) for key, item in value.items())
    return canonical(value) if isinstance(value, str) else repr(value)
