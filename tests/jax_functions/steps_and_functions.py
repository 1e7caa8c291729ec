"""Training steps, and functions that only look like one, as HLO text with names and without: what `as_hlo_text` writes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

SQUARE, VECTOR = jnp.ones((8, 8)), jnp.ones(8)
IMAGES = jnp.ones((2, 16, 16, 3))
LAYERS = {"w1": jnp.ones((8, 32)), "b1": jnp.ones(32), "w2": jnp.ones((32, 4)), "b2": jnp.ones(4)}
KERNELS = {"k1": jnp.ones((3, 3, 3, 8)), "k2": jnp.ones((3, 3, 8, 8)), "w": jnp.ones((8 * 8 * 8, 5))}
BATCH, LABELS, TOKENS = jnp.ones((16, 8)), jnp.ones((16, 4)), jnp.zeros(5, jnp.int32)


class Text(NamedTuple):
    named: str
    plain: str


def lowered(function: Callable[..., Any], *arguments: Any) -> Text:
    step = jax.jit(function).lower(*arguments)
    return Text(step.as_text("hlo", debug_info=True), step.compiler_ir("hlo").as_hlo_text())


def softmax(x: Any, bias: Any) -> Any:
    return jax.nn.softmax(x + bias).mean()


def mlp(p: Any, x: Any) -> Any:
    return jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def cross_entropy(p: Any, x: Any, y: Any) -> Any:
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(mlp(p, x)) * y, -1))


def sgd(p: Any, x: Any, y: Any) -> Any:
    value, gradients = jax.value_and_grad(cross_entropy)(p, x, y)
    return value, jax.tree.map(lambda a, b: a - 0.1 * b, p, gradients)


def adam(p: Any, m: Any, v: Any, step: Any, x: Any, y: Any) -> Any:
    value, gradients = jax.value_and_grad(cross_entropy)(p, x, y)
    step = step + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradients)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradients)
    p = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (1 - 0.9**step)) / (jnp.sqrt(v / (1 - 0.999**step)) + 1e-8), p, m, v)
    return value, p, m, v, step


def clipped(w: Any, x: Any) -> Any:
    value, gradient = jax.value_and_grad(lambda w: jnp.abs(x @ w).sum())(w)
    return value, w - 0.1 * gradient * jnp.minimum(1.0, 1.0 / jnp.sqrt((gradient * gradient).sum()))


def convolved(x: Any, kernel: Any) -> Any:
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def cnn(p: Any, x: Any) -> Any:
    x = jax.nn.relu(convolved(x, p["k1"]))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.tanh(convolved(x, p["k2"])).reshape(x.shape[0], -1) @ p["w"]


def lstm(w: Any, x: Any) -> Any:
    def cell(carry: Any, x: Any) -> Any:
        h, state = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w, 4, -1)
        state = jax.nn.sigmoid(f) * state + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(state)
        return (h, state), h

    return (jax.lax.scan(cell, (jnp.zeros((2, 4)), jnp.zeros((2, 4))), x)[1] ** 2).mean()


def rnn(w: Any, x: Any) -> Any:
    return (functools.reduce(lambda h, x: jnp.tanh((h + x) @ w), x, jnp.zeros((2, 8))) ** 2).mean()


def recomputed(weights: Any, x: Any) -> Any:
    return jax.lax.scan(jax.checkpoint(lambda x, w: (jax.nn.gelu(x @ w), None)), x, weights)[0].mean()


def batch_norm(p: Any, x: Any) -> Any:
    h = x @ p["w"]
    return jnp.mean(((h - h.mean(0)) / jnp.sqrt(h.var(0) + 1e-5) * p["g"] + p["b"]) ** 4)


def tied(embedding: Any, tokens: Any) -> Any:
    return -jnp.mean(jax.nn.log_softmax(jnp.tanh(embedding[tokens]) @ embedding.T)[:, 0])


def transformer() -> Text:
    """Two layers and AdamW: the step that the benchmarks compile."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
    import make_hlo

    p = make_hlo.parameters(2)
    return lowered(make_hlo.train_step, p, {"step": jnp.zeros(()), "first": p, "second": p}, jnp.zeros((2, 33), jnp.int32))


