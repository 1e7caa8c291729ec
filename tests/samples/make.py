"""Writes the samples of readers that need a framework to create them: `python tests/samples/make.py`.

hlo/ has its own script; hidet/ and aitemplate/ are single files out of tests/corpus; model_explorer/ is written by hand.
"""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import jax
import jax.numpy as jnp
import onnx
import torch
from onnx import TensorProto, helper

import opscope

HERE = Path(__file__).resolve().parent


class Block(torch.nn.Module):
    """A linear layer with a residual, and a value that two operations use."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.linear = torch.nn.Linear(8, 8)
        self.register_buffer("scale", torch.ones(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(x)
        return x + torch.relu(self.linear(hidden)) * self.scale + hidden


def save_pt2(exported: torch.export.ExportedProgram, target: Path) -> None:
    """Save a program without the paths of this machine, which torch writes into stack traces."""
    buffer = io.BytesIO()
    torch.export.save(exported, buffer)
    prefixes = [str(HERE.parents[1]), *map(str, (Path(torch.__file__).resolve().parents[1], Path(sys.prefix)))]
    with zipfile.ZipFile(buffer) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in archive.namelist():
            content = archive.read(name)
            for prefix in prefixes:
                content = content.replace(f"{prefix}/".encode(), b"")
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def onnx_model() -> onnx.ModelProto:
    """A convolution, and a branch whose sides are graphs of their own."""
    side = {
        name: helper.make_graph(
            [helper.make_node(op, ["pooled"], [f"{name}_y"], name=f"{name}_{op.lower()}")],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, [1, 4, 1, 1])],
        )
        for name, op in (("positive", "Relu"), ("negative", "Neg"))
    }
    nodes = [
        helper.make_node("Conv", ["x", "weight"], ["features"], name="block/conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["features"], ["pooled"], name="block/pool"),
        helper.make_node("If", ["flag"], ["y"], name="choose", then_branch=side["positive"], else_branch=side["negative"]),
    ]
    weight = helper.make_tensor("weight", TensorProto.FLOAT, [4, 3, 3, 3], [0.5] * 108)
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8]),
        helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 1, 1])]
    return helper.make_model(helper.make_graph(nodes, "branch", inputs, outputs, [weight]), opset_imports=[helper.make_opsetid("", 17)])


def main() -> None:
    torch.manual_seed(0)
    save_pt2(torch.export.export(Block().eval(), (torch.ones(2, 8),)), HERE / "torch" / "block.pt2")
    onnx.save(onnx_model(), HERE / "onnx" / "branch.onnx")

    def step(w: jax.Array, x: jax.Array) -> jax.Array:
        with jax.named_scope("layer"):
            return jax.lax.fori_loop(0, 3, lambda _, h: jnp.tanh(h @ w), x).sum()

    lowered = jax.jit(jax.value_and_grad(lambda w, x: jnp.sin(x @ w).sum())).lower(jnp.ones((4, 4)), jnp.ones((2, 4)))
    (HERE / "mlir" / "gradient.mlir").write_text(lowered.as_text())
    (HERE / "mlir" / "loop.mlir").write_text(jax.jit(step).lower(jnp.ones((4, 4)), jnp.ones((2, 4))).as_text())
    opscope.save(opscope.load(HERE / "hlo" / "frames.hlo"), HERE / "native" / "frames.json")


if __name__ == "__main__":
    main()
