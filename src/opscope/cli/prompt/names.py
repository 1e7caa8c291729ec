"""Names as people type them at a prompt: in any case, with or without %, from any computation."""

from __future__ import annotations

from collections.abc import Sequence

from opscope.errors import OpscopeError
from opscope.naming import suggest
from opscope.program import Graph, Node, Program
from opscope.render.writers.hlo import root_of
from opscope.terminal import one_line


class Names:
    """Looks up nodes and graphs by name. Of several nodes with one name, the first wins, and the entry comes first."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.graphs: dict[str, Graph] = {}
        self.nodes: dict[str, tuple[Graph, Node]] = {}
        for graph in [program.main, *program]:
            self.graphs.setdefault(_key(graph.name), graph)
            for node in graph:
                self.nodes.setdefault(_key(node.id), (graph, node))

    def node(self, name: str) -> tuple[Graph, Node]:
        match = self.find(name)
        if match is None and (graph := self.graph(name)):
            raise OpscopeError(f"{graph.name!r} is a computation; name one of its instructions, such as {root_of(graph)!r}")
        if match is None:
            raise OpscopeError(f"no instruction named {name!r}{self.closest(name)}")
        return match

    def node_or_root(self, name: str) -> tuple[Graph, Node]:
        """The node of that name, or the root of the graph of that name."""
        graph = self.graph(name)
        return (graph, graph[root_of(graph)]) if graph and self.find(name) is None else self.node(name)

    def find(self, name: str) -> tuple[Graph, Node] | None:
        graph_name, slash, node_name = name.rpartition("/")
        if slash and _key(graph_name) in self.graphs:
            graph = self.graphs[_key(graph_name)]
            for node in graph:
                if _key(node.id) == _key(node_name):
                    return graph, node
        return self.nodes.get(_key(name))

    def graph(self, name: str) -> Graph | None:
        return self.graphs.get(_key(name))

    def closest(self, name: str, words: Sequence[str] = ()) -> str:
        """A half sentence that suggests the closest of all names and `words`, or an empty string."""
        return suggest(_key(name), [*words, *self.graphs, *self.nodes], otherwise="", spelled=self.spelled)

    def spelled(self, key: str) -> str:
        if key in self.graphs:
            return self.graphs[key].name
        return self.nodes[key][1].id if key in self.nodes else key

    def starting_with(self, text: str) -> list[str]:
        """The names that Tab offers: those with this prefix, with a % if one was typed. A name with control characters cannot be typed."""
        percent = "%" if text.startswith("%") else ""
        key = _key(text)
        names = [self.spelled(n) for n in [*self.nodes, *self.graphs] if n.startswith(key)]
        return [percent + name for name in names if name == one_line(name)]


def _key(name: str) -> str:
    return name.lstrip("%").lower()
