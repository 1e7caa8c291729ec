"""Twenty-one JAX programs with different memory plans, and their compilation into an XLA dump: for `memory.py` and for tests.

    python memory_programs.py DUMPS.tar.gz

compiles all of them for the device of the machine, and keeps what XLA says about their memory.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class Case(NamedTuple):
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    donated: tuple[int, ...] = ()


def mlp(w1, w2, x):
    return jnp.tanh(x @ w1) @ w2


def mlp_loss(w1, w2, x):
    return jnp.mean((mlp(w1, w2, x) - x) ** 2)


def train_step(w1, w2, x):
    g1, g2 = jax.grad(mlp_loss, (0, 1))(w1, w2, x)
    return w1 - 0.1 * g1, w2 - 0.1 * g2


def adam_step(w, m, v, x):
    g = jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return w - 0.01 * m / (jnp.sqrt(v) + 1e-6), m, v


def scan_forward(w, x):
    return lax.scan(lambda h, _: (jnp.tanh(h @ w), h.sum()), x, None, length=12)


def scan_grad(w, x):
    def loss(w):
        h, ys = lax.scan(lambda h, _: (jnp.tanh(h @ w), h), x, None, length=12)
        return jnp.sum(h) + jnp.sum(ys**2)

    return jax.grad(loss)(w)


def scan_remat(w, x):
    def loss(w):
        return jnp.sum(lax.scan(jax.checkpoint(lambda h, _: (jnp.tanh(jnp.sin(h @ w)), None)), x, None, length=12)[0])

    return jax.grad(loss)(w)


def while_loop(w, x):
    return lax.while_loop(lambda s: s[0] < 7, lambda s: (s[0] + 1, jnp.tanh(s[1] @ w)), (0, x))[1]


def nested_loops(w, x):
    def outer(i, h):
        return lax.fori_loop(0, 3, lambda j, k: jnp.tanh(k @ w) + i, h)

    return lax.fori_loop(0, 4, outer, x)


def conditional(w, x):
    return lax.cond(x[0, 0] > 0, lambda: jnp.tanh(x @ w) @ w, lambda: jnp.sin(x) @ w)


def conv(k1, k2, x):
    y = jax.nn.relu(lax.conv(x, k1, (1, 1), "SAME"))
    return lax.conv(y, k2, (2, 2), "SAME")


def conv_grad(k1, k2, x):
    return jax.grad(lambda k1, k2: jnp.sum(conv(k1, k2, x) ** 2), (0, 1))(k1, k2)


def attention(q, k, v):
    return jax.nn.softmax(q @ k.swapaxes(-1, -2) / 8) @ v


def attention_grad(q, k, v):
    return jax.grad(lambda *a: jnp.sum(attention(*a) ** 2), (0, 1, 2))(q, k, v)


def layers_loss(count, ws, x):
    for i in range(count):
        x = x + jax.nn.gelu(x @ ws[i])
    return jnp.mean(x**2)


def deep_grad(ws, x):
    return jax.grad(partial(layers_loss, 6))(ws, x)


def remat_grad(ws, x):
    return jax.grad(jax.checkpoint(partial(layers_loss, 6)))(ws, x)


def cache_update(cache, x, y):
    cache = lax.dynamic_update_slice(cache, x, (0, 3, 0))
    return cache, jnp.sum(cache * y)


def scatter_add(table, x):
    return table.at[jnp.arange(64) * 3 % 50].add(x)


def sort_and_take(x, y):
    order = jnp.argsort(x[:, 0])
    return jnp.take(y, order, axis=0), jnp.cumsum(x, axis=0)


def fft(x):
    return jnp.abs(jnp.fft.ifft(jnp.fft.fft(x) * 2))


CASES: dict[str, Case] = {
    "mlp": Case(mlp, ((256, 512), (512, 256), (128, 256))),
    "mlp_loss": Case(mlp_loss, ((256, 512), (512, 256), (128, 256))),
    "train_step": Case(train_step, ((256, 512), (512, 256), (128, 256))),
    "train_step_donated": Case(train_step, ((256, 512), (512, 256), (128, 256)), (0, 1)),
    "adam_donated": Case(adam_step, ((256, 256), (256, 256), (256, 256), (512, 256)), (0, 1, 2)),
    "scan_forward": Case(scan_forward, ((128, 128), (256, 128))),
    "scan_grad": Case(scan_grad, ((128, 128), (256, 128))),
    "scan_remat": Case(scan_remat, ((128, 128), (256, 128))),
    "while_loop": Case(while_loop, ((128, 128), (256, 128))),
    "nested_loops": Case(nested_loops, ((128, 128), (256, 128))),
    "conditional": Case(conditional, ((128, 128), (256, 128))),
    "conv": Case(conv, ((16, 8, 3, 3), (32, 16, 3, 3), (8, 8, 32, 32))),
    "conv_grad": Case(conv_grad, ((16, 8, 3, 3), (32, 16, 3, 3), (8, 8, 32, 32))),
    "attention": Case(attention, ((4, 8, 128, 64),) * 3),
    "attention_grad": Case(attention_grad, ((4, 8, 128, 64),) * 3),
    "deep_grad": Case(deep_grad, ((6, 128, 128), (256, 128))),
    "remat_grad": Case(remat_grad, ((6, 128, 128), (256, 128))),
    "cache_update_donated": Case(cache_update, ((8, 128, 64), (8, 1, 64), (8, 128, 64)), (0,)),
    "scatter_add": Case(scatter_add, ((256, 512), (64, 512))),
    "sort_and_take": Case(sort_and_take, ((1024, 64), (1024, 128))),
    "fft": Case(fft, ((64, 1024),)),
}


def compile_to(case: Case, directory: Path, **options: bool) -> Any:
    """Compile a program, with its dump in a directory and further options for XLA; JAX's Compiled."""
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in case.shapes]
    lowered = jax.jit(case.function, donate_argnums=case.donated).lower(*arguments)
    return lowered.compile(compiler_options={"xla_dump_to": str(directory), "xla_dump_hlo_as_text": True, **options})


def analysis_of(compiled: Any) -> dict[str, int]:
    """The bytes of a compiled program, as JAX splits them."""
    analysis = compiled.memory_analysis()
    return {use: getattr(analysis, f"{use}_size_in_bytes") for use in ("argument", "output", "alias", "temp")}


def keep_dumps(target: Path) -> None:
    """The program, XLA's reports and `memory_analysis()` of every case."""
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(target, "w:gz") as archive:
        for name, case in CASES.items():
            directory = Path(scratch) / name
            analysis = analysis_of(compile_to(case, directory))
            (directory / "analysis.json").write_text(json.dumps(analysis) + "\n")
            for file in sorted(directory.iterdir()):
                is_report = "after_optimizations" in file.name and not file.name.endswith("-values.txt")
                if is_report or file.name == "analysis.json":
                    archive.add(file, f"{name}/{file.name}")


if __name__ == "__main__":
    keep_dumps(Path(sys.argv[1]))
