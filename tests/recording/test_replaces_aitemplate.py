"""The documented steps of AITemplate's plot_graph (1.1 to 1.9 of docs/replaces.md): the tutorial's own code with only the import changed.

AITemplate is on no package index, so the tutorial runs with an imitation of it, and what AITemplate's own plot_graph drew for the
tutorial is in the corpus. With OPSCOPE_AITEMPLATE=CHECKOUT/python the same tests run with AITemplate itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from browser.conftest import browser, open_address
from browser.harness import Open
from conftest import diff_of

import opscope

__all__ = ["browser", "open_address"]  # fixtures of the viewer's tests

ROOT = Path(__file__).resolve().parents[2]
CHECKOUT = os.environ.get("OPSCOPE_AITEMPLATE", "")
ORIGINAL = ROOT / "tests" / "corpus" / "aitemplate_plot_graph.json"
"""By AITemplate's own plot_graph: the label of every box, the edges, and the attributes that a click shows. With and without times."""
SVG = "{http://www.w3.org/2000/svg}"

DEFINE = """
from aitemplate import compiler
from aitemplate.frontend import nn, Tensor
from aitemplate.testing import detect_target
from opscope.compat.aitemplate import plot_graph

class AITSimpleModel(nn.Module):
  def __init__(self, hidden, eps: float = 1e-5):
    super().__init__()
    self.dense1 = nn.Linear(hidden, 4 * hidden, specialization="fast_gelu")
    self.dense2 = nn.Linear(4 * hidden, hidden)
    self.layernorm = nn.LayerNorm(hidden, eps=eps)

  def forward(self, input):
    hidden_states = self.dense1(input)
    hidden_states = self.dense2(hidden_states)
    hidden_states = hidden_states + input
    hidden_states = self.layernorm(hidden_states)
    return hidden_states

def gen_ait_model():
  batch_size = 512
  hidden = 1024
  ait_model = AITSimpleModel(hidden)
  ait_model.name_parameter_tensor()
  X = Tensor(
            shape=[batch_size, hidden],
            name="X",
            dtype="float16",
            is_input=True,
  )
  Y = ait_model(X)
  Y._attrs["is_output"] = True
  Y._attrs["name"] = "Y"
  return Y

output_tensor = gen_ait_model()
"""
OPTIMIZE = """
def apply_optimizations(tensors):
  target = detect_target()
  # first, convert output tensors to graph
  with target:
    graph = compiler.transform.toposort(tensors)
    # second, provide names to the graph
    compiler.transform.name_graph(graph)
    compiler.transform.mark_param_tensor(graph)
    compiler.transform.mark_special_views(graph)
    # we can apply optimizations to the graph, or test single optimization pass on the graph
    graph = compiler.transform.optimize_graph(graph, "./tmp")
  return graph

graph = apply_optimizations(output_tensor)
"""
PLOT = """
# Plot the graph
plot_graph(graph, file_path="ait_model.html")
"""
TIMES = {
    "gemm_rcr_bias_fast_gelu_0": {"ms_per_iter": 0.25},
    "gemm_rcr_bias_add_4": {"ms_per_iter": 0.125},
    "layernorm_3": {"ms_per_iter": 0.0625},
}
PICTURES = """
plot_graph(graph, "new/directory/ait_model.svg")
plot_graph(graph, "ait_model.png")
plot_graph(graph, "ait_model.jpg")
plot_graph(graph, "timed.svg", file_with_time_profiles="times.json")
plot_graph(graph, "timed.html", file_with_time_profiles="times.json")
plot_graph(graph, "timed.json", file_with_time_profiles="times.json")
output_tensor._attrs["is_view_of"] = next(tensor for tensor in graph if tensor._attrs["name"] == "X")
plot_graph(graph, "view.svg")
"""


def run(script: str, directory: Path) -> None:
    """Run a part of the tutorial, with AITemplate if a checkout is named and with the imitation otherwise."""
    (directory / "tutorial.py").write_text(script)
    (directory / "tmp").mkdir()
    (directory / "times.json").write_text(json.dumps(TIMES))
    through = ROOT / "tests" / "support" / ("aitemplate_checkout.py" if CHECKOUT else "aitemplate_standin.py")
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), CHECKOUT]))
    environment = {**os.environ, "PYTHONPATH": path, "AIT_BUILD_DOCS": "1", "CACHE_DIR": str(directory / "cache")}
    result = subprocess.run(
        [sys.executable, str(through), "tutorial.py"], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="session")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with everything that the tutorial and its variations write."""
    directory = tmp_path_factory.mktemp("aitemplate")
    run(DEFINE + OPTIMIZE + PLOT + PICTURES, directory)
    return directory


class Drawn(NamedTuple):
    labels: Counter[str]
    edges: Counter[tuple[str, str]]
    fills: dict[str, str]
    texts: dict[str, list[str]]
    widths: dict[str, float]
    """Of borders."""
    letters: dict[str, float]
    """The size of the first line's letters."""
    areas: dict[str, float]


