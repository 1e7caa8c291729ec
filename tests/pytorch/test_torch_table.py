"""The summary as the viewer's table of modules: the page shows what Python computed, and rows and picture are linked."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from browser.conftest import browser, open_address
from browser.harness import Open, Viewer, until
from torch import nn
from torch_models import ARCHITECTURES, Block

import opscope
from opscope.analysis.layers import layers_of
from opscope.readers.torch.measure import measure

__all__ = ["browser", "open_address"]  # fixtures of the viewer's tests

COPY = ["clipboard-read", "clipboard-write"]


class Net(nn.Module):
    """A convolution, a block that is called twice, and a weight that is tied."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.block = Block()
        self.head = nn.Linear(8, 8)
        self.tied = nn.Linear(8, 8)
        self.tied.weight = self.head.weight
        self.stem.requires_grad_(False)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.stem(image).mean((2, 3))
        x = self.block(self.block(x))
        return self.tied(self.head(x))


IMAGE = torch.rand(2, 3, 8, 8)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_graph_has_the_layers_of_a_run(name: str) -> None:
    model, args, kwargs = ARCHITECTURES[name]()
    from_graph, measured = layers_of(opscope.capture(model, *args, **kwargs)), measure(model, args, kwargs)
    assert (from_graph.parameters, from_graph.trainable, from_graph.parameter_bytes) == (
        measured.parameters, measured.trainable, measured.parameter_bytes,
    )  # fmt: skip
    assert from_graph.flops == measured.flops, "the rules agree with torch's counter"
    ran = {(layer.path, layer.repeat): (layer.cls, layer.depth, layer.flops) for layer in measured.layers if layer.called}
    drawn = {(layer.path, layer.repeat): (layer.cls, layer.depth, layer.flops) for layer in from_graph.layers}
    assert drawn.items() <= ran.items()
    assert len(ran) - len(drawn) <= 5, "only modules without operations (identities) are missing from the graph"


@pytest.mark.parametrize("stage", ["forward", "eager", "joint"])
def test_every_stage_has_the_same_table(stage: str) -> None:
    table = opscope.summary(opscope.capture(Net(), IMAGE, stage=stage), columns=("input", "output", "kernel", "params", "mult_adds"))
    measured = opscope.summary(Net(), input_data=IMAGE).to_dict()
    rows = {row["label"]: row for row in table.to_dict()["rows"]}
    for row in measured["rows"]:
        if row["path"] and row["called"]:
            table_row = rows[row["label"]]
            for column in ("input", "output", "mult_adds", "kernel", "params", "shared", "trainable"):
                assert table_row[column] == row[column], (row["label"], column)
    assert table.totals["mult_adds"] == measured["totals"]["mult_adds"]
    assert table.totals["activation_bytes"] is None, "what autograd saves is known only after a run"


def test_what_a_graph_does_not_show_is_left_open() -> None:
    class Branch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda x: x @ x.sin().T, lambda x: x @ x.cos().T, (self.linear(x),))

    table = opscope.summary(opscope.capture(Branch(), torch.rand(3, 4)))
    assert table.totals["mult_adds"] is None, "which branch runs is not known"
    assert "Mult-adds  " not in str(table).splitlines()[-4:]
    assert str(table).endswith("multiply-adds are unknown: the graph does not determine those of 1 operation (cond)")
    linear = next(row for row in table.to_dict()["rows"] if row["path"] == "linear")
    assert linear["mult_adds"] == 48
    for other in (opscope.capture(torch.sin, torch.rand(2)), opscope.capture(torch.fx.symbolic_trace(Block()))):
        with pytest.raises(opscope.OpscopeError, match="not captured from torch modules"):
            opscope.summary(other)  # in a symbolic trace, parameters are inside the nodes


def test_files_may_call_something_else_a_summary(tmp_path: Path) -> None:
    """A program's attributes may have any name."""
    for odd in ("text", {"rows": [{}], "model": 1}, {"model": "m", "rows": 3, "totals": {}}, ["x"]):
        (tmp_path / "odd.json").write_text(json.dumps({
            "format": "opscope", "version": 1, "name": "odd", "entry": "main", "attrs": {"summary": odd},
            "graphs": [{"name": "main", "nodes": [{"id": "a", "op": "add"}]}],
        }))  # fmt: skip
        opscope.save(opscope.load(tmp_path / "odd.json"), tmp_path / "odd.html")
        assert (tmp_path / "odd.html").stat().st_size > 0


