"""A dump from a stranger: what is read beside the passes cannot hang, and does not lead to other files of the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.hlo_texts import write_dump

from opscope.errors import OpscopeError
from opscope.memory.xla_files import find_reports
from opscope.recording.kernel_code import codes_json
from opscope.recording.reasons import notes_json
from opscope.recording.sources import open_recording

MODULE = "module_0007.jit_step"
SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"
BESIDE = [
    f"{MODULE}.ptx", f"{MODULE}.ir-with-opt.ll", f"{MODULE}.fusion.12.ttir.txt", f"{MODULE}.fusion.12_kernel_module.ir-with-opt.ll",
    f"{MODULE}.thunk_metadata.txt", f"{MODULE}.thunk_sequence.txt", f"{MODULE}.priority_fusion_dump.txt", "module_0007.metadata.textproto",
    "autotune_logs.textproto", "autotune_results.textproto",
]  # fmt: skip
"""What XLA writes beside the passes, and opscope reads."""


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPSCOPE_CACHE", "off")
    return write_dump(tmp_path / "dump")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_directories_beside_the_passes_are_not_opened(dump: Path) -> None:
    """A pipe that nobody writes to would be read forever: this test would not end."""
    for number, name in enumerate(BESIDE):
        os.mkfifo(dump / name) if number % 2 else (dump / name).mkdir()
    recording = open_recording(dump)
    assert len(recording) > 1 and codes_json(recording) == notes_json(recording) == []


def test_links_that_lead_out_are_not_followed_into_pages(dump: Path, tmp_path: Path) -> None:
    private = tmp_path / "id_rsa"
    private.write_text(f"define void @fusion_12() {{\n{SECRET}\n}}\n")
    for name in BESIDE:
        (dump / name).symlink_to(private)
    recording = open_recording(dump)
    assert SECRET not in str(codes_json(recording)) + str(notes_json(recording))


def test_links_inside_the_dump_are(dump: Path) -> None:
    (dump / "kernels").write_text(".visible .entry fusion_12(\n)\n{\n\tret;\n}\n")
    (dump / f"{MODULE}.ptx").symlink_to(dump / "kernels")
    assert [code["language"] for code in codes_json(open_recording(dump))] == ["PTX"]


def test_memory_reports_behind_links_that_lead_out_are_not_read(dump: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("BufferAssignment:\n")
    report = dump / f"{MODULE}.gpu_after_optimizations-buffer-assignment.txt"
    reports = find_reports(dump)
    report.symlink_to(tmp_path / "elsewhere")
    assert find_reports(dump) == reports


def test_a_number_that_only_looks_like_one_is_the_name_of_a_pass(dump: Path) -> None:
    with pytest.raises(OpscopeError, match="no pass '²'"):
        open_recording(dump).snapshot("²")
