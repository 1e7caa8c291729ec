"""fx graphs as text: single files, and the directories of depyf and vLLM. `tests/samples/torch/depyf.json` has the files
that depyf 0.20 wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opscope
from opscope.errors import OpscopeError
from opscope.recording.sources import open_recording

DEPYF = json.loads((Path(__file__).parents[1] / "samples/torch/depyf.json").read_text())
PRINTED = """import torch

class GraphModule(torch.nn.Module):
    def forward(
        self,
        L_x_: torch.Tensor,
    ):
        linear = torch._C._nn.linear(L_x_, L_x_, None)
        L_x_ = None
        gelu = torch.nn.functional.gelu(linear)
        linear = None
        return (gelu,)
"""


@pytest.fixture
def depyf(tmp_path: Path) -> Path:
    for name, text in DEPYF.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_file_of_print_readable_is_a_program(depyf: Path) -> None:
    program = opscope.load(depyf / "__compiled_fn_1.Joint_graph.0.py")
    text = DEPYF["__compiled_fn_1.Joint_graph.0.py"]
    named = {line.split(":")[0].split("=")[0].strip() for line in text.splitlines() if " = torch.ops." in line}
    assert named and named == {node.id for node in program.main if node.role == "op"} - {"output"}


def test_a_graph_that_another_tool_formatted_is_one_too(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(PRINTED)
    assert [node.id for node in opscope.load(tmp_path / "model.py").main][:3] == ["L_x_", "linear", "gelu"]


def test_a_model_that_a_person_wrote_is_not_a_graph(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("class Net(torch.nn.Module):\n    def forward(self, x):\n        y = None\n        return x.relu()\n")
    with pytest.raises(OpscopeError, match="name the callable"):
        opscope.load(tmp_path / "net.py")


def test_the_directory_of_depyf_is_a_recording(depyf: Path) -> None:
    recording = open_recording(str(depyf))
    assert recording.modules == ["__compiled_fn_1", "__compiled_fn_1 forward", "__compiled_fn_1 backward"]
    titles = [(snapshot.module.removeprefix("__compiled_fn_1").strip(), snapshot.name) for snapshot in recording]
    assert titles == [
        ("", "as Dynamo traced it"),
        ("", "before pre-grad passes"),
        ("", "tensorify_python_scalars"),
        ("", "joint graph"),
        ("forward", "forward graph"),
        ("forward", "after post-grad passes"),
        ("backward", "backward graph"),
        ("backward", "after post-grad passes"),
    ]
    assert recording.skipped == ["__transformed_code_0_for_f.py: not an fx graph"]


def test_a_backward_that_is_compiled_later_is_that_of_its_function(depyf: Path) -> None:
    """After a graph break, depyf gives the first function's backward the name of the second, which was compiled last."""
    for name, text in DEPYF.items():
        if name.startswith("__compiled_fn_1."):
            (depyf / name.replace("_fn_1", "_fn_5")).write_text(text.replace("f32[", "f64["))
    late = depyf / "__compiled_fn_1.AFTER_POST_GRAD.1.py"
    late.rename(depyf / "__compiled_fn_5.AFTER_POST_GRAD.2.py")
    for stage in ("Forward_graph.0", "Backward_graph.0"):
        assert (depyf / f"__compiled_fn_5.{stage}.py").exists()
    recording = open_recording(str(depyf))
    files = {module: [each.attrs["file"] for each in recording if each.module == module] for module in recording.modules}
    assert files["__compiled_fn_1 backward"] == ["__compiled_fn_1.Backward_graph.0.py", "__compiled_fn_5.AFTER_POST_GRAD.2.py"]
    assert files["__compiled_fn_5 backward"] == ["__compiled_fn_5.Backward_graph.0.py", "__compiled_fn_5.AFTER_POST_GRAD.1.py"]


def test_files_before_and_after_a_step_are_one_module(tmp_path: Path) -> None:
    (tmp_path / "before_fusion.py").write_text(PRINTED)
    (tmp_path / "after_fusion.py").write_text(PRINTED.replace("gelu", "relu"))
    recording = open_recording(str(tmp_path))
    assert [(snapshot.module, snapshot.name) for snapshot in recording] == [("fusion", "before"), ("fusion", "after")]
    difference = recording.diff(1)
    assert difference is not None and not difference.same


