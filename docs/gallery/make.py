"""Makes the pictures of this directory: `python docs/gallery/make.py [NAME…]`.

Needs jax, flax, torch and transformers, and for three pictures the sample data next to the repository; a picture that cannot be
made stays as it is. Each picture is an SVG (open it: text can be selected, everything has a tooltip) and a small PNG for the page.
"""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import opscope
from opscope.render.draw.picture import draw
from opscope.render.writers.png import rasterize
from opscope.view_options import ViewOptions

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SAMPLES = ROOT.parent / "shared" / "data"
THUMBNAIL = 760


class Picture(NamedTuple):
    name: str
    what: str
    command: str
    """How a person makes it."""
    program: Callable[[], opscope.Program]
    options: dict[str, Any]


def softmax_step() -> opscope.Program:
    import jax
    import jax.numpy as jnp

    def loss(weights: jax.Array, x: jax.Array, labels: jax.Array) -> jax.Array:
        with jax.named_scope("logits"):
            logits = x @ weights
        with jax.named_scope("softmax"):
            probabilities = jax.nn.softmax(logits)
        with jax.named_scope("loss"):
            return -jnp.mean(jnp.sum(labels * jnp.log(probabilities), axis=-1))

    def step(weights: jax.Array, x: jax.Array, labels: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(weights, x, labels)
        with jax.named_scope("update"):
            return weights - 0.1 * gradient, value

    return opscope.capture(jax.jit(step).lower(jnp.ones((784, 10)), jnp.ones((32, 784)), jnp.ones((32, 10))))


def transformer_layer() -> opscope.Program:
    import jax
    import jax.numpy as jnp

    sys.path.insert(0, str(ROOT / "examples"))
    from make_train_step import Block

    block, x = Block(), jnp.ones((8, 256, 512))
    parameters = jax.eval_shape(block.init, jax.random.key(0), x)
    return opscope.capture(jax.jit(block.apply).lower(parameters, x))


def scan() -> opscope.Program:
    import jax
    import jax.numpy as jnp

    def cell(state: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = jnp.tanh(state @ jnp.ones((64, 64)) + x)
        return state, state.mean()

    def run(xs: jax.Array) -> tuple[jax.Array, jax.Array]:
        state, means = jax.lax.scan(cell, jnp.zeros((8, 64)), xs)
        return jax.lax.cond(means[-1] > 0, jnp.sin, jnp.cos, state), means

    return opscope.capture(jax.jit(run).lower(jnp.ones((100, 8, 64))))


def gradient_penalty() -> opscope.Program:
    import torch

    torch.manual_seed(0)
    critic = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    x = torch.randn(4, 16, requires_grad=True)
    score = critic(x)
    (gradient,) = torch.autograd.grad(score.sum(), x, create_graph=True)
    return opscope.capture(((gradient.norm(dim=1) - 1) ** 2).mean() - score.mean())


def gpt2() -> opscope.Program:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_layer": 12, "n_embd": 64, "n_head": 4, "vocab_size": 500, "n_positions": 64}
    config = GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, use_cache=False)
    return opscope.capture(GPT2LMHeadModel(config).eval(), torch.zeros(1, 16, dtype=torch.long))


def train_step() -> opscope.Program:
    return opscope.load("demo:train_step")


def sample(archive: str, member: str) -> Callable[[], opscope.Program]:
    def load() -> opscope.Program:
        with tempfile.TemporaryDirectory() as directory, tarfile.open(SAMPLES / archive) as packed:
            name = next(name for name in packed.getnames() if member in name)
            packed.extract(name, directory, filter="data")
            return opscope.load(Path(directory, name))

    return load


XLA = "xla_gpu_scan_passes.tar.gz"
PICTURES = (
    Picture(
        "softmax-step", "A training step of softmax regression, as JAX lowers it: forward beside backward, then the update.",
        "opscope export step.hlo -o softmax-step.svg --depth 2 --forward-backward", softmax_step, {"depth": 2, "forward_backward": True},
    ),
    Picture(
        "transformer-layer", "One transformer layer (Flax), every group open.",
        "opscope export layer.hlo -o transformer-layer.svg --depth 9", transformer_layer, {"depth": 9, "wrap": True},
    ),
    Picture(
        "resnet50", "ResNet-50 (Keras on JAX): 1,755 operations, grouped by layer and wrapped into columns automatically.",
        "opscope export resnet50.hlo -o resnet50.svg", sample("hlo_sample.tar.gz", "004_resnet50"), {},
    ),
    Picture(
        "xla-before-passes", "A loss with a convolution, a recurrent loop, a conditional and their gradients, before XLA's passes.",
        "opscope export before_passes.txt -o xla-before-passes.svg --wrap", sample(XLA, ".0000."), {"wrap": True},
    ),
    Picture(
        "xla-gpu-fusions",
        "The same program after XLA's last pass on a GPU, in the dark theme. Fusions have the colour of what they compute.",
        "opscope export after_passes.txt -o xla-gpu-fusions.svg --theme dark --wrap", sample(XLA, ".0105."),
        {"theme": "dark", "wrap": True},
    ),
    Picture(
        "scan", "A loop and a conditional, opened in place: condition and body of the while, both branches of the conditional.",
        "opscope export scan.hlo -o scan.svg --depth 9", scan, {"depth": 9},
    ),
    Picture(
        "neighbourhood", "Everything within two hops of one exponential in a training step, in its groups.",
        "opscope export train_step.hlo -o neighbourhood.svg --around exp.6 --hops 2", train_step, {"around": ("exp.6",), "hops": 2},
    ),
    Picture(
        "paths", "Every path from the query to the output of one attention layer, drawn from left to right and wrapped into rows.",
        "opscope export train_step.hlo -o paths.svg --paths dot_general.83 dot_general.88 --rankdir LR", train_step,
        {"paths": ("dot_general.83", "dot_general.88"), "rankdir": "LR"},
    ),
    Picture(
        "gpt2", "GPT-2 from torch.export: twelve equal blocks fold into one stack, opened here.",
        'opscope.save(opscope.capture(model, ids), "gpt2.svg", depth=2)', gpt2, {"depth": 2},
    ),
    Picture(
        "gradient-penalty", "The autograd graph of a loss with a gradient penalty (what torchviz draws).",
        'opscope.save(loss, "gradient-penalty.svg")', gradient_penalty, {},
    ),
)  # fmt: skip


def main(wanted: list[str]) -> None:
    for picture in PICTURES:
        if wanted and picture.name not in wanted:
            continue
        try:
            program = picture.program()
        except (FileNotFoundError, ImportError) as error:
            print(f"{picture.name}: left as it is ({error})")
            continue
        options = ViewOptions(**picture.options)
        opscope.save(program, HERE / f"{picture.name}.svg", **picture.options)
        drawn = draw(program, options, "svg")
        (HERE / f"{picture.name}.png").write_bytes(rasterize(drawn, min(1.0, THUMBNAIL / max(drawn.width, drawn.height))))
        print(f"{picture.name}: {drawn.boxes} boxes, {drawn.edges} edges, {drawn.width} × {drawn.height}")
    write_page()


def write_page() -> None:
    about = "`make gallery` makes these pictures. Click one for the SVG: its text can be selected, and everything has a tooltip."
    parts = ["# Gallery", "", about, ""]
    for picture in PICTURES:
        parts += [f"## {picture.name}", "", picture.what, "", f"    {picture.command}", ""]
        parts += [f"[![{picture.name}]({picture.name}.png)]({picture.name}.svg)", ""]
    (HERE / "README.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
