"""Links between the parts of training steps with scan, jax.checkpoint and custom_vjp."""

from __future__ import annotations

import itertools
from functools import cache

import jax
import jax.numpy as jnp
import pytest
from scanned_steps import LOSSES, X, step, weights

from opscope.analysis.directions import directions
from opscope.analysis.gradients import backward_links, with_backward_links
from opscope.analysis.groupings import GroupTree, GroupTrees
from opscope.ops import facts_of, plain_name
from opscope.program import BACKWARD, BACKWARD_OF, RECOMPUTED, RECOMPUTES, SAVED_FROM, Node, Program
from opscope.readers import capture_object

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
STAGES = ("jaxpr", "stablehlo", "hlo")


@cache
def linked(name: str, stage: str) -> Program:
    return with_backward_links(capture_object(step(name), weights(name), X, stage=stage))


def links(program: Program, kind: str) -> list[tuple[Node, Node]]:
    """Nodes, and those that they are linked to."""
    every = ((graph, node, link) for graph in program for node in graph for link in node.links)
    return [(node, program[link.graph or graph.name][link.node]) for graph, node, link in every if link.kind == kind]


def nodes_of(program: Program, part: str) -> list[Node]:
    """The nodes of a part of a step, without the inside of reducers."""
    marks = directions(program)
    return [node for graph in program if len(graph) > 3 for node, mark in zip(graph, marks[graph.name], strict=True) if mark == part]


def is_arithmetic(node: Node) -> bool:
    facts = facts_of(node.op)
    return node.role == "op" and bool(node.source) and facts.category in ("elementwise", "matmul", "reduce") and not facts.forwards


def comes_from(node: Node, forward: Node) -> bool:
    """Whether a forward node is at the line of a node, or was called from it."""
    return node.source[0] in forward.source


@pytest.mark.parametrize("stage", STAGES)
def test_a_custom_rule_is_linked_to_its_function_only(stage: str) -> None:
    """It has the line `clipped(layer(x, w))`, from which the layer was called as well: at StableHLO, its multiplications were linked to the
    divisions and sums of the layer's norm."""
    program = linked("custom_vjp", stage)
    rule = {(link.graph, link.node) for link in backward_links(program) if link.evidence == "call"}
    forwards = [
        program[link.graph or graph.name][link.node]
        for graph in program
        for node in graph
        if (graph.name, node.id) in rule
        for link in node.links
        if link.kind == BACKWARD_OF
    ]
    assert len(forwards) >= 9
    assert all({"clipped", "_clipped_forward"} & {frame.function for frame in forward.source} for forward in forwards)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", list(LOSSES))
def test_backward_nodes_are_linked_to_the_forward_nodes_of_their_line(name: str, stage: str) -> None:
    """Inside the bodies of loops and calls too."""
    program = linked(name, stage)
    arithmetic = {id(node) for node in nodes_of(program, BACKWARD) if is_arithmetic(node)}
    right = {id(node) for node, forward in links(program, BACKWARD_OF) if id(node) in arithmetic and comes_from(node, forward)}
    assert len(arithmetic) > 15 and len(right) >= 0.95 * len(arithmetic)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", [name for name in LOSSES if "remat" in name])
def test_recomputed_nodes_are_linked_to_what_they_repeat(name: str, stage: str) -> None:
    program = linked(name, stage)
    repeated = links(program, RECOMPUTES)
    assert all(node.op == forward.op and node.outputs == forward.outputs and comes_from(node, forward) for node, forward in repeated)
    recomputed = nodes_of(program, RECOMPUTED)
    names = {plain_name(node.op) for node in recomputed} & {"tanh", "dot_general", "dot", "rsqrt"}
    assert names and all(plain_name(node.op) not in names or any(node is other for other, _ in repeated) for node in recomputed)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", [name for name in LOSSES if "remat" in name])
def test_what_is_recomputed_only_for_a_derivative_is_linked_to_what_it_differentiates(name: str, stage: str) -> None:
    """Such as the 1 - tanh² of tanh, which the forward half does not compute."""
    program = linked(name, stage)
    repeated = {id(node) for node, _ in links(program, RECOMPUTES)}
    derived = [node for node in nodes_of(program, RECOMPUTED) if is_arithmetic(node) and id(node) not in repeated]
    right = {id(node) for node, forward in links(program, BACKWARD_OF) if is_arithmetic(node) and comes_from(node, forward)}
    assert len(derived) > 2 and all(id(node) in right for node in derived)


