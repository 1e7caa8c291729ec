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
    every = [*_plain(), *_functions(), *_sharded(), *_flax(), *_equinox(), *_haiku(), *_penzai(), *_optax(), *_solvers()]
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


def _functions() -> Iterator[Entry]:
    """One-liners of jax.numpy, lax, jax.scipy and jax.random."""
    square, vector, key = jnp.eye(4) + 0.1, jnp.arange(8.0), jax.random.key(0)
    indices = jnp.array([1, 3, 5])
    functions: dict[str, Example] = {
        "einsum of three": (lambda a, b, c: jnp.einsum("ij,jk,kl->il", a, b, c), (square, square, square)),
        "attention": (jax.nn.dot_product_attention, (jnp.ones((1, 6, 2, 4)),) * 3),
        "gelu": (jax.nn.gelu, (X,)),
        "logsumexp": (jax.scipy.special.logsumexp, (X,)),
        "cumsum": (jnp.cumsum, (vector,)),
        "cumlogsumexp": (jax.lax.cumlogsumexp, (vector,)),
        "associative scan": (lambda x: jax.lax.associative_scan(jnp.add, x), (vector,)),
        "top_k": (lambda x: jax.lax.top_k(x, 3), (vector,)),
        "argsort": (jnp.argsort, (vector,)),
        "gather": (lambda x, i: x[i], (vector, indices)),
        "scatter": (lambda x, i: x.at[i].add(1.0), (vector, indices)),
        "dynamic slice": (lambda x: jax.lax.dynamic_slice(x, (2,), (3,)), (vector,)),
        "roll": (lambda x: jnp.roll(x, 2), (vector,)),
        "convolve": (jnp.convolve, (vector, vector)),
        "average pool": (lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (2, 2), (1, 1), "SAME"), (X,)),
        "resize": (lambda x: jax.image.resize(x, (8, 16), "bilinear"), (X,)),
        "svd": (jnp.linalg.svd, (square,)),
        "qr": (jnp.linalg.qr, (square,)),
        "eigh": (jnp.linalg.eigh, (square,)),
        "solve": (jnp.linalg.solve, (square, jnp.ones(4))),
        "inverse": (jnp.linalg.inv, (square,)),
        "determinant": (jnp.linalg.det, (square,)),
        "triangular solve": (lambda a, b: jax.scipy.linalg.solve_triangular(a, b), (square, jnp.ones(4))),
        "fft2": (jnp.fft.fft2, (X,)),
        "normal": (lambda k: jax.random.normal(k, (4,)), (key,)),
        "categorical": (lambda k, x: jax.random.categorical(k, x), (key, X)),
        "permutation": (lambda k: jax.random.permutation(k, 8), (key,)),
        "erf_inv": (jax.scipy.special.erfinv, (X * 0.5,)),
        "bessel": (jax.scipy.special.i0, (X,)),
        "bfloat16 product": (
            lambda a, b: jnp.dot(a, b, preferred_element_type=jnp.float32),
            (X.astype(jnp.bfloat16), X.T.astype(jnp.bfloat16)),
        ),
        "int8 product": (lambda a, b: jax.lax.dot(a, b, preferred_element_type=jnp.int32), (X.astype(jnp.int8), X.T.astype(jnp.int8))),
        "jacobian": (jax.jacfwd(lambda x: jnp.sin(x) * x.sum()), (vector,)),
        "hessian": (jax.hessian(lambda x: (x**3).sum()), (vector,)),
        "switch": (lambda i, x: jax.lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x), (1, X)),
        "fori loop": (lambda x: jax.lax.fori_loop(0, 5, lambda i, c: c + i, x), (X,)),
        "map": (lambda x: jax.lax.map(jnp.sin, x), (X,)),
        "while in scan": (_nested_loops, (X,)),
        "custom_vjp, gradient": (jax.grad(lambda x: _clipped(x).sum()), (X,)),
        "custom_jvp, gradient": (jax.grad(lambda x: jax.nn.relu(x).sum()), (X,)),
        "pallas": (_pallas, (X,)),
        "callback": (lambda x: jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct(x.shape, x.dtype), x), (X,)),
    }
    for name, example in functions.items():
        yield Entry("jax", name, partial(_example, example[0], *example[1]))