def in_svg(text: str) -> Drawn:
    boxes, edges = {}, []
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        part = group.attrib.get("class", "").partition(" ")[0]
        if part == "box":
            boxes[group.attrib["data-key"]] = group
        elif part == "edge":
            edges.append((group.attrib["data-from"], group.attrib["data-to"]))
    texts = {key: [run.text or "" for run in group.iter(f"{SVG}text")] for key, group in boxes.items()}
    bodies = {key: next(iter(group.iter(f"{SVG}rect"))).attrib for key, group in boxes.items()}
    return Drawn(
        Counter(lines[0] for lines in texts.values()),
        Counter((texts[a][0], texts[b][0]) for a, b in edges),
        {texts[key][0]: body["fill"] for key, body in bodies.items()},
        {lines[0]: lines[1:] for lines in texts.values()},
        {texts[key][0]: float(body.get("stroke-width", 1)) for key, body in bodies.items()},
        {texts[key][0]: float(next(iter(group.iter(f"{SVG}text"))).attrib["font-size"]) for key, group in boxes.items()},
        {texts[key][0]: float(body["width"]) * float(body["height"]) for key, body in bodies.items()},
    )


def original() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(ORIGINAL.read_text())
    return facts


def captured(script: str, directory: Path, what: str) -> opscope.Program:
    run(f'{script}\nimport opscope\nopscope.save(opscope.capture({what}), "program.json")\n', directory)
    return opscope.load(directory / "program.json")


@pytest.mark.slow
@pytest.mark.step("1.1")
def test_the_model_that_the_tutorial_defines(tmp_path: Path) -> None:
    graph = captured(DEFINE, tmp_path, "output_tensor").main
    assert [node.op for node in graph if node.role == "op"] == ["gemm_rcr_bias_fast_gelu", "gemm_rcr_bias", "elementwise", "layernorm"]
    assert graph["X"].role == "input" and graph[graph.outputs[0][0]].attrs["output_names"] == "Y"


@pytest.mark.slow
@pytest.mark.step("1.2")
def test_names_and_marks(tmp_path: Path) -> None:
    """The graph can be drawn before each of them, and drawing names nothing; AITemplate's own plot_graph names the user's tensors."""
    drawn_before = """graph = compiler.transform.toposort(tensors)
    names = [tensor._attrs["name"] for tensor in graph]
    plot_graph(graph, "unnamed.svg")
    assert None in names and names == [tensor._attrs["name"] for tensor in graph]
"""
    without = OPTIMIZE.replace('graph = compiler.transform.optimize_graph(graph, "./tmp")', "pass")
    without = without.replace("graph = compiler.transform.toposort(tensors)\n", drawn_before)
    assert "unnamed.svg" in without
    graph = captured(DEFINE + without, tmp_path, "graph").main
    assert [node.id for node in graph if node.role == "op"] == [
        "gemm_rcr_bias_fast_gelu_0",
        "gemm_rcr_bias_1",
        "elementwise_2",
        "layernorm_3",
    ]
    parameters = {"dense1_weight", "dense1_bias", "dense2_weight", "dense2_bias", "layernorm_weight", "layernorm_bias"}
    assert {node.id for node in graph if node.attrs.get("is_param")} == parameters
    drawn = in_svg((tmp_path / "unnamed.svg").read_text())
    assert {*drawn.labels} >= parameters | {"X", "Y"} and sum(drawn.labels.values()) == len(graph.nodes) + 4, (
        "and a tensor after each operator"
    )


@pytest.mark.slow
@pytest.mark.step("1.3")
def test_the_optimized_graph(tmp_path: Path) -> None:
    """What all passes together changed is one line."""
    kept = OPTIMIZE.replace(
        "    graph = compiler.transform.optimize",
        '    opscope.save(opscope.capture(graph), "before.json")\n    graph = compiler.transform.optimize',
    )
    program = captured(f"import opscope\n{DEFINE}{kept}", tmp_path, "graph")
    ops = {node.id: node for node in program.main if node.role == "op"}
    assert list(ops) == ["gemm_rcr_bias_fast_gelu_0", "gemm_rcr_bias_add_4", "layernorm_3"]
    assert ops["gemm_rcr_bias_add_4"].attrs["output_names"] == "elementwise_2_0", "the add's tensor, now written by the gemm"
    difference = opscope.diff(opscope.load(tmp_path / "before.json"), program)
    (match,) = [match for match in difference.matched if match.changes]
    assert [id for _, id in match.a] == ["gemm_rcr_bias_1", "elementwise_2"] and match.b == (("main", "gemm_rcr_bias_add_4"),)
    assert not difference.added and not difference.removed


