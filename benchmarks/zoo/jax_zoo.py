"""JAX programs: plain ones, Flax, Equinox, Haiku and optax as far as they are installed, scans, remat, sharding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

Example = tuple[Any, tuple[Any, ...]]


class Entry(NamedTuple):
    family: str
    name: str
    make: Callable[[], Example]


def entries(quick: bool) -> list[Entry]:
    every = [*_plain(), *_flax(), *_equinox(), *_haiku()]
    return every[::3] if quick else every


def _example(function: Any, *args: Any) -> Example:
    return function, args


def _layer(x: Any, w: Any) -> Any:
    with jax.named_scope("mlp"):
        return x + jnp.tanh(x @ w["up"]) @ w["down"]


def _weights(layers: int | None = None) -> dict[str, Any]:
    stacked = () if layers is None else (layers,)
    return {"up": jnp.ones((*stacked, 8, 16)), "down": jnp.ones((*stacked, 16, 8))}


X = jnp.ones((4, 8))


def _loss_of(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda w, x: (apply(w, x) ** 2).mean()


def scan24(w: Any, x: Any) -> Any:
    return jax.lax.scan(lambda carry, each: (_layer(carry, each), None), x, w)[0]


def scan24_remat(w: Any, x: Any) -> Any:
    return jax.lax.scan(jax.checkpoint(lambda carry, each: (_layer(carry, each), None)), x, w)[0]


def unrolled(w: Any, x: Any) -> Any:
    for _ in range(4):
        x = _layer(x, w)
    return x


def remat(w: Any, x: Any) -> Any:
    return jax.checkpoint(unrolled)(w, x)


def _masked(x: Any) -> Any:
    return jax.nn.softmax(jnp.where(x > 0, x, jnp.finfo(jnp.float32).min))


def _plain() -> Iterator[Entry]:
    for function in (scan24, scan24_remat, unrolled, remat):
        inputs = _weights(24) if function.__name__.startswith("scan") else _weights(), X
        yield Entry("jax", function.__name__, partial(_example, function, *inputs))
        yield Entry("jax", f"{function.__name__}, gradient", partial(_example, jax.value_and_grad(_loss_of(function)), *inputs))
    image, kernel = jnp.ones((2, 8, 8, 4)), jnp.ones((3, 3, 2, 8))
    grouped: Callable[[Any], Any] = lambda k: jax.lax.conv_general_dilated(  # noqa: E731
        image, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=2
    ).sum()
    pool: Callable[[Any], Any] = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()  # noqa: E731
    functions: dict[str, Example] = {
        "masked softmax": (_masked, (X,)),
        "grouped convolution, gradient": (jax.grad(grouped), (kernel,)),
        "max pool, gradient": (jax.grad(pool), (image,)),
        "outer product": (lambda a, b: jnp.einsum("i,j->ij", a, b), (jnp.ones(6), jnp.ones(8))),
        "fft": (lambda x: jnp.fft.fft(x), (jnp.ones(64),)),
        "ragged dot": (jax.lax.ragged_dot, (jnp.ones((6, 5)), jnp.ones((3, 5, 9)), jnp.array([1, 2, 3], jnp.int32))),
        "while": (lambda x: jax.lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * 2), (0, x)), (X,)),
        "cond": (lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), (X,)),
        "sort": (lambda x: jnp.sort(x), (jnp.arange(16.0),)),
        "cholesky": (jnp.linalg.cholesky, (jnp.eye(4),)),
        "vmap": (jax.vmap(lambda x: x @ x), (X,)),
    }
    for name, example in functions.items():
        yield Entry("jax", name, partial(_example, example[0], *example[1]))


def _flax() -> Iterator[Entry]:
    if find_spec("flax") is None:
        return
    from flax import linen, nnx

    class CNN(linen.Module):
        @linen.compact
        def __call__(self, x: Any) -> Any:
            x = linen.relu(linen.Conv(4, (3, 3))(x))
            x = linen.BatchNorm(use_running_average=True)(linen.max_pool(x, (2, 2), (2, 2)))
            return linen.Dense(3)(x.reshape(len(x), -1))

    class Attention(linen.Module):
        @linen.compact
        def __call__(self, x: Any) -> Any:
            return linen.LayerNorm()(x + linen.MultiHeadDotProductAttention(2)(x, mask=linen.make_causal_mask(x[..., 0])))

    class Block(nnx.Module):
        def __init__(self) -> None:
            self.up, self.down = nnx.Linear(8, 16, rngs=nnx.Rngs(0)), nnx.Linear(16, 8, rngs=nnx.Rngs(0))

        def __call__(self, x: Any) -> Any:
            return self.down(nnx.relu(self.up(x)))

    yield Entry("flax", "linen CNN", lambda: (CNN(), (jnp.ones((2, 8, 8, 1)),)))
    yield Entry("flax", "linen attention", lambda: (Attention(), (jnp.ones((2, 6, 8)),)))
    yield Entry("flax", "nnx block", lambda: (Block(), (X,)))


def _equinox() -> Iterator[Entry]:
    if find_spec("equinox") is None:
        return
    import equinox as eqx

    key = jax.random.key(0)
    yield Entry("equinox", "MLP", lambda: (eqx.nn.MLP(8, 4, 16, 2, key=key), (jnp.ones(8),)))
    yield Entry("equinox", "MultiheadAttention", lambda: (eqx.nn.MultiheadAttention(2, 8, key=key), (X, X, X)))
    yield Entry("equinox", "filter_jit", lambda: (eqx.filter_jit(lambda m, x: jax.vmap(m)(x)), (eqx.nn.MLP(8, 4, 16, 2, key=key), X)))
    yield Entry(
        "equinox", "filter_grad", lambda: (eqx.filter_grad(lambda m, x: jax.vmap(m)(x).sum()), (eqx.nn.MLP(8, 4, 16, 2, key=key), X))
    )


def _haiku() -> Iterator[Entry]:
    if find_spec("haiku") is None:
        return
    import haiku as hk

    yield Entry("haiku", "MLP", lambda: (hk.transform(lambda x: hk.nets.MLP([16, 4])(x)), (X,)))
    yield Entry(
        "haiku", "batch norm", lambda: (hk.transform_with_state(lambda x: hk.BatchNorm(True, True, 0.9)(x, is_training=True)), (X,))
    )
