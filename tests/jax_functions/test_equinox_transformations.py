"""Equinox's transformations: what is captured is the function that was given, not the one that it was made of.

The truth is what JAX makes of a plain function that calls the same object."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any

import pytest

import opscope
from opscope.program import WHOLE, Program

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
eqx = pytest.importorskip("equinox")

X = jnp.ones((2, 4))
XS = jnp.ones((5, 2, 4))
W = jnp.ones((4, 4))


class Layer(eqx.Module):  # type: ignore[name-defined]
    weight: Any

    def __call__(self, x: Any) -> Any:
        return jnp.tanh(x @ self.weight)

    def loss(self, x: Any) -> Any:
        return (self(x) ** 2).sum()


class Twice(eqx.Module):  # type: ignore[name-defined]
    """A transformation of the user, made as Equinox's own are."""

    function: Any

    def __call__(self, *args: Any) -> Any:
        return self.function(*args) + self.function(*args)

    @property
    def __wrapped__(self) -> Any:
        return self.function


LAYER = Layer(W)


def loss(weight: Any, x: Any) -> Any:
    return (jnp.tanh(x @ weight) ** 2).sum()


def loss_of(layer: Any, x: Any) -> Any:
    return (layer(x) ** 2).sum()


def with_aux(weight: Any, x: Any) -> Any:
    return loss(weight, x), x


CALLS = {
    "filter_grad": (eqx.filter_grad(loss), (W, X)),
    "filter_grad of a module": (eqx.filter_grad(loss_of), (LAYER, X)),
    "filter_grad of a method": (eqx.filter_grad(LAYER.loss), (X,)),
    "filter_value_and_grad": (eqx.filter_value_and_grad(loss), (W, X)),
    "filter_value_and_grad with aux": (eqx.filter_value_and_grad(with_aux, has_aux=True), (W, X)),
    "filter_grad with aux": (eqx.filter_grad(with_aux, has_aux=True), (W, X)),
    "filter_vmap": (eqx.filter_vmap(loss, in_axes=(None, 0)), (W, XS)),
    "filter_vmap of a module": (eqx.filter_vmap(LAYER), (XS,)),
    "filter_vmap of filter_grad": (eqx.filter_vmap(eqx.filter_grad(loss), in_axes=(None, 0)), (W, XS)),
    "filter_pmap": (eqx.filter_pmap(loss, in_axes=(None, 0)), (W, XS[:1])),
    "filter_checkpoint": (eqx.filter_checkpoint(loss), (W, X)),
    "filter_checkpoint of a module": (eqx.filter_checkpoint(LAYER), (X,)),
    "filter_grad of filter_checkpoint": (eqx.filter_grad(eqx.filter_checkpoint(loss)), (W, X)),
    "filter_hessian": (eqx.filter_hessian(loss), (W, X)),
    "filter_jit of filter_grad": (eqx.filter_jit(eqx.filter_grad(loss)), (W, X)),
    "filter_grad of filter_jit": (eqx.filter_grad(eqx.filter_jit(loss)), (W, X)),
    "filter_jit of filter_vmap of a module": (eqx.filter_jit(eqx.filter_vmap(LAYER)), (XS,)),
    "a transformation of the user": (eqx.module_update_wrapper(Twice(loss)), (W, X)),
    "a method": (LAYER.loss, (X,)),
}


JITTED = {"filter_jit of filter_grad": eqx.filter_grad(loss), "filter_jit of filter_vmap of a module": eqx.filter_vmap(LAYER)}
"""What is jitted: opscope shows it without the call around it."""


def traced(name: str) -> Any:
    """A plain function that calls the object, and none of whose arrays is a constant, traced by JAX."""
    function, args = CALLS[name]
    arrays, rest = eqx.partition((JITTED.get(name, function), args), eqx.is_array)

    def call(arrays: Any) -> Any:
        given, inputs = eqx.combine(arrays, rest)
        return eqx.filter(given(*inputs), eqx.is_array)

    return jax.jit(call).trace(arrays)


