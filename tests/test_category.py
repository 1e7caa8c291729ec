"""Categories: one name for one kind of work, whatever the compiler calls it, and the same list in the drawing core."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opscope.analysis.category import _OPS, CATEGORIES, category_of

TYPES = Path(__file__).parent.parent / "web" / "src" / "core" / "program" / "types.ts"


def test_the_drawing_core_has_the_same_list_in_the_same_order() -> None:
    found = re.search(r"CATEGORIES = \[(.*?)\]", TYPES.read_text("utf-8"), re.S)
    assert found and tuple(re.findall(r'"(\w+)"', found[1])) == CATEGORIES


def test_no_operation_is_in_two_categories() -> None:
    ops = [op for ops in _OPS.values() for op in ops.split()]
    assert len(ops) == len(set(ops)) and set(_OPS) <= set(CATEGORIES)


@pytest.mark.parametrize(
    ("category", "ops"),
    [
        ("elementwise", "add tanh aten.add_.Tensor aten::mul AddBackward0 stablehlo.exponential GELU PReLU select_n max cosine"),
        ("matmul", "dot dot_general Gemm MatMul aten.mm.default MmBackward0 convolution Conv conv2d torch.nn.functional.linear"),
        ("matmul", "gemm_rcr_bias_fast_gelu AddmmBackward0 ScaledDotProductEfficientAttentionBackward0"),
        ("reduce", "reduce reduce_sum ReduceMean aten.sum.dim_IntList aten.max.dim aten._softmax.default LayerNormalization"),
        ("shape", "aten.select.int reshape broadcast_in_dim aten.view.default TBackward0 Transpose concatenate Squeeze get-dimension-size"),
        ("communication", "all-reduce all-gather-start collective-permute psum _c10d_functional.all_reduce.default"),
        ("control", "while conditional call scan cond pjit custom_jvp_call"),
        ("data", "gather scatter dynamic-update-slice copy-start aten.index.Tensor aten.embedding.default infeed TopK"),
        ("constant", "constant iota aten.full.default ConstantOfShape"),
        ("custom", "fusion custom-call pallas_call"),
        ("random", "rng-bit-generator threefry2x32 aten.native_dropout.default random_bits"),
        ("other", "tuple get-tuple-element some-op-of-tomorrow"),
    ],
)
def test_operations_by_the_names_of_many_compilers(category: str, ops: str) -> None:
    assert {op: CATEGORIES[category_of(op)] for op in ops.split()} == dict.fromkeys(ops.split(), category)


def test_the_role_decides_before_the_name() -> None:
    assert CATEGORIES[category_of("add", "output")] == "output" and CATEGORIES[category_of("x", "parameter")] == "parameter"
