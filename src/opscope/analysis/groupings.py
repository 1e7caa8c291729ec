"""The hierarchies over a program's nodes that a viewer can switch between.

"module" is the nodes' scope. A Program may have others (a partition, repeated blocks that nobody named). Three more follow from the
nodes themselves: their line in the user's source, their operation, and whether they belong to the forward or the backward half.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from itertools import islice
from typing import Any

from opscope.analysis.descriptions import Descriptions, Kind
from opscope.analysis.directions import directions
from opscope.analysis.index_ops import POSITION_AND_MASK, index_ops
from opscope.analysis.recomputed_parts import recomputed_parts, shared_prefix
from opscope.analysis.structure import STRUCTURE, within_half
from opscope.program import BACKWARD, DIRECTION_ATTR, FORWARD, RECOMPUTED, Frame, Graph, Path, Program
from opscope.readers.torch.tags import CLUSTER, PARTITION

MODULE = "module"
DIRECTION = "direction"
SOURCE_LINE = "source line"
OP = "op"
EXACT = frozenset((PARTITION, CLUSTER, STRUCTURE))
"""Groupings with exact membership: a node that a backend does not take is not drawn among those that it takes, and a block that repeats
has nothing in it that the others lack."""


class GroupTree:
    """One hierarchy. A group's number is larger than its parent's, and each graph has its own groups."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: list[str] = []
        self.parents: list[int] = []
        self.graphs: list[int] = []
        self.of_node: array[int] = array("i")
        self._numbers: dict[Path, int] = {}
        self._children: dict[tuple[int, str], int] = {}
        self._graph = -1

    def start_graph(self, graph: int) -> None:
        self._graph = graph
        self._numbers = {(): -1}
        self._children = {}

    def put(self, path: Path) -> None:
        """Put the next node (in program order) into the group at `path`, which is created if needed."""
        group = self._numbers.get(path)
        self.of_node.append(self._make(path) if group is None else group)

    def put_all(self, keys: Sequence[Hashable], path: Callable[[Any], Path]) -> None:
        """Put the next nodes into the groups at the paths that these keys have. Nodes share keys."""
        numbers = {key: self.number(path(key)) for key in dict.fromkeys(keys)}
        self.of_node.extend(map(numbers.__getitem__, keys))

    def number(self, path: Path) -> int:
        """The group at `path`, created if needed; -1 for the empty path."""
        group = self._numbers.get(path)
        return self._make(path) if group is None else group

    def child(self, parent: int, name: str) -> int:
        """The group of this name in another one (-1: in none), created if needed."""
        group = self._children.get((parent, name))
        if group is None:
            group = self._children[parent, name] = len(self.names)
            self.names.append(name)
            self.parents.append(parent)
            self.graphs.append(self._graph)
        return group

    def _make(self, path: Path) -> int:
        group = -1
        for name in path:
            group = self.child(group, name)
        self._numbers[path] = group
        return group