def cell(viewer: Viewer, text: str) -> Any:
    return viewer.page.get_by_role("cell", name=text, exact=True)


def row(viewer: Viewer, module: str) -> Any:
    return viewer.page.get_by_role("row").filter(has=viewer.page.get_by_role("cell", name=module, exact=True))


def test_the_viewer_shows_it(open_address: Open, tmp_path: Path) -> None:
    summary = opscope.summary(Net(), input_data=IMAGE)
    opscope.save(summary, tmp_path / "net.html")
    viewer = open_address((tmp_path / "net.html").as_uri(), permissions=COPY)
    page = viewer.page
    until(lambda: cell(viewer, "block.layers.0").count())
    headings = page.get_by_role("columnheader").all_inner_texts()
    for name in ("module", "class", "input", "output", "parameters", "share", "mult-adds", "saved for backward", "kernel", "trainable"):
        assert name in headings
    totals = page.get_by_label("Totals").inner_text()
    for name, text in summary.total_lines():
        assert name in totals and text in totals

    page.get_by_role("button", name="Copy as CSV", exact=True).click()
    viewer.idle()
    copied = list(csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))
    measured = {row["label"]: row for row in summary.program.attrs["summary"]["rows"]}
    assert len(copied) == len(measured)
    stem = next(line for line in copied if line["module"] == "stem")
    assert stem["class"] == "Conv2d" and stem["kernel"] == "3 × 3" and stem["trainable"] == "no"
    assert stem["input"] == "[2, 3, 8, 8]" and stem["output"] == "[2, 8, 8, 8]"
    assert int(stem["mult-adds"]) == measured["stem: Conv2d"]["mult_adds"] == 2 * 64 * 216
    assert sum(int(line["parameters"]) for line in copied) == summary.totals["parameters"]
    assert int(copied[0]["parameters inside"]) == summary.totals["parameters"]

    page.get_by_role("button", name="mult-adds").click()
    until(lambda: page.get_by_role("columnheader", name="mult-adds").get_attribute("aria-sort") == "descending")
    until(lambda: page.get_by_role("row").nth(2).get_by_role("cell").first.inner_text() == "stem")
    page.get_by_label("Filter rows").fill("linear")
    until(lambda: not cell(viewer, "stem").count() and cell(viewer, "head").count())


def test_rows_and_picture_are_linked(open_address: Open, tmp_path: Path) -> None:
    opscope.save(opscope.summary(Net(), input_data=IMAGE), tmp_path / "net.html")
    viewer = open_address((tmp_path / "net.html").as_uri())
    viewer.press("Collapse all")
    until(lambda: cell(viewer, "block@1").count())
    cell(viewer, "block.layers.1@1").click()
    state = viewer.idle()
    assert state["expanded"] == ["g:block%401: Block"], "what hides it is opened, and nothing else"
    assert "layers.1%401" in state["selection"][0]
    until(lambda: row(viewer, "block.layers.1@1").get_attribute("aria-selected") == "true")
    viewer.row("stem").click()
    until(lambda: row(viewer, "stem").get_attribute("aria-selected") == "true")
    assert row(viewer, "block.layers.1@1").get_attribute("aria-selected") == "false"


@pytest.mark.parametrize("stage", ["forward", "eager", "joint", "autograd"])
def test_a_captured_module_brings_its_table(stage: str, open_address: Open, tmp_path: Path) -> None:
    opscope.save(opscope.capture(Net(), IMAGE, stage=stage), tmp_path / "net.html")
    viewer = open_address((tmp_path / "net.html").as_uri())
    viewer.press("Table")
    viewer.press("Modules")
    until(lambda: cell(viewer, "head").count())
    cell(viewer, "head").first.click()
    viewer.idle()
    until(lambda: row(viewer, "head").first.get_attribute("aria-selected") == "true")
    assert "head" in viewer.page.get_by_role("complementary", name="Details").inner_text()
