"""The derivative rules that the viewer shows are right: every formula is evaluated, against JAX's own and finite differences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.analysis.derivatives import RULES, SILENT, Rule, explanations, reason_for, rule_for

jax = pytest.importorskip("jax")


@pytest.fixture(scope="module", autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


SIGNS = [
    ("⊙", "*"), ("·", "@"), ("ᵀ", ".T"), ("²", "**2"), ("³", "**3"), ("√(", "sqrt("), ("Σ(", "Sum("), ("−", "-"),
    ("½", "0.5"), ("π", "pi"), ("≥", ">="), ("≤", "<="), ("α", "alpha"), ("ε", "eps"), ("σ(", "sigmoid("),
    ("Φ(", "normal_cdf("), ("φ(", "normal_pdf("), ("μ", "mu"),
]  # fmt: skip


def as_code(text: str) -> str:
    for sign, code in SIGNS:
        text = text.replace(sign, code)
    return re.sub(r"1\[(.*?)\]", r"where(\1, 1.0, 0.0)", text)


def namespace() -> dict[str, Any]:
    """The functions that rules use; reductions run along the last axis."""
    import jax.numpy as jnp
    from jax.scipy.special import erf
    from jax.scipy.stats import norm

    def keep(f):
        return lambda v: f(v, axis=-1, keepdims=True)

    def hat(v, axis=-1):
        return (v - v.mean(axis, keepdims=True)) * inv_std(v, axis)

    def inv_std(v, axis=-1):
        return 1 / jnp.sqrt(v.var(axis, keepdims=True) + 1e-5)

    def softmax(v):
        return jax.nn.softmax(v, -1)

    def softmax_vjp(z, g):
        p = softmax(z)
        return p * (g - (g * p).sum(-1, keepdims=True))

    def unsort(g, v):
        return jnp.take_along_axis(g, jnp.argsort(jnp.argsort(v, -1), -1), -1)

    def to_leaders(g, v):
        leader = jax.lax.cummax(jnp.arange(v.shape[-1]) * (v == jax.lax.cummax(v, axis=1)), axis=1)
        return jax.vmap(lambda row, at: jnp.zeros_like(row).at[at].add(row))(g, leader)

    def half(v):
        lower = jnp.tril(v) - jnp.diag(jnp.diag(v)) / 2
        return (lower + lower.T) / 2

    numpy_words = """exp log sqrt cbrt tanh sin cos tan arcsin arccos arctan sinh cosh arcsinh arccosh arctanh abs sign trunc
        arctan2 where outer flip mean pi real"""
    words = {name: getattr(jnp, name) for name in numpy_words.split()}
    words |= {
        "erf": erf, "sigmoid": jax.nn.sigmoid, "normal_cdf": norm.cdf, "normal_pdf": norm.pdf, "softmax": softmax,
        "softmax_vjp": softmax_vjp, "stop": jax.lax.stop_gradient, "max": jnp.maximum, "min": jnp.minimum, "sum": jnp.sum,
        "Sum": keep(jnp.sum), "maximum": keep(jnp.max), "minimum": keep(jnp.min), "product": keep(jnp.prod),
        "cumsum": lambda v: jnp.cumsum(v, -1), "cumprod": lambda v: jnp.cumprod(v, -1), "reverse": lambda v: jnp.flip(v, -1),
        "broadcast": lambda v: jnp.broadcast_to(v, (3, 4)), "hat": hat, "inv_std": inv_std,
        "rms": lambda v: jnp.sqrt((v**2).mean(-1, keepdims=True)),
        "batch_hat": lambda v: hat(v, 0), "batch_inv_std": lambda v: inv_std(v, 0),
        "conv": lambda v, w: jnp.correlate(v, w, "valid"), "full_conv": lambda v, w: jnp.correlate(v, w, "full"),
        "correlate": lambda v, w: jnp.correlate(v, w, "valid"),
        "pool_mean": lambda v: v.reshape(3, 2, 2).mean(-1), "stretch": lambda v: jnp.repeat(v, 2, -1),
        "reshape": lambda v: v.reshape(2, 6), "reshape_back": lambda v: v.reshape(3, 4),
        "stretch_rows": lambda v: jnp.broadcast_to(v, (3, 4)), "concat": lambda a, b: jnp.concatenate([a, b]),
        "first": lambda v: v[:2], "rest": lambda v: v[2:], "pad_rest": lambda v: jnp.pad(v, ((0, 3), (0, 0))),
        "put_first": lambda v, u: v.at[:2].set(u), "zero_first": lambda v: v.at[:2].set(0),
        "put": lambda v, i, u: v.at[i].set(u), "pool_max": lambda v: v.reshape(3, 2, 2).max(-1),
        "difference": lambda v: jnp.diff(v, axis=-1), "ends": lambda a, b: jnp.pad(a, ((0, 0), (0, 1))) + jnp.pad(b, ((0, 0), (1, 0))),
        "erf_inv": jax.lax.erf_inv, "lgamma": jax.lax.lgamma, "digamma": jax.lax.digamma,
        "cummax": lambda v: jax.lax.cummax(v, axis=1), "to_leaders": to_leaders, "cholesky": jnp.linalg.cholesky, "half": half,
        "take": lambda v, i: v[i], "scatter_add": lambda g, i: jnp.zeros((5, 4)).at[i].add(g),
        "roll": lambda v, k: jnp.roll(v, k, -1),
        "repeat_twice": lambda v: jnp.concatenate([v, v]), "fold_twice": lambda g: g[:3] + g[3:], "lower": jnp.tril,
        "take_sorted": lambda v: jnp.sort(v, -1), "unsort": unsort, "trace": jnp.trace, "eye": lambda: jnp.eye(4),
        "inv": jnp.linalg.inv, "logdet": lambda v: jnp.linalg.slogdet(v)[1], "alpha": 0.1, "eps": 1e-5, "p": 0.25,
    }  # fmt: skip
    return words


def sample(kind: str, shape: list[int], seed: int):
    import jax.numpy as jnp
    import numpy as np

    random = np.random.default_rng(seed)
    values = {
        "normal": lambda: random.normal(size=shape),
        "positive": lambda: random.uniform(0.5, 2.0, shape),
        "unit": lambda: random.uniform(0.1, 0.9, shape),
        "mask": lambda: random.random(shape) > 0.5,
        "index": lambda: random.integers(0, 5, shape),
        "onehot": lambda: np.eye(shape[-1])[random.integers(0, shape[-1], shape[0])],
        "permuted": lambda: random.permutation(5)[: shape[0]],
        "symmetric": lambda: np.eye(shape[0]) * 3 + (lambda v: v + v.T)(random.normal(size=shape) * 0.2),
        "spd": lambda: random.normal(size=shape) * 0.2 + 2 * np.eye(shape[0]),
    }[kind]()
    return jnp.asarray(values)


def values_of(rule: Rule) -> dict[str, Any]:
    return {name: sample(kind, shape, seed) for seed, (name, (kind, shape)) in enumerate(rule.sample.items())}


@pytest.mark.step("0.14")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.ops[0])
def test_rule_equals_jax_and_finite_differences(rule: Rule) -> None:
    import jax.numpy as jnp
    import numpy as np

    operands = values_of(rule)
    words = namespace() | rule.params | {"m": sample("mask", [3, 4], 99)} | rule.params
    words["n"] = 12 if rule.ops[0] == "mse_loss" else 4

    def forward(**changed):
        return eval(as_code(rule.y), words | operands | changed)

    y = forward()
    dy = sample("normal", list(y.shape), 7)
    for name, text in rule.vjp.items():
        shown = eval(as_code(text), words | operands | {"y": y, "dy": dy})
        _, pull = jax.vjp(lambda v, name=name: forward(**{name: v}), operands[name])
        assert shown.shape == operands[name].shape, f"d{name} = {text} has shape {shown.shape}"
        np.testing.assert_allclose(shown, pull(dy)[0], rtol=1e-7, atol=1e-9, err_msg=f"d{name} = {text} against jax.vjp")
        if rule.ops[0] == "stop_gradient":
            continue  # finite differences see through it, which is the purpose of the operation
        direction = sample("normal", list(operands[name].shape), 11)
        step = 1e-6
        ahead, behind = (forward(**{name: operands[name] + s * step * direction}) for s in (1, -1))
        numeric = jnp.vdot(dy, (ahead - behind) / (2 * step))
        np.testing.assert_allclose(jnp.vdot(shown, direction), numeric, rtol=1e-4, atol=1e-6, err_msg=f"d{name} = {text}")


@pytest.mark.parametrize(
    ("op", "first"),
    [
        ("exponential", "exp"), ("aten.mul.Tensor", "mul"), ("aten::mul", "mul"), ("stablehlo.dot_general", "matmul"),
        ("Softmax", "softmax"), ("dot_general", "matmul"), ("aten._softmax.default", "softmax"), ("reduce_sum", "sum"),
        ("AddBackward0", "add"), ("Gelu", "gelu"), ("aten.pow.Tensor_Scalar", "integer_pow"), ("aten.mean.dim", "mean"),
        ("aten.max.dim", "reduce_max"), ("aten.max.other", "max"), ("maximum", "max"), ("aten.select.int", "slice"), ("select", "select"),
        ("SelectBackward0", "slice"), ("stablehlo.log_plus_one", "log1p"), ("aten.to.dtype", "convert"), ("reduce:maximum", "reduce_max"),
        ("aten.add_.Tensor", "add"),
    ],
)  # fmt: skip
def test_every_framework_finds_the_same_rule(op: str, first: str) -> None:
    rule = rule_for(op)
    assert rule is not None and rule.ops[0] == first


def test_unknown_op_has_no_rule_and_no_op_has_two() -> None:
    assert rule_for("my-custom-kernel") is None
    names = [op for rule in RULES for op in rule.ops]
    assert len(names) == len(set(names))
    assert len(RULES) >= 60


def explained(text: str, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "program.hlo"
    path.write_text(text)
    return explanations(opscope.load(path))


def test_the_rule_of_a_reduction_depends_on_its_computation(tmp_path: Path) -> None:
    """A maximum must not be explained as a sum."""
    body = "{op} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] {op}(a, b)\n}}\n"
    text = "HloModule m\n" + "".join(body.format(op=op) for op in ("add", "maximum")) + (
        "ENTRY main {\n  x = f32[4,8] parameter(0)\n  zero = f32[] constant(0)\n"
        "  s = f32[4] reduce(x, zero), dimensions={1}, to_apply=add\n"
        "  ROOT t = f32[4] reduce(x, zero), dimensions={1}, to_apply=maximum\n}\n"
    )  # fmt: skip
    entries = explained(text, tmp_path)
    assert entries["reduce:add"]["vjp"] == {"x": "broadcast(dy)"}
    assert "1[x ≥ y]" in entries["reduce:maximum"]["vjp"]["x"]
    assert "reduce" not in entries, "without its reducer nothing can be said of it"


def test_letters_refer_to_the_operands_of_an_operation(tmp_path: Path) -> None:
    """The first operand of a select is its condition; JAX's select_n lists the cases the other way round, and clamp its bounds."""
    names = ("select", "select_n", "clamp", "scatter", "attention", "addmm")
    rules = {op: rule for op in names if (rule := rule_for(op)) is not None}
    assert {op: rule.orders.get(op) or list(rule.sample) for op, rule in rules.items()} == {
        "select": ["c", "a", "b"], "select_n": ["c", "b", "a"], "clamp": ["lo", "x", "hi"], "scatter": ["x", "i", "u"],
        "attention": ["q", "k", "v"], "addmm": ["b", "x", "w"],
    }  # fmt: skip
    jitted = jax.jit(lambda c, a, b: jax.lax.select(c, a, b)).lower(jax.numpy.ones(3, bool), jax.numpy.ones(3), jax.numpy.zeros(3))
    assert explanations(opscope.capture(jitted))["select"]["operands"] == ["c", "a", "b"]


def test_what_has_no_derivative_says_why() -> None:
    assert "no gradient flows" in reason_for("stablehlo.compare")
    assert "Random" in reason_for("rng-bit-generator") and "bits" in reason_for("bitcast-convert")
    assert "ops inside" in reason_for("fusion")
    assert not any(rule_for(op) for op in SILENT), "an operation has a rule or a reason, never both"
    assert reason_for("exp") == ""