def primitives(jaxpr: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    waiting = [jaxpr]
    while waiting:
        for equation in waiting.pop().eqns:
            found[equation.primitive.name] += 1
            waiting.extend(
                getattr(part, "jaxpr", part) for part in equation.params.values() if hasattr(getattr(part, "jaxpr", part), "eqns")
            )
    return found


def operations(program: Program, without: str) -> Counter[str]:
    return Counter(node.op for graph in program for node in graph if not node.is_argument and not node.op.startswith(without))


def results(program: Program) -> list[tuple[Any, ...]]:
    graph = program[program.entry]
    kinds = [graph.types_of(name) if index == WHOLE else [graph.types_of(name)[index]] for name, index in graph.outputs]
    return [kind.shape for each in kinds for kind in each]


def true_results(name: str) -> list[tuple[Any, ...]]:
    function, args = CALLS[name]
    return [leaf.shape for leaf in jax.tree.leaves(eqx.filter_eval_shape(function, *args))]


@pytest.mark.parametrize("name", CALLS)
def test_jaxpr(name: str) -> None:
    function, args = CALLS[name]
    program = opscope.capture(function, *args)
    assert operations(program, without="constant") == primitives(traced(name).jaxpr.jaxpr)
    assert results(program) == true_results(name)


@pytest.mark.parametrize("name", CALLS)
def test_stablehlo(name: str) -> None:
    function, args = CALLS[name]
    program = opscope.capture(function, *args, stage="stablehlo")
    text = traced(name).lower().as_text()
    assert operations(program, without="func.") == Counter(re.findall(r"\bstablehlo\.(?!return)\w+", text))
    assert results(program) == true_results(name)


@pytest.mark.parametrize("name", CALLS)
def test_hlo(name: str) -> None:
    function, args = CALLS[name]
    program = opscope.capture(function, *args, stage="hlo")
    found = Counter(re.findall(r" = (?:\(.*?\)|\S+) ([\w-]+)\(", traced(name).lower().as_text("hlo")))
    del found["parameter"]
    assert operations(program, without="parameter") == found
    assert results(program) == true_results(name)


def test_the_layers_of_a_transformed_module_keep_their_names() -> None:
    """The wrapper, which is private to Equinox, is not a group around them."""
    mlp = eqx.nn.MLP(4, 2, 8, 1, key=jax.random.key(0))
    program = opscope.capture(eqx.filter_vmap(mlp), X)
    scopes = {node.scope for node in program.main if node.scope}
    assert {scope[-1] for scope in scopes} >= {"layers.0: Linear", "layers.1: Linear"}
    assert not [scope for scope in scopes if "_fun" in str(scope) or "Wrapper" in str(scope)]
    assert [node.role for node in program.main.parameters].count("parameter") == 4


def test_a_transformed_function_has_its_own_arguments() -> None:
    """A wrapper without arrays is not an argument, and is not a group."""
    program = opscope.capture(eqx.filter_grad(loss_of), LAYER, X)
    assert [node.attrs["path"] for node in program.main.parameters] == ["args[0].weight", "args[1]"]
    assert program.name == "loss_of" and not any("Wrapper" in str(node.scope) for node in program.main)


def test_a_method_has_the_arrays_of_its_module() -> None:
    program = opscope.capture(LAYER.loss, X)
    assert [node.role for node in program.main.parameters] == ["parameter", "input"]


def step(weight: Any, x: Any, *, key: Any) -> Any:
    return weight - x.sum(), x * 2, key + 1


@pytest.mark.parametrize("donate", ["none", "all", "all-except-first", "warn", "warn-except-first"])
def test_filter_jit_keeps_what_is_donated(donate: str) -> None:
    """As Equinox's own lowering has it, which numbers the arguments in another order."""
    jitted = eqx.filter_jit(step, donate=donate)
    text = jitted.lower(W, X, key=XS).as_text()
    truth = {
        tuple(map(int, re.findall(r"\d+", shape))) for shape in re.findall(r"%arg\d+: tensor<([\dx]+)xf32> \{[^%]*tf.aliasing_output", text)
    }
    program = opscope.capture(jitted, W, X, key=XS)
    assert {node.outputs[0].shape for node in program.main.parameters if node.attrs.get("donated")} == truth
    assert (donate == "none") == (not truth)
    aliases = opscope.capture(jitted, W, X, key=XS, stage="hlo").attrs.get("input_output_alias", "")
    assert aliases.count("may-alias") == len(truth)


def test_filter_jit_of_a_module_donates_its_weights_with_the_rest() -> None:
    module = Layer(jnp.ones((4, 4)))
    for donate, donated in (("all", ["args[0].weight", "args[1]"]), ("all-except-first", ["args[0].weight"]), ("none", [])):
        program = opscope.capture(eqx.filter_jit(module, donate=donate), X)
        assert [node.attrs["path"] for node in program.main.parameters if node.attrs.get("donated")] == donated


def test_what_cannot_be_donated_is_not_warned_of() -> None:
    """Equinox does not warn of it either."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opscope.capture(eqx.filter_jit(loss, donate="all"), W, X, stage="hlo")
