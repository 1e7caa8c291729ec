"""A model quantized for XNNPACK and divided into partitions: tagged, and lowered. Needs executorch.

python examples/pytorch_quantized.py [DIRECTORY]
"""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

import torch
from torch import nn

import opscope
from opscope.compat.executorch import visualize_with_clusters

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner  # noqa: E402
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (  # noqa: E402
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower  # noqa: E402
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # noqa: E402


class Block(nn.Module):
    """Convolutions with a short cut around them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.second(torch.relu(self.first(x))))


class Net(nn.Module):
    """XNNPACK does not have the running sum, so it stays outside and divides the model in two."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.block = Block(8)
        self.head = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.block(torch.relu(self.stem(x)))
        return self.head(torch.cumsum(x, dim=1).mean((2, 3)))


def quantized(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> torch.export.ExportedProgram:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model, inputs, strict=True).module(), quantizer)
    prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), inputs, strict=True)


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    exported = quantized(Net().eval(), (torch.randn(1, 3, 32, 32),))
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False)).exported_program()
    tagged = XnnpackPartitioner().partition(edge).tagged_exported_program
    program = opscope.capture(tagged)
    opscope.save(program, directory / "partitions.html", group_by="partition", depth=2, style="clusters")
    opscope.save(program, directory / "partitions.svg", group_by="partition", depth=2, style="clusters")
    visualize_with_clusters(tagged, directory / "partitions.model-explorer.json")

    lowered = opscope.capture(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]))
    opscope.save(lowered, directory / "lowered.html", group_by="qdq cluster", depth=2, style="clusters")
    opscope.save(lowered, directory / "lowered.svg", group_by="qdq cluster", depth=2, style="clusters")
    clusters = set(program.main.groupings["qdq cluster"].values())
    print(f"{program.node_count} nodes in {len(clusters)} clusters; written to {directory}/{{partitions,lowered}}.{{html,svg}}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/pytorch_quantized"))
