"""Training steps with and without checkpoints for `memory_advice.py`, and what each needs on a GPU:

    python memory_advice_models.py DIRECTORY

writes the bytes that were measured (`measured.json`), XLA's dump of each JAX step without checkpoints (`NAME.tar.gz`), and what
torch.compile logged about the PyTorch steps (`NAME.log.gz`).
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from functools import partial
from pathlib import Path

JAX = ("blocks", "attention", "scan")
JAX_CHANGES = ("", "block", "block:dots_saveable", "attend", "mlp")
CPU = (*JAX, "gated", "gated scan", "masked", "narrow masked")
CPU_CHANGES = (*JAX_CHANGES[1:], "attend:dots_saveable", "mlp:dots_saveable")
MERGES_NOT = {"xla_disable_hlo_passes": "cse_barrier_expander"}
"""XLA for the CPU otherwise merges what is recomputed."""
TORCH = ("transformer", "mlp")
TORCH_CHANGES = ("", "layers.*", "layers.*.attention", "layers.*.mlp")


def _network():
    """The functions that are checkpointed, in a module of their own as users have them."""
    import jax
    import jax.numpy as jnp

    def attend(p, x):
        q, k, v = (part.reshape(*x.shape[:2], 8, -1).swapaxes(1, 2) for part in jnp.split(x @ p["qkv"], 3, -1))
        weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) / 8)
        return (weights @ v).swapaxes(1, 2).reshape(x.shape) @ p["out"]

    def mlp(p, x):
        return jax.nn.gelu(x @ p["up"]) @ p["down"]

    def block(p, x):
        x = x + network["attend"](p, x)
        return x + network["mlp"](p, x)

    network = {"attend": attend, "mlp": mlp, "block": block}
    return network


def _gated_network():
    """The same with norms, three products for queries, keys and values, and a gate."""
    import jax

    def norm(x, scale):
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale

    def attend(p, x):
        q, k, v = ((x @ p[name]).reshape(*x.shape[:2], 8, -1).swapaxes(1, 2) for name in "qkv")
        weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) / 8)
        return (weights @ v).swapaxes(1, 2).reshape(x.shape) @ p["out"]

    def mlp(p, x):
        return (jax.nn.silu(x @ p["gate"]) * (x @ p["up"])) @ p["down"]

    def block(p, x):
        x = x + network["attend"](p, norm(x, p["scale"]))
        return x + network["mlp"](p, norm(x, p["scale2"]))

    network = {"attend": attend, "mlp": mlp, "block": block}
    return network


def _masked_network():
    """With norms and a causal mask, as somebody wrote it who had only the README."""
    import jax
    import jax.numpy as jnp

    def norm(x, scale):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale

    def attend(p, x):
        q, k, v = (part.reshape(*x.shape[:2], 4, -1).swapaxes(1, 2) for part in jnp.split(x @ p["qkv"], 3, -1))
        scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
        weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9))
        return (weights @ v).swapaxes(1, 2).reshape(x.shape) @ p["out"]

    def mlp(p, x):
        return jax.nn.gelu(x @ p["up"]) @ p["down"]

    def block(p, x):
        x = x + network["attend"](p, norm(x, p["scale"]))
        return x + network["mlp"](p, norm(x, p["scale2"]))

    network = {"attend": attend, "mlp": mlp, "block": block}
    return network


def jax_step(name, change):
    """The step, and its arguments."""
    import jax
    import jax.numpy as jnp

    network = _gated_network() if name.startswith("gated") else _masked_network() if name.endswith("masked") else _network()
    function, _, policy = change.partition(":")
    if function:
        options = {"policy": getattr(jax.checkpoint_policies, policy)} if policy else {}
        network[function] = jax.checkpoint(network[function], **options)
    layers, width = 4, 512
    batch, length = (16, 512) if name == "attention" else (32, 256)
    if name.endswith("masked"):
        batch, length, width = 8, 128, 64 if name.startswith("narrow") else 128
    shapes: dict[str, tuple[int, ...]] = {
        "qkv": (width, 3 * width),
        "out": (width, width),
        "up": (width, 4 * width),
        "down": (4 * width, width),
    }
    if name.startswith("gated"):
        shapes |= dict.fromkeys("qkv", (width, width)) | dict.fromkeys(["scale", "scale2"], (width,)) | {"gate": (width, 4 * width)}
        del shapes["qkv"]
    if name.endswith("masked"):
        shapes |= dict.fromkeys(["scale", "scale2"], (width,))
    if name.endswith("scan"):
        params: object = {key: jnp.full((layers, *shape), 0.01) for key, shape in shapes.items()}

        def loss(params, x):
            x, _ = jax.lax.scan(lambda x, p: (network["block"](p, x), None), x, params)
            return jnp.mean(x**2)
    else:
        params = [{key: jnp.full(shape, 0.01) for key, shape in shapes.items()} for _ in range(layers)]

        def loss(params, x):
            for p in params:
                x = network["block"](p, x)
            return jnp.mean(x**2)

    def step(params, x):
        grads = jax.grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    return jax.jit(step, donate_argnums=0), (params, jnp.ones((batch, length, width)))


def measure_jax(name, change, dump):
    import jax

    step, arguments = jax_step(name, change)
    options = {"xla_dump_to": dump, "xla_dump_hlo_as_text": True} if dump else {}
    compiled = step.lower(*arguments).compile(compiler_options=options)
    jax.block_until_ready(compiled(*arguments))
    return {"reserved": reserved(compiled.memory_analysis()), "measured": jax.devices()[0].memory_stats()["peak_bytes_in_use"]}


def compiled_for_cpu(name, change, dump=None):
    """The bytes that XLA reserves for a step on the CPU. Nothing runs."""
    step, arguments = jax_step(name, change)
    options = {"xla_dump_to": dump, "xla_dump_hlo_as_text": True} if dump else MERGES_NOT
    return reserved(step.lower(*arguments).compile(compiler_options=options).memory_analysis())


def reserved(analysis):
    parts = {part: getattr(analysis, f"{part}_size_in_bytes") for part in ("argument", "output", "alias", "temp")}
    return parts["argument"] + parts["output"] - parts["alias"] + parts["temp"]


def torch_model(name):
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 8, -1).permute(2, 0, 3, 1, 4)
            return self.out(((q @ k.mT / 8).softmax(-1) @ v).transpose(1, 2).reshape(x.shape))

    class Mlp(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            return self.down(nn.functional.gelu(self.up(self.norm(x))))

    class Block(nn.Module):
        def __init__(self, width, attends):
            super().__init__()
            self.attention, self.mlp = Attention(width) if attends else None, Mlp(width)

        def forward(self, x):
            if self.attention is not None:
                x = x + self.attention(x)
            return x + self.mlp(x)

    class Model(nn.Module):
        def __init__(self, width, attends):
            super().__init__()
            self.layers = nn.ModuleList(Block(width, attends) for _ in range(4))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x.square().mean()

    attends = name == "transformer"
    return Model(512, attends), torch.ones(32, 256, 512)


def torch_changed(model, change):
    """As the advice of opscope does it."""
    from torch.utils.checkpoint import checkpoint

    for layer in model.layers if change else ():
        module = getattr(layer, change.split(".")[-1], layer)
        if module is not None:
            module.forward = partial(checkpoint, module.forward, use_reentrant=False)
    return model


def measure_torch(name, change, mode):
    """The most bytes of a step, forward and backward."""
    import torch

    model, x = torch_model(name)
    model, x = torch_changed(model.cuda(), change), x.cuda()
    step = torch.compile(model) if mode == "compiled" else model
    for _ in range(2):
        step(x).backward()
        model.zero_grad()
    torch.cuda.reset_peak_memory_stats()
    step(x).backward()
    return torch.cuda.max_memory_allocated()


def measure_all(directory):
    """Each step runs in a process of its own: a JAX process only knows its highest peak."""
    rows = []

    def run(*what, env=None):
        command = [sys.executable, __file__, str(directory), *what]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})
        rows.append({"what": what[:4], "result": json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None})
        print(what, rows[-1]["result"], "" if done.returncode == 0 else done.stderr[-600:], flush=True)
        (directory / "measured.json").write_text(json.dumps(rows, indent=1) + "\n")

    for name in JAX:
        for change in JAX_CHANGES:
            with tempfile.TemporaryDirectory() as dump:
                run("jax", name, change, "gpu", "" if change else dump, env={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
                if not change:
                    with tarfile.open(directory / f"{name}.tar.gz", "w:gz") as tar:
                        for file in Path(dump).glob("*jit_step*"):
                            if "after_optimizations" in file.name and "memory-usage" not in file.name:
                                tar.add(file, file.name)
    for name in TORCH:
        for mode in ("eager", "compiled"):
            for change in TORCH_CHANGES if mode == "eager" else ("", "layers.*"):
                with tempfile.TemporaryDirectory() as trace:
                    run(
                        "torch",
                        name,
                        change,
                        mode,
                        env={"TORCH_TRACE": trace, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "INDUCTOR_PROVENANCE": "1"},
                    )
                    if mode == "compiled" and not change:
                        text = "".join(path.read_text("utf-8") for path in sorted(Path(trace).glob("*.log")))
                        (directory / f"{name}.log.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        measure_all(Path(sys.argv[1]))
    elif sys.argv[2] == "jax":
        print(json.dumps(measure_jax(sys.argv[3], sys.argv[4], sys.argv[6])))
    else:
        print(json.dumps(measure_torch(sys.argv[3], sys.argv[4], sys.argv[5])))
