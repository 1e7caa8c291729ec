"""Backward belongs to forward: directions and links of real JAX train steps."""

from __future__ import annotations

from typing import Any

import pytest

import opscope
from opscope.analysis.directions import directions
from opscope.analysis.gradients import backward_links, with_backward_links
from opscope.analysis.groupings import GroupTrees
from opscope.program import BACKWARD, BACKWARD_OF, DIRECTION_ATTR, FORWARD, UPDATE, Program
from opscope.readers import capture_object

jax = pytest.importorskip("jax")


def train_step(params, x):
    import jax.numpy as jnp

    def loss(params, x):
        for i, weight in enumerate(params):
            with jax.named_scope(f"layer_{i}"):
                x = jnp.tanh(x @ weight) + x
        return x.sum()

    value, gradients = jax.value_and_grad(loss)(params, x)
    with jax.named_scope("sgd"):
        return value, [p - 0.1 * g for p, g in zip(params, gradients, strict=True)]


@pytest.fixture(scope="module", params=["jaxpr", "stablehlo", "hlo", "optimized"])
def program(request: pytest.FixtureRequest) -> Program:
    import jax.numpy as jnp

    return capture_object(train_step, [jnp.ones((8, 8))] * 3, jnp.ones((4, 8)), stage=request.param)


def test_every_backward_node_is_linked_to_forward_nodes_of_its_own_layer(program: Program) -> None:
    links = [link for link in backward_links(program) if program[link.graph][link.node].scope[-1:] != ()]
    layered = [link for link in links if any(part.startswith("layer_") for part in program[link.graph][link.node].scope)]
    assert layered, "a train step has backward nodes inside its layers"
    for link in layered:
        assert link.evidence in ("place", "scope")
        assert link.forward, link
        for graph, forward in link.forward:
            assert program[graph][forward].attrs[DIRECTION_ATTR] == FORWARD
            assert program[graph][forward].scope == program[link.graph][link.node].scope


def test_the_optimizer_is_neither_forward_nor_backward(program: Program) -> None:
    marks = directions(program)
    all_marks = {mark for graph_marks in marks.values() for mark in graph_marks}
    assert all_marks == {FORWARD, BACKWARD, UPDATE}
    for graph in program:
        for node, mark in zip(graph, marks[graph.name], strict=True):
            if "sgd" in node.scope:
                assert mark == UPDATE, node


def test_direction_is_the_default_grouping_with_the_layers_inside(program: Program) -> None:
    trees = GroupTrees(program)
    for number, graph in enumerate(program):
        trees.put_graph(number, graph)
    tree = trees.trees()[0]
    assert tree.name == "direction"
    paths = set()
    for group, name in enumerate(tree.names):
        path = [name]
        while (group := tree.parents[group]) >= 0:
            path.insert(0, tree.names[group])
        paths.add(tuple(path)[-2:])
    assert {("forward", "layer_1"), ("backward", "layer_1"), ("update", "sgd")} <= paths


def test_links_are_written_on_the_nodes_and_change_nothing_else(program: Program) -> None:
    linked = with_backward_links(program)
    written = sum(link.kind == BACKWARD_OF for graph in linked for node in graph for link in node.links)
    assert written == sum(len(link.forward) for link in backward_links(program)) > 0
    bare = [node._replace(links=()) for graph in linked for node in graph]
    assert bare == [node._replace(links=()) for graph in program for node in graph]
    assert with_backward_links(linked) == linked, "links are written once"


def test_a_forward_only_program_has_no_directions() -> None:
    import jax.numpy as jnp

    program = capture_object(jnp.tanh, jnp.ones(3), stage="jaxpr")
    assert not any(any(marks) for marks in directions(program).values())
    assert with_backward_links(program) is program


