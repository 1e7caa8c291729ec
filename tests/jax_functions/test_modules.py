"""Modules of Equinox and Haiku, and tables of JAX modules: real libraries, without anything run."""

from __future__ import annotations

from typing import Any

import pytest

import opscope
from opscope.program import Program

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

X = jnp.ones((4, 8))


def scopes(program: Program) -> set[tuple[str, ...]]:
    return {node.scope for graph in program for node in graph if node.scope}


@pytest.fixture(scope="module")
def mlp() -> Any:
    eqx = pytest.importorskip("equinox")
    return eqx.nn.MLP(8, 4, 16, 1, key=jax.random.key(0))


@pytest.mark.parametrize("stage", ["jaxpr", "hlo"])
def test_layers_of_equinox_have_the_names_of_their_attributes(mlp: Any, stage: str) -> None:
    """Equinox itself writes only the class of a layer into a trace, which all layers share."""
    innermost = {scope[-1] for scope in scopes(opscope.capture(mlp, X[0], stage=stage))}
    assert {"layers.0: Linear", "layers.1: Linear"} <= innermost
    assert not any("eqx.nn.Linear" in name for name in innermost)


def test_what_filter_jit_makes_is_captured(mlp: Any) -> None:
    """The function itself, what `lower` returns, and what it compiles to; the activation of the model is not an array."""
    import equinox as eqx

    def apply(model: Any, x: Any, doubled: bool) -> Any:
        y = jax.vmap(model)(x)
        return y * 2 if doubled else y

    jitted = eqx.filter_jit(apply)
    program = opscope.capture(jitted, mlp, X, True)
    assert program.name == "apply" and "mul" in [node.op for node in program.main]
    lowered = jitted.lower(mlp, X, True)
    assert "dot" in [node.op for graph in opscope.capture(lowered) for node in graph]
    assert opscope.capture(lowered.compile()).node_count > 0


def test_equinox_classes_are_as_before(mlp: Any) -> None:
    before = {cls: vars(cls)["__call__"] for cls in (type(mlp), type(mlp.layers[0]))}
    opscope.capture(mlp, X[0])
    assert {cls: vars(cls)["__call__"] for cls in before} == before


def test_parameters_of_penzai_are_variables_outside_of_the_tree() -> None:
    pz = pytest.importorskip("penzai.pz")
    from penzai.models import simple_mlp

    model = simple_mlp.MLP.from_config(name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[8, 16, 4])
    x = pz.nx.ones({"batch": 4, "features": 8})
    program = opscope.capture(model, x)
    roles = [node.role for node in program.main.parameters]
    assert (roles.count("parameter"), roles.count("input")) == (4, 1)
    assert opscope.summary(model, input_data=(x,)).totals["parameters"] == 8 * 16 + 16 + 16 * 4 + 4


@pytest.mark.parametrize("with_state", [False, True])
def test_a_transformed_function_of_haiku(with_state: bool) -> None:
    hk = pytest.importorskip("haiku")

    def classify(x: Any) -> Any:
        y = hk.nets.MLP([16, 4])(x)
        return hk.BatchNorm(True, True, 0.9)(y, is_training=True) if with_state else y

    transformed = (hk.transform_with_state if with_state else hk.transform)(classify)
    program = opscope.capture(transformed, X)
    assert program.name == opscope.capture(hk.without_apply_rng(transformed), X).name == "classify"
    assert opscope.summary(hk.without_apply_rng(transformed), input_data=X).totals == opscope.summary(transformed, input_data=X).totals
    roles = [node.role for node in program.main.parameters]
    assert roles.count("parameter") == (6 if with_state else 4) and ("buffer" in roles) == with_state and roles.count("input") == 1
    assert any("linear_0" in part for scope in scopes(program) for part in scope)
    pytest.importorskip("torch")  # its reader is asked first, and leaves this to JAX's
    assert opscope.capture(transformed, X, stage="hlo").name == "jit_classify"


def test_tables_of_modules(mlp: Any) -> None:
    """Shapes, parameters and multiply-adds of each layer, as torch modules have them."""
    linen: Any = pytest.importorskip("flax.linen")

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x: Any) -> Any:
            hidden = linen.relu(linen.Dense(16)(x))
            return linen.Dense(4)(hidden)

    for table in (opscope.summary(Net(), input_size=(4, 8)), opscope.summary(Net(), input_data=X)):
        rows = {row.label: row for row in table.rows}
        assert (rows["Dense_0"].parameters, rows["Dense_1"].parameters) == (8 * 16 + 16, 16 * 4 + 4)
        assert [kind.shape for _, kind in rows["Dense_1"].layer.outputs] == [(4, 4)], "the result of the model"
        assert rows["Dense_0"].layer.flops == 2 * 4 * 8 * 16
        assert table.totals["parameters"] == 212 and table.totals["mult_adds"] == 4 * (8 * 16 + 16 * 4)
    rows = {row.label: row for row in opscope.summary(mlp, input_size=(8,)).rows}
    assert rows["layers.0: Linear"].parameters == 8 * 16 + 16
    last = next(row for row in reversed([*rows.values()]) if row.label.endswith("Linear"))
    assert [kind.shape for _, kind in last.layer.outputs] == [kind.shape for _, kind in rows["MLP"].layer.outputs], "it makes the result"
    with pytest.raises(opscope.OpscopeError, match="device applies to torch modules"):
        opscope.summary(mlp, input_size=(8,), device="cpu")


def test_the_table_of_a_scan_counts_every_iteration() -> None:
    def layers(w: Any, x: Any) -> Any:
        return jax.lax.scan(lambda carry, each: (carry @ each, None), x, w)[0]

    program = opscope.capture(layers, jnp.ones((24, 8, 8)), X)
    assert opscope.summary(program).totals["mult_adds"] == 24 * 4 * 8 * 8


def test_a_module_that_fails_with_its_inputs_is_refused_in_one_line() -> None:
    """linen's `apply` takes the variables first, and opscope makes them: they were passed as the input, and the rest as a setting."""
    linen: Any = pytest.importorskip("flax.linen")
    haiku: Any = pytest.importorskip("haiku")

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x: Any, train: bool = False) -> Any:
            return linen.Dropout(0.5, deterministic=not train)(linen.Dense(3)(x))

    variables = Net().init(jax.random.key(0), X)
    advice = r"; pass only its inputs, or capture its apply: opscope\.capture\(module\.apply, variables, \*inputs\)$"
    with pytest.raises(opscope.OpscopeError, match=rf"^JAX could not trace Net: .*{advice}"):
        opscope.capture(Net(), variables, X)
    with pytest.raises(opscope.OpscopeError, match=rf"^these inputs do not fit Dense: too many positional arguments{advice}"):
        opscope.capture(linen.Dense(3), variables, X)
    assert any(node.op == "dot_general" for node in opscope.capture(Net().apply, variables, X).main)
    with pytest.raises(opscope.OpscopeError, match=r"^JAX could not trace <lambda>: cannot reshape .*, at test_modules\.py:\d+$"):
        opscope.capture(haiku.transform(lambda x: haiku.Linear(4)(x).reshape(7)), X)