class GroupTrees:
    """All hierarchies of a program, filled node by node so that a node's details are decoded only once."""

    def __init__(self, program: Program, descriptions: Descriptions | None = None) -> None:
        """`descriptions` are for callers that need details too."""
        declared = dict.fromkeys(name for graph in program for name in graph.groupings)
        self._program = program
        self._module = GroupTree(MODULE)
        self._declared = [GroupTree(name) for name in declared]
        self._lines = GroupTree(SOURCE_LINE)
        self._ops = GroupTree(OP)
        self._scopes: list[list[Path | None]] = []
        """None for a node with neither scope nor direction. The empty path of a node with a direction means that it is in no module."""
        self._directions: list[list[str]] = []
        self._descriptions = descriptions or Descriptions()
        self._places: list[tuple[Path, str]] = []
        """Line and direction by the kind of details."""
        self._line_path = cache(line_path)

    def put_graph(self, number: int, graph: Graph) -> None:
        """Put the nodes of the next graph into their groups."""
        trees = (self._module, self._lines, self._ops)
        for tree in (*trees, *self._declared):
            tree.start_graph(number)
        details = self._descriptions.of(graph)
        kinds = list(map(self._descriptions.kind_of.__getitem__, details))
        self._places += map(self._place, islice(self._descriptions.kinds, len(self._places), None))
        scopes = list(map(self._descriptions.scopes.__getitem__, details))
        marks = [self._places[kind][1] for kind in kinds]
        aside = index_ops(graph) if self._program.attrs.get("modules") else frozenset()
        if aside:
            scopes = [(*scope, POSITION_AND_MASK) if name in aside else scope for name, scope in zip(graph.ids, scopes, strict=True)]
        keys = list(map(id, scopes))
        self._module.put_all(keys, dict(zip(keys, scopes, strict=True)).__getitem__)
        self._lines.put_all(kinds, lambda kind: self._places[kind][0])
        self._ops.put_all(list(graph.ops), lambda op: (op,))
        blocks = graph.groupings.get(STRUCTURE, {})
        if blocks:
            named = list(zip(graph.ids, scopes, marks, strict=True))
            module = next((scope for name, scope, _ in named if scope and name in blocks), None)
            if module is None:
                scopes = [scope or (within_half(blocks.get(name, ())) if mark else ()) for name, scope, mark in named]
            else:  # blocks of the update, which is one module
                scopes = [(*module, *blocks[name]) if name in blocks else scope for name, scope, _ in named]
        for tree in self._declared:
            paths = graph.groupings.get(tree.name, {})
            for name in graph.ids:
                tree.put(paths.get(name, ()))
        self._scopes.append([scope if scope or mark else None for scope, mark in zip(scopes, marks, strict=True)])
        self._directions.append(marks)

    def _place(self, kind: Kind) -> tuple[Path, str]:
        mark = kind.attrs.get(DIRECTION_ATTR)
        return self._line_path(kind.source[0]) if kind.source else (), mark if isinstance(mark, str) else ""

    def trees(self) -> list[GroupTree]:
        """The hierarchies, the default first. If a program has a backward half, its halves come before its modules: data passes through
        every module twice, and a picture of modules alone would run in circles. Blocks come before modules if there are no modules."""
        trees = [self._module, *self._declared]
        if not self._module.names:
            trees.sort(key=lambda tree: tree.name != STRUCTURE)
        if any(direction == BACKWARD for graph in self._directions for direction in graph):
            trees.insert(0, self._direction_tree())
        if self._lines.names:
            trees.append(self._lines)
        return [*trees, self._ops]

    def _direction_tree(self) -> GroupTree:
        """The half first, then the modules. What is recomputed is a part of its own: of the module that is recomputed, in the backward
        half, or beside that half where the forward half is elsewhere (in the body of a backward loop). Nodes without scope and direction
        (parameters, constants) stay outside: the view puts them next to their users."""
        tree = GroupTree(DIRECTION)
        directions_by_graph = directions(self._program, dict(zip(self._program.graphs, self._directions, strict=True)))
        for number, (graph, scopes, marks) in enumerate(zip(self._program, self._scopes, directions_by_graph.values(), strict=True)):
            tree.start_graph(number)
            shared = len(_common_prefix(scopes))
            # The inputs of a model are drawn outside of its modules, so a module around everything would be around both halves.
            outer = 0 if self._program.attrs.get("modules") else shared
            has_both = FORWARD in marks and RECOMPUTED in marks
            parts = recomputed_parts(graph, scopes, marks) if has_both else [None] * len(marks)
            scope_of = dict(zip(zip(map(id, scopes), marks, parts, strict=True), scopes, strict=True))
            groups: dict[tuple[int, str, Path | None], int] = {}
            for key, scope in scope_of.items():
                path, (_, mark, part) = scope or (), key
                if scope is not None and mark and path[shared : shared + 1] != (mark,):
                    half = (mark,) if part is None else (BACKWARD, *part[shared:], RECOMPUTED)
                    rest = path[max(shared, len(part)) :] if part and path[: len(part)] == part else path[shared:]
                    path = (*path[:outer], *half, *rest)
                groups[key] = tree.number(path)
            tree.of_node.extend(map(groups.__getitem__, zip(map(id, scopes), marks, parts, strict=True)))
        return tree


def _common_prefix(paths: list[Path | None]) -> Path:
    """The common prefix of all paths, ignoring None."""
    shared: Path | None = None
    for path in dict(zip(map(id, paths), paths, strict=True)).values():
        if path is not None and path != shared:
            shared = path if shared is None else shared_prefix(shared, path)
            if not shared:
                break
    return shared or ()


def line_path(frame: Frame) -> Path:
    """The path of a line in the "source line" grouping: the file, then function and line."""
    file = "/".join(frame.file.replace("\\", "/").rsplit("/", 2)[-2:])
    return (file, f"{frame.function}:{frame.line}" if frame.function else f"line {frame.line}")