STEPS: dict[str, Callable[[], Text]] = {
    "softmax": lambda: lowered(jax.value_and_grad(softmax, (0, 1)), jnp.ones((8, 16)), jnp.ones(16)),
    "softmax, gradients only": lambda: lowered(jax.grad(softmax, (0, 1)), jnp.ones((8, 16)), jnp.ones(16)),
    "mlp, sgd": lambda: lowered(sgd, LAYERS, BATCH, LABELS),
    "mlp, adam": lambda: lowered(adam, LAYERS, LAYERS, LAYERS, jnp.float32(1), BATCH, LABELS),
    "mlp, squared error": lambda: lowered(jax.value_and_grad(lambda p, x, y: jnp.mean((mlp(p, x) - y) ** 2)), LAYERS, BATCH, LABELS),
    "linear, clipped": lambda: lowered(clipped, SQUARE, SQUARE),
    "cnn": lambda: lowered(jax.value_and_grad(lambda p, x: jnp.sum(cnn(p, x) ** 2)), KERNELS, IMAGES),
    "lstm, scan": lambda: lowered(jax.value_and_grad(lstm), jnp.ones((7, 16)), jnp.ones((5, 2, 3))),
    "rnn, unrolled": lambda: lowered(jax.value_and_grad(rnn), SQUARE, jnp.ones((4, 2, 8))),
    "scan, recomputed": lambda: lowered(jax.value_and_grad(recomputed), jnp.ones((3, 8, 8)), SQUARE),
    "batch norm": lambda: lowered(jax.value_and_grad(batch_norm), {"g": VECTOR, "b": VECTOR, "w": SQUARE}, SQUARE),
    "tied embedding": lambda: lowered(jax.value_and_grad(tied), jnp.ones((20, 8)), TOKENS),
    "transformer, adamw": transformer,
}


def runge_kutta(a: Any, y: Any, h: float = 0.1) -> Any:
    k1 = a @ y
    k2 = a @ (y + h / 2 * k1)
    k3 = a @ (y + h / 2 * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + a @ (y + h * k3))


def newton_schulz(g: Any) -> Any:
    x = g / jnp.linalg.norm(g)
    return 1.5 * x - 0.5 * x @ x.T @ x


def gated(w: Any, x: Any) -> Any:
    h = (1 / (1 + jnp.exp(-(x @ w))) * x) @ w
    return (1 / (1 + jnp.exp(-h)) * jnp.tanh(h)) @ w


def attention(x: Any, q: Any, k: Any, v: Any, o: Any) -> Any:
    return (jax.nn.softmax((x @ q) @ (x @ k).T * 0.125) @ (x @ v)) @ o + x


def masked_mean(x: Any, m: Any) -> Any:
    kept = jnp.where(m > 0, 1.0, 0.0)
    return (x * kept).sum(0) / kept.sum(0)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax": (softmax, (jnp.ones((8, 16)), jnp.ones(16))),
    "mlp": (cross_entropy, (LAYERS, BATCH, LABELS)),
    "cnn": (cnn, (KERNELS, IMAGES)),
    "lstm": (lstm, (jnp.ones((7, 16)), jnp.ones((5, 2, 3)))),
    "attention": (attention, (SQUARE,) * 5),
    "gates": (gated, (SQUARE, SQUARE)),
    "Runge-Kutta": (runge_kutta, (SQUARE, VECTOR)),
    "Newton-Schulz": (newton_schulz, (SQUARE,)),
    "Sinkhorn": (lambda k, u: jax.lax.fori_loop(0, 3, lambda i, a: 1.0 / (k @ (1.0 / (k.T @ a))), u), (SQUARE, VECTOR)),
    "masked mean": (masked_mean, (SQUARE, SQUARE)),
    "moving average": (lambda a, b: jax.tree.map(lambda x, y: 0.9 * x + 0.1 * y, a, b), ([SQUARE, VECTOR], [SQUARE, VECTOR])),
    "scaled sum": (lambda x, y: (lambda s: s * x + s * y)(jnp.full((8, 8), 0.5)), (SQUARE, SQUARE)),
    "linear": (lambda x, w: 0.5 * x @ w @ w.T, (SQUARE, SQUARE)),
    "polynomial": (lambda x: 2 * x**3 + 3 * x**2 + 0.5 * x, (SQUARE,)),
    "forward mode": (lambda x, w: jax.jvp(lambda w: jnp.tanh(x @ w).sum(), (w,), (w,)), (SQUARE, SQUARE)),
    "gradient that is given": (lambda w, x, ct: jax.vjp(lambda w: jnp.tanh(x @ w), w)[1](ct), (SQUARE, SQUARE, SQUARE)),
}
"""None of them computes gradients of a loss, though many return what has the type of an argument."""


def directions_compared(text: Text) -> Iterator[tuple[str, str]]:
    """For each operation: its direction by its name, and as it is inferred without names."""
    from opscope.analysis.directions import directions
    from opscope.analysis.halves import with_halves
    from opscope.program import BACKWARD, RECOMPUTED
    from opscope.readers.hlo.module import parse_hlo

    named, plain = parse_hlo(text.named)[0], with_halves(parse_hlo(text.plain)[0])
    stated, inferred = directions(named), directions(plain)
    # Only names say what is recomputed.
    truth = {name: [BACKWARD if mark == RECOMPUTED else mark for mark in marks] for name, marks in stated.items()}
    for graph in named:
        by_id = dict(zip((node.id for node in plain[graph.name]), inferred[graph.name], strict=True))
        for node, mark in zip(graph, truth[graph.name], strict=True):
            if node.role == "op":
                yield mark, by_id[node.id]
