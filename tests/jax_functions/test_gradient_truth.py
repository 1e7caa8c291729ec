"""Which forward operation a backward node belongs to, where nothing but data flow says it.

Each operation of a small model has a scope of its own, so JAX itself says which one a backward node differentiates. Then the scopes and
source lines are taken out of the HLO text: every link that opscope still makes must lead to the same operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from opscope.analysis.gradients import backward_links
from opscope.program import Program
from opscope.readers.hlo import parse_hlo

jax = pytest.importorskip("jax")


def softmax(x: Any, b: Any) -> Any:
    import jax.numpy as jnp

    with jax.named_scope("add"):
        y = x + b
    with jax.named_scope("max"):
        m = jax.lax.stop_gradient(y.max(-1, keepdims=True))
    with jax.named_scope("subtract"):
        z = y - m
    with jax.named_scope("exp"):
        e = jnp.exp(z)
    with jax.named_scope("sum"):
        s = e.sum(-1, keepdims=True)
    with jax.named_scope("divide"):
        p = e / s
    with jax.named_scope("mean"):
        return p.mean()


def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    import jax.numpy as jnp

    with jax.named_scope("mean"):
        mean = x.mean(-1, keepdims=True)
    with jax.named_scope("centre"):
        centred = x - mean
    with jax.named_scope("square"):
        square = centred * centred
    with jax.named_scope("variance"):
        variance = square.mean(-1, keepdims=True)
    with jax.named_scope("rsqrt"):
        factor = jax.lax.rsqrt(variance + 1e-5)
    with jax.named_scope("scale"):
        y = centred * factor
    with jax.named_scope("gain"):
        y = y * gain
    with jax.named_scope("bias"):
        y = y + bias
    with jax.named_scope("tanh"):
        y = jnp.tanh(y)
    with jax.named_scope("loss"):
        return (y**2).sum()


def mlp(x: Any, up: Any, down: Any) -> Any:
    with jax.named_scope("up"):
        h = x @ up
    with jax.named_scope("gelu"):
        h = jax.nn.gelu(h)
    with jax.named_scope("down"):
        y = h @ down
    with jax.named_scope("loss"):
        return (y**2).sum()


MODELS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "softmax": (softmax, [(4, 8), (8,)]),
    "layer norm": (layer_norm, [(4, 8), (8,), (8,)]),
    "mlp": (mlp, [(4, 8), (8, 16), (16, 8)]),
}


def hlo_of(name: str) -> str:
    import jax.numpy as jnp

    function, shapes = MODELS[name]
    step = jax.jit(jax.value_and_grad(function, tuple(range(len(shapes)))))
    return str(step.lower(*(jnp.ones(shape) for shape in shapes)).as_text("hlo", debug_info=True))


def in_one_place(text: str) -> str:
    """The same module with every operation in the same scope, on the same line."""
    return re.sub(r"stack_frame_id=\d+", "stack_frame_id=1", re.sub(r"jvp\(\w+\)", "jvp()", text))


@pytest.mark.parametrize("model", MODELS)
def test_links_lead_to_the_operation_that_jax_says(model: str) -> None:
    text = hlo_of(model)
    [truth], [program] = parse_hlo(text), parse_hlo(in_one_place(text))
    links = [link for link in backward_links(program) if truth[link.graph][link.node].scope]
    assert len(links) > 10
    mistakes = {
        link.node: [name for graph, name in link.forward if truth[graph][name].scope != truth[link.graph][link.node].scope]
        for link in links
        if not is_sum(truth, link.graph, link.node)
    }
    assert {node: names for node, names in mistakes.items() if names} == {}
    assert all(link.forward for link in links)


def is_sum(program: Program, graph: str, node: str) -> bool:
    """Whether a node adds the gradients of several uses of a value, which belongs to none of them alone."""
    return str(program[graph][node].attrs["metadata.op_name"]).endswith("add_any")


def test_an_addition_is_not_charged_with_the_work_of_a_division() -> None:
    """In jax.nn.softmax all operations share their lines, and one backward multiply has lost its own: it belongs to the division."""
    import jax.numpy as jnp

    step = jax.jit(jax.value_and_grad(lambda x, b: jax.nn.softmax(x + b).mean(), (0, 1)))
    [program] = parse_hlo(step.lower(jnp.ones((4, 8)), jnp.ones(8)).as_text("hlo", debug_info=True))
    names = {node.id: str(node.attrs.get("metadata.op_name", "")) for node in program.main}
    charged: dict[str, set[str]] = {}
    for link in backward_links(program):
        for _, forward in link.forward:
            charged.setdefault(names[forward].rpartition("/")[2], set()).add(program.main[link.node].op)
    assert "multiply" in charged["div"] and charged["add"] == {"reduce", "reshape"}, "the bias is broadcast, so its gradient is a sum"
