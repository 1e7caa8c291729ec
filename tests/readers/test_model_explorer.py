"""Model Explorer's JSON in both directions: every field comes back, errors are reported, and its own viewer opens the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Corpus
from support.model_explorer_page import their_page, their_server

import opscope
from opscope.errors import OpscopeError
from opscope.readers import model_explorer

__all__ = ["their_server"]  # a fixture

SAMPLE = Path(__file__).resolve().parent.parent / "samples" / "model_explorer" / "every_field.json"
EVERYTHING: dict[str, Any] = json.loads(SAMPLE.read_text("utf-8"))
"""A collection with every field that Model Explorer supports, and one from a future version."""

FORMS = {
    "a collection": EVERYTHING,
    "collections": [EVERYTHING, {"label": "second", "graphs": [{"id": "g", "nodes": []}]}],
    "graphs": EVERYTHING["graphs"],
    "labelled subgraphs": [{"label": "tflite", "subgraphs": EVERYTHING["graphs"], "extra": 1}],
    "ExecuTorch's": {**EVERYTHING, "graphsWithLevel": [{"graph": graph, "level": 0} for graph in EVERYTHING["graphs"]]},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_field_that_goes_in_comes_out(form: str, tmp_path: Path) -> None:
    source, again = tmp_path / "in.json", tmp_path / "out.json"
    source.write_text(json.dumps(FORMS[form]))
    opscope.save(opscope.load_all(source), again, format="model-explorer")
    assert json.loads(again.read_text()) == FORMS[form]


def test_fields_have_their_meaning(tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    source.write_text(json.dumps(EVERYTHING))
    program = opscope.load(source)
    assert isinstance(program, opscope.Program) and program.entry == "main"
    split, add = program.main["split"], program.main["y"]
    assert split.scope == ("block", "in/ner", "odd;last") and split.calls == ("body",)
    assert [str(output) for output in split.outputs] == ["float32[4, ?]", "f16[4, 8]"]
    assert split.attrs["tensor_names"] == ["t:0"]
    assert add.inputs == (("split", 1), ("split", 0)), "an output is found by its id, and an edge without a source is dropped"
    assert program.main["x"].role == "parameter"


@pytest.mark.parametrize(("target", "role"), [("None", "input"), ("conv.weight", "parameter")])
def test_executorch_says_which_placeholders_are_inputs(target: str, role: str, tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    node = {"id": "x", "label": "x", "namespace": "", "attrs": [{"key": "target", "value": target}], "incomingEdges": []}
    source.write_text(json.dumps({"label": "model", "graphs": [{"id": "main", "nodes": [node]}]}))
    assert opscope.load(source).main["x"].role == role


def test_native_json_preserves_every_field(tmp_path: Path) -> None:
    source, native, again = tmp_path / "in.json", tmp_path / "native.json", tmp_path / "out.json"
    source.write_text(json.dumps(EVERYTHING))
    opscope.save(opscope.load(source), native)
    opscope.save(opscope.load(native), again, format="model-explorer")
    assert json.loads(again.read_text()) == EVERYTHING


def test_executorchs_file_comes_back_equal(corpus: Corpus, tmp_path: Path) -> None:
    source, again = corpus("clusters.model_explorer.json"), tmp_path / "again.json"
    program = opscope.load(source)
    opscope.save(program, again, format="model-explorer")
    assert json.loads(again.read_text()) == json.loads(source.read_text())
    assert isinstance(program, opscope.Program) and program.main["aten_cumsum_default"].op == "aten.cumsum"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ('{"graphs": 1, "label": "", "namespace": ""}', "`graphs` must be a list of graphs"),
        ('{"graphs": [{"id": "g"}]}', "graph 'g': `nodes` must be a list of nodes"),
        ('{"graphs": [{"id": "g", "nodes": [{"label": "no id"}]}]}', "with an `id`"),
        ('{"graphs": [{"id": "g", "nodes": [{"id": "a"}, {"id": "a"}]}]}', "duplicate id 'a'"),
        ('{"graphs": [{"id": "g", "nodes": [', "in.json:1:.*not valid JSON"),
        ("3", "expected a collection"),
    ],
)
def test_errors_say_what_is_wrong(document: str, message: str, tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    source.write_text(document)
    with pytest.raises(OpscopeError, match=message):
        opscope.load(source, format="model-explorer")


def test_a_grouping_becomes_the_namespaces(tmp_path: Path) -> None:
    """Model Explorer has one hierarchy; `group_by` chooses which of ours it gets."""
    builder = opscope.ProgramBuilder("p", "main")
    graph = builder.graph("main")
    graph.node("a", "add", scope=("model", "layer/0"))
    graph.group("partition", "a", ("partition 0 (t)", "cluster (c)"))
    program = builder.build()
    spaces = {}
    for grouping in (None, "partition"):
        (graph_json,) = model_explorer.encode(program, grouping)["graphs"]
        spaces[grouping] = graph_json["nodes"][0]["namespace"]
    assert spaces == {None: "model/layer\\/0", "partition": "partition 0 (t)/cluster (c)"}


def test_their_viewer_opens_the_file(chromium: Callable[..., Any], their_server: str, tmp_path: Path) -> None:
    builder = opscope.ProgramBuilder("Net of opscope", "main")
    graph = builder.graph("main")
    graph.node("x", "input", role="parameter")
    graph.node("conv", "aten.conv2d.default", [("x", 0)], attrs={"stride": [1, 1]})
    graph.node("relu", "aten.relu.default", [("conv", 0)])
    graph.node("sum", "aten.sum.default", [("relu", 0)])
    for name in ("conv", "relu"):
        graph.group("partition", name, ("partition 0 (a)", "cluster (conv/0)"))
    target = tmp_path / "ours.json"
    opscope.save(builder.build(), target, format="model-explorer", group_by="partition")
    shown = their_page(chromium, their_server, target)
    assert "Net of opscope" in shown
    assert "op node count 4" in shown and "layer count 2" in shown
