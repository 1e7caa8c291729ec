"""Norms, pools, losses and grouped products have costs, so that "unknown" means something."""

from __future__ import annotations

from typing import Any

import pytest

from opscope.analysis.cost import CostModel
from opscope.analysis.flop_rules import multiply_adds
from opscope.program import UNKNOWN_TYPE, ProgramBuilder, TensorType


def cost(op: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], **attrs: Any) -> CostModel:
    program = ProgramBuilder("one", "main")
    main = program.graph("main")
    for number, shape in enumerate(shapes):
        main.node(f"x.{number}", "input", (), [TensorType("float32", shape)], role="input")
    main.node("op", op, [(f"x.{number}", 0) for number in range(len(shapes))], [TensorType("float32", out)], attrs=attrs)
    main.outputs = [("op", 0)]
    return CostModel(program.build())


@pytest.mark.parametrize(
    ("op", "shapes", "out", "attrs", "flops"),
    [
        ("aten.softmax.int", [(4, 8)], (4, 8), {"dim": -1}, 5 * 32),
        ("aten.layer_norm.default", [(4, 8), (8,), (8,)], (4, 8), {}, 8 * 32),
        ("aten.rms_norm.default", [(4, 8), (8,)], (4, 8), {}, 4 * 32),
        ("aten.batch_norm.default", [(2, 4, 3), (4,), (4,), (4,), (4,)], (2, 4, 3), {"training": False}, 4 * 24),
        ("aten._native_batch_norm_legit_no_training.default", [(2, 4, 3), *[(4,)] * 4], (2, 4, 3), {}, 4 * 24),
        ("aten._native_batch_norm_legit_functional.default", [(2, 4, 3), *[(4,)] * 4], (2, 4, 3), {"training": True}, 8 * 24),
        ("aten.max_pool2d.default", [(1, 2, 8, 8)], (1, 2, 4, 4), {"kernel_size": [2, 2]}, 32 * 4),
        ("MaxPool", [(1, 2, 8, 8)], (1, 2, 4, 4), {"kernel_shape": [3, 3]}, 32 * 9),
        ("aten.adaptive_avg_pool2d.default", [(1, 2, 8, 8)], (1, 2, 1, 1), {}, 128),
        ("aten.dropout.default", [(4, 8)], (4, 8), {"p": 0.5, "train": False}, 0),
        ("aten.dropout.default", [(4, 8)], (4, 8), {"p": 0.5, "train": True}, 64),
        ("aten.clone.default", [(4, 8)], (4, 8), {}, 0),
        ("aten.alias.default", [(4, 8)], (4, 8), {}, 0),
        ("aten._grouped_mm.default", [(6, 5), (3, 5, 9), (3,)], (6, 9), {}, 2 * 6 * 5 * 9),
        ("transformers.grouped_mm_fallback.default", [(6, 5), (3, 5, 9), (3,)], (6, 9), {}, 2 * 6 * 5 * 9),
        ("aten._grouped_mm.default", [(5, 6), (6, 9), (3,)], (3, 5, 9), {}, 2 * 6 * 5 * 9),
        ("aten.einsum.default", [(1, 2, 3)], (3, 1, 2), {"equation": "abc->cab"}, 0),
        ("aten.einsum.default", [(2, 3), (3, 4)], (2, 4), {"equation": "ab, bc -> ac"}, 2 * 2 * 3 * 4),
        ("aten.cdist.default", [(4, 8), (5, 8)], (4, 5), {"p": 2.0}, 3 * 8 * 20),
        ("aten._cdist_forward.default", [(4, 8), (5, 8)], (4, 5), {"p": 2.0}, 3 * 8 * 20),
        ("aten.aminmax.default", [(4, 8)], (), {}, 2 * 32),
        ("aten.polar.default", [(4, 8), (4, 8)], (4, 8), {}, 4 * 32),
        ("aten._weight_norm.default", [(4, 8), (4, 1)], (4, 8), {}, 4 * 32),
        ("aten.im2col.default", [(1, 2, 8, 8)], (1, 8, 16), {}, 0),
        ("aten.col2im.default", [(1, 8, 16)], (1, 2, 8, 8), {}, 128),
        ("aten._local_scalar_dense.default", [()], (), {}, 0),
        ("aten.item.default", [()], (), {}, 0),
        ("aten._assert_scalar.default", [()], (), {}, 0),
        ("aten.numpy_T.default", [(4, 8)], (8, 4), {}, 0),
        ("aten.reflection_pad1d.default", [(4, 8)], (4, 10), {}, 0),
        ("aten._weight_norm_interface.default", [(4, 8), (4, 1)], (4, 8), {}, 4 * 32),
        ("torch._functorch.predispatch._add_batch_dim", [(4, 8)], (4, 8), {}, 0),
        ("aten.mkldnn_rnn_layer.default", [(5, 2, 8), (16, 8), (16, 4)], (5, 2, 4), {}, 2 * 10 * 16 * 12),
        ("aten.mkldnn_rnn_layer_backward.default", [(5, 2, 8), (16, 8), (16, 4)], (5, 2, 8), {}, 4 * 10 * 16 * 12),
        ("aten.fft_fft.default", [(4, 8)], (4, 8), {}, 8 * 32 * 3),
        ("aten.fft_fft2.default", [(4, 8)], (4, 8), {}, 8 * 32 * (2 + 3)),
        ("aten.fft_fftn.default", [(2, 4, 8)], (2, 4, 8), {"dim": [-1]}, 8 * 64 * 3),
        ("aten.fft_fftn.default", [(2, 4, 8)], (2, 4, 8), {}, 8 * 64 * (1 + 2 + 3)),
        ("aten.fft_irfft.default", [(4, 5)], (4, 8), {"dim": -1}, 8 * 20 * 3),
        ("aten._fft_r2c.default", [(4, 8)], (4, 5), {"dim": [1], "onesided": True}, 8 * 32 * 3),
        ("aten.meshgrid.indexing", [(4,), (8,)], (4, 8), {"indexing": "ij"}, 0),
        ("aten.new_empty_strided.default", [(4, 8)], (4, 8), {}, 0),
        ("aten.replication_pad2d.default", [(1, 4, 8)], (1, 6, 10), {}, 0),
        ("aten.logaddexp.default", [(4, 8), (4, 8)], (4, 8), {}, 32),
        ("aten.nan_to_num.default", [(4, 8)], (4, 8), {}, 32),
        ("aten.nansum.default", [(4, 8)], (), {}, 32),
        ("aten.trace.default", [(4, 8)], (), {}, 32),
        ("ragged_dot_general", [(6, 5), (3, 5, 9), (3,)], (6, 9), {}, 2 * 6 * 5 * 9),
    ],
)
def test_flops(op: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], attrs: dict[str, Any], flops: int) -> None:
    model = cost(op, shapes, out, **attrs)
    assert (model.total.flops, model.unknown_flops_ops) == (flops, {})


def test_a_pool_without_its_window_is_unknown() -> None:
    assert cost("aten.max_pool2d.default", [(1, 2, 8, 8)], (1, 2, 4, 4)).unknown_flops_ops == {"aten.max_pool2d.default": 1}


def test_a_product_whose_result_has_no_known_size_is_unknown() -> None:
    """An ONNX model without shapes: the result of a convolution is not one element."""
    program = ProgramBuilder("one", "main")
    main = program.graph("main")
    main.node("image", "input", (), [TensorType("float32", (1, 3, 8, 8))], role="input")
    main.node("weight", "input", (), [TensorType("float32", (4, 3, 3, 3))], role="input")
    main.node("conv", "Conv", [("image", 0), ("weight", 0)], [UNKNOWN_TYPE])
    graph = program.build().main
    assert multiply_adds(graph, graph["conv"]) is None
