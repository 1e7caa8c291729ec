"""Operation facts: one row for one kind of work, whatever the compiler calls it; packages outside add rows; the drawing core asks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from opscope import program
from opscope.analysis import groupings
from opscope.ops import CATEGORIES, CONTROL, FORWARDS, TITLED_BY, Dialect, Facts, category_of, facts_of, name_of, plain_name
from opscope.ops.rows import COMMON
from opscope.ops.rows.dialects import DIALECTS
from opscope.ops.table import OpTable
from opscope.program import DTYPE_KINDS, ROLES

CORE = Path(__file__).parent.parent / "web" / "src" / "core" / "program"


@pytest.mark.parametrize(("name", "ours"), [("CATEGORIES", CATEGORIES), ("ROLES", ROLES)])
def test_the_drawing_core_has_the_same_list_in_the_same_order(name: str, ours: tuple[str, ...]) -> None:
    listed = re.search(rf"{name} = \[(.*?)\]", (CORE / "types.ts").read_text("utf-8"), re.S)
    assert listed and tuple(re.findall(r'"(\w+)"', listed[1])) == ours


@pytest.mark.parametrize(
    ("file", "name", "ours"),
    [
        ("types.ts", "DtypeKind", DTYPE_KINDS),
        ("roles.ts", "Role", ROLES),
        ("ops.ts", "Forwards", FORWARDS),
        ("ops.ts", "Control", CONTROL),
        ("ops.ts", "TitledBy", TITLED_BY),
    ],
)
def test_the_drawing_core_has_the_same_numbers(file: str, name: str, ours: tuple[str, ...]) -> None:
    listed = re.search(rf"enum {name} \{{(.*?)\n\}}", (CORE / file).read_text("utf-8"), re.S)
    assert listed
    members = {int(number): member.lower() for member, number in re.findall(r"(\w+) = (\d+),", listed[1])}
    assert members == dict(enumerate(each or "nothing" for each in ours))


def test_the_drawing_core_goes_by_the_same_names() -> None:
    names = dict(re.findall(r'export const (\w+) = "(.*?)";', (CORE / "names.ts").read_text("utf-8")))
    assert names and names == {name: getattr(program if hasattr(program, name) else groupings, name) for name in names}


def test_no_operation_has_two_rows() -> None:
    names = Counter(name.replace("_", "") for names, _ in COMMON for name in names.split())
    assert not [name for name, count in names.items() if count > 1]
    prefixes = Counter(prefix for dialect in DIALECTS for prefix in dialect.prefixes.split())
    assert not [prefix for prefix, count in prefixes.items() if count > 1]


@pytest.mark.parametrize(
    ("category", "ops"),
    [
        ("elementwise", "add tanh aten.add_.Tensor aten::mul AddBackward0 stablehlo.exponential GELU PReLU select_n max cosine"),
        ("matmul", "dot dot_general Gemm MatMul aten.mm.default MmBackward0 convolution Conv conv2d torch.nn.functional.linear"),
        ("matmul", "gemm_rcr_bias_fast_gelu AddmmBackward0 ScaledDotProductEfficientAttentionBackward0"),
        ("elementwise", "DivideScalar RSubScalar WhereTensorScalar FusedExp FusedAddScalar"),
        ("shape", "Rearrange FusedRearrange"),
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
    assert CATEGORIES[category_of("add", "output")] == "output"
    assert {CATEGORIES[category_of("x", role)] for role in ("parameter", "input", "buffer")} == {"parameter"}


@pytest.mark.parametrize(
    ("op", "plain", "title"),
    [
        ("get-tuple-element", "get_tuple_element", "get-tuple-element"),
        ("aten.add_.Tensor", "add", "add_"),
        ("aten::add", "add", "add"),
        ("AddBackward0", "add", "AddBackward0"),
        ("stablehlo.add", "add", "add"),
        ("torch.nn.functional.linear", "linear", "linear"),
        ("torch._C._nn.gelu", "gelu", "gelu"),
        ("torch.ops.higher_order.cond", "cond", "cond"),
        ("Tensor.view", "view", "view"),
        ("scf.for", "for", "scf.for"),
        ("com.microsoft.FastGelu", "fast_gelu", "com.microsoft.FastGelu"),
        ("transformers.grouped_mm.default", "grouped_mm", "grouped_mm"),
        ("elsewhere.grouped_mm.default", "elsewhere", "elsewhere.grouped_mm.default"),
        ("add.Tensor", "add", "add.Tensor"),
        ("GELU", "gelu", "GELU"),
        ("ReduceSum", "reduce_sum", "ReduceSum"),
    ],
)
def test_a_name_has_one_plain_form_and_the_title_that_it_was_written_with(op: str, plain: str, title: str) -> None:
    assert (plain_name(op), name_of(op).title) == (plain, title)


@pytest.mark.parametrize(
    ("ops", "facts"),
    [
        ("get-tuple-element stablehlo.get_tuple_element aten._assert_scalar.default", {"forwards": "value"}),
        ("getitem _operator.getitem", {"forwards": "element"}),
        ("aten.t.default aten.detach.default aten._unsafe_view.default aten.select.int", {"view": True}),
        ("transpose stablehlo.transpose aten.clone.default aten.reshape.default select", {"view": False}),
        ("bitcast-convert stablehlo.bitcast_convert", {"forwards": "", "spreads": False}),
        ("Identity aten.identity.default", {"forwards": "value", "spreads": True, "quantization": "auxiliary"}),
        ("tuple stablehlo.tuple", {"forwards": "tuple", "unnumbered": True, "free": True}),
        ("bitcast", {"category": "shape", "forwards": "value", "spreads": True, "free": True}),
        ("broadcast stablehlo.broadcast_in_dim convert aten._to_copy.default aten.expand.default", {"forwards": "", "spreads": True}),
        ("transpose aten.view.default Squeeze", {"category": "shape", "spreads": False}),
        ("add Add aten.add_.Tensor arith.addf", {"sign": "+", "unnumbered": True}),
        ("aten.max.other maximum", {"sign": "max", "unnumbered": True}),
        ("aten.max.dim subtract AddBackward0", {"unnumbered": False}),
        ("AddBackward0 aten.max.dim", {"sign": ""}),
        ("while stablehlo.while torch.ops.higher_order.while_loop scf.while", {"control": "while"}),
        ("scan Scan", {"control": "scan"}),
        ("cond conditional stablehlo.case scf.if If", {"control": "cond"}),
        ("call func.call pjit checkpoint", {"control": "call", "titled_by": "called"}),
        ("fusion", {"control": "fusion", "titled_by": "id"}),
        ("custom-call stablehlo.custom_call", {"control": "", "titled_by": "text"}),
        ("some-op-of-tomorrow", {"forwards": "", "control": "", "sign": "", "titled_by": "op", "spreads": False}),
    ],
)
def test_facts_hold_in_every_dialect(ops: str, facts: dict[str, object]) -> None:
    assert {op: {fact: getattr(facts_of(op), fact) for fact in facts} for op in ops.split()} == dict.fromkeys(ops.split(), facts)


def test_a_package_outside_adds_a_dialect_and_changes_none() -> None:
    toy = Dialect("toy", (("while", Facts("control", control="while")), ("pack", Facts(forwards="tuple")), ("max", Facts("reduce"))))
    table = OpTable(COMMON, (*DIALECTS, toy, Dialect("aten", (("add", Facts("custom")),)), Dialect("", (("blend mul", Facts("matmul")),))))
    assert table.facts("toy.pack").forwards == "tuple" and table.facts("toy.while").control == "while"
    assert table.facts("toy.max").category == "reduce" and table.facts("max").category == "elementwise"
    assert table.facts("toy.add").sign == "+" and table.name("toy.add").title == "add"
    assert table.facts("aten.add.Tensor").category == "elementwise"
    assert (table.facts("blend").category, table.facts("mul").category) == ("matmul", "elementwise")


def test_a_slip_in_a_row_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="'loop' is not one of"):
        Facts("control", control="loop")  # type: ignore[arg-type]
