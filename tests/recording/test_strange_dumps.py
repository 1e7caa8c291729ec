"""A dump from a stranger: what is read beside the passes cannot hang, and does not lead to other files of the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.hlo_texts import write_dump

from opscope.errors import OpscopeError
from opscope.memory.sources import read_memory
from opscope.memory.xla_files import find_reports
from opscope.recording.dumps.autotuning import autotunings
from opscope.recording.dumps.own_files import own_files
from opscope.recording.dumps.xla import find_steps
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


def test_links_that_lead_nowhere_are_no_files(dump: Path) -> None:
    before = own_files(dump)
    (dump / "itself").symlink_to("itself")
    (dump / "nowhere").symlink_to("nobody")
    (dump / "directory").symlink_to(".")
    assert own_files(dump) == before == sorted(path for path in dump.iterdir() if path.is_file())


def test_the_memory_of_many_programs_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (tmp_path / f"__compiled_fn_{number}.BEFORE_PRE_GRAD.0.py").write_text("\n".join(GRAPH))
    listed: list[Path] = []

    def noted(directory: Path) -> list[Path]:
        listed.append(directory)
        return own_files(directory)

    monkeypatch.setattr("opscope.memory.xla_files.own_files", noted)
    assert len(read_memory(str(tmp_path))) == 20
    assert listed == [tmp_path]


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


def record(facts: str, *payload: str) -> str:
    """A record of a TORCH_TRACE log."""
    return f"V1115 09:17:14.329000 27326 torch/x.py:1] {facts}\n" + "".join(f"\t{line}\n" for line in payload)


GRAPH = (
    "class G(torch.nn.Module):",
    '    def forward(self, x: "f32[4]"):',
    '        add: "f32[4]" = torch.ops.aten.add.Tensor(x, x)',
    "        return (add,)",
)


def log_of(tmp_path: Path, *records: str) -> Path:
    path = tmp_path / "dedicated_log_torch_trace_x.log"
    path.write_text("".join([*records, record('{"dynamo_output_graph": {}}', *GRAPH)]))
    return path


@pytest.mark.parametrize("name", ["[]", "{}", "3", "null"])
def test_the_name_of_an_artifact_may_be_anything(tmp_path: Path, name: str) -> None:
    assert len(open_recording(log_of(tmp_path, record(f'{{"artifact": {{"name": {name}}}}}')))) == 1


@pytest.mark.parametrize("number", ["1" * 400, "Infinity", "NaN", "[]"])
def test_the_time_of_an_event_may_be_anything(tmp_path: Path, number: str) -> None:
    events = [f'{{"name": "bytecode_tracing", "ph": "{phase}", "ts": {number}}}' for phase in "BE"]
    path = log_of(tmp_path, *(record('{"chromium_event": {}}', event) for event in events))
    assert [snapshot.seconds for snapshot in open_recording(path)] == [None]


def test_links_to_their_own_directory_are_not_followed_for_ever(tmp_path: Path) -> None:
    """Three links can be followed in more ways than there are atoms in a stone."""
    for number in range(3):
        (tmp_path / f"rank_{number}").symlink_to(".")
    with pytest.raises(OpscopeError, match="contains no compiler passes"):
        open_recording(tmp_path)
    (tmp_path / "before_x.py").write_text("\n".join(GRAPH))
    assert {snapshot.module for snapshot in open_recording(tmp_path)} == {"x", "rank_0/x", "rank_1/x", "rank_2/x"}


def profiled(*more: str, node: str = "fusion.12") -> str:
    text = f'%{node} = f32[] fusion(), deduplicated_name=\\"same\\"'
    return "\n".join(["instruction_profiles {", f'hlo_text: "{text}"', *more, "}", ""])


def test_numbers_of_the_autotuner_may_be_of_any_length(dump: Path) -> None:
    log = profiled("config_profiles {", f"scratch_bytes: {'9' * 400}", "run_time {", f"nanos: {'9' * 400}", "}", "}")
    (dump / "autotune_logs.textproto").write_text(log)
    (note,) = autotunings(dump)
    assert [(each.seconds, each.scratch_bytes) for each in note.candidates] == [(0.0, 0)]


def test_nodes_that_are_tuned_and_alike_are_no_square(dump: Path) -> None:
    count = 2000
    nodes = [f"fusion.{1000 + number}" for number in range(count)]
    lines = [f'  %{node} = f32[] fusion(), deduplicated_name="same"' for node in nodes]
    find_steps(dump)[0][-1].path.write_text("\n".join(["HloModule jit_step", "", "ENTRY %main {", *lines, "}", ""]))
    log = dump / "autotune_logs.textproto"
    log.write_text(profiled(node=nodes[0]))
    assert [len(note.same) for note in autotunings(dump)] == [count - 1]
    log.write_text("".join(profiled(node=node) for node in nodes))
    with pytest.raises(OpscopeError, match=r"dump: unpacks to more than 64\.0 MB"):
        autotunings(dump)
