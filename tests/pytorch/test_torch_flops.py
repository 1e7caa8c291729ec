"""FLOPs of training graphs: the products of forward and backward together equal those that torch's counter finds in a run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode, flop_registry

import opscope
from opscope.analysis.causal import causal_position
from opscope.analysis.cost import CostModel
from opscope.analysis.mult_adds import is_product, mult_adds
from opscope.readers.torch.flops import flop_counter


class Attention(nn.Module):
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.embed, self.mix, self.causal = nn.Embedding(11, 16), nn.Linear(16, 48), causal

    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = (each.unflatten(-1, (2, 8)).transpose(1, 2) for each in self.mix(self.embed(tokens)).chunk(3, -1))
        return functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)


class Products(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.rand(3, 5, 7)), nn.Parameter(torch.rand(3, 4, 7))

    def forward(self, x: Tensor) -> Tensor:
        return torch.bmm(torch.baddbmm(self.bias, x, self.weight), self.weight.mT)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "dense": (lambda: nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3)), (2, 16, 8, 8)),
    "strided": (lambda: nn.Sequential(nn.Conv2d(3, 8, 4, stride=4), nn.Conv2d(8, 6, 3, stride=2, dilation=2)), (2, 3, 32, 32)),
    "transposed": (lambda: nn.Sequential(nn.ConvTranspose2d(4, 6, 3, stride=2), nn.ConvTranspose2d(6, 2, 2)), (2, 4, 5, 5)),
    "sequence": (lambda: nn.Sequential(nn.Conv1d(4, 6, 3, stride=2), nn.ConvTranspose1d(6, 4, 3)), (2, 4, 9)),
    "volume": (lambda: nn.Sequential(nn.Conv3d(2, 4, 3), nn.Conv3d(4, 2, (1, 2, 3))), (1, 2, 6, 6, 6)),
    "linear": (lambda: nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 4, bias=False)), (4, 16)),
    "products": (Products, (3, 4, 5)),
}


def _products(program: opscope.Program) -> int:
    """FLOPs of everything that multiplies matrices, without the additions that torch's counter leaves out."""
    costs, graph, total = CostModel(program), program.main, 0
    for node in graph.nodes:
        if node.role == "op" and is_product(node.op):
            assert not costs.node(graph, node).unknown, node.op
            shapes = [graph[name].outputs[index].shape for name, index in node.inputs]
            total += 2 * (mult_adds(node.op, shapes, [each.shape for each in node.outputs], node.attrs) or 0)
    return total


def _counted(model: nn.Module, x: Tensor, counter: Any) -> int:
    with counter:
        model(x).sum().backward()
    return int(counter.get_total_flops())


@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_costs_what_torch_counts(name: str) -> None:
    make, shape = MODELS[name]
    model, x = make(), torch.rand(shape)
    assert _products(opscope.capture(model, x, stage="joint")) == _counted(model, x, FlopCounterMode(display=False))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_goes_back_through_five_products(causal: bool) -> None:
    """Before 2.15, torch's counter does not cover the kernel of a CPU, for which opscope has a formula, or its backward kernel."""
    model, tokens = Attention(causal), torch.randint(11, (2, 6))
    forward = flop_counter()
    joint = _products(opscope.capture(model, tokens, stage="joint"))
    around, scores = 2 * 3 * 12 * 16 * 48, 2 * 2 * 2 * 6 * 6 * 8
    counts_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward in flop_registry
    assert _counted(model, tokens, forward) == around + (7 if counts_backward else 2) * scores
    assert joint == around + 7 * scores


@pytest.mark.parametrize("kind", ["flash", "efficient", "cudnn"])
def test_gradients_of_attention_kernels_cost_what_torch_says(kind: str) -> None:
    """Keys and values may have fewer heads, and values another width: torch's formula gets the same shapes."""
    from torch.utils.flop_counter import sdpa_backward_flop_count

    query, key, value, gradient = (2, 4, 6, 8), (2, 2, 10, 8), (2, 2, 10, 5), (2, 4, 6, 5)
    count = mult_adds(f"aten._scaled_dot_product_{kind}_attention_backward.default", [gradient, query, key, value], [query], {})
    try:
        expected = sdpa_backward_flop_count(gradient, query, key, value)
    except AssertionError:
        pytest.skip("the formula of this torch takes no keys with fewer heads")
    assert count is not None and 2 * count == expected


@pytest.mark.parametrize(("rows", "keys"), [(6, 6), (3, 7), (7, 3)])
def test_causal_attention_costs_what_its_mask_leaves(rows: int, keys: int) -> None:
    """torch's counter counts the scores that the mask throws away too; the products of a lower bound are those that it keeps."""

    def attention(causal: bool) -> int:
        class Model(nn.Module):
            def forward(self, query: Tensor, key: Tensor) -> Tensor:
                return functional.scaled_dot_product_attention(query, key, key, is_causal=causal)

        return CostModel(opscope.capture(Model(), torch.rand(2, 4, rows, 8), torch.rand(2, 4, keys, 8))).total.flops

    kept = int(torch.ones(rows, keys).tril().sum())
    assert (attention(False), attention(True)) == (2 * 2 * 4 * 16 * rows * keys, 2 * 2 * 4 * 16 * kept)


def test_every_attention_of_torch_says_where_it_is_causal() -> None:
    named = re.compile(r"aten::_?scaled_dot_product_(?!.*_mps).*attention.*")
    schemas = [schema for schema in torch._C._jit_get_all_schemas() if named.fullmatch(schema.name) and not schema.overload_name]
    assert len(schemas) >= 10
    for schema in schemas:
        names = [argument.name for argument in schema.arguments]
        assert causal_position(f"{schema.name.replace('::', '.')}.default") == names.index("is_causal"), schema.name


@pytest.mark.parametrize("transposed", [False, True])
def test_a_grouped_convolution_costs_in_each_gradient_what_it_costs_forward(transposed: bool) -> None:
    """torch's counter treats the gradient of the weight as one group; here each group is counted once."""

    def depthwise() -> nn.Module:
        kind = nn.ConvTranspose2d if transposed else nn.Conv2d
        return kind(32, 32, 7, padding=3, groups=32, bias=False)

    x = torch.rand(2, 32, 8, 8)
    once = CostModel(opscope.capture(depthwise(), x)).total
    twice = CostModel(opscope.capture(nn.Sequential(depthwise(), depthwise()), x, stage="joint")).total
    assert once.flops == 2 * 2 * 32 * 64 * 49
    assert (twice.flops, twice.unknown) == (5 * once.flops, 0)


def test_a_gradient_without_a_rule_is_unknown_and_not_taken_for_its_forward() -> None:
    shapes: list[tuple[int | str, ...]] = [(2, 3), (2, 3), (3, 3)]
    assert mult_adds("aten.linear_backward.default", shapes, [(2, 3)], {}) is None
    assert mult_adds("aten.convolution_backward.default", [(1, 2, 3)] * 3, [(1, 2, 3)], {}) is None
