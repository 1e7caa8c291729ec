"""Two programs compared: by module, as a recording, and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from norms import LAYERS, first, second

import opscope
from opscope.cli import main
from opscope.comparing import load_comparison
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.change_groups import change_groups
from opscope.recording.comparison import comparison_of
from opscope.recording.rows import row_of
from opscope.recording.sources import open_recording


def weights(*shapes: tuple[str, tuple[int, ...]], **attrs: str) -> Program:
    """A sum of weights, which are numbered anew in every program."""
    builder = ProgramBuilder("model", "main")
    main = builder.graph("main")
    for name, shape in shapes:
        main.node(name, "parameter", outputs=[TensorType("f32", shape)], role="parameter", attrs=attrs)
    main.node(f"sum.{len(shapes)}", "concatenate", [(name, 0) for name, _ in shapes], [TensorType("f32", (9,))])
    main.outputs.append((f"sum.{len(shapes)}", 0))
    return builder.build()


def test_equal_changes_of_repeated_modules_are_one_row() -> None:
    rows = [str(group) for group in change_groups(opscope.diff(first(), second()))]
    assert rows == [
        "in each of 4 layers (layers.*/mlp): +1 multiply, ~1 dot (operands), ~1 parameter (type)",
        "in each of 4 layers (layers.*): rms_norm replaced layer_norm (−4 +1 ops)",
        "in each of 4 layers (layers.*): ~1 add (operands)",
    ]


def test_rows_by_module_have_every_change_once() -> None:
    diff = opscope.diff(first(), second())
    groups = change_groups(diff)
    assert sorted(key for group in groups for key in group.added) == sorted(diff.all_added)
    assert sorted(key for group in groups for key in group.removed) == sorted(diff.all_removed)
    assert sorted(key for group in groups for key in group.changed) == sorted(match.b[0] for match in diff.changed)
    assert all(len(group.modules) == LAYERS for group in groups)


def test_changes_in_called_graphs_come_last() -> None:
    def fused(op: str) -> Program:
        builder = ProgramBuilder("model", "main")
        body, main = builder.graph("fused"), builder.graph("main")
        body.node("p", "parameter", outputs=[TensorType("f32")], role="parameter")
        body.node("inner", op, [("p", 0)], [TensorType("f32")])
        body.outputs.append(("inner", 0))
        main.node("x", "parameter", outputs=[TensorType("f32")], role="parameter")
        main.node("outer", op, [("x", 0)], [TensorType("f32")])
        main.node("fusion", "fusion", [("outer", 0)], [TensorType("f32")], calls=["fused"])
        main.outputs.append(("fusion", 0))
        return builder.build()

    groups = change_groups(opscope.diff(fused("sine"), fused("cosine")))
    assert [(group.where, group.inside) for group in groups] == [("main", False), ("fused", True)]


def test_a_weight_of_another_shape_is_changed_with_and_without_names() -> None:
    before, after = weights(("w.weight", (4, 8)), ("b.bias", (3,))), weights(("b.bias", (3,)), ("w.weight", (8, 8)))
    for by_name in (None, True, False):
        diff = opscope.diff(before, after, match_by_name=by_name)
        assert (diff.added, diff.removed) == ((), ())
        assert {match.b[0][1]: [change.field for change in match.changes] for match in diff.changed}["w.weight"] == ["type"]


def test_where_a_weight_is_stored_is_no_change() -> None:
    before = weights(("w", (4,)), **{"external.location": "a.bin", "external.offset": "0"})
    after = weights(("w", (4,)), **{"external.location": "b.bin", "external.offset": "4096"})
    assert opscope.diff(before, after).same


def test_the_output_says_which_way_was_taken() -> None:
    assert opscope.diff(first(), first()).basis == "matched by name"
    chosen = opscope.diff(first(), second())
    assert chosen.basis == f"matched by structure, names ignored; by name there would be {chosen.size} differences"
    assert opscope.diff(first(), second(), match_by_name=False).basis == "matched by structure, names ignored"


def test_a_comparison_counts_what_the_diff_counts() -> None:
    diff = opscope.diff(first(), second())
    recording = comparison_of(diff)
    row = row_of(recording, recording[1])
    assert recording.compares and [snapshot.name for snapshot in recording] == ["model", "model"]
    counts = diff.to_json()["counts"]
    assert counts == {name: getattr(row, name) for name in ("added", "removed", "changed", "merged", "copied")}
    assert counts["added"] == 2 * LAYERS and counts["removed"] == 4 * LAYERS


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    paths = tmp_path / "old" / "model.json", tmp_path / "new" / "model.json"
    for path, program in zip(paths, (first(), second()), strict=True):
        path.parent.mkdir()
        opscope.save(program, path)
    return str(paths[0]), str(paths[1])


def test_files_of_the_same_name_are_told_apart(files: tuple[str, str]) -> None:
    assert load_comparison(*files).name == "old/model.json → new/model.json"


def test_diff_speaks_in_modules(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"+{2 * LAYERS} added, −{4 * LAYERS} removed, ~{3 * LAYERS} changed, 0 moved"
    assert "in each of 4 layers (layers.*): rms_norm replaced layer_norm (−4 +1 ops)" in lines
    assert main(["diff", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["changed"] == 3 * LAYERS


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "html", "opscope"])
def test_diff_writes_pictures_and_pages(files: tuple[str, str], suffix: str, tmp_path: Path) -> None:
    target = tmp_path / f"diff.{suffix}"
    assert main(["diff", *files, "-o", str(target)]) == 0
    if suffix == "svg":
        drawing = target.read_text()
        assert "layer_norm" in drawing and "rms_norm" in drawing, "what was removed is drawn beside what replaced it"
        assert ">added<" in drawing and ">removed<" in drawing
    if suffix == "opscope":
        diff = open_recording(target).diff(1)
        assert diff is not None and len(diff.all_added) == 2 * LAYERS
    assert target.stat().st_size > 1000


def test_a_collapsed_group_of_a_picture_counts_what_the_diff_counts(files: tuple[str, str], tmp_path: Path) -> None:
    picture = tmp_path / "diff.svg"
    assert main(["diff", *files, "-o", str(picture), "--depth", "0"]) == 0
    counts = opscope.diff(first(), second()).to_json()["counts"]
    assert f">+{counts['added']} −{counts['removed']} ~{counts['changed']} in all<" in picture.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--depth", "2"], "--depth only applies with -o FILE"),
        (["-o", "diff.dot"], "DOT files cannot contain a comparison; write one of html, svg, png, jpg, webp, gif, pdf, drawio, opscope"),
    ],
)
def test_what_cannot_be_written_is_refused(
    files: tuple[str, str], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *files, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_changes_name_modules_without_their_classes() -> None:
    """A number in a class is not that of a layer: `h.*/mlp`, not `h.*: GPT*Block/mlp: GPT*MLP`."""

    def model(op: str) -> Program:
        builder = ProgramBuilder("model")
        main = builder.graph("main")
        main.node("x", "parameter", outputs=[TensorType("f32", (4,))], role="parameter")
        last = "x"
        for layer in range(3):
            scope = ("transformer: GPT2Model", f"h.{layer}: GPT2Block", "mlp: GPT2MLP")
            for name in ("exp", op):
                main.node(f"{name}.{layer}", name, [(last, 0)], [TensorType("f32", (4,))], scope=scope)
                last = f"{name}.{layer}"
        main.outputs.append((last, 0))
        return builder.build()

    places = [group.place for group in change_groups(opscope.diff(model("tanh"), model("sin")))]
    assert places == ["transformer/h.0/mlp", "in each of 2 layers (transformer/h.*/mlp)"], "the first reads the input, which is the same"


def test_a_module_of_another_name_with_the_same_modules_inside_is_not_a_replacement() -> None:
    """What changed inside it is told by the modules inside it."""

    def model(name: str, op: str) -> Program:
        builder = ProgramBuilder("model")
        main = builder.graph("main")
        last = main.node("x", "parameter", outputs=[TensorType("f32", (4,))], role="parameter").id
        for module, ops in (("attention", ("exp", "sqrt")), ("mlp", ("tanh", op))):
            for each in ops:
                last = main.node(each, each, [(last, 0)], [TensorType("f32", (4,))], scope=("model", name, module)).id
        main.outputs.append((last, 0))
        return builder.build()

    rows = [str(group) for group in change_groups(opscope.diff(model("block", "sin"), model("layer", "cos"), match_by_name=False))]
    assert rows and not [row for row in rows if "replaced" in row]


def test_a_weight_without_a_module_counts_for_the_one_that_uses_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Weights of ONNX files have no scope, and were listed under "main", which is the name of a graph."""

    def model(width: int) -> Program:
        builder = ProgramBuilder("net")
        graph = builder.graph("main")
        graph.node("x", "input", outputs=[TensorType("f32", (2, 8))], role="input")
        for number in range(3):
            graph.node(f"w{number}", "initializer", outputs=[TensorType("f32", (8, width))], role="parameter")
            inputs = [("x" if number == 0 else f"up{number - 1}", 0), (f"w{number}", 0)]
            graph.node(f"up{number}", "MatMul", inputs, [TensorType("f32", (2, 8))], scope=("blocks", f"{number}"))
        graph.outputs.append(("up2", 0))
        return builder.build()

    rows = ["in each of 3 layers (blocks/*): ~1 initializer (type)"]
    assert [str(group) for group in change_groups(opscope.diff(model(8), model(4)))] == rows
    for name, width in (("a", 8), ("b", 4)):
        opscope.save(model(width), tmp_path / f"{name}.json")
    assert main(["diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 0
    assert f"by module (1)\n{rows[0]}\n" in capsys.readouterr().out
