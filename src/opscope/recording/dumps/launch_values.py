"""What the values of launches are in the words of the model: the node that made them, the parameter that they are or are the gradient of,
and what the backward half needs them for."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from opscope.ops import facts_of
from opscope.profile.kineto.place import LAUNCH_ATTR
from opscope.program import Graph, KnownDetails, Node, Program
from opscope.recording.dumps.inductor_code import ATEN, RESULTS, SOURCE_NODES
from opscope.recording.dumps.launch_places import Compiled, module_of

NAME = "name"
"""The attribute of an argument with its name in the model: `blocks.0.qkv.weight`."""
REGISTERED = "registered"
"""The attribute of an argument that the model owns: "parameter" or "buffer"."""
VALUES = "values"
"""The attribute of a forward launch with what the graph calls its results, and with the node that computed them:
[output, "view_10", "gelu"]."""
GRADIENTS = "gradients"
"""The attribute of a backward launch with the arguments whose gradients its results are: [output, "blocks.0.qkv.weight"]."""
GRADIENT_OF = "gradient of"
"""The attribute of a backward launch with what it reads, and which gradient it needs that for: ["addmm_2", "gelu"]."""

_REGISTERED = re.compile(r"_(parameters|buffers)_")
_BACKWARD = re.compile(r"(\w+?)_backward")
_ARGUMENT = re.compile(r"primals_(\d{1,9})|arg(\d{1,9})_1")
_FUSED = re.compile(r"cpp_fused_(\w+?)_\d+")
_MOST_STEPS = 64


def with_names(program: Program, dynamo: Program | None) -> Program:
    """A graph of AOTAutograd with the names that its arguments have in the model: they are those of Dynamo's graph, in order."""
    names = _argument_names(program.main, dynamo)
    if not names:
        return program
    nodes = [_with_attrs(node, names[node.id]) if node.id in names else node for node in program.main]
    return _with_nodes(program, nodes)


def _argument_names(graph: Graph, dynamo: Program | None) -> dict[str, dict[str, Any]]:
    """The names of arguments `primals_1`, or `arg0_1` of a graph without a backward half. If a type does not agree, the arguments are
    others, and nothing is known."""
    given = [] if dynamo is None else [node for node in dynamo.main if node.is_argument and not node.inputs]
    names: dict[str, dict[str, Any]] = {}
    for node in graph.parameters:
        match = _ARGUMENT.fullmatch(node.id)
        if match is None:
            continue
        number = int(match[1]) - 1 if match[1] else int(match[2])
        if not 0 <= number < len(given) or given[number].outputs != node.outputs:
            return {}
        names[node.id] = _model_name(given[number].id)
    return names


def _model_name(name: str) -> dict[str, Any]:
    """What Dynamo's name of an argument says: `l_self_modules_blocks_modules_0_parameters_weight_`."""
    owner, registered = module_of(name), _REGISTERED.search(name)
    if owner is None or registered is None:
        return {NAME: name.removeprefix("l_").removesuffix("_")}
    own = name[registered.end() :].removesuffix("_")
    return {NAME: ".".join((*owner, own)), REGISTERED: registered[1].removesuffix("s")}


def with_values(launches: Program, compiled: Compiled) -> Program:
    """The launches of generated code with what their results are."""
    if compiled.graph is None:
        return launches
    find = _backward_attrs if compiled.is_backward else _forward_attrs
    attrs = find(launches.main, compiled)
    nodes = [_with_attrs(node, attrs[node.id]) if node.id in attrs else node for node in launches.main]
    return _with_nodes(launches, [_with_types(node, compiled.graph.main) if VALUES in node.attrs else node for node in nodes])


def _with_types(launch: Node, graph: Graph) -> Node:
    """A launch whose results have the elements that the graph says. The code does not say it of what a library returns."""
    outputs = list(launch.outputs)
    for output, name, _ in launch.attrs[VALUES]:
        known = graph[name].outputs[:1]
        if known and output < len(outputs):
            outputs[output] = outputs[output]._replace(dtype=known[0].dtype)
    return launch._replace(outputs=tuple(outputs))


def _forward_attrs(launches: Graph, compiled: Compiled) -> dict[str, dict[str, Any]]:
    graph = compiled.graph.main if compiled.graph is not None else launches
    if len(graph.outputs) != len(launches.outputs):
        return {}
    values: dict[str, list[list[Any]]] = {}
    for (launch, output), (name, _) in zip(launches.outputs, graph.outputs, strict=True):
        if launches[launch].role == "op":
            values.setdefault(launch, []).append([output, name, _maker(graph, name, compiled.sources)])
    return {launch: {VALUES: each} for launch, each in values.items()}


def _maker(graph: Graph, name: str, sources: Mapping[str, list[str]]) -> str:
    """The node that computed a value: of the model, if Inductor tracked that."""
    node = _computing(graph, graph[name])
    return (sources.get(node.id) or [node.id])[-1]


def _computing(graph: Graph, node: Node) -> Node:
    """What computed a value, past views and conversions."""
    for _ in range(_MOST_STEPS):
        if not _moves(node) or not node.inputs:
            break
        node = graph[node.inputs[0][0]]
    return node


