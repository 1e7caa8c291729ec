"""HLO that is written says what was read, also where XLA writes elements of tuples as `%x#1`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.hlo_texts import write_dump

import opscope
from opscope.cli import main

TEXT = """HloModule m, is_scheduled=true, entry_computation_layout={((f32[4]{0}, f32[8]{0}))->(f32[4]{0}, f32[8]{0})}, num_partitions=2

ENTRY %main (p: (f32[4], f32[8])) -> (f32[4], f32[8]) {
  %p = (f32[4]{0}, f32[8]{0}) parameter(0)
  %a = f32[8]{0} negate(%p#1)
  %b = f32[8]{0} multiply(%a, %p#1)
  %c = f32[4]{0} abs(%p#0)
  ROOT %r = (f32[4]{0}, f32[8]{0}) tuple(%c, %b)
}
"""


SHARDED = """HloModule jit_f, entry_computation_layout={(f32[8,4]{1,0})->f32[8,4]{1,0}}, num_partitions=2

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add = f32[] add(%a, %b)
}

%unused (c: f32[]) -> f32[] {
  ROOT %c = f32[] parameter(0)
}

ENTRY %main (p: f32[8,4]) -> f32[8,4] {
  %p = f32[8,4]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}, frontend_attributes={x="y"}
  %dead = f32[8,4]{1,0} exponential(%p)
  %r = f32[8,4]{1,0} all-reduce(%p), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=%sum
  ROOT %c = f32[8,4]{1,0} cosine(%r), sharding={devices=[2,1]<=[2]}
}
"""


def export(tmp_path: Path, *words: str, text: str = TEXT) -> str:
    (tmp_path / "m.hlo").write_text(text)
    assert main(["export", str(tmp_path / "m.hlo"), *words, "-o", str(tmp_path / "out.hlo")]) == 0
    return (tmp_path / "out.hlo").read_text()


def test_elements_of_tuples_stay_what_they_are(tmp_path: Path) -> None:
    lines = [line.strip() for line in export(tmp_path).splitlines()]
    assert lines.count("p.element.1 = f32[8]{0} get-tuple-element(p), index=1") == 1
    assert "a = f32[8]{0} negate(p.element.1)" in lines and "b = f32[8]{0} multiply(a, p.element.1)" in lines
    assert "c = f32[4]{0} abs(p.element.0)" in lines and "ROOT r = (f32[4]{0}, f32[8]{0}) tuple(c, b)" in lines


def test_a_whole_module_keeps_what_passes_depend_on(tmp_path: Path) -> None:
    assert export(tmp_path).splitlines()[0] == TEXT.splitlines()[0]
    assert re.fullmatch(r"HloModule \w+", export(tmp_path, "--around", "b", "--force").splitlines()[0])


def test_a_whole_module_is_written_whole(tmp_path: Path) -> None:
    """Without the shardings of its parameters, the partitioner makes another program of it, and says nothing; without what nothing reads,
    dce has nothing to do."""
    said = {line.strip().replace("%", "") for line in SHARDED.splitlines() if " = " in line}
    assert {line.strip() for line in export(tmp_path, text=SHARDED).splitlines() if " = " in line} == said


def test_a_part_with_collectives_is_for_as_many_devices(tmp_path: Path) -> None:
    head = export(tmp_path, "--around", "r", text=SHARDED).splitlines()[0]
    assert head == "HloModule r_extracted, num_partitions=2"


def test_a_recording_gives_the_hlo_that_its_dump_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole program up to a pass, one computation, and a node with its operands; a recording keeps the lines of XLA's text."""
    dump, recording = write_dump(tmp_path / "dump"), tmp_path / "run.opscope"
    assert main(["export", str(dump), "-o", str(recording)]) == 0
    for number, words in enumerate(([], ["--graph", "fused_computation"], ["--around", "reduce.7"])):
        texts = []
        for source in (dump, recording):
            target = tmp_path / f"{source.name}.{number}.hlo"
            assert main(["export", f"{source}@5", "-o", str(target), *words]) == 0
            texts.append(target.read_text())
        assert texts[0] == texts[1] and "HloModule " in texts[0]
    with opscope.record(tmp_path / "other.opscope") as rec:
        rec.snapshot(opscope.Program("f", {"main": opscope.Graph("main", (opscope.Node("x", "input"),))}, "main"), "start")
    assert main(["export", str(tmp_path / "other.opscope"), "-o", str(tmp_path / "other.hlo")]) == 2
    assert "was not read from HLO text" in capsys.readouterr().err


@pytest.mark.frameworks
def test_xla_reads_what_is_written(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    from jaxlib._hlo import hlo_module_from_text

    for words in ((), ("--around", "b", "--force")):
        text = hlo_module_from_text(export(tmp_path, *words)).to_string()
        assert "negate(" in text
    whole = hlo_module_from_text(export(tmp_path, "--force", text=SHARDED)).to_string()
    assert whole == hlo_module_from_text(SHARDED).to_string()
    assert opscope.load(tmp_path / "out.hlo").node_count > 2