@pytest.fixture(scope="module")
def layer_norm() -> Program:
    import jax.numpy as jnp

    def loss(x, gain, bias):
        with jax.named_scope("norm"):
            mean = x.mean(-1, keepdims=True)
            variance = ((x - mean) ** 2).mean(-1, keepdims=True)
            return ((x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + bias).sum()

    arguments = jnp.ones((4, 8)), jnp.ones(8), jnp.ones(8)
    return capture_object(jax.value_and_grad(loss, (0, 1, 2)), *arguments, stage="hlo")


def primitive(program: Program, graph: str, node: str) -> str:
    return str(program[graph][node].attrs["metadata.op_name"]).rpartition("/")[2]


def test_the_gradient_of_a_matrix_product_is_not_that_of_its_operand() -> None:
    """`tanh(x @ a) @ b` on one line: the gradient of b reads the tanh, whose derivative is expressed by its own result."""
    import jax.numpy as jnp

    def loss(p, x):
        return ((jnp.tanh(x @ p[0]) - 1) ** 2).mean() + 0.5 * jnp.abs(jnp.tanh(x @ p[0]) @ p[1]).mean()

    program = capture_object(jax.value_and_grad(loss), [jnp.ones((8, 8))] * 2, jnp.ones((4, 8)), stage="hlo")
    products = [link for link in backward_links(program) if program[link.graph][link.node].op == "dot"]
    assert len(products) == 4
    for link in products:
        gradient, (forward,) = program[link.graph][link.node], link.forward
        assert program[forward[0]][forward[1]].op == "dot"
        assert set(gradient.inputs) & set(program[forward[0]][forward[1]].inputs), "the product of the gradient and an operand"


def test_several_operations_on_one_line_are_distinguished(layer_norm: Program) -> None:
    """`(x - mean) * rsqrt(variance) * gain + bias`: the rsqrt is carried back by its own product, not by whatever shares its scope,
    and the helpers that linearization puts beside it are not what is differentiated."""
    differentiated: dict[str, Any] = {}
    for link in backward_links(layer_norm):
        forward = {primitive(layer_norm, *key) for key in link.forward}
        differentiated.setdefault(primitive(layer_norm, link.graph, link.node), []).append(forward)
    assert {"rsqrt"} in differentiated["mul"], "the product that is the rsqrt's derivative"
    assert not any("rsqrt" in forward for op in ("neg", "reduce_sum", "div", "add_any") for forward in differentiated.get(op, []))
    assert all(forward == {"sub"} for forward in differentiated["neg"]), "only the subtracts are negated"


def test_the_insides_of_reducers_are_not_steps_of_the_derivative(layer_norm: Program) -> None:
    reducers = {name for graph in layer_norm for node in graph if node.op == "reduce" for name in node.calls}
    assert reducers
    named = {key[0] for link in backward_links(layer_norm) for key in (*link.forward, (link.graph, link.node))}
    assert not named & reducers


def test_an_exponential_is_carried_out_by_the_product_with_its_own_result() -> None:
    """In a softmax, many operations share one source line, and two backward products read the exponential: one is its own derivative, the
    other one is part of the division's."""
    program = opscope.load("demo:train_step")
    assert isinstance(program, Program)
    links = {(link.graph, link.node): link.forward for link in backward_links(program)}
    main = program.main
    exponentials = [node.id for node in main if node.op == "exponential" and node.attrs.get(DIRECTION_ATTR) == "forward"]
    products = [
        node for node in main if node.op == "multiply" and node.attrs.get(DIRECTION_ATTR) == "backward"
        and any(name in exponentials for name, _ in node.inputs)
    ]  # fmt: skip
    assert exponentials and products
    for exponential in exponentials:
        reading = [links[main.name, node.id] for node in products if any(name == exponential for name, _ in node.inputs)]
        operations = sorted(", ".join(main[name].op for _, name in forward) for forward in reading)
        assert operations in (["exponential"], ["divide", "exponential"]), exponential


@pytest.fixture(scope="module")
def softmax() -> Program:
    """On one line."""
    import jax.numpy as jnp

    def loss(x: Any, bias: Any) -> Any:
        y = x + bias
        return jnp.mean(jnp.exp(y - y.max(-1, keepdims=True)) / jnp.exp(y - y.max(-1, keepdims=True)).sum(-1, keepdims=True))

    return capture_object(jax.value_and_grad(loss, argnums=(0, 1)), jnp.ones((4, 8)), jnp.ones(8), stage="hlo")


def test_the_broadcast_of_a_bias_is_undone_by_its_sum_and_nothing_else(softmax: Program) -> None:
    """The products of the division's derivative have the shape of the broadcast, but are not part of it."""
    main = softmax.main
    shift = next(node for node in main if node.op == "add")
    (broadcast,) = (name for name, _ in shift.inputs if main[name].op == "broadcast")
    undone = [main[link.node] for link in backward_links(softmax) if (main.name, broadcast) in link.forward]
    assert [(node.op, node.type_text) for node in undone] == [("reduce", "f32[8]")]


def test_a_division_is_carried_out_by_both_of_its_derivatives(softmax: Program) -> None:
    """For y = a / b, da = dy / b and db = -dy · a / b². Broadcasting b again is part of them; the broadcasts of b are undone by a sum."""
    main = softmax.main
    division = next(node for node in main if node.op == "divide" and node.type_text == "f32[4, 8]")
    carried: dict[str, list[str]] = {}
    for link in backward_links(softmax):
        for _, name in link.forward:
            carried.setdefault(name, []).append(main[link.node].op)
    operations = carried[division.id]
    assert sorted(op for op in operations if op not in ("broadcast", "reshape")) == ["divide", "multiply", "multiply", "negate"]
    divisor = division.inputs[1][0]
    while main[divisor].op in ("broadcast", "reshape"):
        assert set(carried.get(divisor, ())) <= {"reduce", "reshape"}
        divisor = main[divisor].inputs[0][0]
    assert main[divisor].op == "reduce"
