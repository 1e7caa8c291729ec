"""The derivative rules that people are shown are right: every text is evaluated, against JAX's own and finite differences."""

from __future__ import annotations

import re

import pytest

from opscope.analysis.derivatives import RULES, Rule, rule_for

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
    ("Φ(", "normal_cdf("), ("φ(", "normal_pdf("),
]  # fmt: skip


def as_code(text: str) -> str:
    for sign, code in SIGNS:
        text = text.replace(sign, code)
    return re.sub(r"1\[(.*?)\]", r"where(\1, 1.0, 0.0)", text)


def namespace() -> dict:
    """The words of the rules, along the last axis where they reduce."""
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

    numpy_words = """exp log sqrt cbrt tanh sin cos tan arcsin arccos arctan sinh cosh arcsinh arccosh arctanh abs sign trunc
        arctan2 where outer flip mean pi"""
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
        "spd": lambda: random.normal(size=shape) * 0.2 + 2 * np.eye(shape[0]),
    }[kind]()
    return jnp.asarray(values)


def values_of(rule: Rule) -> dict:
    return {name: sample(kind, shape, seed) for seed, (name, (kind, shape)) in enumerate(rule.sample.items())}


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
            continue  # finite differences see through it; that is the point of the operation
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
        ("AddBackward0", "add"), ("Gelu", "gelu"),
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
