"""What analysis adds to a program is the same wherever it is seen: in the saved JSON, on the page, in a recording's page, on the server."""

from __future__ import annotations

import gc
import gzip
import re
import weakref
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from support.wire_reader import WireProgram, read_program

import opscope
from opscope import native
from opscope.analysis.enrich import enrich, enrich_for_picture
from opscope.analysis.groupings import DIRECTION, MODULE, OP, SOURCE_LINE
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.sources import open_recording
from opscope.render.wire.recording import encode_recording
from opscope.render.writers.html import document
from opscope.render.writers.svg import svg_text
from opscope.serve.sources import Served
from opscope.view_options import ViewOptions

QUANTIZED = ("quantized_decomposed.dequantize_per_tensor.default", "aten.mm.default", "quantized_decomposed.quantize_per_tensor.default")


def quantized() -> Program:
    """One cluster of quantized arithmetic in a partition."""
    builder = ProgramBuilder("quantized")
    graph = builder.graph("main")
    kind = [TensorType("f32", (4, 4))]
    last = graph.node("x", "input", outputs=kind, role="parameter").id
    for name, op in zip(("d", "mm", "q"), QUANTIZED, strict=True):
        last = graph.node(name, op, [(last, 0)] * (2 if name == "mm" else 1), kind).id
    graph.outputs.append((last, 0))
    graph.group("partition", "mm", ("partition 0",))
    return builder.build()


def trained() -> Program:
    return opscope.load(ROOT / "tests" / "samples" / "hlo" / "step_lowered.hlo")


def on_page(program: Program) -> WireProgram:
    packed = re.search(r'id="opscope-data-0">([^<]*)</script>', "".join(document([program])))
    assert packed
    return read_program(gzip.decompress(b64decode(packed[1])))


def on_server(program: Program) -> WireProgram:
    return read_program(gzip.decompress(Served.of(program).wire()[0]))


def in_recording(program: Program, directory: Path) -> WireProgram:
    with opscope.record(directory / "run.opscope") as rec:
        rec.snapshot(program, "only")
    recording = open_recording(directory / "run.opscope")
    return read_program(encode_recording(recording), recording.snapshot(0).content)


@pytest.mark.parametrize("make", [trained, quantized])
def test_json_pages_and_servers_agree(make: Callable[[], Program], tmp_path: Path) -> None:
    program = make()
    enriched = enrich(program)
    opscope.save(program, tmp_path / "saved.json")
    assert opscope.load(tmp_path / "saved.json") == enriched
    nodes = [(graph, node) for graph in enriched for node in graph.nodes]
    for wire in (on_page(program), on_server(program), in_recording(program, tmp_path)):
        assert [row["links"] for row in wire.nodes] == [[(link.kind, link.graph, link.node) for link in node.links] for _, node in nodes]
        added = {name for graph in enriched for name in graph.groupings}
        assert wire.groupings.keys() - added <= {MODULE, DIRECTION, SOURCE_LINE, OP}, "the others follow from the nodes themselves"
        for name in added:
            assert wire.groupings[name] == [graph.groupings.get(name, {}).get(node.id, ()) for graph, node in nodes]
        columns = [name for name, metric in enriched.metrics.items() if not metric.combine.startswith("ratio:")]
        for name in columns:
            assert wire.metrics[name] == [graph.metrics.get(name, {}).get(node.id) for graph, node in nodes]


def test_a_loaded_program_has_its_groupings_whatever_it_was_loaded_from(tmp_path: Path) -> None:
    program = quantized()
    assert "qdq cluster" not in program.main.groupings
    (tmp_path / "plain.json").write_text(native.dumps([program]), "utf-8")
    with opscope.record(tmp_path / "run.opscope") as rec:
        rec.snapshot(program, "only")
    for source in ("plain.json", "run.opscope@0"):
        assert opscope.load(tmp_path / source).main.groupings == enrich(program).main.groupings


def test_a_program_goes_when_nobody_needs_it() -> None:
    """Not when the garbage collector comes: in a server that waits, that is never."""
    gc.collect()
    gc.disable()
    try:
        left = []
        for made in (enrich, enrich_for_picture, lambda program: enrich(program, snapshot=True), lambda program: enrich(enrich(program))):
            program = opscope.load("demo:train_step")
            shown = made(program)
            left += [weakref.ref(program.main), weakref.ref(shown.main)]
            del program, shown
        assert [each() for each in left] == [None] * len(left)
    finally:
        gc.enable()


def test_something_is_added_and_only_once() -> None:
    step = trained()
    assert enrich(step) != step and enrich(step) is enrich(step) is enrich(enrich(step))
    assert any(node.links for graph in enrich(step) for node in graph) and not any(node.links for graph in step for node in graph)
    assert "qdq cluster" in enrich(quantized()).main.groupings
    assert {"flops", "bytes"} <= enrich(step).metrics.keys()


@pytest.mark.parametrize(
    "options",
    [{}, {"depth": 2, "group_by": DIRECTION}, {"flatten": True, "all_nodes": True, "names": True, "layouts": True}, {"values": "boxes"}],
)
def test_a_picture_without_numbers_and_links_is_drawn_without_computing_them(options: dict[str, Any]) -> None:
    """They take most of the time of a large program; the picture is the same to the byte."""
    quick, whole = trained(), trained()
    enrich(whole)
    assert svg_text(quick, ViewOptions(**options)) == svg_text(whole, ViewOptions(**options))
    assert "_enriched" in vars(whole) and "_enriched" not in vars(quick)


@pytest.mark.parametrize(
    "options", [{"forward_backward": True}, {"around": ("dot_general.13",)}, {"colour_by": "flops"}, {"label": ("bytes",)}]
)
def test_a_picture_with_numbers_or_links_has_them(options: dict[str, Any]) -> None:
    step = trained()
    svg_text(step, ViewOptions(**options))
    assert "_enriched" in vars(step)
