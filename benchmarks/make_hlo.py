"""Writes the HLO that the benchmarks read: the training step of a transformer without scan, lowered and compiled by JAX on the CPU.

    python benchmarks/make_hlo.py            24 layers: about 127,000 instructions, 18 MB; compiling takes a few minutes
    python benchmarks/make_hlo.py --layers 4 seconds

Writes `.bench/transformer<N>_lowered.hlo` (as traced, with debug info) and `.bench/transformer<N>.hlo` (compiled). Existing files are
reused.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent.parent / ".bench"
WIDTH, HEADS, SEQUENCE, BATCH, VOCABULARY = 64, 4, 32, 2, 128


def paths(layers: int) -> tuple[Path, Path]:
    """The files with the lowered and the compiled text of an N-layer model."""
    return BENCH / f"transformer{layers}_lowered.hlo", BENCH / f"transformer{layers}.hlo"


def parameters(layers: int) -> dict[str, Any]:
    """A tree of arrays. Values do not matter: the step is compiled, never run."""
    import jax.numpy as jnp

    def norm() -> dict[str, Any]:
        return {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}

    def layer() -> dict[str, Any]:
        return {
            "ln1": norm(),
            "ln2": norm(),
            "attention": {name: jnp.zeros((WIDTH, WIDTH)) for name in ("q", "k", "v", "o")},
            "mlp": {
                "up": jnp.zeros((WIDTH, 4 * WIDTH)),
                "up_bias": jnp.zeros(4 * WIDTH),
                "down": jnp.zeros((4 * WIDTH, WIDTH)),
                "down_bias": jnp.zeros(WIDTH),
            },
        }

    return {
        "embedding": jnp.zeros((VOCABULARY, WIDTH)),
        "positions": jnp.zeros((SEQUENCE, WIDTH)),
        "layers": [layer() for _ in range(layers)],
        "norm": norm(),
        "head": jnp.zeros((WIDTH, VOCABULARY)),
    }


def train_step(params: Any, state: Any, tokens: Any) -> Any:
    """Loss, gradients and one AdamW update."""
    import jax
    import jax.numpy as jnp

    def normalise(x: Any, p: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        spread = jnp.square(x - mean).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(spread + 1e-5) * p["scale"] + p["bias"]

    def attention(x: Any, p: Any) -> Any:
        def heads(weights: Any) -> Any:
            return (x @ weights).reshape(BATCH, SEQUENCE, HEADS, WIDTH // HEADS)

        query, key, value = heads(p["q"]), heads(p["k"]), heads(p["v"])
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(WIDTH // HEADS)
        scores = jnp.where(jnp.tril(jnp.ones((SEQUENCE, SEQUENCE), bool)), scores, -1e9)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
        return mixed.reshape(BATCH, SEQUENCE, WIDTH) @ p["o"]

    def mlp(x: Any, p: Any) -> Any:
        return jax.nn.gelu(x @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]

    def loss(params: Any) -> Any:
        with jax.named_scope("embed"):
            x = params["embedding"][tokens[:, :-1]] + params["positions"]
        for i, p in enumerate(params["layers"]):
            with jax.named_scope(f"layer_{i}"):
                with jax.named_scope("attention"):
                    x = x + attention(normalise(x, p["ln1"]), p["attention"])
                with jax.named_scope("mlp"):
                    x = x + mlp(normalise(x, p["ln2"]), p["mlp"])
        with jax.named_scope("loss"):
            logits = jax.nn.log_softmax(normalise(x, params["norm"]) @ params["head"])
            return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()

    value, gradients = jax.value_and_grad(loss)(params)
    with jax.named_scope("adamw"):
        step = state["step"] + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["first"], gradients)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["second"], gradients)

        def update(p: Any, m: Any, v: Any) -> Any:
            scaled = (m / (1 - 0.9**step)) / (jnp.sqrt(v / (1 - 0.999**step)) + 1e-8)
            return p - 1e-3 * (scaled + 0.01 * p)

        params = jax.tree.map(update, params, first, second)
    return params, {"step": step, "first": first, "second": second}, value


def make(layers: int) -> tuple[Path, Path]:
    """The files with both texts, made if missing. Each is written completely or not at all."""
    lowered_path, compiled_path = paths(layers)
    if lowered_path.exists() and compiled_path.exists():
        return lowered_path, compiled_path
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp

    BENCH.mkdir(exist_ok=True)
    params = parameters(layers)
    state = {"step": jnp.zeros(()), "first": params, "second": params}
    tokens = jnp.zeros((BATCH, SEQUENCE + 1), jnp.int32)
    started = time.perf_counter()
    lowered = jax.jit(train_step, donate_argnums=(0, 1)).lower(params, state, tokens)
    _write(lowered_path, lowered.as_text("hlo", debug_info=True))
    print(f"lowered in {time.perf_counter() - started:.1f} s: {lowered_path.stat().st_size:,} bytes", file=sys.stderr)
    started = time.perf_counter()
    _write(compiled_path, lowered.compile().as_text())
    print(f"compiled in {time.perf_counter() - started:.1f} s: {compiled_path.stat().st_size:,} bytes", file=sys.stderr)
    return lowered_path, compiled_path


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text)
    part.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=24, help="transformer layers (default 24)")
    for path in make(parser.parse_args().layers):
        print(path)


if __name__ == "__main__":
    main()
