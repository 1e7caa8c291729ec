"""Numbers that are equal for nodes that are alike: by op, types, attributes and place in the user's program, without names.

All passes of a recording share what is found out about their nodes, since most nodes are in many programs.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from threading import get_ident
from typing import Any, NamedTuple

from opscope.program import DIRECTION_ATTR, INFERRED_ATTR, TRANSFORMS_ATTR, Details, Frame, Node, Program
from opscope.recording.match.attribute_values import canonical

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
_NUMBERED = re.compile(r"([A-Za-z_.]+)(\d+)")
_MEANT = ("metadata.op_name", "metadata.op_type", "value", "parameter_number")


class DetailNumbers(NamedTuple):
    everything: int
    done: int
    """Of the attributes that affect the result."""
    meant: int
    """Of the place with some attributes."""
    place: int
    """0 if there is none."""
    layer: int
    """Of the numbered parts of the scope; 0 if there are none."""
    op_name: int


class NodeNumbers(NamedTuple):
    """The numbers of a node, without called graphs, from strict to loose, and those of its details."""

    strict: int
    work: int
    meant: int
    kind: int
    op: int
    details: DetailNumbers


class Vocabulary:
    """What nodes say, numbered. It grows with every pair of programs that is compared with it."""

    def __init__(self) -> None:
        self._thread = get_ident()
        self._numbers: dict[Hashable, int] = {"": 0}  # 0 is nothing
        self._of_objects: dict[int, tuple[Node, NodeNumbers, frozenset[str]]] = {}
        """By the node itself, with what its attributes name: what a pass leaves alone is one object in all programs of a recording."""
        self._of_signatures: dict[Hashable, tuple[int, int, int, int, int]] = {}
        """The numbers of nodes that are alike."""
        self._descriptions: dict[int, tuple[Details, _Described, dict[frozenset[str], DetailNumbers]]] = {}
        """Details with their numbers, by those of their attributes that name graphs."""
        self._layers: dict[frozenset[tuple[str, str]], int] = {frozenset(): 0}
        self._layer_parts: list[frozenset[tuple[str, str]]] = [frozenset()]
        self._crossings: dict[tuple[int, int], bool] = {}
        self._op_names: dict[str, int] = {"": 0}
        self._op_name_texts = [""]
        self._renamings: dict[tuple[int, int], bool] = {}
        self.output_names: dict[int, str] = {}
        """Names of the outputs of nodes, by the number of everything in their details."""

    @classmethod
    def of(cls, a: Program, b: Program) -> Vocabulary:
        """That of the recording which both programs are from; otherwise a new one. A server compares in many threads, and two that number
        at once could give one number to what differs, so other threads get new ones, too."""
        shared: dict[str, Vocabulary] = getattr(a.graphs, "found_out", {})
        if shared is not getattr(b.graphs, "found_out", None):
            return cls()
        vocabulary = shared.setdefault("vocabulary", cls())
        return vocabulary if vocabulary._thread == get_ident() else cls()

    def number(self, what: Hashable) -> int:
        """Numbers are even: odd ones are left to what is only known about two programs."""
        return self._numbers.setdefault(what, 2 * len(self._numbers))

    def of_node(self, node: Node, graph_names: frozenset[str]) -> NodeNumbers:
        """Attributes that only name one of these graphs do not count."""
        known = self._of_objects.get(id(node))
        if known is not None and graph_names.isdisjoint(known[2]):
            return known[1]
        _, name, inputs, outputs, role, calls, control, _, details = node
        of_details = self.of_details(details, graph_names)
        signature = of_details, name, role, outputs, len(inputs), len(calls), len(control)
        row = self._of_signatures.get(signature)
        if row is None:
            number = self.number
            shapes = number(tuple([(t.dtype, t.shape) for t in outputs]))
            op_number = number((name, role))
            row = self._of_signatures[signature] = (
                number((op_number, number(outputs), of_details.everything, len(inputs), len(calls), len(control))),
                number((op_number, shapes, of_details.done, len(inputs))),
                number((op_number, shapes, of_details.meant)),
                number((op_number, shapes)),
                op_number,
            )
        numbers = NodeNumbers(*row, of_details)
        named = self._described(details)[0].named
        if graph_names.isdisjoint(named):
            self._of_objects[id(node)] = node, numbers, named
        return numbers

    def of_details(self, details: Details, graph_names: frozenset[str]) -> DetailNumbers:
        described, known = self._described(details)
        naming = frozenset[str]()
        if not graph_names.isdisjoint(described.named):
            naming = frozenset([name for name, value, words in described.values if _names(graph_names, value, words)])
        numbers = known.get(naming)
        if numbers is None:
            numbers = known[naming] = self._numbered(described, naming)
        return numbers

    def _numbered(self, described: _Described, naming: frozenset[str]) -> DetailNumbers:
        texts, done, meant, places, op_name, numbered, output_names, *_ = described
        if naming:
            texts, done = (tuple([text for text in each if text[0] not in naming]) for each in (texts, done))
        layer = self._layers.get(numbered)
        if layer is None:
            layer = self._layers[numbered] = len(self._layer_parts)
            self._layer_parts.append(numbered)
        named = self._op_names.get(op_name)
        if named is None:
            named = self._op_names[op_name] = len(self._op_name_texts)
            self._op_name_texts.append(op_name)
        place = self.number(("place", op_name, *places)) if op_name or places[0] else 0
        everything = self.number((texts, *places))
        if output_names is not None:
            self.output_names[everything] = output_names
        return DetailNumbers(everything, self.number(done), self.number((meant, *places)), place, layer, named)

    def _described(self, details: Details) -> tuple[_Described, dict[frozenset[str], DetailNumbers]]:
        """Nodes share details, and details in a store have a number, so each is described once."""
        key: int | None = getattr(details, "number", None)
        key = id(details) if key is None else ~key
        known = self._descriptions.get(key)
        if known is None or (known[0] is not details and known[0] != details):
            known = self._descriptions[key] = details, _describe(details), {}
        return known[1], known[2]

    def of_other_operations(self, one: int, other: int) -> bool:
        """Whether two op_names are of different operations."""
        if one == other or not one or not other:
            return False
        differs = self._renamings.get((one, other))
        if differs is None:
            first, second = self._op_name_texts[one], self._op_name_texts[other]
            differs = not (first.endswith(second) or second.endswith(first))  # inlining adds the caller's name
            self._renamings[one, other] = differs
        return differs

    def in_other_layers(self, one: int, other: int) -> bool:
        """Whether two layers are different ones: layer_0 and layer_1."""
        if one == other or not one or not other:
            return False
        crosses = self._crossings.get((one, other))
        if crosses is None:
            crosses = self._crossings[one, other] = _cross(self._layer_parts[one], self._layer_parts[other])
        return crosses


def only_names(name: str, value: Any, graph_names: frozenset[str]) -> bool:
    """Whether an attribute only names nodes, graphs or files, or is derived from others."""
    return _is_named_apart(name) or (isinstance(value, str) and _names(graph_names, value, _listed(value)))


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
    named: frozenset[str]
    """All that they may name."""


def _describe(details: Details) -> _Described:
    attrs = details.attrs
    compared = [(name, value) for name, value in attrs.items() if not _is_named_apart(name)]
    texts = tuple(sorted([(name, _text(value)) for name, value in compared]))
    scope = () if "metadata.op_name" in attrs else details.scope  # a scope from op_name may depend on the caller
    op_name = str(attrs.get("metadata.op_name", ""))
    values = [(name, value, _listed(value)) for name, value in compared if isinstance(value, str)]
    return _Described(
        texts,
        tuple([text for text in texts if not text[0].startswith("metadata.") and text[0] not in _REMARKS]),
        tuple([_text(attrs[name]) for name in _MEANT if name in attrs]),
        (scope, details.source),
        op_name,
        frozenset(_NUMBERED.findall(op_name.rpartition("/")[0] if op_name else "/".join(scope))),
        str(attrs["output_names"]) if "output_names" in attrs else None,
        values,
        frozenset([each for _, value, words in values for each in (value, *words)]),
    )


def _names(graph_names: frozenset[str], value: str, words: Sequence[str]) -> bool:
    return value in graph_names or (bool(words) and graph_names.issuperset(words))


def _is_named_apart(name: str) -> bool:
    return name in _UNSTABLE or name in _NAMES or name.startswith(_STORAGE)


def _listed(value: str) -> list[str]:
    """The words of a text that may be a list of graphs: {%a, %b}."""
    return _WORD.findall(value) if value[:1] in ("{", "%") else []


def _cross(one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]]) -> bool:
    """Whether two scopes have the same name with other numbers, and none in common."""
    common = {name for name, _ in one} & {name for name, _ in other}
    return any({number for stem, number in one if stem == name}.isdisjoint({n for stem, n in other if stem == name}) for name in common)


def _text(value: Any) -> str:
    """An attribute as text that can be compared."""
    if isinstance(value, Mapping):
        value = sorted((str(key), _text(item)) for key, item in value.items())
    return canonical(value) if isinstance(value, str) else repr(value)