def _nested_loops(x: Any) -> Any:
    def body(carry: Any, row: Any) -> Any:
        return jax.lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, carry + row), row.sum()

    return jax.lax.scan(body, x[0], x)


@jax.custom_vjp
def _clipped(x: Any) -> Any:
    return jnp.sin(x)


_clipped.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (jnp.clip(g * jnp.cos(x), -1, 1),))


def _pallas(x: Any) -> Any:
    from jax.experimental import pallas as pl

    def double(x_ref: Any, out_ref: Any) -> None:
        out_ref[...] = x_ref[...] * 2

    return pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)


def _sharded() -> Iterator[Entry]:
    """On as many devices as there are: XLA_FLAGS=--xla_force_host_platform_device_count=8 makes eight."""
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(jax.devices(), ("data",))

    def constrained(x: Any) -> Any:
        return jax.lax.with_sharding_constraint(jnp.tanh(x), NamedSharding(mesh, PartitionSpec(None)))

    def summed(x: Any) -> Any:
        rows = jax.shard_map(lambda part: jax.lax.psum(part, "data"), mesh=mesh, in_specs=PartitionSpec("data"), out_specs=PartitionSpec())
        return rows(x)

    yield Entry("sharding", "constraint", partial(_example, constrained, jnp.ones((8, 8))))
    yield Entry("sharding", "shard_map", partial(_example, summed, jnp.ones((8, 8))))


def _penzai() -> Iterator[Entry]:
    if find_spec("penzai") is None:
        return
    from penzai import pz
    from penzai.models import simple_mlp

    def make() -> Example:
        model = simple_mlp.MLP.from_config(name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[8, 16, 4])
        return model, (pz.nx.ones({"batch": 4, "features": 8}),)

    yield Entry("penzai", "MLP", make)


def _optax() -> Iterator[Entry]:
    if find_spec("optax") is None:
        return
    import optax

    for name in ("adam", "adamw", "sgd", "lion", "lamb", "adafactor", "rmsprop"):
        yield Entry("optax", name, partial(_optimizer_step, getattr(optax, name)(0.1)))


def _optimizer_step(optimizer: Any) -> Example:
    import optax

    weights = _weights()

    def step(w: Any, state: Any, x: Any) -> Any:
        loss, gradients = jax.value_and_grad(_loss_of(unrolled))(w, x)
        updates, state = optimizer.update(gradients, state, w)
        return optax.apply_updates(w, updates), state, loss

    return step, (weights, optimizer.init(weights), X)


def _solvers() -> Iterator[Entry]:
    if find_spec("diffrax") is not None:
        import diffrax

        def solve(y: Any) -> Any:
            term = diffrax.ODETerm(lambda t, y, args: -y)
            return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0, 1, 0.1, y).ys

        yield Entry("diffrax", "Tsit5", partial(_example, solve, jnp.ones(3)))
    if find_spec("optimistix") is not None:
        import optimistix

        def root(y: Any) -> Any:
            return optimistix.root_find(lambda y, args: y**2 - 2, optimistix.Newton(1e-5, 1e-5), y).value

        yield Entry("optimistix", "Newton", partial(_example, root, jnp.ones(3)))
    if find_spec("jaxopt") is not None:
        import jaxopt

        def least(x: Any) -> Any:
            return jaxopt.GradientDescent(lambda v: ((v - 1) ** 2).sum(), maxiter=5).run(x).params

        yield Entry("jaxopt", "GradientDescent", partial(_example, least, jnp.ones(3)))
