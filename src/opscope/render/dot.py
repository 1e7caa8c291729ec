"""Graphviz DOT: nodes in nested clusters by scope, coloured by what they do.

For papers and tools that take DOT. The entry and all that it calls are drawn, each called graph as a cluster of its own that a
dotted edge joins to its caller; `--graph` draws one alone. The little functions of reductions are words in their users' boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from opscope.analysis.category import CATEGORIES, category_of
from opscope.program import WHOLE, Graph, Node, Program
from opscope.program import Path as Group
from opscope.render.options import ViewOptions

FILLS = {
    "elementwise": "#EAF5EE",
    "matmul": "#E8EEFC",
    "reduce": "#FBF0E3",
    "shape": "#F1F1F4",
    "communication": "#FBE9EE",
    "control": "#EFEAFB",
    "data": "#F3F1E7",
    "parameter": "#FFFFFF",
    "constant": "#F7F7F9",
    "custom": "#E9F1F5",
    "output": "#E6F6F6",
    "random": "#F9ECF7",
}
LONGEST_LABEL = 80


def write(programs: list[Program], target: Path, options: ViewOptions) -> None:
    with target.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines(programs[0], options))


def lines(program: Program, options: ViewOptions) -> Iterator[str]:
    """The DOT text, line by line."""
    start = options.check(program)
    yield f"digraph {_quoted(program.name or 'program')} {{"
    yield f'  graph [rankdir={options.direction}, fontname="Helvetica", fontsize=11, color="#C9C9D2", compound=true];'
    yield '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10, color="#B9B9C4", fillcolor="#FFFFFF"];'
    yield '  edge [fontname="Helvetica", fontsize=8, color="#8A8A96", arrowsize=0.6];'
    shown = [start] if options.graph else list(_reachable(program, start))
    numbers = {graph.name: number for number, graph in enumerate(shown)}
    for graph in shown:
        inside = graph is not start
        if inside:
            yield f"  subgraph {_quoted(f'cluster_g{numbers[graph.name]}')} {{"
            yield f'    label={_quoted(graph.name)}; style="rounded,dashed";'
        yield from _graph(program, graph, numbers[graph.name], options.group_by)
        if inside:
            yield "  }"
    for graph in shown:
        for i, node in enumerate(graph.nodes):
            for called in node.calls:
                if called in numbers and called not in (start.name, graph.name) and program.graphs[called].nodes:
                    caller, body = _name(numbers[graph.name], i), numbers[called]
                    yield f'  {caller} -> {_name(body, 0)} [style=dotted, lhead="cluster_g{body}"];'
    yield "}"


def _reachable(program: Program, start: Graph) -> Iterable[Graph]:
    """The graph and all that it runs, each once, in the program's order."""
    seen = {start.name}
    waiting = [start]
    while waiting:
        for node in waiting.pop().nodes:
            for called in node.calls:
                if called not in seen and not _little(program.graphs[called]):
                    seen.add(called)
                    waiting.append(program.graphs[called])
    return (graph for graph in program if graph.name in seen)


def _little(graph: Graph) -> bool:
    """A function of scalars, such as the `add` of a reduction."""
    return len(graph) <= 4 and all(not each.shape for node in graph.nodes for each in node.outputs)


def _graph(program: Program, graph: Graph, number: int, grouping: str | None) -> Iterator[str]:
    yield from _clusters(program, graph, number, grouping)
    for i, node in enumerate(graph.nodes):
        for name, index in node.inputs:
            at = graph.position[name]
            producer = graph.nodes[at]
            label = producer.type_text if index == WHOLE or index >= len(producer.outputs) else str(producer.outputs[index])
            yield f"  {_name(number, at)} -> {_name(number, i)} [tooltip={_quoted(label)}];"
        for name in node.control:
            yield f'  {_name(number, graph.position[name])} -> {_name(number, i)} [style=dashed, color="#B9B9C4"];'
    for k, (name, _) in enumerate(graph.outputs):
        if graph[name].role != "output":
            end = _quoted(f"g{number}out{k}")
            yield f'  {end} [label="output {k}", shape=plain, style=""];'
            yield f"  {_name(number, graph.position[name])} -> {end};"


def _clusters(program: Program, graph: Graph, number: int, grouping: str | None) -> Iterator[str]:
    """Nodes inside nested clusters. A stack of open clusters, no recursion: scopes come from users and may be deep."""
    paths = graph.groupings.get(grouping, {}) if grouping not in (None, "module") else None
    placed = [(node.scope if paths is None else paths.get(node.id, ()), i, node) for i, node in enumerate(graph.nodes)]
    placed.sort(key=lambda entry: entry[0])
    open_path: Group = ()
    clusters = 0
    for path, i, node in placed:
        common = 0
        while common < min(len(path), len(open_path)) and path[common] == open_path[common]:
            common += 1
        for depth in range(len(open_path), common, -1):
            yield _indent(depth) + "}"
        for depth in range(common, len(path)):
            indent = _indent(depth + 1)
            yield f"{indent}subgraph {_quoted(f'cluster_g{number}_{clusters}')} {{"
            yield f'{indent}  label={_quoted(path[depth])}; style="rounded,filled"; fillcolor="#00000008";'
            clusters += 1
        open_path = path
        yield _indent(len(path) + 1) + _node(program, node, number, i)
    for depth in range(len(open_path), 0, -1):
        yield _indent(depth) + "}"


def _node(program: Program, node: Node, number: int, i: int) -> str:
    called = [program.graphs[name] for name in node.calls]
    applied = [graph[graph.outputs[0][0]].op for graph in called if graph.outputs and _little(graph)]
    title = " ".join([node.op, *applied]) if node.role == "op" else str(node.attrs.get("value", node.id))
    text = _cut(title) + (f"\n{_cut(node.type_text)}" if node.outputs else "")
    fill = FILLS.get(CATEGORIES[category_of(node.op, node.role)], "#FFFFFF")
    shape = ', shape=box, style="rounded,filled", margin="0.08,0.02", height=0.2' if node.role in ("parameter", "constant") else ""
    return f'{_name(number, i)} [label={_quoted(text)}, tooltip={_quoted(_cut(node.id))}, fillcolor="{fill}"{shape}];'


def _indent(depth: int) -> str:
    return "  " * min(depth, 24)


def _name(graph: int, node: int) -> str:
    return f"g{graph}n{node}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _quoted(text: str) -> str:
    r"""A DOT string. A backslash would start one of Graphviz's escapes (`\N` is the node's name), so it is doubled."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "\\n").replace("\0", "")
    return f'"{escaped}"'
