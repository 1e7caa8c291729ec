"""Where the launches of generated code come from: the nodes that they compute, their modules and their source lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from opscope.profile.kineto.place import LAUNCH_ATTR
from opscope.program import LINES_ATTR, Frame, Graph, KnownDetails, Node, Path, Program
from opscope.readers.torch.direction import common_scope
from opscope.readers.torch.export import ENTRY
from opscope.recording.dumps.inductor_code import HANDLE, RESULTS, SOURCE_NODES
from opscope.recording.model import Origin

_REGISTERED = re.compile(r"_parameters_|_buffers_")
_MODULES = "_modules_"
LOWERED = "Inductor: generated code"


class Compiled(NamedTuple):
    """What a launch's names may refer to."""

    dynamo: Program | None
    forward: Program | None
    sources: Mapping[str, list[str]]
    """Of the nodes of the forward: those of Dynamo's graph that they come from."""
    graph: Program | None
    """The graph that the code computes, after all passes."""
    nodes: Mapping[str, list[str]]
    """Of each launch, by its handle: the nodes of the graph that it computes."""
    is_backward: bool


def with_places(program: Program, compiled: Compiled) -> tuple[Program, list[Origin]]:
    """The launches with their modules and source lines, and which nodes became which launch."""
    scopes = _scopes(program.main, compiled)
    origins: list[Origin] = []
    nodes = []
    for node in program.main.nodes:
        if node.role == "op":
            names = _names(node)
            computed = _computed(node, names, compiled)
            if computed:
                origins.append(Origin(tuple([(ENTRY, name) for name in computed]), ((ENTRY, node.id),), "rewrite", LOWERED))
            sources = [frames for frames in (_frames(name, compiled) for name in names) if frames] or _tracked(computed, compiled)
            lines = list(dict.fromkeys(frames[0] for frames in sources))
            is_fused = len(lines) > 1 and not _is_library_call(node)  # the code names the operands of a library call, too
            attrs = {**node.attrs, LINES_ATTR: [list(frame) for frame in lines]} if is_fused else node.attrs
            node = node._replace(details=KnownDetails(attrs, scopes.get(node.id, ()), sources[-1] if sources else ()))
        nodes.append(node)
    graphs = {**program.graphs, program.entry: replace(program.main, nodes=tuple(nodes))}
    return replace(program, graphs=MappingProxyType(graphs)), origins


def _names(node: Node) -> list[str]:
    return [str(name) for name in node.attrs.get(SOURCE_NODES, ())]


def _is_library_call(node: Node) -> bool:
    return "::" in str(node.attrs.get(LAUNCH_ATTR))


def _scopes(launches: Graph, compiled: Compiled) -> dict[str, Path]:
    """The modules of launches.

    In the forward, the code names the nodes of Dynamo's graph that a launch computes: a fused kernel belongs to what their modules have in
    common, and a call of an operator to the module of the last one. In the backward, a launch belongs to the module whose parameters it
    reads, or whose gradients it computes, or to what the nodes that it names or whose results were saved for it have in common. What has
    none of these belongs to the parent of what uses it.
    """
    if compiled.dynamo is None:
        return {}
    modules = modules_of(compiled.dynamo)
    parameters = _parameters(compiled) if compiled.is_backward else {}
    gradients = _gradients(launches, compiled.dynamo) if compiled.is_backward else {}
    users = launches.users
    scopes: dict[str, Path] = {}
    for node in reversed(launches.nodes):
        if node.role != "op":
            continue
        named = [modules[name] for name in _names(node) if name in modules]
        if not compiled.is_backward:
            paths = named[-1:] if _is_library_call(node) else named
        else:
            read = [parameters[name] for name, _ in node.inputs if name in parameters]
            saved = [modules[name] for value, _ in node.inputs for name in compiled.sources.get(value, ()) if name in modules]
            used = [scopes[user][:-1] for user in users.get(node.id, ()) if user in scopes]
            paths = read or gradients.get(node.id, []) or named or saved or used
        if paths:
            scopes[node.id] = common_scope(paths)
    return scopes


