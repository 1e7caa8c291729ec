"""The first pass after which two recordings of one program differ; and why XLA fused a node, or did not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.hlo_texts import BEFORE, NOTES, STEPS, parse, write_dump

import opscope
from opscope.cli import main
from opscope.recording.dumps.fusion_notes import FusionNote
from opscope.recording.dumps.xla import Step, _attributed
from opscope.recording.model import Recording
from opscope.recording.reasons import REASONS, why, why_in_texts, why_pair, why_pair_in_texts
from opscope.recording.sources import open_recording


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dump(tmp_path_factory.mktemp("a") / "dump")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled with another flag: one more pass runs, and the fusion is not made."""
    directory = write_dump(tmp_path_factory.mktemp("b") / "dump", "module_0009.jit_step")
    for name, _ in STEPS[-2:]:
        (directory / f"module_0009.jit_step.{name}.txt").write_text(BEFORE.replace("tanh.4", "other.4"))
    (directory / "module_0009.jit_step.0003.outer.after_extra.before_fusion.txt").write_text(BEFORE)
    return directory


def test_bisect_names_the_first_pass_after_which_two_recordings_differ(dump: Path, other: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", str(dump), str(other)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "7 passes in both; the same up to pass 4 of A, 5 of B (outer / inner)"
    assert lines[1] == "first difference after pass 5 of A, 6 of B (outer / fusion)"
    assert any("fusion.12" in line for line in lines)
    assert main(["bisect", str(dump), str(other), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["shared"], data["same"]["a"]["index"], data["differs"]["b"]["index"]) == (7, 4, 6)
    assert data["only_b"] == [] and data["diff"]["removed"]
    assert main(["bisect", str(dump), str(dump)]) == 0
    assert capsys.readouterr().out == "7 passes in both; no difference in structure after any of them\n"


def test_bisect_names_the_pass_that_only_one_of_them_has(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pass that is switched off in A: what it did is still different after the next pass of both, which did nothing wrong."""
    other = write_dump(tmp_path / "dump", "module_0009.jit_step")
    text = BEFORE.replace("tanh", "logistic")
    (other / "module_0009.jit_step.0004.outer.after_extra.before_fusion.txt").write_text(text)
    for name, _ in STEPS[-2:]:
        (other / f"module_0009.jit_step.{name}.txt").write_text(text)
    assert main(["bisect", str(dump), str(other)]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = "first difference: pass 5 of B (outer / extra), which A did not run, or which changed nothing there; the next pass of both is "
    assert lines[0].endswith("the same up to pass 4 (outer / inner)")
    assert lines[1] == first + "pass 5 of A, 6 of B (outer / fusion)"
    assert any("tanh.4 → logistic.4" in line for line in lines) and not any("fusion.12" in line for line in lines), "what that pass did"
    assert main(["bisect", str(dump), str(other), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["differs"]["b"]["pass"], data["differs"]["a"], data["common"]["b"]["pass"]) == ("extra", data["same"]["a"], "fusion")


def test_bisect_pairs_the_runs_of_a_dump_that_also_has_those_that_changed_nothing(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """XLA writes every run of a pass with `.+`, and with `.*` only those that changed something."""
    every = write_dump(tmp_path / "dump", "module_0007.jit_step")
    for run in (
        every / "module_0007.jit_step.0001.inner.after_algsimp.before_dce.txt",
        every / "module_0007.jit_step.0003.a.after_b.before_c.txt",
    ):
        run.write_text(BEFORE)
    for pair in ((dump, every), (every, dump)):
        assert main(["bisect", *map(str, pair)]) == 0
        assert capsys.readouterr().out == "7 passes in both; no difference in structure after any of them\n"


def test_bisect_compares_every_module_of_two_dumps(dump: Path, other: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every function that JAX compiles on the way has a module of its own, with a number that is another in another run."""
    a, b = tmp_path / "a", tmp_path / "b"
    for directory, source, module in ((a, dump, "module_0007.jit_step"), (b, other, "module_0009.jit_step")):
        write_dump(directory, "module_0002.jit_iota" if directory == a else "module_0004.jit_iota")
        for file in source.glob(f"{module}.*"):
            (directory / file.name).write_bytes(file.read_bytes())
    assert main(["bisect", str(a), str(b)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 modules in both, 1 without a difference in structure after any pass"
    assert lines[2] == "module_0007.jit_step:" and lines[4].startswith("first difference after pass 12 of A, 13 of B"), lines
    assert "the difference in module_0007.jit_step:" in lines and any("fusion.12" in line for line in lines)
    assert main(["bisect", str(a), str(a)]) == 0
    assert capsys.readouterr().out == "14 passes in both; 2 modules; no difference in structure after any of them\n"
    assert main(["bisect", str(a), str(b), "--json"]) == 0
    assert [(each["module"], each["diff"] is None) for each in json.loads(capsys.readouterr().out)] == [
        ("module_0002.jit_iota", True),
        ("module_0007.jit_step", False),
    ]


def test_recordings_without_a_common_pass_are_refused(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with opscope.record(tmp_path / "run.opscope") as rec:
        rec.snapshot(parse(BEFORE), "start")
    assert main(["bisect", str(dump), str(tmp_path / "run.opscope")]) == 2
    assert "no pass in common" in capsys.readouterr().err


def test_xla_says_why_a_node_was_fused_or_was_not(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", str(dump), "--why", "dot.3"]) == 2
    assert "xla_dump_hlo_pass_re" in capsys.readouterr().err
    (dump / "module_0007.jit_step.priority_fusion_dump.txt").write_text(NOTES)
    assert main(["passes", str(dump), "--why", "dot.3"]) == 0
    assert capsys.readouterr().out == "dot.3 was not fused: the producer is not fusible\n"
    for name in ("negate.5", "negate.1", "fusion.12"):
        assert main(["passes", str(dump), "--why", name]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "tanh.4 with negate.5: 1.5 µs fused, 2.033 µs unfused, by XLA's estimate",
            "tanh.4 was fused into negate.5, as fusion.12",
        ], "the last estimate; the body's node is the one that was fused"
    assert main(["passes", str(dump), "--why", "add.99"]) == 2
    assert "no pass has a node 'add.99'" in capsys.readouterr().err
    assert main(["passes", str(dump), "--why", "add.9", "--json"]) == 2
    assert "noted nothing" in capsys.readouterr().err
    assert main(["passes", str(dump), "--why", "dot.3", "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)
    assert (note["kind"], note["producer"], note["module"]) == ("not fused", "dot.3", "module_0007.jit_step")


@pytest.mark.parametrize("time", ["sion_steps", "nan", "-1", "1e999", "inf"])
def test_an_estimate_that_is_not_a_time_is_left_out(dump: Path, capsys: pytest.CaptureFixture[str], time: str) -> None:
    names = 'producer_name: "dot.3"\n    consumer_names: "fusion.12"'
    estimate = f"fusion_steps {{\n  update_priority {{\n    {names}\n    us_fused: {time}\n  }}\n}}\n"
    (dump / "module_0007.jit_step.priority_fusion_dump.txt").write_text(NOTES + estimate)
    assert main(["passes", str(dump), "--why", "dot.3,fusion.12", "--json"]) in (0, 2)
    assert "internal error" not in capsys.readouterr().err


def test_xla_says_why_a_producer_was_fused_with_a_consumer_or_was_not(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    estimate = """fusion_steps {\n  update_priority {
    producer_name: "dot.3"\n    consumer_names: "fusion.12"\n    us_fused: 4\n    us_unfused: 3\n  }\n}\n"""
    (dump / "module_0007.jit_step.priority_fusion_dump.txt").write_text(NOTES + estimate)

    def lines(pair: str) -> list[str]:
        assert main(["passes", str(dump), "--why", pair]) == 0
        return capsys.readouterr().out.splitlines()

    assert lines("tanh.4,negate.5") == [
        "tanh.4 and negate.5 were fused",
        "tanh.4 with negate.5: 1.5 µs fused, 2.033 µs unfused, by XLA's estimate",
        "tanh.4 was fused into negate.5, as fusion.12",
    ]
    assert lines("dot.3,negate.5") == [
        "dot.3 and negate.5 were not fused",
        "dot.3 was not fused: the producer is not fusible",
        "dot.3 with fusion.12: 4 µs fused, 3 µs unfused, by XLA's estimate",
    ], "by then, the consumer was part of a fusion"
    assert main(["passes", str(dump), "--why", "dot.3,tanh.4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fused"] is False
    assert main(["passes", str(dump), "--why", "negate.5,dot.3"]) == 2
    assert "noted nothing about 'negate.5' as a producer for 'dot.3'" in capsys.readouterr().err
    assert main(["passes", str(dump), "--why", "dot.3,add.99"]) == 2
    assert "no pass has a node 'add.99'" in capsys.readouterr().err


def test_parts_of_a_module_have_nodes_of_their_own(tmp_path: Path) -> None:
    """Inductor numbers the buffers of the forward and of the backward from 0: reasons of one are not reasons of the other."""

    def program(*parts: str) -> opscope.Program:
        builder = opscope.ProgramBuilder("Net", "main")
        for part in parts:
            graph = builder.graph(part)
            for name in ("op0", "op1"):
                graph.node(name, "pointwise")
        builder.graph("main").node("call", "call", calls=parts)
        return builder.build()

    notes = [
        FusionNote("not fused", "Net", "op0", ("op1",), reason="no shared data", part="forward"),
        FusionNote("fused", "Net", "op0", ("op1",), fusion="op0_op1", part="backward"),
    ]
    with opscope.record(tmp_path / "run.opscope") as rec:
        rec.append(REASONS, [note.to_json() for note in notes])
        rec.snapshot(program("forward", "backward"), "before fusion", module="Net")
        rec.snapshot(program("backward"), "launches", module="Net")
        recording = rec.recording
    assert list(map(str, why(recording, "op0").fusion)) == [
        "in the forward, op0 was not fused into op1: no shared data",
        "in the backward, op0 was fused into op1, as op0_op1",
    ]
    assert why(Recording("backward", recording[1:], recording.attrs), "op0").fusion == notes[1:]
    assert why_pair(Recording("backward", recording[1:], recording.attrs), "op0", "op1") == (True, notes[1:])


def test_what_a_pass_did_before_its_own_pipeline_started_is_its_work() -> None:
    """As XLA's SPMD partitioner does, which runs `spmd-cleanup` at its end."""
    rows = [
        ("spmd-partitioner", "shardy-xla", "spmd-partitioning"),
        ("spmd-cleanup", "pipeline-start", "dce"),
        ("spmd-cleanup", "dce", "pipeline-end"),
        ("spmd-partitioner", "spmd-partitioning", "simplification"),
        ("simplification", "pipeline-start", "algsimp"),
    ]
    steps = [Step(Path(str(i)), "module_1.f", i, pipeline, name, following) for i, (pipeline, name, following) in enumerate(rows)]
    names = [step.name for step in _attributed(steps)]
    assert names == ["shardy-xla", "spmd-partitioning, up to spmd-cleanup", "dce", "spmd-partitioning", "pipeline-start"]


def test_partitioning_is_told_as_what_it_made_and_not_as_a_fusion(capsys: pytest.CaptureFixture[str]) -> None:
    """Texts that XLA wrote for two devices (`partitioned`): the second weight is split along the sum, so its product is reduced."""
    dump = Path(__file__).parent / "partitioned"
    recording = open_recording(dump)
    assert main(["diff", f"{dump}@0", f"{dump}@1"]) == 0
    told = capsys.readouterr().out
    assert "fused" not in told and "dot_general.0 → dot.1, all-reduce (slot)" in told
    first, *_ = recording.history("all-reduce", 1)
    assert first.snapshot.index == 1 and {id for _, id in first.old} == {"dot_general.0"}


def test_notes_alone_answer_what_reading_all_passes_does(dump: Path) -> None:
    """Where the notes have the name of a node, no pass is read; the answer is the same, with what became of it as a fusion."""
    (dump / "module_0007.jit_step.priority_fusion_dump.txt").write_text(NOTES)
    recording = open_recording(dump)
    for name in ("dot.3", "negate.5", "fusion.12"):
        assert why_in_texts(str(dump), name) == why(recording, name)
    assert why_pair_in_texts(str(dump), "dot.3", "tanh.4") == why_pair(recording, "dot.3", "tanh.4")
    assert why_in_texts(str(dump), "negate.1") is None, "a name of the fused computation, for which passes are read"


def test_the_history_of_a_node_has_its_passes_and_its_source_lines(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of any pass that has a node of that name, in one command."""
    assert main(["passes", str(dump), "--history", "tanh.4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["#", "pass", "evidence", "what", "it", "did"]
    assert any(line.startswith("5  outer / fusion") and line.endswith("tanh.4, negate.5 fused into fusion.12") for line in lines)
    assert main(["passes", str(dump), "--history", "tanh.4", "--json"]) == 0
    (past,) = json.loads(capsys.readouterr().out)
    assert past["module"] == "module_0007.jit_step" and past["steps"][-1]["index"] == 5
    assert main(["passes", str(dump), "--history", "tanh.99"]) == 2
    assert "no pass has a node 'tanh.99'" in capsys.readouterr().err
