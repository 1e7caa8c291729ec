"""What TORCH_COMPILE_DEBUG=1 writes, as a recording: two Linear layers with ReLU and softmax."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Corpus

from opscope.recording.sources import is_recording_source, open_recording

STAGES = ["post-grad / before", "post-grad / after", "code generation / launches"]


@pytest.fixture(scope="module")
def run(corpus: Corpus) -> Path:
    return next(corpus("torch_compile_debug").rglob("run_*"))


def test_every_graph_is_a_module_with_its_stages(run: Path) -> None:
    recording = open_recording(run.parent)
    assert [name.rpartition("/")[2] for name in recording.modules] == ["model__0_forward_1.0", "model__0_backward_3.1"]
    assert [snapshot.title for snapshot in recording] == STAGES * 2
    forward = recording.snapshot(0).program
    assert {"addmm", "relu", "div", "primals_3"} <= {node.id for node in forward.main}
    assert [str(frame) for frame in forward.main["div"].source] == ["model.py:7 forward"]
    assert forward.own_text is not None
    position = forward.main.position["relu"]
    (line,) = forward.own_text.lines(forward.entry, position, position + 1)
    assert line == 'relu: "f32[3, 16]" = torch.ops.aten.relu.default(addmm);  addmm = None'
    assert len(recording.snapshot(2).program.main) > 5, "the launches of the code"
    assert any(reason.endswith("ir_pre_fusion.txt: Inductor's loops as text") for reason in recording.skipped)


@pytest.mark.parametrize("below", [".", "torchinductor", "torchinductor/model__0_forward_1.0"])
def test_any_of_its_directories_opens(run: Path, below: str) -> None:
    assert is_recording_source(run / below)
    assert [snapshot.title for snapshot in open_recording(run / below)][-3:] == STAGES


def test_a_damaged_file_is_skipped_with_its_reason(run: Path, tmp_path: Path) -> None:
    graph = shutil.copytree(run / "torchinductor" / "model__0_forward_1.0", tmp_path / "model__0_forward_1.0")
    (graph / "output_code.py").write_text("def call(")
    recording = open_recording(graph)
    assert [snapshot.title for snapshot in recording] == STAGES[:2]
    assert any("output_code.py: is not Python" in reason for reason in recording.skipped)


def test_generated_code_opens_by_itself(run: Path, tmp_path: Path) -> None:
    """Wherever it was copied to, and whatever it is called; other Python is still a place to look for a callable."""
    code = next(run.rglob("model__0_forward_1.0/output_code.py"))
    copy = tmp_path / "kernels.py"
    shutil.copy(code, copy)
    (snapshot,) = open_recording(copy)
    launches = [node for node in snapshot.program.main if node.role == "op"]
    whole = [node for node in open_recording(code.parent)[-1].program.main if node.role == "op"]
    assert [(node.id, node.op, node.inputs) for node in launches] == [(node.id, node.op, node.inputs) for node in whole]
    assert any("extern" in node.attrs.get("code", "") for node in launches)
    (tmp_path / "model.py").write_text("import torch\n\ndef make():\n    return torch.nn.Linear(2, 2)\n")
    assert not is_recording_source(tmp_path / "model.py")
