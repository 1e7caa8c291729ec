"""How well blocks that are found by shape agree with modules: a program without its names, and the count of right and wrong nodes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from opscope.analysis.structure import STRUCTURE, add_structure
from opscope.program import Graph, KnownDetails, Path, Program

_MEANING = ("value", "literal", "direction", "comparison_direction", "alpha", "rounding_mode", "custom_call_target", "kind")
"""Attributes without which an operation would be another one. None of them says where it is."""


def nameless(program: Program) -> Program:
    """The same program without names of nodes, scopes, source lines and metadata."""

    def plain(graph: Graph) -> Graph:
        ids = {node.id: f"n{i}" for i, node in enumerate(graph)}
        nodes = []
        for node in graph:
            attrs = {key: node.attrs[key] for key in _MEANING if key in node.attrs}
            inputs = tuple((ids[name], index) for name, index in node.inputs)
            control = tuple(ids[name] for name in node.control)
            details = KnownDetails(attrs)
            nodes.append(node._replace(id=ids[node.id], inputs=inputs, control=control, links=(), details=details))
        outputs = tuple((ids[name], index) for name, index in graph.outputs)
        return Graph(graph.name, tuple(nodes), outputs)

    graphs = MappingProxyType({name: plain(graph) for name, graph in program.graphs.items()})
    return replace(program, graphs=graphs, attrs=MappingProxyType({}), metrics=MappingProxyType({}))


class Agreement(NamedTuple):
    """Nodes of repeated modules, by where shape puts them."""

    nodes: int
    right: int
    either_side: int
    """Not where the names put them, but at the edge of a module: they could as well belong to its neighbour."""
    missing: int
    wrong: int
    blocks: str

    @property
    def share(self) -> float:
        return (self.right + self.either_side) / self.nodes if self.nodes else 1.0


def agreement(program: Program, alike: bool = True) -> Agreement:
    """Compare the modules of a program's entry with the blocks of the same program without names. A compiler makes equal modules
    different, so that only their numbers say which ones repeat: `alike` is False."""
    named = program.main
    blocks = add_structure(nameless(program)).main
    block_of = {node.id: blocks.groupings.get(STRUCTURE, {}).get(plain.id, ()) for node, plain in zip(named, blocks, strict=True)}
    module_of = repeated_modules(named, alike)
    owner = _owners(module_of, block_of)
    counts: Counter[str] = Counter()
    for node_id, module in module_of.items():
        block = block_of[node_id][:1]
        if owner.get(block) == module:
            counts["right"] += 1
        elif _is_at_the_edge(named, node_id, module_of):
            counts["either side"] += 1
        else:
            counts["wrong" if block in owner else "missing"] += 1
    families = Counter(re.sub(r"\d+$", "", path[0]).strip() for path in {path[:1] for path in block_of.values() if path})
    text = ", ".join(f"{title} ×{count}" for title, count in families.most_common(4))
    return Agreement(len(module_of), counts["right"], counts["either side"], counts["missing"], counts["wrong"], text)


def _is_at_the_edge(graph: Graph, node_id: str, module_of: dict[str, Path]) -> bool:
    """Whether a node takes nothing from its module, or gives nothing to it, so that it could as well belong to the neighbour."""
    module = module_of[node_id]
    sides = [name for name, _ in graph[node_id].inputs], list(graph.users.get(node_id, ()))
    return any(side and all(module_of.get(name) != module for name in side) for side in sides)


def _owners(module_of: dict[str, Path], block_of: dict[str, Path]) -> dict[Path, Path]:
    """The module to which most nodes of each block belong."""
    votes: dict[Path, Counter[Path]] = {}
    for node_id, module in module_of.items():
        block = block_of[node_id][:1]
        if block:
            votes.setdefault(block, Counter())[module] += 1
    return {block: modules.most_common(1)[0][0] for block, modules in votes.items()}


def repeated_modules(graph: Graph, alike: bool = True) -> dict[str, Path]:
    """For each node in a module that occurs several times, side by side and with equal operations, the outermost such module. Nodes
    without a single edge are left out: nothing but their names says where they belong. If not `alike`, names that differ in their
    numbers are enough."""
    content: dict[Path, Counter[tuple[str, ...]]] = {}
    for node in graph:
        if node.role == "op":
            operation = (node.op, node.type_text, *(graph[name].type_text for name, _ in node.inputs))
            for length in range(1, len(node.scope) + 1):
                content.setdefault(node.scope[:length], Counter())[operation] += 1
    keys = {path: (path[:-1], re.sub(r"\d+", "#", path[-1]), frozenset(ops.items()) if alike else None) for path, ops in content.items()}
    times = Counter(keys.values())
    repeated = {path for path, key in keys.items() if times[key] > 1}
    modules: dict[str, Path] = {}
    for node in graph:
        outermost = next((node.scope[:length] for length in range(1, len(node.scope) + 1) if node.scope[:length] in repeated), None)
        if outermost is not None and (node.inputs or node.id in graph.users):
            modules[node.id] = outermost
    return modules
