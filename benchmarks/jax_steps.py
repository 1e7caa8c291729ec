"""Training steps of a small Flax transformer (unrolled, scanned, computed again for backward) and of a model with its own derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

WIDTH, HEADS, HIDDEN, WORDS, LENGTH, BATCH = 32, 2, 64, 128, 8, 2


class Step(NamedTuple):
    train: Callable[..., Any]
    arguments: tuple[Any, ...]
    loss: Callable[..., Any]
    loss_arguments: tuple[Any, ...]
    rules: frozenset[str] = frozenset()
    """The functions that have derivatives of their own, which have the line of the call."""
    apart: Callable[..., Any] | None = None
    """The same step with each call on a line of its own: the same operations in the same order, each with one possible line."""


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        return nn.Dense(WIDTH, name="down")(nn.gelu(nn.Dense(HIDDEN, name="up")(x)))


class Attention(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        q, k, v = (nn.DenseGeneral((HEADS, WIDTH // HEADS), name=name)(x) for name in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(WIDTH // HEADS)
        mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, jnp.finfo(scores.dtype).min), axis=-1)
        return nn.DenseGeneral(WIDTH, axis=(-2, -1), name="o")(jnp.einsum("bhqk,bkhd->bqhd", weights, v))


class Block(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = x + Attention(name="attn")(nn.LayerNorm(name="ln1")(x))
        return x + MLP(name="mlp")(nn.LayerNorm(name="ln2")(x))


class Scanned(nn.Module):
    block: Any

    @nn.compact
    def __call__(self, x: Any, _: None) -> tuple[Any, None]:
        return self.block(name="block")(x), None


class LanguageModel(nn.Module):
    layers: int
    block: Any
    scans: bool

    @nn.compact
    def __call__(self, words: Any) -> Any:
        x = nn.Embed(WORDS, WIDTH, name="embed")(words)
        if self.scans:
            layers = nn.scan(Scanned, variable_axes={"params": 0}, split_rngs={"params": True}, length=self.layers)
            x, _ = layers(self.block, name="layers")(x, None)
        else:
            for number in range(self.layers):
                x = self.block(name=f"layer_{number}")(x)
        return nn.Dense(WORDS, name="head")(nn.LayerNorm(name="ln_f")(x))


def _step(loss: Callable[[Any, Any], Any], weights: Any, inputs: Any) -> Step:
    optimizer = optax.adamw(1e-3)

    def train_step(weights: Any, state: Any, inputs: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, inputs)
        updates, state = optimizer.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state, value

    return Step(train_step, (weights, optimizer.init(weights), inputs), loss, (weights, inputs))


def language_model(layers: int, block: Any = Block, scans: bool = False) -> Step:
    model = LanguageModel(layers, block, scans)
    words = jnp.zeros((BATCH, LENGTH), jnp.int32)
    weights = jax.tree.map(lambda kind: jnp.ones(kind.shape, kind.dtype), jax.eval_shape(model.init, jax.random.key(0), words))

    def loss(weights: Any, words: Any) -> Any:
        logits = model.apply(weights, words)
        return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], words[:, 1:]).mean()

    return _step(loss, weights, words)


@jax.custom_vjp
def rms_norm(x: Any, scale: Any) -> Any:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def _rms_norm_forward(x: Any, scale: Any) -> tuple[Any, Any]:
    factor = jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    return x * factor * scale, (x, factor, scale)


def _rms_norm_backward(saved: Any, gradient: Any) -> tuple[Any, Any]:
    x, factor, scale = saved
    mean = (gradient * scale * x).sum(-1, keepdims=True) / x.shape[-1]
    return gradient * scale * factor - x * factor**3 * mean, (gradient * x * factor).sum((0, 1))


rms_norm.defvjp(_rms_norm_forward, _rms_norm_backward)


RULES = frozenset(f"{prefix}{name}{suffix}" for name in ("rms_norm", "act", "leaky") for prefix, suffix in (("", ""), ("_", "_forward")))


def own_derivatives() -> Step:
    def loss(layers: Any, x: Any) -> Any:
        for number, layer in enumerate(layers):
            with jax.named_scope(f"layer_{number}"):
                with jax.named_scope("norm"):
                    h = rms_norm(x, layer["scale"])
                with jax.named_scope("mlp"):
                    x = x + jnp.tanh(h @ layer["up"]) @ layer["down"]
        return (x**2).mean()

    layer = {"scale": jnp.ones(WIDTH), "up": jnp.ones((WIDTH, HIDDEN)), "down": jnp.ones((HIDDEN, WIDTH))}
    return _step(loss, [layer] * 3, jnp.ones((BATCH, LENGTH, WIDTH)))._replace(rules=RULES)


@jax.custom_vjp
def act(x: Any) -> Any:
    return jnp.tanh(x) * x


def _act_forward(x: Any) -> tuple[Any, Any]:
    return jnp.tanh(x) * x, x


def _act_backward(x: Any, gradient: Any) -> tuple[Any]:
    tanh = jnp.tanh(x)
    return (gradient * (tanh + x * (1 - tanh * tanh)),)


act.defvjp(_act_forward, _act_backward)


@jax.custom_vjp
def leaky(x: Any) -> Any:
    return jnp.clip(x, -1, 1) * 2


def _leaky_forward(x: Any) -> tuple[Any, Any]:
    return jnp.clip(x, -1, 1) * 2, x


def _leaky_backward(x: Any, gradient: Any) -> tuple[Any]:
    return (jnp.where(jnp.abs(x) < 1, gradient * 2, gradient * 0.1),)


leaky.defvjp(_leaky_forward, _leaky_backward)


def own_derivatives_in_a_line() -> Step:
    def together(layers: Any, x: Any) -> Any:
        for number, layer in enumerate(layers):
            with jax.named_scope(f"layer_{number}"):
                x = x + act(rms_norm(x, layer["scale"]) @ layer["up"]) @ layer["down"]
                x = leaky(x * 3) * jnp.sin(x)
        return act(x).sum() + leaky(x @ layers[0]["up"]).mean()

    def apart(layers: Any, x: Any) -> Any:
        for number, layer in enumerate(layers):
            with jax.named_scope(f"layer_{number}"):
                norm = rms_norm(x, layer["scale"])
                up = norm @ layer["up"]
                active = act(up)
                down = active @ layer["down"]
                x = x + down
                tripled = x * 3
                clipped = leaky(tripled)
                sine = jnp.sin(x)
                x = clipped * sine
        active = act(x)
        total = active.sum()
        up = x @ layers[0]["up"]
        clipped = leaky(up)
        mean = clipped.mean()
        return total + mean

    layer = {"scale": jnp.ones(WIDTH), "up": jnp.ones((WIDTH, HIDDEN)), "down": jnp.ones((HIDDEN, WIDTH))}
    inputs = [layer] * 3, jnp.ones((BATCH, LENGTH, WIDTH))
    return _step(together, *inputs)._replace(rules=RULES, apart=_step(apart, *inputs).train)


def readme() -> Step:
    def loss(w: Any, x: Any) -> Any:
        return jnp.tanh(x @ w).mean()

    arguments = jnp.ones((16, 4)), jnp.ones((8, 16))
    return Step(jax.value_and_grad(loss), arguments, loss, arguments)


_DOTS = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
STEPS: dict[str, Callable[[], Step]] = {
    "unrolled": lambda: language_model(2),
    "remat": lambda: language_model(2, nn.remat(Block)),
    "remat, dots saved": lambda: language_model(2, nn.remat(Block, policy=_DOTS)),
    "scan": lambda: language_model(24, scans=True),
    "scan, remat": lambda: language_model(24, nn.remat(Block, prevent_cse=False), scans=True),
    "scan, remat, dots saved": lambda: language_model(24, nn.remat(Block, prevent_cse=False, policy=_DOTS), scans=True),
    "custom_vjp": own_derivatives,
    "custom_vjp, one line": own_derivatives_in_a_line,
    "README": readme,
}
