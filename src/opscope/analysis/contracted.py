"""A very large program without the middle of its repeated layers, for an analysis that takes long and looks at what is near each node.

Layers are told apart by the first number in their scopes: `layer_12/attention`. Layers that follow each other are equal if their nodes have
the same operations, types and places in the source, in the same order, and read the same of each other. What is found out about the
layers at both ends of the gap, where it no longer changes from layer to layer, holds for those that were left out.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice, repeat
from operator import sub
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from opscope.program import Details, Graph, Node, NodeColumns, Path, Program

KEPT = 40
"""Layers that stay at each end of a run of equal ones. An analysis looks at most this far."""
_AGREEING = 24
"""So many of them, next to the gap, must have the same result."""
_FAR = 1 << 12
"""Nodes of one layer that are further apart, in both halves of a training step, may be at any distance."""
_NUMBER = re.compile(r"[0-9]+")
_OUTSIDE = -1


Result: TypeAlias = tuple[str, tuple[str, ...]]
"""What is found out about a node: a reason, and the ids of the nodes that it leads to."""
_At: TypeAlias = tuple[int, int]
"""A layer and a place in it; for a node that is in no layer, `_OUTSIDE` and its position."""


class _Gap(NamedTuple):
    """Layers that are left out: from `first` to before `end`."""

    first: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.first


class Contraction:
    """A program whose entry lacks the middle of its layers."""

    def __init__(self, program: Program, layers: _Layers, gaps: Sequence[_Gap], nodes: tuple[Node, ...]) -> None:
        self._graph, self._layers, self._gaps = program.main, layers, gaps
        entry = Graph(program.entry, nodes, program.main.outputs, attrs=program.main.attrs)
        before = {called for calls in self._columns.calls.values() for called in calls}
        without = before.difference(chain.from_iterable(node.calls for node in nodes))
        others = {name: graph for name, graph in program.graphs.items() if name not in without}
        self.program = replace(program, graphs=MappingProxyType({**others, program.entry: entry}))

    def expanded(self, result: Mapping[str, Result]) -> dict[str, Result] | None:
        """What was found out about each node of the entry, in order, from what was found out about those that stayed. None if it does not
        follow from that."""
        layers, ids, position = self._layers, self._columns.ids, self._graph.position
        found = {position[name]: each for name, each in result.items()}
        leading: dict[int, dict[int, tuple[str, tuple[_At, ...]]]] = {}
        """By layer and place, where a node leads to: how many layers further, and the place there."""
        for i, (reason, targets) in found.items():
            layer = layers.of[i]
            if layer != _OUTSIDE:
                leads_to = tuple([self._from(layer, position[name]) for name in targets])
                leading.setdefault(layer, {})[layers.places[i]] = reason, leads_to
        shared: dict[tuple[str, tuple[int, ...]], Result] = {}
        for first, end in self._gaps:
            usual = leading.get(first - 1, {})
            if any(leading.get(layer, {}) != usual for layer in (*range(first - _AGREEING, first), *range(end, end + _AGREEING))):
                return None
            for layer in range(first, end):
                members = layers.members[layer]
                for place, (reason, leads_to) in usual.items():
                    key = reason, tuple([at if far == _FIXED else layers.members[layer + far][at] for far, at in leads_to])
                    each = shared.get(key)
                    if each is None:
                        each = shared[key] = (reason, tuple([ids[at] for at in key[1]]))
                    found[members[place]] = each
        return {ids[i]: found[i] for i in sorted(found)}

    @property
    def _columns(self) -> NodeColumns:
        assert isinstance(self._graph.nodes, NodeColumns)
        return self._graph.nodes

    def _from(self, layer: int, target: int) -> _At:
        """Where a target is, seen from a layer; the layers of a gap between them do not count."""
        other = self._layers.of[target]
        if other == _OUTSIDE:
            return _FIXED, target
        for gap in self._gaps:
            if layer < gap.first <= other:
                other -= gap.size
            elif other < gap.first <= layer:
                other += gap.size
        return other - layer, self._layers.places[target]


_FIXED = 1 << 40
"""Instead of a number of layers: the target is the same for all of them."""


class _Layers:
    """The layers of a graph."""

    def __init__(self, nodes: NodeColumns) -> None:
        kinds = _Kinds()
        calling = {id(nodes.details[i]) for i in nodes.calls}
        distinct = dict(zip(map(id, nodes.details), nodes.details, strict=True))
        described = {key: kinds.of(details, key in calling) for key, details in distinct.items()}
        both = list(map(described.__getitem__, map(id, nodes.details)))
        self.kinds = [kind for kind, _ in both]
        self.of = array("i", [layer for _, layer in both])
        self._add_arguments(nodes)
        self.members: dict[int, list[int]] = {}
        """The positions of the nodes of each layer."""
        self.places = array("i")
        for i, layer in enumerate(self.of):
            if layer == _OUTSIDE:
                self.places.append(i)
                continue
            members = self.members.setdefault(layer, [])
            self.places.append(len(members))
            members.append(i)

    def _add_arguments(self, nodes: NodeColumns) -> None:
        """Put what has no scope and reads nothing, such as a weight, into the only layer that reads it."""
        layers, starts = self.of, nodes.starts
        counts = map(sub, islice(starts, 1, None), starts)
        own = chain.from_iterable(map(repeat, layers, counts))
        reading = {
            (source, layer)
            for source, layer in zip(nodes.sources, own, strict=True)
            if layer != _OUTSIDE and layers[source] == _OUTSIDE and starts[source] == starts[source + 1]
        }
        counted = Counter([source for source, _ in reading])
        for source, layer in reading:
            if counted[source] == 1:
                layers[source] = layer

    def runs(self, nodes: NodeColumns, called: Mapping[int, Hashable]) -> Iterator[tuple[int, int]]:
        """The first and the last of layers that follow each other and are equal, where there are many. `called` says what nodes call."""
        numbers: dict[tuple[object, ...], int] = {}
        layers, places, members = self.of, self.places, self.members
        counts = array("I", map(sub, islice(nodes.starts, 1, None), nodes.starts))
        own = chain.from_iterable(map(repeat, layers, counts))
        read = (
            (source_layer - layer << 32) + place if source_layer != _OUTSIDE else ~place
            for source_layer, layer, place in zip(
                map(layers.__getitem__, nodes.sources), own, map(places.__getitem__, nodes.sources), strict=True
            )
        )
        edges = zip(read, nodes.indices, strict=True)
        inputs = map(tuple, map(islice, repeat(edges), counts))
        rows = zip(self.kinds, nodes.ops, map(id, nodes.outputs), nodes.roles, inputs, strict=True)
        of_node = array("I", [numbers.setdefault((*row, called.get(i)), len(numbers)) for i, row in enumerate(rows)])
        alike: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        of_layer = {}
        for layer, positions in members.items():
            apart = tuple([min(after - before, _FAR) for before, after in zip(positions, islice(positions, 1, None), strict=False)])
            of_layer[layer] = alike.setdefault((tuple([of_node[i] for i in positions]), apart), len(alike))
        ordered = sorted(of_layer)
        for _, run in groupby(zip(ordered, range(len(ordered)), strict=True), lambda pair: (pair[0] - pair[1], of_layer[pair[0]])):
            equal = [layer for layer, _ in run]
            if len(equal) > 3 * KEPT:
                yield equal[0], equal[-1]


class _Kinds:
    """Numbers details that say the same, apart from the number of their layer."""

    def __init__(self) -> None:
        self._keys: dict[Hashable, int] = {}
        self._forms: dict[Path, int] = {}
        self._scopes: dict[int, tuple[int, int, Path]] = {}
        """By identity, for paths that are kept: the number of the path without its number, and the layer."""

    def of(self, details: Details, calls: bool) -> tuple[int, int]:
        """The kind of details, and the layer. What `calls` names a graph, which may be another in each layer."""
        key: Hashable
        varies = None if calls else details.varies()
        if varies is not None and ";" not in varies[2]:
            key, scope = varies[0], details.scope
        else:
            name, stack, direction, scope, frames = details.origin()
            primitive = name.partition(";")[0].rpartition("/")[2]
            key = (primitive if direction else _NUMBER.sub("#", primitive), stack, direction, frames)
        known = self._scopes.get(id(scope))
        if known is None:
            form, layer = _without_number(scope)
            known = self._scopes[id(scope)] = (self._forms.setdefault(form, len(self._forms)), layer, scope)
        number = self._keys.get(key)
        if number is None:
            number = self._keys[key] = len(self._keys)
        return (number << 32) + known[0], known[1]


def _without_number(scope: Path) -> tuple[Path, int]:
    for depth, name in enumerate(scope):
        number = _NUMBER.search(name)
        if number and len(number[0]) < 10:
            return (*scope[:depth], f"{name[: number.start()]}#{name[number.end() :]}", *scope[depth + 1 :]), int(number[0])
    return scope, _OUTSIDE


def contracted(program: Program, matters: Callable[[Details], bool], single_steps: Container[str] = ()) -> Contraction | None:
    """The program without the middle of its layers, if its entry is very large and has many equal ones. `matters` says whether anything
    is found out about nodes with these details: those may not read what is left out, unless they are in a layer themselves. Nothing is
    found out about the insides of `single_steps`, graphs of which each layer may have its own."""
    nodes = program.main.nodes
    if not isinstance(nodes, NodeColumns) or nodes.control or nodes.links:
        return None
    layers = _Layers(nodes)
    called = {i: tuple([_content(program[name]) if name in single_steps else name for name in calls]) for i, calls in nodes.calls.items()}
    gaps = [_Gap(first + KEPT, last + 1 - KEPT) for first, last in layers.runs(nodes, called)]
    kept = _kept(nodes, layers, gaps, matters) if gaps else None
    return None if kept is None else Contraction(program, layers, gaps, kept)


def _content(graph: Graph) -> tuple[object, ...]:
    """What a small graph computes, whatever its nodes are called."""
    starts, positions = graph.operands
    return tuple(graph.ops), tuple(graph.types), tuple(starts), tuple(positions)


def _kept(nodes: NodeColumns, layers: _Layers, gaps: Sequence[_Gap], matters: Callable[[Details], bool]) -> tuple[Node, ...] | None:
    """The nodes that stay, with inputs among each other."""
    inside = {layer: gap for gap in gaps for layer in range(*gap)}
    kept: list[Node] = []
    for i, layer in enumerate(layers.of):
        if layer in inside:
            continue
        node = nodes[i]
        start = nodes.starts[i]
        inputs = []
        for edge, ref in enumerate(node.inputs, start):
            source = nodes.sources[edge]
            gap = inside.get(layers.of[source])
            if gap is None:
                inputs.append(ref)
                continue
            if not (gap.first - KEPT <= layer < gap.end + KEPT):
                if matters(node.details):
                    return None
                continue
            moved = layers.of[source] + (gap.size if layer < gap.first else -gap.size)
            if moved in inside or moved not in layers.members:
                return None
            inputs.append((nodes.ids[layers.members[moved][layers.places[source]]], ref[1]))
        kept.append(node if len(inputs) == len(node.inputs) and inputs == list(node.inputs) else node._replace(inputs=tuple(inputs)))
    return tuple(kept)
