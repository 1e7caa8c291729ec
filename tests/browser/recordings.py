"""A small recording with everything that a timeline can show, made the way a user's own compiler would make it."""

from __future__ import annotations

from pathlib import Path

import opscope
from opscope.program import Frame, Program, ProgramBuilder, TensorType
from opscope.recording.model import Origin

X = TensorType("f32", (8, 16))


def start() -> Program:
    """x → dot → exp → add → sum, and a node that nothing uses."""
    builder = ProgramBuilder("toy", "main")
    main = builder.graph("main")
    main.node("x", "parameter", outputs=[X], role="parameter")
    main.node("w", "parameter", outputs=[X], role="parameter")
    main.node("dot.1", "dot", [("x", 0), ("w", 0)], [X], attrs={"precision": "default"})
    main.node("exp.1", "exponential", [("dot.1", 0)], [X])
    main.node("add.1", "add", [("exp.1", 0), ("dot.1", 0)], [X])
    main.node("idle.1", "negate", [("x", 0)], [X])
    main.node("sum.1", "reduce", [("add.1", 0)], [TensorType("f32")])
    main.outputs.append(("sum.1", 0))
    return builder.build()


def without_idle(precision: str) -> Program:
    builder = ProgramBuilder("toy", "main")
    main = builder.graph("main")
    for node in start().main:
        if node.id != "idle.1":
            attrs = {"precision": precision} if node.id == "dot.1" else {}
            main.node(node.id, node.op, node.inputs, node.outputs, role=node.role, attrs=attrs)
    main.outputs.append(("sum.1", 0))
    return builder.build()


def fused() -> Program:
    """exp and add have become a fusion with a body."""
    builder = ProgramBuilder("toy", "main")
    body = builder.graph("fused")
    body.node("p", "parameter", outputs=[X], role="parameter")
    body.node("exp.1", "exponential", [("p", 0)], [X])
    body.node("add.1", "add", [("exp.1", 0), ("p", 0)], [X])
    body.outputs.append(("add.1", 0))
    main = builder.graph("main")
    main.node("x", "parameter", outputs=[X], role="parameter")
    main.node("w", "parameter", outputs=[X], role="parameter")
    main.node("dot.1", "dot", [("x", 0), ("w", 0)], [X], attrs={"precision": "highest"})
    main.node("fusion.1", "fusion", [("dot.1", 0)], [X], calls=["fused"])
    main.node("sum.1", "reduce", [("fusion.1", 0)], [TensorType("f32")])
    main.outputs.append(("sum.1", 0))
    return builder.build()


def rewritten() -> Program:
    """A rule of the compiler made the sum into another reduction, and told us."""
    builder = ProgramBuilder("toy", "main")
    for graph in fused():
        copy = builder.graph(graph.name)
        for node in graph:
            id, op = ("fast_sum.1", "tree-reduce") if node.id == "sum.1" else (node.id, node.op)
            copy.node(id, op, node.inputs, node.outputs, role=node.role, attrs=dict(node.attrs), calls=list(node.calls))
        copy.outputs.append(("fast_sum.1", 0) if graph.name == "main" else graph.outputs[0])
    return builder.build()


def renamed(program: Program) -> Program:
    """The same program as another compiler would name it."""
    builder = ProgramBuilder("other", "main")
    main = builder.graph("main")
    for node in program.main:
        inputs = [(f"v_{name}", i) for name, i in node.inputs]
        main.node(f"v_{node.id}", node.op, inputs, node.outputs, role=node.role, attrs=dict(node.attrs))
    main.outputs.extend([(f"v_{name}", i) for name, i in program.main.outputs])
    return builder.build()


RULE = Origin((("main", "sum.1"),), (("main", "fast_sum.1"),), "rewrite", "sum_to_tree", Frame("compiler/rules.py", 42, "sum_to_tree"))


