"""Programs that `original_values.py` compiles: the transformer of `make_hlo.py`, a network with convolutions and a loop, a recurrent one
with sorting, random numbers and a conditional, and a mixer with transposes. Four more were written to see what the matcher does with
programs that it was not made with: a graph network whose loop has work that does not change, a decoder that fills a cache, a U-Net with
group norms, and a training step of a recurrent network with clipped gradients. Another four resemble programs whose dumps were not kept,
some of them of a GPU: experts that a router chooses, layers of attention in a scan that are computed again, a step in half precision,
and a residual network with batch norms.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from make_hlo import BATCH, SEQUENCE, parameters, train_step


def network(weights: Any, x: Any) -> Any:
    for i, kernel in enumerate(weights["kernels"]):
        with jax.named_scope(f"block_{i}"):
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu((x - x.mean((0, 1, 2))) * jax.lax.rsqrt(x.var((0, 1, 2)) + 1e-5))
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def step(carry: Any, _: Any) -> Any:
        carry = jnp.tanh(carry @ weights["recurrent"])
        return carry, carry.sum()

    carry, sums = jax.lax.scan(step, x.mean((1, 2)), None, length=4)
    return -jax.nn.log_softmax(carry).sum() + sums.sum()


def recurrent(weights: Any, x: Any) -> Any:
    def step(carry: Any, each: Any) -> Any:
        hidden, state = carry
        gates = jnp.split(each @ weights["input"] + hidden @ weights["hidden"] + weights["bias"], 4, -1)
        state = jax.nn.sigmoid(gates[1]) * state + jax.nn.sigmoid(gates[0]) * jnp.tanh(gates[2])
        hidden = jax.nn.sigmoid(gates[3]) * jnp.tanh(state)
        return (hidden, state), hidden

    with jax.named_scope("lstm"):
        start = jnp.zeros((4, 16)), jnp.zeros((4, 16))
        (hidden, state), all_hidden = jax.lax.scan(step, start, x)
    with jax.named_scope("top"):
        largest, _ = jax.lax.top_k(all_hidden.sum(0), 3)
        kept = jnp.where(jax.random.bernoulli(jax.random.PRNGKey(0), 0.5, hidden.shape), hidden, 0)
        branch = jax.lax.cond(hidden.sum() > 0, jnp.sin, jnp.cos, state)
        return largest.sum() + kept.sum() + jnp.sort(all_hidden, axis=0)[0].sum() + jnp.linalg.norm(all_hidden) + branch.sum()


def mixer(weights: Any, x: Any) -> Any:
    for i, layer in enumerate(weights):
        with jax.named_scope(f"mix_{i}"):
            mean = x.mean(-1, keepdims=True)
            variance = ((x - mean) ** 2).mean(-1, keepdims=True)
            y = (x - mean) / jnp.sqrt(variance + 1e-5) * layer["scale"] + layer["bias"]
            y = jax.nn.gelu(jnp.swapaxes(y, 1, 2) @ layer["tokens_in"]) @ layer["tokens_out"]
            x = x + jnp.swapaxes(y, 1, 2)
            x = x + jax.nn.silu(x @ layer["channels_in"]) @ layer["channels_out"]
    return jax.nn.log_softmax(x.mean(1)).sum()


def graph_network(weights: Any, nodes: Any, sources: Any, targets: Any) -> Any:
    def body(carry: Any) -> Any:
        i, hidden, _ = carry
        edges = jax.nn.relu(jnp.concatenate([hidden[sources], hidden[targets]], -1) @ weights["edge"])
        sums = jax.ops.segment_sum(edges, targets, num_segments=hidden.shape[0])
        now = jnp.tanh(sums @ weights["node"] + hidden)
        return i + 1, now, jnp.abs(now - hidden).max()

    _, hidden, _ = jax.lax.while_loop(lambda carry: (carry[0] < 8) & (carry[2] > 1e-3), body, (0, nodes, jnp.array(1.0)))
    score = hidden @ weights["score"]
    best = jnp.argsort(score[:, 0])[-5:]
    sums = jnp.cumsum(hidden[jnp.argsort(score[:, 0])], 0)
    return (hidden[best] * score[best, 0][:, None]).sum() + sums[-1].mean() + jnp.linalg.norm(jnp.fft.rfft(score[:, 0]))


def decode(weights: Any, tokens: Any, count: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        tokens, keys, values = carry
        x = weights["embedding"][tokens[:, i]]
        for layer in range(2):
            with jax.named_scope(f"layer_{layer}"):
                h = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
                query, key, value = ((h @ weights[name][layer]).reshape(2, 4, 8) for name in ("query", "key", "value"))
                keys = jax.lax.dynamic_update_slice(keys, key[None, :, None], (layer, 0, i, 0, 0))
                values = jax.lax.dynamic_update_slice(values, value[None, :, None], (layer, 0, i, 0, 0))
                scores = jnp.einsum("bhd,bthd->bht", query, keys[layer]) / 2.8
                weight = jax.nn.softmax(jnp.where(jnp.arange(16) <= i, scores, -1e9))
                x = x + jnp.einsum("bht,bthd->bhd", weight, values[layer]).reshape(2, 32) @ weights["out"][layer]
                x = x + jax.nn.silu(x @ weights["up"][layer]) @ weights["down"][layer]
        return tokens.at[:, i + 1].set(jnp.argmax(x @ weights["embedding"].T, -1)), keys, values

    return jax.lax.fori_loop(0, count, step, (tokens, jnp.zeros((2, 2, 16, 4, 8)), jnp.zeros((2, 2, 16, 4, 8))))


def unet(weights: Any, x: Any, times: Any) -> Any:
    def convolve(x: Any, kernel: Any, stride: int = 1) -> Any:
        return jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def normalized(x: Any) -> Any:
        groups = x.reshape(*x.shape[:3], 4, -1)
        mean, variance = groups.mean((1, 2, 4), keepdims=True), groups.var((1, 2, 4), keepdims=True)
        return jax.nn.swish(((groups - mean) / jnp.sqrt(variance + 1e-5)).reshape(x.shape) * weights["scale"])

    phases = times[:, None] * weights["frequencies"]
    embedding = jnp.concatenate([jnp.sin(phases), jnp.cos(phases)], -1) @ weights["time"]
    with jax.named_scope("down"):
        high = normalized(convolve(x, weights["first"]))
        low = convolve(high, weights["narrow"], 2) + embedding[:, None, None]
    with jax.named_scope("middle"):
        low = low + normalized(convolve(low, weights["middle"]))
    with jax.named_scope("up"):
        wide = jax.image.resize(low, (low.shape[0], *high.shape[1:3], low.shape[3]), "nearest")
        out = convolve(jnp.concatenate([wide, high], -1), weights["last"])
    return jnp.mean((out - x) ** 2)


def recurrent_loss(weights: Any, x: Any, labels: Any) -> Any:
    def cell(hidden: Any, each: Any) -> Any:
        update, reset = (jax.nn.sigmoid(each @ weights[f"{name}_in"] + hidden @ weights[name]) for name in ("update", "reset"))
        new = jnp.tanh(each @ weights["new_in"] + (reset * hidden) @ weights["new"])
        hidden = (1 - update) * new + update * hidden
        return hidden, hidden @ weights["out"]

    _, logits = jax.lax.scan(cell, jnp.zeros((3, 16)), x)
    entropy = -jnp.sum(jax.nn.one_hot(labels, 5) * jax.nn.log_softmax(logits)) / labels.size
    return entropy + 1e-3 * sum(jnp.vdot(each, each) for each in jax.tree.leaves(weights))


def clipped_step(weights: Any, momentum: Any, x: Any, labels: Any) -> Any:
    gradients = jax.grad(recurrent_loss)(weights, x, labels)
    norm = jnp.sqrt(sum((each * each).sum() for each in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda each: each * jnp.minimum(1, 1 / norm), gradients)
    momentum = jax.tree.map(lambda old, each: 0.9 * old + each, momentum, gradients)
    return jax.tree.map(lambda weight, each: weight - 0.01 * each, weights, momentum), momentum


def experts(weights: Any, x: Any) -> Any:
    flat = x.reshape(-1, x.shape[-1])
    gates = jax.nn.softmax(flat @ weights["router"])
    chosen, which = jax.lax.top_k(gates, 2)
    places = jax.nn.one_hot(which, gates.shape[-1])
    slots = (jnp.cumsum(places.sum(1), 0) - 1) * places.sum(1)
    sent = jax.nn.one_hot(slots, 8) * places.sum(1)[..., None]
    taken = jnp.einsum("tec,td->ecd", sent, flat)
    inner = jax.nn.silu(jnp.einsum("ecd,edf->ecf", taken, weights["gate"])) * jnp.einsum("ecd,edf->ecf", taken, weights["up"])
    share = (places * (chosen / chosen.sum(-1, keepdims=True))[..., None]).sum(1)
    out = jnp.einsum("tec,ecd,te->td", sent, jnp.einsum("ecf,efd->ecd", inner, weights["down"]), share)
    balance = (gates.mean(0) * places.sum(1).mean(0)).sum() * gates.shape[-1]
    return ((out.reshape(x.shape) + x) ** 2).mean() + 0.01 * balance


def scanned_attention(weights: Any, x: Any) -> Any:
    @partial(jax.checkpoint, prevent_cse=False)  # XLA refuses labels beside the barrier
    def layer(x: Any, layer: Any) -> Any:
        h = (x * jax.lax.rsqrt((x.astype(jnp.float32) ** 2).mean(-1, keepdims=True) + 1e-6).astype(x.dtype)) * layer["scale"]
        query, key, value = jnp.split((h @ layer["qkv"]).reshape(*x.shape[:2], 4, -1), 3, -1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / query.shape[-1] ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value).reshape(x.shape) @ layer["out"]
        return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"], (scores == -jnp.inf).mean()

    x, masked = jax.lax.scan(layer, x, weights)
    return jnp.square(x).mean() + masked.mean()


def half_precision_step(weights: Any, x: Any, labels: Any) -> Any:
    def loss(weights: Any) -> Any:
        half = jax.tree.map(lambda each: each.astype(jnp.bfloat16), weights)
        hidden = half["embedding"][x]
        for i, layer in enumerate(half["layers"]):
            with jax.named_scope(f"layer_{i}"):
                wide = hidden.astype(jnp.float32)
                normed = ((wide - wide.mean(-1, keepdims=True)) / jnp.sqrt(wide.var(-1, keepdims=True) + 1e-5)).astype(jnp.bfloat16)
                hidden = hidden + jax.nn.gelu(normed @ layer["up"]) @ layer["down"]
        logits = (hidden @ half["embedding"].T).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean() * 1024

    value, gradients = jax.value_and_grad(loss)(weights)
    gradients = jax.tree.map(lambda each: each / 1024, gradients)
    finite = jnp.array([jnp.isfinite(each).all() for each in jax.tree.leaves(gradients)]).all()
    return value / 1024, jax.tree.map(lambda weight, each: jnp.where(finite, weight - 0.1 * each, weight), weights, gradients)


def residual(weights: Any, running: Any, x: Any, labels: Any) -> Any:
    def convolve(x: Any, kernel: Any, stride: int = 1) -> Any:
        return jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    statistics = []

    def normalized(x: Any, block: Any) -> Any:
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        statistics.append((mean, variance))
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * block["scale"] + block["bias"]

    x = convolve(x, weights["stem"])
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for i, block in enumerate(weights["blocks"]):
        with jax.named_scope(f"block_{i}"):
            inner = jax.nn.relu(normalized(convolve(x, block["first"], 1 + i), block))
            inner = normalized(convolve(inner, block["second"]), block)
            x = jax.nn.relu(inner + (convolve(x, block["short"], 1 + i) if "short" in block else x))
    logits = x.mean((1, 2)) @ weights["head"]
    moved = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, running, statistics)
    return -jnp.sum(jax.nn.one_hot(labels, logits.shape[-1]) * jax.nn.log_softmax(logits)) / labels.size, moved


def programs() -> Iterator[tuple[str, Any]]:
    """Names and lowered functions. The weights do not matter, because nothing is run."""
    params = parameters(2)
    state = {"step": jnp.zeros(()), "first": params, "second": params}
    yield "transformer2", jax.jit(train_step).lower(params, state, jnp.zeros((BATCH, SEQUENCE + 1), jnp.int32))

    weights = {"kernels": [jnp.ones((3, 3, 8, 16)), jnp.ones((3, 3, 16, 32))], "recurrent": jnp.ones((32, 32))}
    yield "convolutions", jax.jit(jax.grad(network)).lower(weights, jnp.ones((4, 32, 32, 8)))
    weights = {"input": jnp.ones((8, 64)), "hidden": jnp.ones((16, 64)), "bias": jnp.ones(64)}
    yield "recurrent", jax.jit(jax.value_and_grad(recurrent)).lower(weights, jnp.ones((7, 4, 8)))
    shapes = {"scale": 32, "bias": 32, "tokens_in": (16, 24), "tokens_out": (24, 16), "channels_in": (32, 64), "channels_out": (64, 32)}
    layers = [{name: jnp.ones(shape) for name, shape in shapes.items()} for _ in range(3)]
    yield "mixer", jax.jit(jax.value_and_grad(mixer)).lower(layers, jnp.ones((4, 16, 32)))

    weights = {name: jnp.ones(shape) for name, shape in {"edge": (32, 16), "node": (16, 16), "score": (16, 1)}.items()}
    edges = jnp.zeros(60, int)
    yield "graphnet", jax.jit(graph_network).lower(weights, jnp.ones((24, 16)), edges, edges)
    matrices = {"query": (32, 32), "key": (32, 32), "value": (32, 32), "out": (32, 32), "up": (32, 64), "down": (64, 32)}
    weights = {"embedding": jnp.ones((50, 32)), **{name: jnp.ones((2, *shape)) for name, shape in matrices.items()}}
    yield "decode", jax.jit(decode).lower(weights, jnp.zeros((2, 16), int), 8)
    kernels = {"first": (3, 3, 4, 16), "narrow": (3, 3, 16, 16), "middle": (3, 3, 16, 16), "last": (3, 3, 32, 4)}
    others = {"frequencies": (4,), "time": (8, 16), "scale": (16,)}
    weights = {name: jnp.ones(shape) for name, shape in {**kernels, **others}.items()}
    yield "unet", jax.jit(jax.value_and_grad(unet)).lower(weights, jnp.ones((2, 8, 8, 4)), jnp.ones(2))
    weights = {name + suffix: jnp.ones((size, 16)) for name in ("update", "reset", "new") for suffix, size in (("_in", 8), ("", 16))}
    weights["out"] = jnp.ones((16, 5))
    yield "gru", jax.jit(clipped_step).lower(weights, weights, jnp.ones((6, 3, 8)), jnp.zeros((6, 3), int))

    sizes = {"router": (16, 4), "gate": (4, 16, 32), "up": (4, 16, 32), "down": (4, 32, 16)}
    weights = {name: jnp.ones(size) for name, size in sizes.items()}
    yield "experts", jax.jit(jax.value_and_grad(experts)).lower(weights, jnp.ones((2, 6, 16)))
    rows = {"scale": (32,), "qkv": (32, 96), "out": (32, 32), "up": (32, 64), "down": (64, 32)}
    weights = {name: jnp.ones((4, *shape), jnp.bfloat16) for name, shape in rows.items()}
    yield "scanned_attention", jax.jit(jax.value_and_grad(scanned_attention)).lower(weights, jnp.ones((2, 8, 32), jnp.bfloat16))
    layers = [{"up": jnp.ones((32, 64)), "down": jnp.ones((64, 32))} for _ in range(3)]
    tokens = jnp.zeros((4, 8), int)
    yield "half_precision", jax.jit(half_precision_step).lower({"embedding": jnp.ones((40, 32)), "layers": layers}, tokens, tokens)
    shapes = {"first": (3, 3, 16, 16), "second": (3, 3, 16, 16), "scale": (16,), "bias": (16,)}
    blocks = [{name: jnp.ones(shape) for name, shape in shapes.items()} for _ in range(2)]
    blocks[1]["short"] = jnp.ones((1, 1, 16, 16))
    weights = {"stem": jnp.ones((3, 3, 3, 16)), "blocks": blocks, "head": jnp.ones((16, 10))}
    running = [(jnp.zeros(16), jnp.ones(16))] * 4
    step = jax.jit(jax.value_and_grad(residual, has_aux=True))
    yield "residual", step.lower(weights, running, jnp.ones((2, 16, 16, 3)), jnp.zeros(2, int))
