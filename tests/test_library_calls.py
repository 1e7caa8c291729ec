"""FLOPs of cuBLAS and cuDNN calls: a program costs the same before and after a pass that hands its products to a library."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import pytest

import opscope
from opscope.analysis.cost import CostModel
from opscope.analysis.library_calls import call_target
from opscope.program import Program
from opscope.readers import read
from opscope.readers.source import Source

HERE = Path(__file__).resolve().parent
PASSES = HERE / "corpus" / "xla_gpu_scan_passes.tar.xz"
PROFILES = HERE.parents[1] / "shared" / "data" / "profiles"


def hlo(text: str) -> Program:
    return read(Source("step.hlo", text.encode()))[0]


def test_convolutions_cost_the_same_in_every_pass_of_a_gpu_module(tmp_path: Path) -> None:
    """A real dump of XLA:GPU. A pass replaces convolutions in a loop by cuDNN calls; simplifications change less than 0.1 %."""
    with tarfile.open(PASSES) as archive:
        stages = re.compile(
            r"\.(before_optimizations|.*after_conv-rewriter\..*|.*after_priority-fusion\..*|.*gpu_after_optimizations)\.txt$"
        )
        files = [member for member in archive.getmembers() if stages.search(member.name)]
        archive.extractall(tmp_path, members=files, filter="data")
    programs = [opscope.load(tmp_path / member.name) for member in files]
    models = [CostModel(program) for program in programs]
    calls = [
        sum(node.attrs.get("custom_call_target", "").startswith("__cudnn$conv") for graph in program for node in graph)
        for program in programs
    ]
    assert 0 in calls and max(calls) >= 2
    before = next(model.total.flops for model, count in zip(models, calls, strict=True) if not count)
    assert all(model.total.flops == pytest.approx(before, rel=1e-3) and not model.unknown_flops_ops for model in models)


@pytest.mark.skipif(not PROFILES.is_dir(), reason="needs ../shared")
@pytest.mark.parametrize("name", ["jax_plain", "jax_plain_uncaptured"])
def test_a_compiled_train_step_costs_what_it_did_before(tmp_path: Path, name: str) -> None:
    """An H200 step: XLA's own analysis misses the 34 or 42 products that cuBLAS computes, almost half of the FLOPs."""
    archive_name = "h200_jax_train_step" + name.removeprefix("jax_plain")
    with tarfile.open(PROFILES / f"{archive_name}.tar.gz") as archive:
        archive.extractall(
            tmp_path, members=[m for m in archive if m.name.endswith((".hlo", ".json")) and m.name.startswith(name + "/")], filter="data"
        )
    before, after = (CostModel(opscope.load(tmp_path / name / f"{stage}.hlo")) for stage in ("before", "after"))
    xla = json.loads((tmp_path / name / "analysis.json").read_text())["cost"]
    assert after.total.flops == pytest.approx(before.total.flops, rel=0.02) and after.total.unknown == 0
    assert xla["flops"] < 0.6 * before.total.flops
    as_xla = CostModel(after.program, as_xla=True).total
    assert as_xla.flops == pytest.approx(xla["flops"] + xla["transcendentals"], rel=1e-6)
    assert as_xla.bytes > after.total.bytes, "the workspace of cuBLAS is not data"


CALLS = {
    "bias and gelu": (
        "(bf16[8,16]{1,0}, s8[4096]{0}) custom-call(a, b, c)",
        "__cublas$lt$matmul",
        '{"gemm_backend_config":{"alpha_real":1,"beta":0,"epilogue":"BIAS_GELU","dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}',
        8 * 16 * (2 * 32 + 1 + 9),
    ),
    "scaled and added": (
        "(bf16[8,16]{1,0}, s8[4096]{0}) custom-call(a, b, c)",
        "__cublas$gemm",
        '{"alpha_real":0.5,"beta":1,"epilogue":"DEFAULT","dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}',
        8 * 16 * (2 * 32 + 2),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_call_adds_to_its_products_is_counted(name: str) -> None:
    call, target, config, flops = CALLS[name]
    text = f"""HloModule m
ENTRY main {{
  a = bf16[8,32]{{1,0}} parameter(0)
  b = bf16[32,16]{{1,0}} parameter(1)
  c = bf16[8,16]{{1,0}} parameter(2)
  ROOT r = {call}, custom_call_target="{target}", backend_config={config}
}}
"""
    model = CostModel(hlo(text))
    assert (model.total.flops, model.total.unknown) == (flops, 0)
    assert model.total.bytes == 2 * (8 * 32 + 32 * 16 + 8 * 16 + 8 * 16), "without the workspace"
    assert CostModel(hlo(text.replace(config, "{}"))).unknown_flops_ops == {"custom-call": 1}


@pytest.mark.frameworks
@pytest.mark.parametrize("form", ["stablehlo", "hlo"])
@pytest.mark.parametrize(
    ("mask", "window", "kept"), [("NO_MASK", None, 16 * 16), ("CAUSAL", None, 16 * 17 // 2), ("CAUSAL", 4, 10 + 12 * 4)]
)
def test_attention_of_cudnn_costs_what_its_mask_leaves(
    monkeypatch: pytest.MonkeyPatch, form: str, mask: str, window: int | None, kept: int
) -> None:
    """What JAX lowers for a GPU; two products forward, five backward, of two sequences with four heads of 64."""
    import jax
    import jax._src.cudnn.fused_attention_stablehlo as cudnn
    import jax.numpy as jnp

    monkeypatch.setattr(cudnn, "check_cudnn_version", lambda: 91000)
    monkeypatch.setattr(cudnn, "check_compute_capability", lambda *args: True)
    kind = getattr(cudnn.MaskType, mask)

    def loss(query: object, key: object, value: object) -> object:
        return cudnn.dot_product_attention(query, key, value, mask_type=kind, sliding_window_length=window, scale=0.1).sum()

    query = jnp.zeros((2, 16, 4, 64), jnp.bfloat16)
    lowered = jax.jit(jax.grad(loss, (0, 1, 2))).trace(query, query, query).lower(lowering_platforms=("cuda",))
    text = lowered.as_text() if form == "stablehlo" else lowered.compiler_ir("hlo").as_hlo_text()
    program = read(Source(f"step.{'mlir' if form == 'stablehlo' else 'hlo'}", text.encode()))[0]
    costs = CostModel(program)
    calls = [costs.node(graph, node) for graph in program for node in graph if call_target(node).startswith("__cudnn")]
    assert [cost.flops for cost in calls] == [2 * 2 * 4 * 64 * kept * products for products in (2, 5)]
    assert not any(cost.unknown for cost in calls)