def test_a_directory_laid_out_as_that_of_vllm_is_a_recording(tmp_path: Path) -> None:
    """The names that vLLM and depyf give to files (vLLM 0.33 and depyf 0.20, read in
    their sources), with graphs that depyf wrote for torch.compile. Dynamo inserts runtime checks before it hands over what it traced."""
    traced, before, after = (DEPYF[f"__compiled_fn_1.{stage}.0.py"] for stage in ("BEFORE_PRE_GRAD", "Joint_graph", "AFTER_POST_GRAD"))
    texts = {
        "pre_insert_deferred_runtime_asserts___compiled_fn_1_50a3.0": traced, "__compiled_fn_1_50a3.0": traced,
        "before_split.0": traced, "pre_split_module.0": traced, "post_split_module.0": traced, "after_split.0": traced,
        "BEFORE_POST_GRAD.0": before, "AFTER_POST_GRAD.0": after, "BEFORE_POST_GRAD.1": before, "AFTER_POST_GRAD.1": after,
        "post_grad.0.NoOpEliminationPass.before.0": before, "post_grad.0.NoOpEliminationPass.after.0": after,
        "post_grad.10.FixFunctionalizationPass.before.0": after, "post_grad.2.PostCleanupPass.before.0": after,
    }  # fmt: skip
    for rank in ("rank_0_dp_0", "rank_1_dp_0"):
        (tmp_path / rank).mkdir()
        for name, text in texts.items():
            (tmp_path / rank / f"__compiled_fn_1.{name}.py").write_text(text)
        (tmp_path / rank / "patterns.RMSNormQuantFusionPass.0.py").write_text("from torch._inductor.pattern_matcher import *\n")
        (tmp_path / rank / "transformed_code.py").write_text("def __transformed_code_0_for_forward(self, x):\n    return x\n")
    recording = open_recording(str(tmp_path))
    modules = ["__compiled_fn_1", "__compiled_fn_1 piece 0", "__compiled_fn_1 piece 1"]
    assert recording.modules == [f"{rank}/{module}" for rank in ("rank_0_dp_0", "rank_1_dp_0") for module in modules]
    names = [snapshot.name for snapshot in recording.of_module(f"rank_0_dp_0/{modules[1]}")]
    assert names == [
        "before post-grad passes",
        "before NoOpEliminationPass",
        "after NoOpEliminationPass",
        "before PostCleanupPass",
        "before FixFunctionalizationPass",
        "after post-grad passes",
    ]
    assert [snapshot.name for snapshot in recording[:6]] == [
        "before runtime checks",
        "as Dynamo traced it",
        "before the split",
        "before split_module",
        "after split_module",
        "after the split",
    ]
    others = ("patterns.RMSNormQuantFusionPass.0.py", "transformed_code.py")
    assert recording.skipped == [f"{rank}/{name}: not an fx graph" for rank in ("rank_0_dp_0", "rank_1_dp_0") for name in others]
    alone = open_recording(str(tmp_path / "rank_0_dp_0"))
    assert alone.modules == modules


@pytest.mark.parametrize("suffix", ["py", "txt"])
def test_numbered_files_of_print_readable_are_the_passes_of_one_module(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"2_without_gelu.{suffix}").write_text(PRINTED.replace("gelu = torch.nn.functional.gelu(linear)", "gelu = linear.relu()"))
    (tmp_path / f"10_last.{suffix}").write_text(PRINTED)
    (tmp_path / f"0_as_traced.{suffix}").write_text(PRINTED)
    (tmp_path / "1_notes.txt").write_text("not a graph")
    recording = open_recording(str(tmp_path))
    assert recording.modules == ["graph"]
    assert [snapshot.name for snapshot in recording] == ["as_traced", "without_gelu", "last"]
    assert all(diff is not None and diff.changed for diff in map(recording.diff, (1, 2)))


def test_older_versions_of_vllm_number_ranks_alone(depyf: Path, tmp_path: Path) -> None:
    rank = tmp_path / "dump" / "rank_0"
    rank.mkdir(parents=True)
    for file in depyf.glob("*.py"):
        file.rename(rank / file.name)
    assert open_recording(str(rank.parent)).modules[0] == "rank_0/__compiled_fn_1"
