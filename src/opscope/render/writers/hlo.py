"""HLO text: a part of a module as a module of its own, which XLA's parser accepts.

Only programs that were read from HLO can be written: their attributes are still the text that XLA printed, or a recording has its lines.
Values that the part needs from outside become its parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.plugin import Progress
from opscope.program import WHOLE, Graph, Node, Program, TensorType
from opscope.readers.hlo.attributes import names_computations, read_attributes
from opscope.readers.hlo.details import HloDetails
from opscope.readers.hlo.own_lines import read_again
from opscope.render.draw.check_options import checked_graph
from opscope.view_options import ViewOptions

_MODULE_WIDE = ("original_value", "origin")
"""Attributes that refer to tables of the whole module, which an extract does not have."""
_HEADER = (
    "is_scheduled",
    "input_output_alias",
    "buffer_donor",
    "entry_computation_layout",
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
    "replica_count",
    "num_partitions",
    "frontend_attributes",
)
"""What passes and the run depend on, if the whole module is written."""
_DEVICES = ("replica_count", "num_partitions")
"""What collectives depend on, in any part of a module."""
_FRAME_ID = re.compile(r"\s*\bstack_frame_id=\d+")


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    """`opscope export x.hlo -o y.hlo --around NODE`: the node with its operands."""
    program = programs[0]
    graph = checked_graph(options, program)
    root = options.around[0] if options.around else root_of(graph)
    height = options.hops if options.around else None
    target.write_text(extract(program, graph, root, height), "utf-8", errors="backslashreplace")


def extract(program: Program, graph: Graph, root: str, height: int | None = None, *, metadata: bool = False) -> str:
    """A module whose root is `root`, with at most `height` levels of operands above it (None: all of them)."""
    recorded = program
    if graph.nodes and not any(isinstance(node.details, HloDetails) for node in program.main):
        again = read_again(program)
        if again is None:
            raise OpscopeError(f"{program.name} was not read from HLO text, so there is no HLO to extract; write another format")
        program, graph = again, again[graph.name]

    def sources(of: Graph) -> Graph | None:
        return recorded[of.name] if metadata else None

    if graph is program.main and height is None and root == root_of(graph):
        return _whole(program, sources)
    inside = _levels_above(graph, root, height)
    if height is None and root == root_of(graph):
        # A whole computation: it is called with all of its parameters, also those that it does not use.
        inside.update(node.id for node in graph if node.is_argument)
    nodes = [graph[name] for name in sorted(inside, key=graph.position.__getitem__)]
    outside = dict.fromkeys(name for node in nodes for name, _ in node.inputs if name not in inside)
    bodies = program.callees_first(called for node in nodes for called in node.calls)
    tuples = _tuple_typed([graph, *bodies])
    if any(body.name == graph.name for body in bodies):
        raise OpscopeError(f"{root!r} calls its own computation, which cannot be extracted; choose another node")
    written = [*nodes, *(node for body in bodies for node in body)]
    collective = any(isinstance(node.details, HloDetails) and "replica_groups=" in node.details.tail for node in written)
    lines = [f"HloModule {_word(root)}_extracted{_header(program, _DEVICES) if collective else ''}", ""]
    for body in bodies:
        lines += _computation(body, tuples, sources(body))
    arguments = sorted((node for node in nodes if node.is_argument), key=_parameter_number)
    entry = [f"ENTRY {_word(root)}_entry {{"]
    for number, node in enumerate([*arguments, *(graph[name] for name in outside)]):
        entry.append(f"  {_mark(node, root)}{node.id} = {_type(node, (graph.name, node.id) in tuples)} parameter({number})")
    entry += _lines(graph, [node for node in nodes if not node.is_argument], root, tuples, sources(graph))
    return "\n".join([*lines, *entry, "}", ""])


def _whole(program: Program, sources: Callable[[Graph], Graph | None]) -> str:
    """The module as it was: passes and the partitioner go by what parameters say and by what nothing reads, too."""
    graphs = program.callees_first()
    tuples = _tuple_typed(graphs)
    lines = [f"HloModule {_name(program.name)}{_header(program)}", ""]
    for graph in [*(graph for graph in graphs if graph is not program.main), program.main]:
        lines += _computation(graph, tuples, sources(graph), f"ENTRY {_name(graph.name)}" if graph is program.main else "")
    return "\n".join(lines)


def _computation(graph: Graph, tuples: set[tuple[str, str]], sources: Graph | None, start: str = "") -> list[str]:
    return [f"{start or graph.name} {{", *_lines(graph, graph.nodes, root_of(graph), tuples, sources), "}", ""]


def _header(program: Program, keys: Iterable[str] = _HEADER) -> str:
    return "".join(f", {key}={program.attrs[key]}" for key in keys if key in program.attrs)


def _levels_above(graph: Graph, root: str, height: int | None) -> set[str]:
    inside = {root}
    level = [root]
    while level and (height is None or height > 0):
        above = dict.fromkeys(name for user in level for name, _ in graph[user].inputs)
        level = [name for name in above if name not in inside]
        inside.update(level)
        height = None if height is None else height - 1
    return inside


def _tuple_typed(graphs: Iterable[Graph]) -> set[tuple[str, str]]:
    """Nodes whose type is a tuple: others use them whole, or take one of their elements."""
    tuples: set[tuple[str, str]] = set()
    for graph in graphs:
        for node in graph:
            if len(node.outputs) != 1 or node.op == "tuple":
                tuples.add((graph.name, node.id))
            for name, index in node.inputs:
                if index == WHOLE or node.op == "get-tuple-element":
                    tuples.add((graph.name, name))
        tuples.update((graph.name, name) for name, index in graph.outputs if index == WHOLE)
    return tuples


def root_of(graph: Graph) -> str:
    """The instruction whose value the computation returns."""
    return graph.outputs[0][0] if graph.outputs else graph.nodes[-1].id


def _parameter_number(node: Node) -> int:
    payload = node.details.payload if isinstance(node.details, HloDetails) else ""
    return int(payload) if payload.isdecimal() else 0


def _mark(node: Node, root: str) -> str:
    return "ROOT " if node.id == root else ""


def _lines(graph: Graph, nodes: Iterable[Node], root: str, tuples: set[tuple[str, str]], sources: Graph | None) -> list[str]:
    """`sources` has the source lines of the nodes, if they are to be written."""
    node_ids = {node.id for node in nodes}
    elements: dict[tuple[str, int], str] = {}
    lines = []
    for node in nodes:
        details = node.details
        tail = _tail(details.tail, node_ids, None if sources is None else sources[node.id]) if isinstance(details, HloDetails) else ""
        inner = details.payload if isinstance(details, HloDetails) and (node.is_argument or node.role == "constant") else ""
        names = []
        for name, index in node.inputs:
            if index == WHOLE or node.op == "get-tuple-element" or (graph.name, name) not in tuples:
                names.append(name)
                continue
            if (name, index) not in elements:
                elements[name, index] = element = _fresh(f"{name}.element.{index}", graph)
                lines.append(f"  {element} = {_tensor(graph[name].outputs[index])} get-tuple-element({name}), index={index}")
            names.append(elements[name, index])
        typed = _type(node, (graph.name, node.id) in tuples)
        lines.append(f"  {_mark(node, root)}{node.id} = {typed} {node.op}({inner or ', '.join(names)}){tail}")
    return lines


def _fresh(name: str, graph: Graph) -> str:
    """A name for an element that XLA only writes as `%name#0`, a shorthand which older parsers refuse."""
    while name in graph.position:
        name += "_"
    return name


def _tail(text: str, node_ids: set[str], sourced: Node | None) -> str:
    parts = []
    for key, start, end in read_attributes(text, 0)[0]:
        value = text[start:end]
        if key in _MODULE_WIDE or (key == "metadata" and sourced is None):
            continue
        if key == "metadata" and sourced is not None:
            value = _with_source_line(value, sourced)
        elif key == "control-predecessors":
            names = [name.strip().lstrip("%") for name in value.strip("{}").split(",")]
            names = [name for name in names if name in node_ids]
            if not names:
                continue
            value = f"{{{', '.join(names)}}}"
        elif names_computations(key):
            value = value.replace("%", "")
        parts.append(f", {key}={value}")
    return "".join(parts)


def _with_source_line(metadata: str, node: Node) -> str:
    """Metadata with the innermost source line in place of its number in the table of frames, which an extract does not have."""
    plain = _FRAME_ID.sub("", metadata)
    if plain == metadata or "source_file=" in plain or not node.source:
        return plain
    frame = node.source[0]
    file = frame.file.replace("\\", "\\\\").replace('"', '\\"')
    return f'{plain.removesuffix("}")} source_file="{file}" source_line={frame.line}}}'


def _type(node: Node, is_tuple: bool) -> str:
    texts = [_tensor(t) for t in node.outputs]
    return f"({', '.join(texts)})" if is_tuple or len(texts) != 1 else texts[0]


def _tensor(t: TensorType) -> str:
    return t.dtype if t.dtype.startswith("(") else f"{t.dtype}[{','.join(map(str, t.shape))}]{t.layout}"


def _name(name: str) -> str:
    return "".join(c if c in ".-" else _word(c) for c in name)


def _word(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)
