"""Training steps of many kinds, to compare inferred halves with the names of the same program.

`SEEN` was there while the inference was written. `SECOND` was written afterwards; what was wrong with it was mended. `LAST` was written
after that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from steps_and_functions import BATCH, IMAGES, KERNELS, LABELS, LAYERS, SQUARE, VECTOR, Text, cnn, lowered, mlp

Step = Callable[[], Text]
PAIR = {"a": SQUARE, "b": SQUARE}
X, Y = jnp.ones((4, 8)), jnp.full((4, 8), 0.5)


def squared(p: Any, x: Any, y: Any) -> Any:
    return jnp.mean((mlp(p, x) - y) ** 2)


def residual(p: Any, x: Any) -> Any:
    h = x + jnp.tanh(x @ p["a"])
    return h + jnp.sin(h @ p["b"])


def squares(p: Any) -> Any:
    return sum(jnp.sum(w * w) for w in jax.tree.leaves(p))


def absolutes(p: Any) -> Any:
    return sum(jnp.abs(w).sum() for w in jax.tree.leaves(p))


def updated(loss: Callable[..., Any], rate: float = 0.1) -> Callable[..., Any]:
    """One step of SGD."""

    def step(p: Any, *batch: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(p, *batch)
        return value, jax.tree.map(lambda w, g: w - rate * g, p, gradients)

    return step


def momentum(p: Any, m: Any, x: Any, y: Any) -> Any:
    value, gradients = jax.value_and_grad(squared)(p, x, y)
    m = jax.tree.map(lambda m, g: 0.9 * m + g, m, gradients)
    return value, jax.tree.map(lambda w, m: w - 0.1 * m, p, m), m


def decayed_outside(p: Any, x: Any, y: Any) -> Any:
    """Weight decay in the optimizer, as torch.optim.SGD does it: not a gradient."""
    value, gradients = jax.value_and_grad(squared)(p, x, y)
    gradients = jax.tree.map(lambda g, w: g + 1e-4 * w, gradients, p)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients)


def clipped_by_norm(p: Any, x: Any, y: Any) -> Any:
    value, gradients = jax.value_and_grad(squared)(p, x, y)
    norm = jnp.sqrt(squares(gradients))
    scale = jnp.minimum(1.0, 1.0 / norm)
    return value, norm, jax.tree.map(lambda w, g: w - 0.1 * scale * g, p, gradients)


def attention(p: Any, x: Any) -> Any:
    q, k, v = x @ p["a"], x @ p["b"], x
    return jax.nn.softmax(q @ k.T / 8**0.5) @ v


def layer_norm(p: Any, x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    normal = centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return jnp.mean((normal * p["g"] + p["b"]) ** 2)


def mixed_precision(p: Any, x: Any, y: Any) -> Any:
    half = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p)
    return jnp.mean((mlp(half, x.astype(jnp.bfloat16)).astype(jnp.float32) - y) ** 2)


def scanned(p: Any, x: Any) -> Any:
    return jnp.mean(jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, p)[0] ** 2)


def penalty(p: Any, x: Any) -> Any:
    gradient = jax.grad(lambda x: jnp.mean(residual(p, x)))(x)
    return jnp.mean((jnp.sqrt(jnp.sum(gradient**2, -1)) - 1) ** 2)


def two_terms(p: Any, x: Any, y: Any) -> Any:
    h = jnp.tanh(x @ p["a"])
    return jnp.mean((h - y) ** 2) + 0.5 * jnp.abs(h @ p["b"]).mean()


def two_losses(p: Any, x: Any) -> Any:
    def loss(w: Any, v: Any) -> Any:
        return jnp.mean(jnp.tanh((x @ w) @ v))

    return jax.value_and_grad(loss)(p["a"], p["b"]), jax.value_and_grad(lambda v: -loss(p["a"], v))(p["b"])


def with_metrics(p: Any, x: Any, y: Any) -> Any:
    def loss(p: Any) -> Any:
        out = mlp(p, x)
        error = jnp.mean((out - y) ** 2)
        return error + 1e-3 * squares(p), {"error": error, "size": jnp.abs(out).mean()}

    (value, metrics), gradients = jax.value_and_grad(loss, has_aux=True)(p)
    return value, metrics, jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients)


SEEN: dict[str, Step] = {
    "mlp, sgd": lambda: lowered(updated(squared), LAYERS, BATCH, LABELS),
    "mlp, momentum": lambda: lowered(momentum, LAYERS, LAYERS, BATCH, LABELS),
    "mlp, decay in the loss": lambda: lowered(updated(lambda p, x, y: squared(p, x, y) + 1e-4 * squares(p)), LAYERS, BATCH, LABELS),
    "decay in the loss, gradients": lambda: lowered(
        jax.value_and_grad(lambda p, x, y: ((jnp.tanh(x @ p) - y) ** 2).mean() + 1e-4 * (p**2).sum()), SQUARE, X, Y
    ),
    "mlp, decay in the update": lambda: lowered(decayed_outside, LAYERS, BATCH, LABELS),
    "mlp, absolute values": lambda: lowered(updated(lambda p, x, y: squared(p, x, y) + 1e-3 * absolutes(p)), LAYERS, BATCH, LABELS),
    "mlp, clipped by norm": lambda: lowered(clipped_by_norm, LAYERS, BATCH, LABELS),
    "mlp, metrics": lambda: lowered(with_metrics, LAYERS, BATCH, LABELS),
    "mlp, mixed precision": lambda: lowered(updated(mixed_precision), LAYERS, BATCH, LABELS),
    "residual, sum of squares": lambda: lowered(jax.value_and_grad(lambda p, x: (residual(p, x) ** 2).sum()), PAIR, X),
    "residual, products": lambda: lowered(updated(lambda p, x: (lambda h: (h * h).sum())(residual(p, x))), PAIR, X),
    "attention": lambda: lowered(updated(lambda p, x: jnp.mean((attention(p, x) - 1) ** 2)), PAIR, X),
    "layer norm": lambda: lowered(updated(layer_norm), {"g": VECTOR, "b": VECTOR}, X),
    "cnn, sum of squares": lambda: lowered(updated(lambda p, x: jnp.sum(cnn(p, x) ** 2)), KERNELS, IMAGES),
    "scan": lambda: lowered(updated(scanned), jnp.ones((3, 8, 8)), X),
    "two terms": lambda: lowered(jax.value_and_grad(two_terms), PAIR, X, Y),
    "two terms, gradients only": lambda: lowered(jax.grad(two_terms), PAIR, X, Y),
    "decay in the loss, gradients only": lambda: lowered(
        jax.grad(lambda p, x, y: squared(p, x, y) + 1e-4 * squares(p)), LAYERS, BATCH, LABELS
    ),
    "two losses": lambda: lowered(two_losses, PAIR, X),
    "gradient penalty": lambda: lowered(jax.value_and_grad(penalty), PAIR, X),
    "scaled weights": lambda: lowered(updated(lambda p, x: jnp.mean(jnp.tanh(x @ (0.5 * p)) ** 2)), SQUARE, X),
}


def adam(loss: Callable[..., Any], decay: float = 0.0) -> Callable[..., Any]:
    """Adam, with the weight decay of AdamW."""

    def step(p: Any, m: Any, v: Any, count: Any, *batch: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(p, *batch)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradients)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g**2, v, gradients)
        rate = 1e-3 * jnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
        p = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8) - 1e-3 * decay * w, p, m, v)
        return value, p, m, v, count + 1

    return step


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1))


def embedded(p: Any, tokens: Any, labels: Any) -> Any:
    return cross_entropy(jnp.tanh(p["a"][tokens]) @ p["b"], labels)


def variational(p: Any, x: Any, noise: Any) -> Any:
    mean, log_variance = x @ p["a"], x @ p["b"]
    code = mean + jnp.exp(0.5 * log_variance) * noise
    divergence = -0.5 * jnp.mean(1 + log_variance - mean**2 - jnp.exp(log_variance))
    return jnp.mean((code @ p["a"].T - x) ** 2) + 0.1 * divergence


def contrastive(p: Any, x: Any, y: Any) -> Any:
    a, b = x @ p["a"], y @ p["b"]
    a, b = (h / jnp.linalg.norm(h, axis=-1, keepdims=True) for h in (a, b))
    logits = a @ b.T / 0.07
    labels = jnp.arange(x.shape[0])
    return (cross_entropy(logits, labels) + cross_entropy(logits.T, labels)) / 2


def multi_task(p: Any, x: Any, y: Any, labels: Any) -> Any:
    h = jax.nn.gelu(x @ p["a"])
    return jnp.mean(jnp.abs(h @ p["b"] - y)) + 0.3 * cross_entropy(h @ p["a"], labels) + 1e-2 * jnp.sum(p["b"] ** 2)


def huber(p: Any, x: Any, y: Any) -> Any:
    error = jnp.abs(mlp(p, x) - y)
    return jnp.mean(jnp.where(error < 1, 0.5 * error**2, error - 0.5))


def target_network(p: Any, slow: Any, x: Any) -> Any:
    def loss(p: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ p) - jax.lax.stop_gradient(jnp.tanh(x @ slow))) ** 2)

    value, gradient = jax.value_and_grad(loss)(p)
    return value, p - 0.01 * gradient, 0.99 * slow + 0.01 * p


def accumulated(p: Any, xs: Any, ys: Any) -> Any:
    """Two batches, whose gradients are added after backpropagation."""
    first, second = (jax.value_and_grad(squared)(p, xs[i], ys[i]) for i in range(2))
    gradients = jax.tree.map(lambda a, b: (a + b) / 2, first[1], second[1])
    return first[0], second[0], jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients)


def alternating(p: Any, x: Any) -> Any:
    """The second loss is computed with the weights that the first has updated."""

    def loss(w: Any, v: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ w) @ v) ** 2)

    value, gradient = jax.value_and_grad(loss)(p["a"], p["b"])
    w = p["a"] - 0.1 * gradient
    other, gradient = jax.value_and_grad(lambda v: loss(w, v))(p["b"])
    return value, other, w, p["b"] - 0.1 * gradient


def meta(p: Any, x: Any, y: Any) -> Any:
    inner = jax.grad(lambda p: jnp.mean((x @ p - y) ** 2))
    return jnp.mean((jnp.tanh(x @ (p - 0.1 * inner(p))) - y) ** 2)


def loss_scaled(p: Any, x: Any, y: Any) -> Any:
    value, gradients = jax.value_and_grad(lambda p: 1024.0 * squared(p, x, y))(p)
    gradients = jax.tree.map(lambda g: g / 1024.0, gradients)
    return value / 1024.0, jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients)


def many_updates(p: Any, xs: Any, ys: Any) -> Any:
    """A loop over whole training steps."""

    def step(p: Any, batch: Any) -> Any:
        value, gradients = jax.value_and_grad(squared)(p, *batch)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients), value

    return jax.lax.scan(step, p, (xs, ys))


def group_norm(p: Any, x: Any) -> Any:
    h = (x @ p["w"]).reshape(x.shape[0], 2, -1)
    h = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
    return jnp.mean(jax.nn.silu(h.reshape(x.shape) * p["g"]))


SECOND: dict[str, Step] = {
    "mlp, adam": lambda: lowered(adam(squared), LAYERS, LAYERS, LAYERS, jnp.float32(1), BATCH, LABELS),
    "mlp, adamw": lambda: lowered(adam(squared, 0.01), LAYERS, LAYERS, LAYERS, jnp.float32(1), BATCH, LABELS),
    "mlp, adam and decay in the loss": lambda: lowered(
        adam(lambda p, x, y: squared(p, x, y) + 0.5e-3 * squares(p)), LAYERS, LAYERS, LAYERS, jnp.float32(1), BATCH, LABELS
    ),
    "embedding": lambda: lowered(updated(embedded), {"a": jnp.ones((20, 8)), "b": jnp.ones((8, 5))}, jnp.zeros(6, int), jnp.ones(6, int)),
    "variational autoencoder": lambda: lowered(updated(variational), PAIR, X, Y),
    "contrastive": lambda: lowered(updated(contrastive), PAIR, X, Y),
    "three terms": lambda: lowered(updated(multi_task), PAIR, X, Y, jnp.zeros(4, int)),
    "huber": lambda: lowered(updated(huber), LAYERS, BATCH, LABELS),
    "log cosh": lambda: lowered(jax.value_and_grad(lambda w, x, y: jnp.mean(jnp.log(jnp.cosh(x @ w - y)))), SQUARE, X, Y),
    "root mean square": lambda: lowered(updated(lambda w, x, y: jnp.sqrt(jnp.mean((x @ w - y) ** 2))), SQUARE, X, Y),
    "hinge": lambda: lowered(updated(lambda w, x, y: jnp.maximum(0.0, 1 - y * (x @ w)).mean() + 0.01 * jnp.sum(w**2)), SQUARE, X, Y),
    "sum of predictions": lambda: lowered(jax.value_and_grad(lambda w, x: jnp.sum(x @ w)), SQUARE, X),
    "sum of tanh": lambda: lowered(jax.value_and_grad(lambda w, x: jnp.tanh(x @ w).sum()), SQUARE, X),
    "sum of exp": lambda: lowered(jax.value_and_grad(lambda w, x: jnp.exp(x @ w).sum()), SQUARE, X),
    "target network": lambda: lowered(target_network, SQUARE, SQUARE, X),
    "gradients added": lambda: lowered(accumulated, LAYERS, jnp.ones((2, 16, 8)), jnp.ones((2, 16, 4))),
    "alternating losses": lambda: lowered(alternating, PAIR, X),
    "meta learning": lambda: lowered(jax.value_and_grad(meta), SQUARE, X, Y),
    "gradient penalty, gradients only": lambda: lowered(jax.grad(penalty), PAIR, X),
    "loss and gradient penalty": lambda: lowered(
        jax.value_and_grad(lambda p, x: jnp.mean(residual(p, x) ** 2) + 10 * penalty(p, x)), PAIR, X
    ),
    "hessian vector product": lambda: lowered(lambda p, x: jax.jvp(jax.grad(lambda p: jnp.mean(residual(p, x) ** 2)), (p,), (p,)), PAIR, X),
    "scaled loss": lambda: lowered(loss_scaled, LAYERS, BATCH, LABELS),
    "loop of steps": lambda: lowered(many_updates, LAYERS, jnp.ones((3, 16, 8)), jnp.ones((3, 16, 4))),
    "group norm": lambda: lowered(updated(group_norm), {"w": SQUARE, "g": VECTOR}, X),
    "checkpoint": lambda: lowered(updated(lambda p, x: jnp.mean(jax.checkpoint(residual)(p, x) ** 2)), PAIR, X),
    "checkpoint in a scan, decay": lambda: lowered(
        updated(
            lambda w, x: jnp.mean(jax.lax.scan(jax.checkpoint(lambda h, w: (jnp.sin(h @ w), None)), x, w)[0] ** 2) + 1e-3 * jnp.sum(w**2)
        ),
        jnp.ones((3, 8, 8)),
        X,
    ),
    "cnn, cross entropy": lambda: lowered(updated(lambda p, x, y: cross_entropy(cnn(p, x), y)), KERNELS, IMAGES, jnp.zeros(2, int)),
    "attention, dropout": lambda: lowered(
        updated(lambda p, x, keep: jnp.mean((attention(p, x) * keep / 0.9 + x) ** 2)), PAIR, X, jnp.ones((4, 8))
    ),
    "bfloat16, decay": lambda: lowered(
        updated(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2) + jnp.bfloat16(0.01) * jnp.sum(w**2)),
        SQUARE.astype(jnp.bfloat16),
        X.astype(jnp.bfloat16),
    ),
    "gradients returned too": lambda: lowered(
        lambda p, x, y: (lambda r: (r, jax.tree.map(lambda w, g: w - 0.1 * g, p, r[1])))(jax.value_and_grad(squared)(p, x, y)),
        LAYERS,
        BATCH,
        LABELS,
    ),
}


def nesterov(p: Any, m: Any, x: Any, y: Any) -> Any:
    value, gradients = jax.value_and_grad(squared)(p, x, y)
    m = jax.tree.map(lambda m, g: 0.9 * m - 0.01 * g, m, gradients)
    return value, jax.tree.map(lambda w, m, g: w + 0.9 * m - 0.01 * g, p, m, gradients), m


def rms_prop(p: Any, v: Any, x: Any, y: Any) -> Any:
    value, gradients = jax.value_and_grad(lambda p: squared(p, x, y) + 1e-2 * absolutes(p))(p)
    v = jax.tree.map(lambda v, g: 0.9 * v + 0.1 * g * g, v, gradients)
    return value, jax.tree.map(lambda w, g, v: w - 0.01 * g * jax.lax.rsqrt(v + 1e-6), p, gradients, v), v


def sign_descent(p: Any, x: Any, y: Any) -> Any:
    value, gradients = jax.value_and_grad(squared)(p, x, y)
    return value, jax.tree.map(lambda w, g: w - 0.01 * jnp.sign(g), p, gradients)


def clipped_by_value(p: Any, x: Any, y: Any) -> Any:
    value, gradients = jax.value_and_grad(squared)(p, x, y)
    return value, jax.tree.map(lambda w, g: w - 0.1 * jnp.clip(g, -1, 1), p, gradients)


def distilled(p: Any, teacher: Any, x: Any) -> Any:
    soft = jax.nn.softmax(x @ teacher / 2.0)
    return -jnp.mean(jnp.sum(soft * jax.nn.log_softmax(jnp.tanh(x @ p) / 2.0), -1))


def actor_critic(p: Any, x: Any, reward: Any) -> Any:
    log_policy, value = jax.nn.log_softmax(x @ p["a"]), (x @ p["b"]).mean(-1)
    advantage = jax.lax.stop_gradient(reward - value)
    entropy = -jnp.mean(jnp.sum(jnp.exp(log_policy) * log_policy, -1))
    return -jnp.mean(log_policy[:, 0] * advantage) + 0.5 * jnp.mean((reward - value) ** 2) - 0.01 * entropy


def triplet(p: Any, a: Any, b: Any, c: Any) -> Any:
    a, b, c = (jnp.tanh(x @ p) for x in (a, b, c))
    near, far = (jnp.sum((a - other) ** 2, -1) for other in (b, c))
    return jnp.mean(jax.nn.relu(near - far + 0.2))


def gru(p: Any, x: Any) -> Any:
    def cell(h: Any, x: Any) -> Any:
        gate = jax.nn.sigmoid((x + h) @ p["a"])
        return gate * h + (1 - gate) * jnp.tanh(x @ p["b"]), None

    return jnp.sum(jax.lax.scan(cell, jnp.zeros((4, 8)), x)[0] ** 2) / 32


def mixture_of_experts(p: Any, x: Any) -> Any:
    gates = jax.nn.softmax(x @ p["a"][:, :2])
    experts = jnp.stack([jnp.tanh(x @ p["a"]), jnp.sin(x @ p["b"])], 1)
    balance = jnp.sum(gates.mean(0) ** 2)
    return jnp.mean(jnp.einsum("be,bed->bd", gates, experts) ** 2) + 0.01 * balance


def branches(p: Any, x: Any) -> Any:
    return jnp.mean(jax.lax.cond(x[0, 0] > 0, lambda x: jnp.tanh(x @ p), lambda x: jnp.sin(x @ p), x) ** 2)


@jax.custom_vjp
def straight_through(x: Any) -> Any:
    return jnp.round(x)


straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))


def averaged_weights(p: Any, mean: Any, x: Any, y: Any) -> Any:
    value, p = updated(squared)(p, x, y)
    return value, p, jax.tree.map(lambda m, w: 0.999 * m + 0.001 * w, mean, p)


def batch_statistics(p: Any, running: Any, x: Any) -> Any:
    def loss(p: Any) -> Any:
        h = x @ p
        mean = h.mean(0)
        return jnp.mean(jnp.tanh(h - mean) ** 2), 0.9 * running + 0.1 * mean

    (value, running), gradient = jax.value_and_grad(loss, has_aux=True)(p)
    return value, running, p - 0.1 * gradient


LAST: dict[str, Step] = {
    "mlp, nesterov": lambda: lowered(nesterov, LAYERS, LAYERS, BATCH, LABELS),
    "mlp, rmsprop and absolute values": lambda: lowered(rms_prop, LAYERS, LAYERS, BATCH, LABELS),
    "mlp, sign": lambda: lowered(sign_descent, LAYERS, BATCH, LABELS),
    "mlp, clipped by value": lambda: lowered(clipped_by_value, LAYERS, BATCH, LABELS),
    "distilled": lambda: lowered(updated(distilled), SQUARE, SQUARE, X),
    "actor and critic": lambda: lowered(updated(actor_critic), PAIR, X, jnp.ones(4)),
    "triplet": lambda: lowered(updated(triplet), SQUARE, X, Y, X),
    "gru": lambda: lowered(updated(gru), PAIR, jnp.ones((3, 4, 8))),
    "mixture of experts": lambda: lowered(updated(mixture_of_experts), PAIR, X),
    "branches": lambda: lowered(updated(branches), SQUARE, X),
    "straight through": lambda: lowered(updated(lambda w, x: jnp.mean((straight_through(x @ w) - 1) ** 2)), SQUARE, X),
    "averaged weights": lambda: lowered(averaged_weights, LAYERS, LAYERS, BATCH, LABELS),
    "batch statistics": lambda: lowered(batch_statistics, SQUARE, VECTOR, X),
    "gradient of the input": lambda: lowered(jax.value_and_grad(lambda x, w: jnp.mean(jnp.tanh(x @ w) ** 3)), X, SQUARE),
    "norm of the weights": lambda: lowered(updated(lambda w, x: jnp.mean((x @ w) ** 2) + 0.1 * jnp.sqrt(jnp.sum(w**2))), SQUARE, X),
    "orthogonal weights": lambda: lowered(
        updated(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2) + 0.1 * jnp.sum((w.T @ w - jnp.eye(8)) ** 2)), SQUARE, X
    ),
    "spectral decay and entropy": lambda: lowered(
        updated(lambda w, x: jnp.mean(jax.nn.logsumexp(x @ w, -1)) - 0.05 * jnp.mean(jnp.log(jax.nn.softmax(x @ w) + 1e-6))), SQUARE, X
    ),
    "mapped over examples": lambda: lowered(
        updated(lambda w, x, y: jnp.mean(jax.vmap(lambda x, y: jnp.sum((jnp.tanh(x @ w) - y) ** 2))(x, y))), SQUARE, X, Y
    ),
    "gradients of each example": lambda: lowered(
        lambda w, x: jax.vmap(jax.value_and_grad(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2)), (None, 0))(w, x), SQUARE, X
    ),
    "two steps": lambda: lowered(
        lambda p, x, y: (lambda first: (first[0], *updated(squared)(first[1], x, y)))(updated(squared)(p, x, y)), LAYERS, BATCH, LABELS
    ),
    "gradients only, momentum": lambda: lowered(
        lambda p, m, x, y: jax.tree.map(lambda m, g: 0.9 * m + g, m, jax.grad(squared)(p, x, y)), LAYERS, LAYERS, BATCH, LABELS
    ),
    "gradients only, decay in the update": lambda: lowered(
        lambda p, x, y: jax.tree.map(lambda w, g: w - 0.1 * (g + 1e-3 * w), p, jax.grad(squared)(p, x, y)), LAYERS, BATCH, LABELS
    ),
}
EVERY_STEP = SEEN | SECOND | LAST
UNDECIDED = {
    "two terms, gradients only", "decay in the loss, gradients only", "gradient penalty", "sum of tanh", "sum of exp", "gradients added",
    "alternating losses", "meta learning", "gradient penalty, gradients only", "loss and gradient penalty", "loop of steps",
    "mlp, rmsprop and absolute values", "orthogonal weights", "gradients of each example", "two steps",
    "gradients only, decay in the update",
}  # fmt: skip
"""Gradients of gradients, gradients that are added outside of backpropagation, and losses that are not returned or not found."""