def test_only_an_operation_with_the_same_parameters_is_repeated() -> None:
    """The derivative of x³ reads x², which was linked as a repetition of x³."""
    cube = jax.checkpoint(lambda x: jnp.sin(x**3) ** 3)
    program = with_backward_links(capture_object(jax.grad(lambda x: cube(x).sum()), jnp.ones(4), stage="jaxpr"))
    powers = [(node.attrs["y"], forward.attrs["y"]) for node, forward in links(program, RECOMPUTES) if node.op == "integer_pow"]
    derived = [node for node in nodes_of(program, RECOMPUTED) if node.op == "integer_pow" and node.attrs["y"] == 2]
    differentiated = [forward.attrs["y"] for node, forward in links(program, BACKWARD_OF) if any(node is each for each in derived)]
    assert powers == [(3, 3)] and differentiated == [3, 3]


@pytest.mark.parametrize("name", [name for name in LOSSES if "scan" in name])
def test_the_slots_of_the_backward_loop_are_linked_to_the_forward_loop(name: str) -> None:
    """What the backward body receives as a slice is what the forward body computed, or received itself (the carry of a rematted layer)."""
    program = linked(name, "jaxpr")
    backward = next(node for node in program.main if node.op == "scan" and node.attrs["reverse"])
    body = program[backward.calls[0]]
    forward = next(node for node in program.main if node.op == "scan" and not node.attrs["reverse"])
    residuals = [
        parameter
        for parameter, (source, _) in zip(body.parameters, backward.inputs, strict=True)
        if source == forward.id and parameter.attrs["index"] >= backward.attrs["num_consts"] + backward.attrs["num_carry"]
    ]
    computed = {node.id: other for node, other in links(program, SAVED_FROM) if any(node is parameter for parameter in residuals)}
    assert residuals and all(program[forward.calls[0]][other.id] is other for other in computed.values())
    assert all(parameter.outputs == computed[parameter.id].outputs for parameter in residuals if parameter.id in computed)
    assert len(residuals) - len(computed) <= 1


def test_the_slices_of_a_lowered_backward_loop_are_linked_to_the_forward_loop() -> None:
    pairs = [(node, forward) for node, forward in links(linked("scan", "hlo"), SAVED_FROM) if node.calls]
    assert len(pairs) >= 8 and all(node.outputs == forward.outputs for node, forward in pairs)


@pytest.mark.parametrize("stage", ["stablehlo", "hlo"])
def test_what_a_layer_recomputes_belongs_to_the_layer(stage: str) -> None:
    """One group with the recomputation of both layers was drawn before and after the derivatives of each of them, in circles."""

    def layer(name: str, x: jax.Array, weight: jax.Array) -> jax.Array:
        with jax.named_scope(name):
            return jnp.tanh(jnp.exp(x) @ weight)

    def loss(weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        for name, weight in weights.items():
            x = jax.checkpoint(layer, static_argnums=0)(name, x, weight)
        return jnp.sin(x).sum()

    names = ("first", "second", "third")
    program = capture_object(jax.value_and_grad(loss), dict.fromkeys(names, jnp.ones((4, 4))), jnp.ones((2, 4)), stage=stage)
    trees = GroupTrees(program)
    for number, graph in enumerate(program):
        trees.put_graph(number, graph)
    tree, start = trees.trees()[0], sum(len(graph) for graph in itertools.takewhile(lambda graph: graph is not program.main, program))
    paths = dict(zip(program.main.ids, (_path(tree, group) for group in tree.of_node[start:]), strict=False))
    again = {path for path in paths.values() if "recomputed" in path}
    assert {path[-3:] for path in again} == {("backward", name, "recomputed") for name in names}
    parts = {name: path[path.index("backward") + 1] for name, path in paths.items() if "backward" in path and len(path) > 2}
    edges = {(parts[source], parts[node.id]) for node in program.main if node.id in parts for source, _ in node.inputs if source in parts}
    order = {name: place for place, name in enumerate(reversed(names))}
    assert edges and all(order[source] <= order[target] for source, target in edges if source in order and target in order)


def _path(tree: GroupTree, group: int) -> tuple[str, ...]:
    return () if group < 0 else (*_path(tree, tree.parents[group]), tree.names[group])
