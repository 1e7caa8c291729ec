"""Matching by place in the user's program: names are renumbered by another compilation, or by a rewrite, but the user's scopes stay."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Sequence

from opscope.recording.match.indexed_program import TAGS, Side
from opscope.recording.match.pairs import Pairs

_PATH = re.compile(r"\w[._/]\w")
_Place = tuple[int, str | tuple[str, ...]]


def match_places(pairs: Pairs) -> int:
    """Match nodes that are the only ones of their kind at their place, in both programs.

    Graphs that both programs contain are left out, because they match as a whole.
    """
    kind_a, kind_b = pairs.labels.of["kind"]
    content_a, content_b = pairs.labels.content
    places_a, places_b = _places(pairs.a, kind_a, content_a, set(content_b)), _places(pairs.b, kind_b, content_b, set(content_a))
    return pairs.by_class(list(places_a), list(places_a.values()), list(places_b), list(places_b.values()), most=1)


def match_arguments(pairs: Pairs) -> int:
    """Match arguments of the entry that have the user's name in both programs, whatever their type: a weight of another shape has changed.

    The user's names are those that XLA has as `op_name`, and paths (mlp.weight). A name that ends with a number may be the compiler's.
    """
    arguments_a, arguments_b = _arguments(pairs.a), _arguments(pairs.b)
    return pairs.by_class(
        list(arguments_a), list(arguments_a.values()), list(arguments_b), list(arguments_b.values()), most=1
    )  # fmt: skip


def match_twins(pairs: Pairs, copied: Container[int], copies: Container[int]) -> None:
    """Match operations that a pass made anew, with another type or other operands: the only ones of their kind at their place, or, with
    another type, the only ones there that take what such operations give.

    `copied` nodes of a, and their `copies` in b, have each other.
    """
    op_a, op_b = pairs.labels.of["op"]
    place_a, place_b = pairs.labels.place
    xs = [x for x in pairs.free_a(range(len(pairs.a))) if x not in copied and place_a[x]]
    ys = [y for y in pairs.free_b(range(len(pairs.b))) if y not in copies and place_b[y]]
    others = _other_operations(pairs, xs, ys)
    xs = [x for x in xs if x not in others]
    pairs.current_evidence = "place"
    pairs.by_class(xs, [(op_a[x], place_a[x]) for x in xs], ys, [(op_b[y], place_b[y]) for y in ys], most=1)
    # Where the type is the same too, consumers decide: a product may be a part of the old one now, and a sum of the parts its value.
    kind_a, kind_b = pairs.labels.of["kind"]
    taken_a = {x: (op_a[x], place_a[x], *(op_a[edge // TAGS] for edge in pairs.a.operands[x])) for x in xs}
    taken_b = {y: (op_b[y], place_b[y], *(op_b[edge // TAGS] for edge in pairs.b.operands[y])) for y in ys}
    same = {(taken, kind_a[x]) for x, taken in taken_a.items()} & {(taken, kind_b[y]) for y, taken in taken_b.items()}
    xs = [x for x in xs if (taken_a[x], kind_a[x]) not in same]
    ys = [y for y in ys if (taken_b[y], kind_b[y]) not in same]
    pairs.by_class(xs, [taken_a[x] for x in xs], ys, [taken_b[y] for y in ys], most=1)
    pairs.current_evidence = "neighbourhood"


def _other_operations(pairs: Pairs, xs: Sequence[int], ys: Sequence[int]) -> set[int]:
    """Nodes of a in whose place is another operation: one at the same place gives what they gave and takes what they took, and none of
    their kind does. A division became a product with an inverse, which a new division computes."""
    a, b, (place_a, place_b) = pairs.a, pairs.b, pairs.labels.place
    ops: dict[tuple[int, object, int], set[str]] = defaultdict(set)
    for y in ys:
        for edge in b.operands[y]:
            ops[place_b[y], b.nodes[y].outputs, pairs.counterpart_b[edge // TAGS]].add(b.nodes[y].op)
    keys = {
        x: [(place_a[x], a.nodes[x].outputs, edge // TAGS) for edge in a.operands[x] if pairs.counterpart_a[edge // TAGS] >= 0] for x in xs
    }
    found = {x: set().union(*(ops.get(key, ()) for key in keys[x])) for x in xs}
    return {x for x, others in found.items() if others and a.nodes[x].op not in others}


def _arguments(side: Side) -> dict[int, tuple[str, str]]:
    arguments: dict[int, tuple[str, str]] = {}
    for i in side.members(side.graph_number[side.program.entry]):
        node = side.nodes[i]
        if node.is_argument:
            name = str(node.attrs.get("metadata.op_name", "")) or (node.id if _PATH.search(node.id) else "")
            if name and not name[-1].isdigit():
                arguments[i] = (node.role, name)
    return arguments


def _places(side: Side, kind: list[int], content: list[int], shared: set[int]) -> dict[int, _Place]:
    """Nodes that have a place, with kind and place. XLA's `op_name` names the single operation, and parameters too."""
    places: dict[int, _Place] = {}
    for g, same in enumerate(content):
        if same in shared:
            continue
        for i in side.members(g):
            node = side.nodes[i]
            place = str(node.attrs.get("metadata.op_name", "")) or node.scope
            if place:
                places[i] = (kind[i], place)
    return places