@pytest.mark.step("1.4")
def test_a_single_pass(tmp_path: Path) -> None:
    """Every pass is recorded, and the one that changed something says what."""
    record = OPTIMIZE.replace("    graph = compiler.transform.optimize", "    rec.aitemplate()\n    graph = compiler.transform.optimize")
    record = record.replace("  with target:", '  with target, opscope.record("passes.opscope") as rec:')
    run(f"import opscope\n{DEFINE}{record}", tmp_path)
    recording = opscope.open_recording(tmp_path / "passes.opscope")
    assert len(recording) == (30 if CHECKOUT else 2)
    fusing = diff_of(recording, "fuse_mm_elementwise")
    (match,) = [match for match in fusing.matched if match.evidence == "output" and match.changes]
    assert [id for _, id in match.a] == ["gemm_rcr_bias_1", "elementwise_2"] and match.b == (("main", "gemm_rcr_bias_add_4"),)


@pytest.mark.step("1.5", "1.6")
def test_the_page_opens_without_a_server_and_without_a_network(tutorial: Path, open_address: Open) -> None:
    """AITemplate's page loads six libraries from the network; `open_address` fails on any request."""
    viewer = open_address((tutorial / "ait_model.html").as_uri())
    assert viewer.idle()["boxes"] == sum(map(len, original()["labels"].values()))
    assert [url for url in viewer.requests if not url.startswith("blob:")] == [viewer.address]


@pytest.mark.step("1.7")
def test_the_page_in_a_frame(tutorial: Path, open_address: Open) -> None:
    (tutorial / "frame.html").write_text('<!doctype html><iframe src="ait_model.html" width="100%" height="600px"></iframe>')
    viewer = open_address((tutorial / "frame.html").as_uri(), wait=False, faults=True)
    frame = viewer.page.frame_locator("iframe").locator("canvas").first
    frame.wait_for()
    inner = next(frame for frame in viewer.page.frames if frame.url.endswith("ait_model.html"))
    settled = "window.opscope.whenIdle().then(() => window.opscope.state())"
    state = inner.evaluate(settled)
    assert state["boxes"] == sum(map(len, original()["labels"].values()))
    inner.locator("canvas.graph").press("f")
    assert inner.evaluate(settled)["camera"] == state["camera"], (
        "all of the graph is in the frame; AITemplate's has the size that dot gives it"
    )
    inner.get_by_role("treeitem", name="layernorm_3").click()
    panel, canvas = inner.get_by_role("region", name="About the selection"), inner.locator("canvas.graph")
    assert panel.bounding_box()["x"] >= canvas.bounding_box()["x"] + canvas.bounding_box()["width"], (
        "beside it; AITemplate's dialog covers it"
    )
    assert viewer.page.locator("iframe").bounding_box()["height"] == pytest.approx(600, abs=5)
    assert viewer.errors == []


@pytest.mark.step("1.8")
def test_operators_and_tensors_by_name(tutorial: Path, open_address: Open) -> None:
    """The picture and the page have a box for each operator and each tensor, with its name, and the same edges as AITemplate's."""
    theirs = original()
    drawn = in_svg((tutorial / "new" / "directory" / "ait_model.svg").read_text())
    assert drawn.labels == Counter(theirs["labels"]["tensors"] + theirs["labels"]["operators"])
    assert drawn.edges == Counter(map(tuple, theirs["edges"]))
    viewer = open_address((tutorial / "ait_model.html").as_uri())
    with viewer.page.expect_download() as download:
        viewer.page.get_by_role("button", name="Save SVG", exact=True).click()
    on_page = in_svg(download.value.path().read_text("utf-8"))
    assert (on_page.labels, on_page.edges) == (drawn.labels, drawn.edges)
    for name in ("Y", "gemm_rcr_bias_fast_gelu_0_0", "elementwise_2_0", "dense1_bias"):
        assert viewer.search(f"id:={name}")["matches"] == 1, name
    assert drawn.fills["Y"] != drawn.fills["elementwise_2_0"], "an output has its own colour, as in AITemplate's picture"
    assert drawn.fills["X"] != drawn.fills["dense1_weight"], "and weights look different from an input"
    view = in_svg((tutorial / "view.svg").read_text()).texts["layernorm_3"]
    assert view[view.index("view_of") + 1] == "X", "a view, which has a colour there, is named"


