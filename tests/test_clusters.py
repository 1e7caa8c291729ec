"""Quantized clusters are recognized by their shape: in any dialect, closed on both sides, without float arithmetic."""

from __future__ import annotations

import pytest

from opscope.analysis.clusters import find_clusters, kind_of, with_clusters
from opscope.program import ROLES, Graph, Program, ProgramBuilder, TensorType


def graph_of(*lines: str) -> Graph:
    """`name = op(operand, …)` per line; ops `input`, `parameter` and `constant` are inputs of the graph."""
    return program_of(*lines).main


def program_of(*lines: str) -> Program:
    builder = ProgramBuilder("test", "main")
    graph = builder.graph("main")
    for line in lines:
        name, _, call = line.partition(" = ")
        op, _, rest = call.partition("(")
        operands = [(each.strip(), 0) for each in rest.rstrip(")").split(",") if each.strip()]
        role = op if op in ROLES else "op"
        graph.node(name, op, operands, [TensorType("float32", (2,))], role=role)
    return builder.build()


Q, DQ = "quantized_decomposed.quantize_per_tensor.default", "quantized_decomposed.dequantize_per_tensor.default"


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("quantized_decomposed.quantize_per_tensor.default", "quantize"),
        ("quantized_decomposed.dequantize_per_channel.default", "dequantize"),
        ("quantized_decomposed.dequantize_per_token.default", "dequantize"),
        ("torchao.quantize_affine.default", "quantize"),
        ("torchao::dequantize_affine", "dequantize"),
        ("executorch.exir.dialects.edge._ops.quantized_decomposed.quantize_per_tensor.default", "quantize"),
        ("cadence.dequantize_per_tensor.default", "dequantize"),
        ("QuantizeLinear", "quantize"),
        ("DequantizeLinear", "dequantize"),
        ("stablehlo.uniform_quantize", "quantize"),
        ("tfl.dequantize", "dequantize"),
        ("quantized_decomposed.choose_qparams.tensor", "parameters"),
        ("torchao.choose_qparams_affine.default", "parameters"),
        ("getitem", "auxiliary"),
        ("aten.relu.default", "auxiliary"),
        ("aten.permute_copy.default", "auxiliary"),
        ("dim_order_ops._clone_dim_order.default", "auxiliary"),
        ("aten.convolution.default", "main"),
        ("quantized.linear.default", "main"),
    ],
)
def test_operations_are_recognized_in_any_dialect(op: str, kind: str) -> None:
    assert kind_of(op) == kind


def test_a_cluster_is_dequantize_operation_auxiliaries_quantize_and_their_weights() -> None:
    graph = graph_of(
        "x = input()", "w = parameter()", "scale = parameter()", "bias = parameter()",
        f"q0 = {Q}(x)", f"d0 = {DQ}(q0)", f"dw = {DQ}(w, scale)", "t = aten.permute_copy.default(dw)",
        "conv = aten.conv2d.default(d0, t, bias)", "act = aten.relu.default(conv)", f"q1 = {Q}(act)", f"d1 = {DQ}(q1)",
        "out = output(d1)",
    )  # fmt: skip
    clusters = find_clusters(graph)
    assert set(clusters.values()) == {"conv_cluster"}
    assert set(clusters) == {"w", "scale", "bias", "d0", "dw", "t", "conv", "act", "q1"}


def test_float_arithmetic_between_quantized_values_is_not_a_cluster() -> None:
    """cumsum and mean run in float, although a dequantize comes before them and a quantize after."""
    graph = graph_of(
        "x = input()", f"q0 = {Q}(x)", f"d0 = {DQ}(q0)", "cumsum = aten.cumsum.default(d0)", "mean = aten.mean.dim(cumsum)",
        f"q1 = {Q}(mean)", "out = output(q1)",
    )  # fmt: skip
    assert find_clusters(graph) == {}