def record_toy(path: Path) -> Path:
    """Passes: 0 start, 1 dce, 2–4 nothing, 5 precision (nested), 6 fuse, 7 nothing, 8 a recorded rewrite."""
    with opscope.record(path) as rec:
        rec.snapshot(start(), "start")
        rec.snapshot(without_idle("default"), "dce", pipeline="cleanup", seconds=0.002)
        for i in range(3):
            rec.snapshot(without_idle("default"), f"check {i}", pipeline="cleanup", seconds=0.0001)
        rec.snapshot(without_idle("highest"), "precision", pipeline=("optimize", "numerics"), seconds=0.004)
        rec.snapshot(fused(), "fuse", pipeline="optimize", seconds=0.03)
        rec.snapshot(fused(), "verify", pipeline="optimize", seconds=0.0001)
        rec.snapshot(rewritten(), "rewrite sums", pipeline="optimize", seconds=0.001, provenance=[RULE])
    return path


def sharing() -> Program:
    """A broadcast that two sums use."""
    builder = ProgramBuilder("shared", "main")
    main = builder.graph("main")
    for name in ("x", "y", "z"):
        main.node(name, "parameter", outputs=[X], role="parameter")
    main.node("wide.1", "broadcast", [("x", 0)], [X])
    main.node("sub.1", "subtract", [("wide.1", 0), ("y", 0)], [X])
    main.node("add.1", "add", [("wide.1", 0), ("z", 0)], [X])
    main.node("tanh.1", "tanh", [("add.1", 0)], [X])
    main.node("erf.1", "erf", [("sub.1", 0)], [X])
    main.node("mul.1", "multiply", [("erf.1", 0), ("tanh.1", 0)], [X])
    main.outputs.append(("mul.1", 0))
    return builder.build()


def fused_twice() -> Program:
    """The broadcast has been copied into both of its users' fusions, as XLA does on CPUs."""
    builder = ProgramBuilder("shared", "main")
    for name, op, parts in (("sub", "subtract", ()), ("add", "add", ("tanh",))):
        body = builder.graph(f"fused_{name}")
        body.node("p", "parameter", outputs=[X], role="parameter")
        body.node("q", "parameter", outputs=[X], role="parameter")
        body.node(f"wide_{name}", "broadcast", [("p", 0)], [X])
        body.node(f"{name}.1", op, [(f"wide_{name}", 0), ("q", 0)], [X])
        last = f"{name}.1"
        for part in parts:
            body.node(f"{part}.1", part, [(last, 0)], [X])
            last = f"{part}.1"
        body.outputs.append((last, 0))
    main = builder.graph("main")
    for name in ("x", "y", "z"):
        main.node(name, "parameter", outputs=[X], role="parameter")
    main.node("sub_fusion", "fusion", [("x", 0), ("y", 0)], [X], calls=["fused_sub"])
    main.node("add_fusion", "fusion", [("x", 0), ("z", 0)], [X], calls=["fused_add"])
    main.node("erf.1", "erf", [("sub_fusion", 0)], [X])
    main.node("mul.1", "multiply", [("erf.1", 0), ("add_fusion", 0)], [X])
    main.outputs.append(("mul.1", 0))
    return builder.build()


def recomputed() -> Program:
    """The error function is computed once more, and the compiler told us."""
    builder = ProgramBuilder("shared", "main")
    for graph in fused_twice():
        copy = builder.graph(graph.name)
        for node in graph:
            if node.id == "erf.1":
                copy.node("erf_forward", node.op, node.inputs, node.outputs)
                copy.node("erf_backward", node.op, node.inputs, node.outputs)
                copy.node("saved", "negate", [("erf_backward", 0)], node.outputs)
            else:
                inputs = [("erf_forward" if id == "erf.1" else id, i) for id, i in node.inputs]
                copy.node(node.id, node.op, inputs, node.outputs, role=node.role, calls=list(node.calls))
        copy.outputs.extend(graph.outputs if graph.name != "main" else (("mul.1", 0), ("saved", 0)))
    return builder.build()


TWICE = Origin((("main", "erf.1"),), (("main", "erf_forward"), ("main", "erf_backward")), "identity", "recomputed in the backward")


def record_shared(path: Path) -> Path:
    """Passes: 0 start, 1 a fusion that copies a shared producer, 2 a node that is computed twice."""
    with opscope.record(path) as rec:
        rec.snapshot(sharing(), "start")
        rec.snapshot(fused_twice(), "fusion")
        rec.snapshot(recomputed(), "forward and backward", provenance=[TWICE])
    return path