def _moves(node: Node) -> bool:
    facts = facts_of(node.op)
    return facts.view or facts.spreads or bool(facts.forwards)


def _backward_attrs(launches: Graph, compiled: Compiled) -> dict[str, dict[str, Any]]:
    attrs: dict[str, dict[str, Any]] = {}
    arguments = _forward_arguments(compiled)
    results = next((node.attrs.get(RESULTS, ()) for node in launches if node.role == "output"), ())
    returned = iter(launches.outputs)
    made: dict[str, list[str]] = {}
    for name, argument in zip(results, arguments, strict=False):
        launch, output = next(returned) if name is not None else ("", 0)
        if launch and argument is not None:
            attrs.setdefault(launch, {}).setdefault(GRADIENTS, []).append([output, argument])
            made.setdefault(launch, []).append(argument)
    leads_to = _leads_to(launches, {launch: names for launch, names in made.items() if len(names) == 1})
    for node in launches:
        if node.role == "op":
            needed = [[name, each] for name, _ in node.inputs for each in _needed_for(node, name, leads_to, compiled)]
            if needed:
                attrs.setdefault(node.id, {})[GRADIENT_OF] = needed
    return attrs


def _forward_arguments(compiled: Compiled) -> Sequence[str | None]:
    """The names of what the step was given, in the order of their gradients."""
    if compiled.forward is None:
        return ()
    named = {
        int(node.id[8:]): str(node.attrs.get(NAME, node.id)) for node in compiled.forward.main if re.fullmatch(r"primals_\d{1,5}", node.id)
    }  # a number of more digits would become a list of so many
    return [named.get(number) for number in range(1, max(named, default=0) + 1)]


def _leads_to(launches: Graph, made: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The arguments whose gradients a launch makes, or computes a part of that nothing else reads."""
    leads = dict(made)
    for node in reversed(launches.nodes):
        users = [user for user in launches.users.get(node.id, ()) if launches[user].role == "op"]
        if node.role == "op" and node.id not in leads and len(users) == 1 and users[0] in leads:
            leads[node.id] = leads[users[0]]
    return leads


def _needed_for(node: Node, operand: str, leads_to: Mapping[str, list[str]], compiled: Compiled) -> Sequence[str]:
    """Which gradient a launch needs a saved value for: of a node of the model around that value, if the launch computes its derivative, or
    of a parameter."""
    if compiled.forward is None or operand not in compiled.forward.main:
        return ()
    derivatives = [match[1] for name in operators(node) for match in _BACKWARD.finditer(name)]
    if not derivatives:
        return leads_to.get(node.id, ())
    dynamo = {} if compiled.dynamo is None else {each.id: each for each in compiled.dynamo.main}
    around = _around(compiled.forward.main, operand, compiled.sources, set(node.attrs.get(SOURCE_NODES, ())))
    exact = ATEN in node.attrs or "::" in str(node.attrs.get(LAUNCH_ATTR))
    return [name for name in around if name in dynamo and _is_derivative(derivatives, dynamo[name].op, exact)][:1]


def operators(launch: Node) -> list[str]:
    """The operators that a launch computes. What comments name at the call of an operator may be fused into its operands instead. Code for
    the CPU has no comments, but the names of its kernels are made of them: `cpp_fused_gelu_gelu_backward_2`."""
    label = str(launch.attrs.get(LAUNCH_ATTR, ""))
    if "::" in label:
        return [label.replace("::", ".")]
    kernel = _FUSED.fullmatch(label)
    return [str(name) for name in launch.attrs.get(ATEN, ())] or ([kernel[1]] if kernel else [])


def _around(graph: Graph, value: str, sources: Mapping[str, list[str]], again: Container[str]) -> list[str]:
    """The nodes of the model that read a value in the forward half, past views and what is computed again, and the one that made it."""
    maker = _computing(graph, graph[value])
    waiting = [maker.id]
    names: list[str] = []
    for name in waiting:  # grows while it is walked
        for user in graph.users.get(name, ()):
            of = sources.get(user, ())
            names += of
            if len(waiting) < _MOST_STEPS and (_moves(graph[user]) or any(each in again for each in of)):
                waiting.append(user)
    return list(dict.fromkeys([*names, *sources.get(maker.id, ())]))


def _is_derivative(derivatives: Iterable[str], operation: str, exact: bool) -> bool:
    """Whether one of these is the derivative of an operation: `native_layer_norm` of `torch.nn.functional.layer_norm`. Unless they are
    `exact`, other operators may be in front of them."""
    name = operation.rpartition(".")[2]
    words = set(name.split("_")) - {""}
    return any(each.endswith(name) or (exact and words <= set(each.split("_"))) for each in derivatives)


def _with_attrs(node: Node, attrs: Mapping[str, Any]) -> Node:
    return node._replace(details=KnownDetails({**node.attrs, **attrs}, node.scope, node.source))


def _with_nodes(program: Program, nodes: Iterable[Node]) -> Program:
    graphs = {**program.graphs, program.entry: replace(program.main, nodes=tuple(nodes))}
    return replace(program, graphs=MappingProxyType(graphs))
