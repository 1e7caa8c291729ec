"""The history of a node: which pass created it, what changed, and what it became."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.hlo_texts import write_dump

import opscope
from opscope.cli import main
from opscope.cli.pass_history import step_lines
from opscope.errors import OpscopeError
from opscope.program import Frame, Program, ProgramBuilder, TensorType
from opscope.recording.dumps.xla import read_dump
from opscope.recording.model import Recording


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return read_dump(write_dump(tmp_path / "dump"))


def test_a_fusion_names_its_parts_and_its_pass(recording: Recording) -> None:
    steps = recording.history("fusion.12")
    fused = next(step for step in steps if step.kind == "fused")
    assert fused.snapshot.name == "fusion"
    assert fused.old == (("main.9", "tanh.4"), ("main.9", "negate.5"))
    assert str(fused) == "tanh.4, negate.5 fused into fusion.12"


def test_every_link_of_a_history_has_its_evidence(recording: Recording) -> None:
    """Also that of a fusion, which rests on the nodes in it, and those through passes that did nothing to the node."""
    assert [(step.kind, step.evidence) for step in recording.history("fusion.12")][-1] == ("fused", "neighbourhood")
    steps = recording.history(("main.9", "dot.3"), carried=True)
    assert [(step.snapshot.index, step.kind, step.evidence) for step in steps] == [
        (3, "carried", "name"),
        (4, "carried", "name"),
        (5, "changed", "name"),
    ]
    assert recording.history(("main.9", "dot.3")) == steps[-1:]


def test_passes_that_did_nothing_are_one_row(recording: Recording) -> None:
    _, folded, _ = step_lines(recording.history(("main.9", "dot.3"), carried=True), "dot.3")
    assert folded.split() == ["3–4", "2", "passes", "name", "nothing"]
    unchanged, _, folded = step_lines(recording.history(("region_0.1", "sum"), carried=True), "sum")
    assert unchanged == "no pass changed sum"
    assert folded.split() == ["3–5", "3", "passes", "name", "nothing"]


def test_an_early_node_names_what_it_became(recording: Recording) -> None:
    fused = [step for step in recording.history("tanh.4", 0) if step.kind == "fused"]
    assert [step.new for step in fused] == [(("main.9", "fusion.12"),)]


def test_changes_show_their_values_and_unchanged_nodes_have_no_history(recording: Recording) -> None:
    changed = [step for step in recording.history(("main.9", "dot.3")) if step.kind == "changed"]
    assert changed and all(step.changes for step in changed)
    assert "dot.3 changed: " in str(changed[-1])
    assert recording.history(("region_0.1", "sum")) == []


def test_an_unknown_name_is_an_error(recording: Recording) -> None:
    with pytest.raises(OpscopeError, match=r"no node 'fusion\.12' after pass 0"):
        recording.history("fusion.12", 0)


@pytest.mark.slow
def test_the_prompt_prints_the_history(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump")
    command = [sys.executable, "-m", "opscope", "repl", f"{dump}@0"]
    done = subprocess.run(command, input="history TANH.4\nhistory zero.6\nhistory fusion.12\n", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "outer / fusion" in done.stdout and "tanh.4, negate.5 fused into fusion.12" in done.stdout
    assert "no pass changed zero.6" in done.stdout
    assert done.stdout.count("tanh.4, negate.5 fused into fusion.12") == 2, "a node of a later pass is found too"


def test_a_node_of_the_forward_and_one_of_the_backward_have_a_history_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Inductor numbers the buffers of both from 0, so `buf9` may be two nodes."""
    builder = ProgramBuilder("Net", "main")
    whole = builder.graph("main")
    for part in ("forward", "backward"):
        builder.graph(part).node("buf9", "pointwise", source=[Frame("net.py", 3 if part == "forward" else 7, part)])
        whole.node(part, "call", calls=[part])
    path = tmp_path / "run.opscope"
    with opscope.record(path) as rec:
        rec.snapshot(builder.build(), "launches", module="Net")
    assert main(["passes", str(path), "--history", "buf9"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if line.startswith("Net")] == ["Net, forward:", "Net, backward:"]
    assert [line.strip() for line in told if "net.py" in line] == ["net.py:3 forward", "net.py:7 backward"]


def test_a_combined_collective_computes_the_lines_of_all_that_it_was_made_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """XLA's combiner keeps the place of one of them."""

    def program(*sums: tuple[str, int], **combined: tuple[str, ...]) -> Program:
        builder = ProgramBuilder("step", "main")
        graph = builder.graph("main")
        for name, line in sums:
            graph.node(f"{name}.dot", "dot", outputs=[TensorType("f32", (4,))], source=[Frame("model.py", line, "expert")])
        for name, line in sums:
            if not combined:
                attrs = {"replica_groups": "{{0,1}}"}
                graph.node(
                    name,
                    "all-reduce",
                    [(f"{name}.dot", 0)],
                    [TensorType("f32", (4,))],
                    attrs=attrs,
                    source=[Frame("model.py", line, "expert")],
                )
        for name, parts in combined.items():
            values = [TensorType("f32", (4,)) for _ in parts]
            source = [Frame("model.py", sums[0][1], "expert")]
            graph.node(
                name, "all-reduce", [(f"{part}.dot", 0) for part in parts], values, attrs={"replica_groups": "{{0,1}}"}, source=source
            )
        return builder.build()

    sums = (("a", 12), ("b", 20), ("c", 12))
    path = tmp_path / "run.opscope"
    with opscope.record(path) as rec:
        rec.snapshot(program(*sums), "before", module="step")
        rec.snapshot(program(*sums, all=("a", "b", "c")), "combiner", module="step", provenance={"all": ["a", "b", "c"]})
    for node, lines in (("all", ["model.py:12 expert", "model.py:20 expert"]), ("b", ["model.py:20 expert"])):
        assert main(["passes", str(path), "--history", node]) == 0
        assert [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  model.py")] == lines


def calling(graph: str, target: str) -> Program:
    """A call of a graph, and a node with an attribute that may name one."""
    builder = ProgramBuilder("program", "main")
    inner, main = builder.graph(graph), builder.graph("main")
    inner.node("x", "parameter", role="parameter")
    inner.outputs = [("x", 0)]
    main.node("a", "parameter", role="parameter")
    main.node("call", "call", [("a", 0)], calls=[graph])
    main.node("noted", "note", [("call", 0)], attrs={"target": target})
    main.outputs = [("noted", 0)]
    return builder.build()


def test_what_an_attribute_names_is_decided_anew_for_every_pass(tmp_path: Path) -> None:
    """All passes share what is known about a node; that its attribute names a graph is only true where there is one of this name."""
    with opscope.record(tmp_path / "run.opscope") as rec:
        for graph, target in (("first", "first"), ("second", "second"), ("third", "fourth"), ("third", "fifth")):
            rec.snapshot(calling(graph, target), f"{graph} {target}")
    expected = {1: [], 2: [], 3: ["attrs.target"]}
    for order in ((1, 2, 3), (3, 2, 1)):
        recording = opscope.open_recording(tmp_path / "run.opscope")
        for index in order:
            difference = recording.diff(index)
            assert difference is not None
            assert [change.field for match in difference.changed for change in match.changes] == expected[index], (order, index)
