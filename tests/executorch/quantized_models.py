"""Small real programs of ExecuTorch, built once per test session: XNNPACK's quantized, tagged and lowered, and NXP's partitioned."""

from __future__ import annotations

import logging
import sys
from functools import lru_cache
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch", reason="ExecuTorch's programs need torch, which is not installed")
pytest.importorskip("executorch.exir", reason="these tests need the real ExecuTorch, which is not installed")

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.conv(x))


class Net(nn.Module):
    """Two quantized blocks, a float operation that XNNPACK does not support, and a quantized head."""

    def __init__(self) -> None:
        super().__init__()
        self.b1 = Block(3, 8)
        self.b2 = Block(8, 8)
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.b2(self.b1(x))
        x = torch.cumsum(x, dim=1)
        return self.head(x.mean((2, 3)))


class Blocks(nn.Module):
    """Two blocks, and between them an operation that Neutron does not support."""

    def __init__(self) -> None:
        super().__init__()
        self.b1 = Block(8, 8)
        self.b2 = Block(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b2(torch.cumsum(self.b1(x), dim=1))


class Stages(NamedTuple):
    quantized: Any
    """ExportedProgram with quantize and dequantize operations, ATen dialect."""
    tagged: Any
    """ExportedProgram in edge dialect, with `delegation_tag` on the nodes that XNNPACK runs."""
    lowered: Any
    """EdgeProgramManager after lowering."""


@lru_cache(maxsize=1)
def stages() -> Stages:
    logging.disable(logging.WARNING)
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower

    quantized = quantize(Net().eval(), (torch.ones(1, 3, 8, 8),))
    edge = to_edge(quantized, compile_config=EdgeCompileConfig(_check_ir_validity=False)).exported_program()
    tagged = XnnpackPartitioner().partition(edge).tagged_exported_program
    lowered = to_edge_transform_and_lower(quantized, partitioner=[XnnpackPartitioner()])
    logging.disable(logging.NOTSET)
    return Stages(quantized, tagged, lowered)


def quantize(model: Any, inputs: tuple[Any, ...], dynamic: bool = False) -> Any:
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    torch.manual_seed(0)
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    prepared = prepare_pt2e(torch.export.export(model, inputs, strict=True).module(), XNNPACKQuantizer().set_global(config))
    prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), inputs, strict=True)


@lru_cache(maxsize=1)
def neutron() -> Any:
    """What `aot_neutron_compile.py` visualizes: quantized, changed and partitioned by NXP's own code, with the clusters that it marks.

    That code is in ExecuTorch. NXP's converter, which needs a licence, would only generate the code of each partition, but it also
    describes the chip; here five numbers do.
    """
    chip = SimpleNamespace(name="imxrt700", subsystem=False, hwVersion=2, numUnits=1, numPipes=4, numMacs=16)
    sdk: Any = ModuleType("eiq_neutron_sdk")
    sdk.neutron_converter = SimpleNamespace(getNeutronTarget=lambda name: chip)
    sdk.neutron_library_utils = SimpleNamespace(isNeutronTarget=lambda name: name == chip.name)
    sys.modules.setdefault("eiq_neutron_sdk", sdk)
    from executorch.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
    from executorch.backends.nxp.edge_passes.neutron_edge_pass_manager import NeutronEdgePassManager
    from executorch.backends.nxp.neutron_partitioner import NeutronPartitioner
    from executorch.backends.nxp.nxp_backend import generate_neutron_compile_spec
    from executorch.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
    from executorch.exir import EdgeCompileConfig, to_edge
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    logging.disable(logging.WARNING)
    target, inputs = NeutronTargetSpec(chip.name), (torch.ones(1, 8, 8, 8),)
    prepared = prepare_pt2e(torch.export.export(Blocks().eval(), inputs, strict=True).module(), NeutronQuantizer(target))
    prepared(*inputs)
    quantized = torch.export.export(convert_pt2e(prepared), inputs, strict=True)
    edge = to_edge(quantized, compile_config=EdgeCompileConfig(_check_ir_validity=False)).transform(NeutronEdgePassManager())
    tagged = NeutronPartitioner(generate_neutron_compile_spec(chip.name), target).partition(edge.exported_program())
    logging.disable(logging.NOTSET)
    return tagged.tagged_exported_program