def _parameters(compiled: Compiled) -> dict[str, Path]:
    """The modules of the backward's inputs that are parameters, or that the forward made of one parameter alone: its transpose."""
    owners = _owners(compiled.dynamo) if compiled.dynamo is not None else {}
    modules: dict[str, Path] = {}
    if compiled.forward is None:
        return modules
    arguments = [node.id for node in compiled.forward.main if not node.inputs and node.role != "op"]
    if len(arguments) != len(owners):
        return modules
    modules.update((name, path) for name, path in zip(arguments, owners.values(), strict=True) if path is not None)
    for node in compiled.forward.main:
        sources = [name for name, _ in node.inputs]
        if node.role == "op" and len(sources) == 1 and sources[0] in modules:
            modules[node.id] = modules[sources[0]]
    return modules


def _gradients(launches: Graph, dynamo: Program) -> dict[str, list[Path]]:
    """The module whose gradients a launch computes, or prepares for the only launches that use its results."""
    owners = list(_owners(dynamo).values())
    outputs = [node for node in launches if node.role == "output"]
    results = outputs[0].attrs.get(RESULTS, ()) if outputs else ()
    gradients: dict[str, list[Path]] = {}
    for name, path in zip(results, owners, strict=False):
        if name is not None and path is not None:
            gradients.setdefault(name, []).append(path)
    users = launches.users
    for node in reversed(launches.nodes):
        used = [gradients.get(user, []) for user in users.get(node.id, ()) if launches[user].role == "op"]
        if node.role == "op" and node.id not in gradients and used and used[0] and all(paths == used[0] for paths in used):
            gradients[node.id] = used[0]
    return gradients


def _computed(node: Node, names: Iterable[str], compiled: Compiled) -> list[str]:
    """The nodes of the graph that a launch computes: as Inductor tracked them, or else those that the code names."""
    if compiled.graph is None:
        return []
    tracked = compiled.nodes.get(str(node.attrs.get(HANDLE, "")), ())
    if not tracked and not compiled.is_backward and compiled.dynamo is not None:
        return []  # the code of a forward names nodes of Dynamo's graph
    graph = compiled.graph.main
    return [name for name in tracked or names if name in graph and graph[name].role == "op"]


def _tracked(computed: Iterable[str], compiled: Compiled) -> list[tuple[Frame, ...]]:
    """The source lines of the nodes of the graph that a launch computes."""
    graph = compiled.graph
    return [] if graph is None else [frames for frames in (graph.main[name].source for name in computed) if frames]


def _frames(name: str, compiled: Compiled) -> tuple[Frame, ...]:
    """The source lines of a node. A backward names its own nodes, and those of Dynamo's graph that it computes again."""
    programs = (compiled.graph, compiled.dynamo) if compiled.is_backward else (compiled.dynamo, compiled.graph)
    for program in programs:
        if program is not None and name in program.main and program.main[name].role == "op":
            return program.main[name].source
    return ()


def modules_of(dynamo: Program) -> dict[str, Path]:
    """The modules of the operations of Dynamo's graph.

    The log has no modules, but the names of parameters have them: `l_s_modules_blocks_modules_0_modules_qkv_parameters_weight_`. What uses
    a module's parameters belongs to it. Another operation belongs to the parent of a module that is called on the same line right before
    or after it, or to what those have in common.
    """
    owners = {name: path for name, path in _owners(dynamo).items() if path is not None}
    operations = [node for node in dynamo.main if node.role == "op"]
    certain: list[tuple[int, Path]] = []
    for i, node in enumerate(operations):
        paths = [owners[name] for name, _ in node.inputs if name in owners]
        if paths:
            certain.append((i, common_scope(paths)))
    modules = {operations[i].id: path for i, path in certain}
    for (first, before), (last, after) in pairwise([(-1, ()), *certain, (len(operations), ())]):
        for i in range(first + 1, last):
            line = operations[i].source[:1]
            if first >= 0 and line and line == operations[first].source[:1]:
                path = before[:-1]
            elif last < len(operations) and line and line == operations[last].source[:1]:
                path = after[:-1]
            else:
                path = common_scope([before, after])
            modules[operations[i].id] = path
    return modules


def _owners(dynamo: Program) -> dict[str, Path | None]:
    """The inputs of Dynamo's graph, with the modules of those that are parameters."""
    return {node.id: module_of(node.id) for node in dynamo.main if not node.inputs and node.role != "op"}


def module_of(name: str) -> Path | None:
    """The module of a parameter of Dynamo's graph."""
    path = _REGISTERED.split(name)[0]
    if path == name:
        return None
    return tuple(path.split(_MODULES)[1:])
