"""Numbers on nodes: which metrics are valid, which nodes may have them, and that JSON and recordings preserve them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from programs import F32, everything

import opscope
from opscope import Metric, native
from opscope.analysis.enrich import enrich
from opscope.errors import OpscopeError, SourceError
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.sources import open_recording
from opscope.recording.store.program_blob import pack, unpack
from opscope.recording.store.store import StoreWriter


def two_graphs() -> Program:
    builder = ProgramBuilder("p", "main")
    for name in ("body", "main"):
        graph = builder.graph(name)
        graph.node("x", "parameter", outputs=[F32], role="parameter")
        graph.node("y", "call" if name == "main" else "tanh", [("x", 0)], [F32], calls=["body"] if name == "main" else [])
    return builder.build()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "a metric needs a name"),
        ({"unit": ""}, "metric 'm' needs a unit"),
        ({"origin": "guessed"}, "origin must be one of estimated, measured, given, not 'guessed'"),
        ({"combine": "mean"}, "combine must be sum, max, last or ratio:a/b, not 'mean'"),
        ({"combine": "ratio:a"}, "combine must be"),
        ({"combine": "ratio:/b"}, "combine must be"),
        ({"combine": "ratio:a/b/c"}, "combine must be"),
    ],
)
def test_an_invalid_metric_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OpscopeError, match=message):
        Metric(**{"name": "m", **fields})
    assert Metric("m", combine="ratio:a/b").ratio == ("a", "b") and Metric("m").ratio is None


@pytest.mark.parametrize(
    ("metrics", "column", "message", "path"),
    [
        ([], ("m", "y", 1), "'m' in graph 'g' is not a metric of the program", "graphs[0].metrics.m"),
        ([Metric("m")], ("m", "z", 1), "metric 'm' is on 'z', which is not a node of graph 'g'", "graphs[0].metrics.m"),
        ([Metric("m")], ("m", "y", float("nan")), "metric 'm' of 'y' must be a finite number, not nan", "graphs[0].metrics.m.y"),
        ([Metric("m")], ("m", "y", 10**400), "metric 'm' of 'y' must be a finite number", "graphs[0].metrics.m.y"),
        ([Metric("m")], ("m", "y", True), "metric 'm' of 'y' must be a number, not True", "graphs[0].metrics.m.y"),
        ([Metric("m")], ("m", "y", "1"), "metric 'm' of 'y' must be a number, not '1'", "graphs[0].metrics.m.y"),
        ([Metric("m"), Metric("m", "s")], (), "duplicate metric 'm'", "metrics.m"),
        ([Metric("r", combine="ratio:m/n")], (), "metric 'r' is a ratio of 'm', which is not a metric", "metrics.r.combine"),
        (
            [Metric("m"), Metric("r", combine="ratio:m/m"), Metric("s", combine="ratio:m/r")],
            (),
            "metric 's' is a ratio of 'r', which is itself a ratio",
            "metrics.s.combine",
        ),
        ([Metric("m"), Metric("r", combine="ratio:m/m")], ("r", "y", 1), "metric 'r' is a ratio", "graphs[0].metrics.r"),
    ],
)
def test_the_builder_says_what_is_wrong_and_where(metrics: list[Metric], column: Any, message: str, path: str) -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    graph.node("y", "tanh", outputs=[F32])
    if column:
        graph.measure(*column)
    with pytest.raises(SourceError, match=message) as error:
        for metric in metrics:
            builder.metric(metric)
        builder.build()
    assert error.value.path == path


def test_a_users_own_numbers_are_in_the_file(tmp_path: Path) -> None:
    latency = Metric("latency", "s", origin="measured")
    plain = two_graphs()
    seconds: dict[str | tuple[str, str], float] = {"y": 0.5, ("body", "y"): 1}
    timed = plain.with_metric(latency, seconds)
    assert not plain.metrics and not plain.main.metrics, "the program itself stays as it was"
    assert timed.metrics == {"latency": latency}
    assert {graph.name: dict(graph.metrics["latency"]) for graph in timed} == {"main": {"y": 0.5}, "body": {"y": 1}}
    opscope.save(timed, tmp_path / "p.json")
    assert opscope.load(tmp_path / "p.json") == enrich(timed)
    again = timed.with_metric(Metric("latency", "B"), {"x": 2})
    assert again.metrics["latency"].unit == "B" and dict(again.main.metrics["latency"]) == {"x": 2} and not again["body"].metrics
    both = again.with_metric(Metric("n"), {"y": 3}).with_metric(Metric("r", combine="ratio:latency/n"))
    assert list(both.metrics) == ["latency", "n", "r"] and list(both.main.metrics) == ["latency", "n"]


@pytest.mark.parametrize(
    ("metric", "values", "message"),
    [
        (Metric("m"), {"z": 1}, "metric 'm' is on 'z' in graph 'main', which is not a node"),
        (Metric("m"), {("other", "y"): 1}, "metric 'm' is on 'y' in graph 'other', which is not a node"),
        (Metric("m"), {"y": float("inf")}, "metric 'm' of 'y' must be a finite number, not inf"),
        (Metric("r", combine="ratio:a/b"), {}, "a ratio of 'a', which is not a metric"),
        (Metric("r", combine="ratio:a/b"), {"y": 1}, "metric 'r' is a ratio, which has no numbers of its own"),
    ],
)
def test_numbers_that_fit_no_node_are_refused(metric: Metric, values: Any, message: str) -> None:
    with pytest.raises(OpscopeError, match=message):
        two_graphs().with_metric(metric, values)


def test_numpy_numbers_become_python_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    timed = two_graphs().with_metric(Metric("n"), {"x": numpy.int64(3), "y": numpy.float32(0.5)})
    assert [(value, type(value)) for value in timed.main.metrics["n"].values()] == [(3, int), (0.5, float)]


def test_json_preserves_every_digit_and_is_unchanged_without_metrics() -> None:
    text = native.dumps(everything())
    assert '"time": {"unit": "s", "combine": "sum", "origin": "measured"}' in text
    assert native.loads(text)[0] == everything() and native.dumps(native.loads(text)[0]) == text
    assert native.loads(text)[0]["fused_computation.1"].metrics["size"]["t"] == 2**60 + 1
    assert "metrics" not in native.dumps(two_graphs())


def test_a_recording_preserves_the_metrics_of_each_snapshot(tmp_path: Path) -> None:
    writer = StoreWriter(tmp_path / "run.opscope")
    plain = two_graphs()
    snapshots = [plain, plain.with_metric(Metric("n", "B", "max"), {"y": 7}), plain.with_metric(Metric("n", "B", "max"), {"y": 8}), plain]
    for number, program in enumerate(snapshots):
        writer.add(program, f"pass {number}")
    writer.add(unpack(pack(snapshots[1])), "read in another process")
    writer.close()
    recording = open_recording(tmp_path / "run.opscope")
    assert [snapshot.program for snapshot in recording] == [*snapshots, snapshots[1]]
    assert recording[0].content == recording[3].content != recording[1].content == recording[4].content


HOT = "#F59A7C"
COLD = "#F4F6FA"


@pytest.mark.slow
def test_a_picture_is_coloured_by_a_metric_and_says_which(run: Run, tmp_path: Path) -> None:
    builder = ProgramBuilder("p", "main")
    graph = builder.graph("main")
    kind = [TensorType("f32", (8, 8))]
    graph.node("x", "parameter", outputs=kind, role="parameter")
    graph.node("dot", "dot", [("x", 0), ("x", 0)], kind, attrs={"lhs_contracting_dims": "{1}", "rhs_contracting_dims": "{0}"})
    graph.node("exp", "exponential", [("dot", 0)], kind, attrs={"weight": 2})
    program = builder.build().with_metric(Metric("latency", "s", "max", "measured"), {"exp": 2e-6, "dot": 1e-6})
    opscope.save(program, tmp_path / "p.json")

    def fills(*options: str) -> dict[str, str]:
        done = run("export", "p.json", "-o", "p.svg", "--force", *options)
        assert done.returncode == 0, done.stderr
        picture = (tmp_path / "p.svg").read_text("utf-8")
        boxes = re.findall(r'data-key="n:(\w+)"><title>(.*?)</title>\s*<rect[^>]* fill="(#\w+)"', picture, re.S)
        return {"picture": picture, **{name: fill for name, _, fill in boxes}}

    by_flops = fills("--colour-by", "flops")
    assert (by_flops["dot"], by_flops["exp"]) == (HOT, COLD)
    assert "flops, estimated: 1.09 kFLOP in total" in by_flops["picture"] and ">64 FLOP</text>" in by_flops["picture"]
    assert "flops 1.02 kFLOP, estimated</title>" in by_flops["picture"]
    by_latency = fills("--colour-by", "latency")
    assert (by_latency["dot"], by_latency["exp"]) == (COLD, HOT)
    assert "latency, measured: 2 µs at most" in by_latency["picture"]
    assert ">2 (1)</text>" in fills("--colour-by", "attr:weight")["picture"]
    assert "flops" not in fills()["picture"]


def test_attributes_and_metrics_on_boxes(tmp_path: Path) -> None:
    """Operations have both, a closed group has the metric of what is inside, and other nodes have neither."""
    builder = ProgramBuilder("p", "main")
    graph = builder.graph("main")
    graph.node("x", "parameter", outputs=[F32], role="parameter", attrs={"axes": [0]})
    for i, name in enumerate(("a", "b", "c")):
        attrs = {"axes": [1, 2], "keep": None, "exact": True}
        graph.node(name, "tanh", [(("x", "a", "b")[i], 0)], [F32], attrs=attrs, scope=("block",) if i else ())
    program = builder.build().with_metric(Metric("latency", "s", "sum", "measured"), {"a": 1e-3, "b": 1e-6, "c": 2e-6})

    def rows(**options: Any) -> dict[str, list[tuple[str, str]]]:
        opscope.save(program, tmp_path / "p.svg", label=["axes", "keep", "exact", "latency"], **options)
        boxes = re.findall(r'<g class="box" [^>]*data-key="(.*?)">(.*?)</g>', (tmp_path / "p.svg").read_text("utf-8"), re.S)
        cells = {key: re.findall(r'font-size="9.5"[^>]*>([^<]*)</text>', texts) for key, texts in boxes}
        return {key: list(zip(texts[::2], texts[1::2], strict=True)) for key, texts in cells.items() if len(texts) % 2 == 0}

    attributes = [("axes", "[1, 2]"), ("keep", "None"), ("exact", "True")]
    closed = rows(depth=0)
    assert closed["n:a"] == [*attributes, ("latency", "1 ms")] and closed["g:block"] == [("latency", "3 µs")]
    opened = rows(depth=1)
    assert opened["n:c"] == [*attributes, ("latency", "2 µs")] and not opened.get("n:x")
    opscope.save(program, tmp_path / "p.dot", label="keep")
    assert len(re.findall(r' \[label="[^"]*keep: None', (tmp_path / "p.dot").read_text("utf-8"))) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "a.svg", "--label", "flopps"], "no node has an attribute or metric 'flopps' to write on its box; did you mean 'flops'?"),
        (
            ["-o", "a.svg", "--colour-by", "latency"],
            "nothing named 'latency' to colour by; there are: category, op, dtype, group, output bytes",
        ),
        (["-o", "a.svg", "--colour-by", "flopps"], "nothing named 'flopps' to colour by; did you mean 'flops'?"),
        (["-o", "a.dot", "--colour-by", "flops"], "--colour-by does not apply to DOT files"),
        (["-o", "a.svg", "--colour-by", "attr:wait"], "p.json: no node has an attribute 'wait' to colour by"),
    ],
)
def test_a_metric_that_is_not_there_and_a_file_without_colours_are_refused(
    arguments: list[str], message: str, run: Run, tmp_path: Path
) -> None:
    opscope.save(two_graphs(), tmp_path / "p.json")
    done = run("export", "p.json", *arguments)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