@pytest.mark.step("1.9")
def test_what_a_click_shows(tutorial: Path, open_address: Open) -> None:
    """The attributes that AITemplate's page lists come first, False and None included, and no function among them."""
    viewer = open_address((tutorial / "ait_model.html").as_uri())
    for name, facts in original()["details"].items():
        viewer.page.get_by_role("treeitem", name=re.compile(f"^{re.escape(name)}(?!\\w)")).first.click()
        viewer.idle()
        panel = viewer.page.get_by_role("region", name="About the selection")
        shown = panel.locator("dl > div")
        rows = [(row.locator("dt").inner_text().strip(), row.locator("dd").inner_text().strip()) for row in shown.all()]
        expected = [(key, value) for key, value in facts.items() if key not in ("op", "shape", "dtype")]
        words = {"True": "true", "False": "false", "None": "null"}
        assert rows[: len(expected)] == [(key, words.get(value, value)) for key, value in expected], name
        assert not any("<function" in value for _, value in rows)
        text = panel.inner_text()
        assert name in text and facts.get("op", "") in text
        if "shape" in facts:
            assert f"{facts['dtype']}{facts['shape']}" in text


@pytest.mark.slow
@pytest.mark.step("1.9")
def test_a_time_profile_labels_colours_and_emphasises(tutorial: Path) -> None:
    """AITemplate's labels, number by number, and slow operators in a hot colour with a strong border."""
    drawn = in_svg((tutorial / "timed.svg").read_text())
    program = opscope.load(tutorial / "timed.json")
    times = {name: metric for name, metric in program.main.metrics.items() if name in ("time", "finished", "finished in parallel")}
    for label, milliseconds in original()["times"].items():
        name = label if label in times["time"] else next(node.id for node in program.main if node.attrs.get("output_names") == label)
        columns = ["time"] if label in times["time"] else ["finished", "finished in parallel"]
        assert [times[column][name] * 1000 for column in columns] == pytest.approx(milliseconds, abs=6e-4), label
        rows = drawn.texts[label]
        for column, value in zip(columns, milliseconds, strict=True):
            assert rows[rows.index(column) + 1] in (f"{value * 1000:.3g} µs", f"{value * 1000:g} µs"), label
    slow, fast = "gemm_rcr_bias_fast_gelu_0", "layernorm_3"
    assert drawn.fills[slow] != drawn.fills[fast] and drawn.widths[slow] > drawn.widths[fast]
    assert drawn.letters[slow] == 2 * drawn.letters[fast] and drawn.areas[slow] > 3 * drawn.areas[fast]


@pytest.mark.skipif(not CHECKOUT, reason="needs a checkout of AITemplate (OPSCOPE_AITEMPLATE)")
def test_the_corpus_is_what_aitemplate_draws(tmp_path: Path) -> None:
    """What the other tests compare with, made again by AITemplate's own plot_graph."""
    theirs = DEFINE.replace("opscope.compat.aitemplate", "aitemplate.utils.visualization")
    run(theirs + OPTIMIZE + PLOT + 'plot_graph(graph, "timed.html", file_with_time_profiles="times.json")\n', tmp_path)
    assert facts_of_original((tmp_path / "ait_model.html").read_text(), (tmp_path / "timed.html").read_text()) == original()


def facts_of_original(page: str, timed: str) -> dict[str, Any]:
    """The content of AITemplate's page: its DOT text, and the tables that open on a click."""
    nodes = re.findall(r'^"?(\w+)"? \[(.*?)\];', page, re.M | re.S)
    shape = {name: re.search(r"shape=(\w+)", attributes)[1] for name, attributes in nodes if "shape=" in attributes}  # type: ignore[index]
    details = {}
    for name, body in re.findall(r'id="(\w+)_modal".*?<table.*?>(.*?)</table>', page, re.S):
        cells = [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<td>(.*?)</td>", body, re.S)]
        details[name] = dict(zip(cells[::2], cells[1::2], strict=True))
    labels = re.findall(r'label="?(\w+)\\n([^"]*?) ms"', timed)
    return {
        "labels": {
            "tensors": sorted(name for name, kind in shape.items() if kind == "note"),
            "operators": sorted(name for name, kind in shape.items() if kind == "folder"),
        },
        "edges": sorted(list(edge) for edge in re.findall(r'^"?(\w+)"? -> "?(\w+)"?', page, re.M)),
        "details": details,
        "times": {name: [float(number) for number in text.split(" ms / ")] for name, text in labels},
    }