def test_a_cluster_is_closed_on_both_sides() -> None:
    half_in = graph_of("x = input()", "y = input()", f"d = {DQ}(x)", "add = aten.add.Tensor(d, y)", f"q = {Q}(add)")
    half_out = graph_of("x = input()", f"d = {DQ}(x)", "lin = aten.linear.default(d)", f"q = {Q}(lin)", "out = output(lin, q)")
    weights_only = graph_of("x = input()", "w = parameter()", f"d = {DQ}(w)", "lin = aten.linear.default(x, d)", f"q = {Q}(lin)")
    assert find_clusters(half_in) == find_clusters(half_out) == find_clusters(weights_only) == {}


def test_a_dynamically_quantized_operation_includes_what_quantizes_its_input() -> None:
    graph = graph_of(
        "x = input()", "w = parameter()", "p = quantized_decomposed.choose_qparams.tensor(x)", "s = getitem(p)", "z = getitem(p)",
        f"q = {Q}(x, s, z)", f"d = {DQ}(q, s, z)", f"dw = {DQ}(w)", "lin = aten.linear.default(d, dw)",
        "gelu = aten.gelu.default(lin)", "out = output(gelu)",
    )  # fmt: skip
    assert set(find_clusters(graph)) == {"w", "p", "s", "z", "q", "d", "dw", "lin", "gelu"}


def test_a_residual_sum_is_a_cluster_of_its_own() -> None:
    graph = graph_of(
        "x = input()", f"q0 = {Q}(x)", f"d0 = {DQ}(q0)", f"d0b = {DQ}(q0)", "conv = aten.conv2d.default(d0)", f"q1 = {Q}(conv)",
        f"d1 = {DQ}(q1)", "add = aten.add.Tensor(d1, d0b)", f"q2 = {Q}(add)", "out = output(q2)",
    )  # fmt: skip
    clusters = find_clusters(graph)
    assert {name: cluster for name, cluster in clusters.items() if cluster == "add_cluster"}.keys() == {"d1", "d0b", "add", "q2"}
    assert clusters["q1"] == clusters["d0"] == "conv_cluster"


def test_a_weight_that_two_clusters_share_belongs_to_none() -> None:
    lines = ["x = input()", "w = parameter()"]
    for i in range(2):
        lines += [f"d{i} = {DQ}(x)", f"w{i} = {DQ}(w)", f"mm{i} = aten.mm.default(d{i}, w{i})", f"q{i} = {Q}(mm{i})"]
    clusters = find_clusters(graph_of(*lines))
    assert "w" not in clusters and set(clusters.values()) == {"mm0_cluster", "mm1_cluster"}


def test_clusters_are_a_grouping_inside_partitions_and_nothing_is_lost() -> None:
    program = program_of("x = input()", f"d = {DQ}(x)", "mm = aten.mm.default(d)", f"q = {Q}(mm)", "out = output(q)")
    grouped = with_clusters(program)
    assert grouped.main.groupings["qdq cluster"]["mm"] == ("cluster (mm_cluster)",)
    assert grouped.main.nodes is program.main.nodes
    assert with_clusters(grouped) is grouped, "what is marked already is left alone"
    plain = program_of("x = input()", "mm = aten.mm.default(x)")
    assert with_clusters(plain) is plain


@pytest.mark.slow
def test_a_long_chain_of_clusters_takes_linear_time_and_no_recursion() -> None:
    lines = ["v0 = input()"]
    for i in range(5000):
        lines += [f"d{i} = {DQ}(v{i})", f"m{i} = aten.mm.default(d{i})", f"a{i} = aten.relu.default(m{i})", f"v{i + 1} = {Q}(a{i})"]
    assert len(set(find_clusters(graph_of(*lines)).values())) == 5000
    floats = ["v0 = input()", f"d = {DQ}(v0)", "f0 = aten.relu.default(d)"]
    floats += [f"f{i + 1} = aten.relu.default(f{i})" for i in range(20_000)]
    assert find_clusters(graph_of(*floats)) == {}
