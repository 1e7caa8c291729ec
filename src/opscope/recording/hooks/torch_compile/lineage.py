"""Origins of nodes where the compiler creates a new graph from an old one: by retracing it, or by splitting it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opscope.program import Node, NodeKey, Program
from opscope.readers.torch.export import ENTRY
from opscope.readers.torch.gradient_sums import is_backward
from opscope.recording.hooks.torch_compile.graphs import input_number, part_graph
from opscope.recording.hooks.torch_compile.rewrites import Keys
from opscope.recording.model import Origin

TRACED = "AOTAutograd: decomposed"
DIFFERENTIATED = "AOTAutograd: backward of"


def aot_origins(old: Keys, new: Keys, inputs: int) -> Iterator[Origin]:
    """Traced nodes name the node of Dynamo's graph that was running; nodes of the backward share its sequence number."""
    by_name = {key[1]: key for key in old.values() if key[0] == ENTRY}
    placeholders = [key for node, key in old.items() if node.op == "placeholder" and key[0] == ENTRY]
    traced: dict[NodeKey, list[NodeKey]] = {}
    derived: dict[NodeKey, list[NodeKey]] = {}
    owner: dict[Any, NodeKey] = {}
    for node, key in new.items():
        if node.op == "placeholder":
            number = input_number(node.meta.get("desc"))
            if number is not None and number < len(placeholders) == inputs:
                yield Origin((placeholders[number],), (key,), "identity")
        elif node.op == "output":
            continue
        elif is_backward(node.meta):
            forward_key = owner.get(node.meta.get("seq_nr"))
            if forward_key is not None:
                derived.setdefault(forward_key, []).append(key)
        else:
            traced_from = _traced_from(node.meta.get("from_node") or (), by_name)
            if traced_from is not None:
                traced.setdefault(traced_from, []).append(key)
                owner.setdefault(node.meta.get("seq_nr"), traced_from)
    for rule, successors in ((TRACED, traced), (DIFFERENTIATED, derived)):
        for old_key, new_keys in successors.items():
            yield Origin((old_key,), tuple(new_keys), "rewrite", rule)


def _traced_from(sources: Iterable[Any], by_name: Mapping[str, NodeKey]) -> NodeKey | None:
    """The first node on a trail of sources that the old graph contains."""
    waiting = list(sources)
    while waiting:
        source = waiting.pop(0)
        key = by_name.get(getattr(source, "name", ""))
        if key is not None:
            return key
        waiting += getattr(source, "from_node", None) or ()
    return None


def partition_origins(old: Program, parts: Mapping[str, Program]) -> Iterator[Origin]:
    """Nodes keep their names. A node that both halves compute is recomputed in the backward; one that is only its input was saved."""
    for graph in old:
        for node in graph:
            halves = [part for part, program in parts.items() if graph.name in program.graphs and node.id in program[graph.name]]
            same_role = [part for part in halves if _is_argument(parts[part][graph.name][node.id]) == _is_argument(node)]
            if same_role and node.role != "output":
                homes = same_role[:1] if _is_argument(node) else same_role
                new = tuple([(part_graph(part, graph.name), node.id) for part in homes])
                rule = "" if len(new) == 1 else "recomputed in the backward"
                yield Origin(((graph.name, node.id),), new, "identity", rule)


def _is_argument(node: Node) -> bool:
    return (node.is_argument or node.role == "gradient") and not node.inputs


def retargeted(old: Program, new: Program, keys: Iterable[NodeKey]) -> Iterator[Origin]:
    """Nodes that keep their name but change their operator, which matching by name alone would reject."""
    for graph, id in keys:
        if graph in old.graphs and id in old.graphs[graph] and old.graphs[graph][id].op != new.graphs[graph][id].op:
            yield Origin(((graph, id),), ((graph, id),), "identity")


def placed(origins: Iterable[Origin], part: str) -> Iterator[Origin]:
    """Origins within one half, as origins in the whole program."""
    for origin in origins:
        yield origin._replace(old=_keys_in(part, origin.old), new=_keys_in(part, origin.new)) if part else origin


def _keys_in(part: str, keys: Iterable[NodeKey]) -> tuple[NodeKey, ...]:
    return tuple([(part_graph(part, graph), id) for graph, id in keys])
