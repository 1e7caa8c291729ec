"""What XLA's autotuner chose: an excerpt of what it wrote for a training step on an H200 (`autotuned`, without most configurations)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from opscope.cli import main
from opscope.recording.beside_passes import beside_passes
from opscope.recording.dumps.autotuning import Autotuning, autotunings
from opscope.recording.reasons import AUTOTUNED, autotunings_of, notes_json
from opscope.recording.sources import open_recording

SAMPLE = Path(__file__).parent / "autotuned"
NODE, MODULE = "gemm_fusion_dot.77", "module_9294.jit_step"


def test_the_choice_of_the_autotuner_and_the_times_of_its_candidates_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", str(SAMPLE), "--why", NODE]) == 0
    said, *candidates = capsys.readouterr().out.splitlines()
    assert said.startswith(f"{NODE} was autotuned: chosen TRITON block_m=64 block_n=128 block_k=64 num_stages=3 num_warps=4")
    assert "6.72 µs, not the fastest, which was CUBLASLT_FISSION algorithm=1" in said and "33.6 MB of scratch memory: 6.3 µs" in said
    assert [line.split()[0] for line in candidates] == ["6.3", "*", "38.9"], "the fastest first; the chosen one is marked"
    assert main(["passes", str(SAMPLE), "--why", NODE, "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)
    assert (note["kind"], note["module"], note["chosen"]) == ("autotuned", MODULE, note["candidates"][1]["config"])
    assert [each["seconds"] for each in note["candidates"]] == [6.304e-6, 6.72e-6, 38.912e-6]
    assert main(["passes", str(SAMPLE)]) == 0
    assert "autotune_results.textproto: XLA's autotuning" in capsys.readouterr().out


def test_the_choice_is_what_the_compiler_wrote_into_its_program() -> None:
    """XLA's own text after autotuning has the chosen configuration in the node's `backend_config`."""
    (note,) = autotunings(SAMPLE)
    program = open_recording(SAMPLE)[-1].program
    config = json.loads(next(node.attrs["backend_config"] for graph in program for node in graph if node.id == NODE))
    written = config["fusion_backend_config"]["triton_gemm_config"]
    backend, *fields = note.chosen.split()
    chosen = dict(each.split("=") for each in fields)
    assert backend == "TRITON" and {name: str(written[name]).lower() for name in chosen} == chosen


def test_without_the_autotuners_own_texts_the_module_with_such_a_node_is_meant(tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    shutil.copytree(SAMPLE, dump)
    for text in dump.glob("*autotuner_*"):
        text.unlink()
    (note,) = autotunings(dump)
    assert (note.module, note.modules) == (MODULE, 1)
    for text in list(dump.glob("module_*")):
        text.with_name(text.name.replace("9294", "9295")).write_bytes(text.read_bytes())
    assert [(each.module[:11], each.modules) for each in autotunings(dump)] == [("module_9294", 2), ("module_9295", 2)]
    assert "does not say in which of 2 modules" in str(autotunings(dump)[0])
    last = next(dump.glob("module_9294*0094*"))
    last.write_text(last.read_text().replace(NODE, "gemm_fusion_dot.81").replace('name="gemm_fusion_dot.81"', f'name="{NODE}"'))
    shutil.copy(SAMPLE / f"{MODULE}.autotuner_28.{NODE}.after.txt", dump)
    (note,) = autotunings(dump)
    assert note.names == (NODE, "gemm_fusion_dot.81"), "an equal node takes the same configuration"


def test_it_is_kept_in_recordings_and_pages() -> None:
    recording = open_recording(SAMPLE)
    kept = json.loads(json.dumps(beside_passes(recording)[AUTOTUNED]))
    assert [Autotuning.of_json(each) for each in kept] == autotunings_of(recording) == autotunings(SAMPLE)
    assert Autotuning.of_json({"node": NODE}) is None and Autotuning.of_json(3) is None
    (shown,) = notes_json(recording)
    assert shown["autotuned"] is True and NODE in shown["names"] and shown["text"].startswith(f"{NODE} was autotuned")


@pytest.mark.parametrize("text", ["", "}\n}\n", "a {\n" * 5000, "instruction_profiles {\n}\n", 'entries {\n key: "x"\n}\n', "\0\xff {"])
def test_damaged_logs_say_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "autotune_logs.textproto").write_text(text)
    assert autotunings(tmp_path) == []
