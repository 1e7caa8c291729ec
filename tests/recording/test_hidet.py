"""hidet: its unmodified tutorial, in the versions that people use, and dumps from other machines.

The live tests run hidet in separate environments, which tests/support/hidet_env.sh creates (`make test` runs it).
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Corpus

import opscope
from opscope.recording.diff import diff, diff_passes
from opscope.recording.model import Recording
from opscope.render.wire.compare_passes import compared_rows

pytestmark = pytest.mark.frameworks

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("0.6.1", "0.3.1")


class Tutorial:
    """One run of the tutorial: the facts that it printed, its recording and its files."""

    def __init__(self, facts: dict[str, Any], times: str, recording: Recording, outs: Path) -> None:
        self.facts, self.times, self.recording, self.outs = facts, times, recording, outs

    def passes(self) -> list[str]:
        return [s.name for s in self.recording]


@pytest.fixture(scope="module", params=VERSIONS)
def tutorial(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tutorial:
    python = ROOT / f".venv-hidet-{request.param}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no environment with hidet {request.param}: tests/support/hidet_env.sh {request.param} .venv-hidet-{request.param}")
    outs = tmp_path_factory.mktemp("hidet")
    (outs / "passes").mkdir()
    script = Path(__file__).with_name("hidet_attention.py")
    environment = {**os.environ, "HOME": str(outs), "PYTHONPATH": str(ROOT / "src")}
    command = [str(python), str(script), str(outs / "run.opscope"), str(outs)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=outs, check=False)
    assert done.returncode == 0, done.stderr
    recording = opscope.open_recording(outs / "run.opscope")
    assert isinstance(recording, Recording)
    return Tutorial(json.loads(done.stdout.splitlines()[-1]), done.stderr, recording, outs)


def test_the_graph_is_captured_operator_by_operator(tutorial: Tutorial) -> None:
    assert tutorial.facts["captured"] == tutorial.facts["names"]
    assert tutorial.facts["text"].startswith("main(input: float32[1, 128, 768], input_1: int32[1, 128]")


def test_every_pass_is_recorded_with_its_seconds(tutorial: Tutorial) -> None:
    names = tutorial.passes()
    assert names[0] == "Origin" and names[1] == "ConvChannelLastPass" and names[-1] == "EliminateBarrierPass"
    nested = [s for s in tutorial.recording if s.pipeline]
    assert [(s.pipeline, s.name) for s in nested] == [(("SelectiveQuantizePass",), "SubgraphRewritePass")]
    assert all(s.seconds is not None for s in tutorial.recording[1:])
    assert tutorial.times.count(" s  ") == len(names) - 1
    assert tutorial.recording.attrs["producer"] == "hidet" and tutorial.facts["restored"]


def test_each_new_operator_has_an_origin(tutorial: Tutorial) -> None:
    """Exact provenance: after every pass, each operator is an old one or has recorded origins."""
    for snapshot in tutorial.recording[1:]:
        before = tutorial.recording.before(snapshot)
        assert before is not None
        old = {(graph.name, node.id) for graph in before.program for node in graph}
        explained = {key for origin in snapshot.origins for key in origin.new}
        for origin in snapshot.origins:
            assert set(origin.old) <= old
        for graph in snapshot.program:
            for node in graph:
                fused = bool(node.calls)
                if node.role == "op" and not fused:
                    assert (graph.name, node.id) in old | explained, f"{node.id} after {snapshot.name}"


def test_rules_have_names_and_source_lines(tutorial: Tutorial) -> None:
    rules = [origin for s in tutorial.recording for origin in s.origins if origin.rule]
    assert rules and all(origin.where is not None and origin.where.file.endswith("_patterns.py") for origin in rules)
    if tutorial.facts["version"] == "0.3.1":
        (merged,) = [origin for origin in rules if "3 branches of matmul" in origin.rule]
        assert len(merged.old) == 6 and len(merged.new) == 5


def test_fused_operators_are_called_graphs_and_explained(tutorial: Tutorial) -> None:
    fusing = tutorial.recording.snapshot("FuseOperatorPass")
    diff = tutorial.recording.diff(fusing.index)
    assert diff is not None and diff.fusions and diff.removed == ()
    assert sum(len(fusion.old) for fusion in diff.fusions) >= tutorial.facts["optimized"]
    assert {match.evidence for match in diff.matched} == {"rewrite", "identity"}


def test_its_own_dump_has_the_same_passes(tutorial: Tutorial) -> None:
    saved = opscope.open_recording(tutorial.outs / "passes")
    assert isinstance(saved, Recording)
    assert [s.name for s in saved] == tutorial.passes()
    live = [len([node for node in s.program.main if node.role == "op"]) for s in tutorial.recording]
    assert [len([node for node in s.program.main if node.role == "op"]) for s in saved] == live
    assert all(s.seconds is not None for s in saved[1:])


def test_matching_its_files_agrees_with_recorded_provenance(tutorial: Tutorial) -> None:
    """Without names or recorded origins, surviving operators are matched: at least 97 % right, under 1 % wrong."""
    survived = right = wrong = 0
    for snapshot in tutorial.recording[1:]:
        before = tutorial.recording.before(snapshot)
        assert before is not None
        same = {node.id for node in before.program.main} & {node.id for node in snapshot.program.main if node.role == "op"}
        truth = {("main", id): ("main", id) for id in same}
        for origin in snapshot.origins:
            if len(origin.old) == len(origin.new) == 1 and not origin.rule and origin.old[0][0] == origin.new[0][0]:
                truth[origin.old[0]] = origin.new[0]
        matched = diff_passes(before.program, snapshot.program, ids="positions").matched
        counterparts = {a: set(match.b) for match in matched for a in match.a}
        survived += len(truth)
        right += sum(b in counterparts.get(a, ()) for a, b in truth.items())
        wrong += sum(a in counterparts and b not in counterparts[a] for a, b in truth.items())
    assert survived > 60 and right >= 0.97 * survived and wrong < 0.01 * survived, (survived, right, wrong)


def test_its_json_is_read_and_written_alike(tutorial: Tutorial) -> None:
    theirs = opscope.load(tutorial.outs / "attention-graph.json")
    ours = opscope.load(tutorial.outs / "written.json")
    assert isinstance(theirs, opscope.Program) and isinstance(ours, opscope.Program)
    assert [(node.op, node.outputs) for node in theirs.main if node.role == "op"] == [
        (node.op, node.outputs) for node in ours.main if node.role == "op"
    ]
    assert diff(theirs, ours, match_by_name=False).added == ()


def test_written_json_has_the_fields_that_hidet_writes(tutorial: Tutorial) -> None:
    theirs = json.loads((tutorial.outs / "attention-graph.json").read_text())
    ours = json.loads((tutorial.outs / "written.json").read_text())
    assert list(ours) == list(theirs)
    assert set(ours["graphs"][0]["nodes"][0]) >= set(theirs["graphs"][0]["nodes"][0])
    assert ours["graphs"][0]["nodes"][0]["description"] == theirs["graphs"][0]["nodes"][0]["description"]


@pytest.fixture(scope="module")
def saved(corpus: Corpus) -> Path:
    return corpus("hidet_passes")


def test_saved_dumps_of_larger_models_open(saved: Path) -> None:
    dumps = sorted(path.parent for path in saved.rglob("0_Origin.json"))
    assert len(dumps) >= 3
    for dump in dumps:
        recording = opscope.open_recording(dump)
        assert isinstance(recording, Recording) and recording.skipped == []
        assert any(not row.unchanged for row in compared_rows(recording))
        fused = recording.snapshot("FuseOperatorPass").program
        assert len(fused.graphs) > 1 and all(node.op != "fused_graph" for graph in fused for node in graph)


def test_broken_json_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text('{"graphs": [{"inputs": [], "nodes": [{"arguments": 1}]}]}')
    with pytest.raises(opscope.SourceError, match="is not hidet's netron JSON"):
        opscope.load(path)
