"""One module of a program as a program of its own, by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

import opscope
from opscope.analysis.inside import inside
from opscope.program import Link, Metric, Program, ProgramBuilder, TensorType

F32 = TensorType("f32", (4,))


def two_layers() -> Program:
    """x → layers.0 (norm, mlp) → layers.1 (norm, mlp) → output, each mlp with a weight, and a loop with a module in its body."""
    program = ProgramBuilder("Model", "main")
    program.attrs.update({"modules": {"layers.0": "Layer", "layers.0.mlp": "MLP", "layers.1": "Layer"}, "summary": {}, "notes": ["one"]})
    program.metric(Metric("time", "s"))
    main = program.graph("main")
    main.node("x", "input", (), [F32], role="input")
    last = "x"
    for n in range(2):
        layer = (f"layers.{n}: Layer",)
        main.node(f"w.{n}", "parameter", (), [F32], role="parameter", scope=(*layer, "mlp: MLP"))
        main.node(f"norm.{n}", "norm", [(last, 0)], [F32], scope=(*layer, "norm: Norm"))
        main.node(
            f"mlp.{n}", "mul", [(f"norm.{n}", 0), (f"w.{n}", 0)], [F32], scope=(*layer, "mlp: MLP"), links=[Link("like", f"norm.{n}")]
        )
        main.node(f"add.{n}", "add", [(f"mlp.{n}", 0), (last, 0)], [F32], scope=layer, control=["x"])
        main.measure("time", f"mlp.{n}", n + 1.0)
        last = f"add.{n}"
    main.node("scan", "scan", [(last, 0)], [F32], calls=["body"])
    main.node("output", "output", [("scan", 0)], (), role="output")
    main.outputs = [("scan", 0)]
    body = program.graph("body")
    body.node("arg", "parameter", (), [F32], role="parameter")
    body.node("step", "exp", [("arg", 0)], [F32], scope=("cell: Cell",))
    body.outputs = [("step", 0)]
    return program.build()


def test_what_is_in_a_module_what_goes_in_and_what_comes_out() -> None:
    part = inside(two_layers(), "layers.1")
    assert part.name == "Model: layers.1"
    nodes = {node.id: node for node in part.main}
    assert [*nodes] == ["add.0", "w.1", "norm.1", "mlp.1", "add.1", "output"]
    assert (nodes["add.0"].role, nodes["add.0"].attrs["computed by"]) == ("input", "layers.0 add")
    assert nodes["mlp.1"].scope == ("mlp: MLP",) and nodes["add.1"].scope == ()
    assert nodes["w.1"].role == "parameter"
    assert part.main.outputs == (("add.1", 0),) and nodes["output"].inputs == (("add.1", 0),)
    assert dict(part.main.metrics["time"]) == {"mlp.1": 2.0}
    assert part.attrs == {"notes": ["Model: one"]}, "a note is about the whole model"
    assert [*part.graphs] == ["main"], "the loop is outside"


def test_links_and_control_lead_only_to_what_is_there() -> None:
    mlp = inside(two_layers(), "layers.0.mlp")
    assert [node.id for node in mlp.main] == ["w.0", "norm.0", "mlp.0", "output"]
    assert mlp.main["norm.0"].role == "input"
    assert mlp.main["mlp.0"].links == (Link("like", "norm.0"),)
    assert inside(two_layers(), "layers.0").main["add.0"].control == ()
    assert inside(two_layers(), "layers.0").attrs["modules"] == {"mlp": "MLP"}


def test_a_module_in_the_body_of_a_loop_is_found() -> None:
    part = inside(two_layers(), "cell")
    assert part.entry == "body" and [node.id for node in part.main] == ["arg", "step"]


def test_the_end_of_a_name_is_enough_if_only_one_has_it() -> None:
    program = two_layers()
    with pytest.raises(opscope.OpscopeError, match=r"^2 modules of Model end with 'mlp'; choose one: layers\.0\.mlp, layers\.1\.mlp$"):
        inside(program, "mlp")
    with pytest.raises(opscope.OpscopeError, match=r"^no module 'layers\.7' in Model; did you mean"):
        inside(program, "layers.7")
    assert inside(program, "layers/1/mlp").name == "Model: layers.1.mlp"
    flat = ProgramBuilder("Flat")
    flat.graph("main").node("x", "input", (), [F32], role="input")
    with pytest.raises(opscope.OpscopeError, match=r"^Flat has no modules, so nothing is inside 'mlp'; use around="):
        inside(flat.build(), "mlp")


def test_save_takes_one_module_and_names_of_modules_lead_to_it(tmp_path: Path) -> None:
    opscope.save(two_layers(), tmp_path / "part.json", inside="layers.1")
    assert opscope.load(tmp_path / "part.json").name == "Model: layers.1"
    refused = pytest.raises(opscope.OpscopeError, match=r"^no .* named 'layers\.1'.*; it is a module: inside='layers\.1'$")
    with refused:
        opscope.save(two_layers(), tmp_path / "part.svg", around="layers.1")
    with refused:
        opscope.save(two_layers(), tmp_path / "part.svg", graph="layers.1")


def test_files_take_inside_but_no_stage() -> None:
    assert opscope.load("demo:train_step", inside="layer_0").name.endswith("layer_0")
    with pytest.raises(opscope.OpscopeError, match="is a file, which has one stage; leave out stage 'joint', or name the model itself"):
        opscope.load("demo:train_step", stage="joint")
