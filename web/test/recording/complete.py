"""Programs that have something in every column of the wire, before and after a pass that removes a node and a parameter of a fusion."""

from __future__ import annotations

from opscope.analysis.devices import device_of
from opscope.analysis.roofline import ESTIMATED_FOR
from opscope.profile.lane import Piece, with_lane
from opscope.program import Frame, Link, Metric, Program, ProgramBuilder, TensorType

X = TensorType("f32", (8, 16), "{1,0}")
HERE = [Frame("model.py", 12, "forward"), Frame("train.py", 3)]
STYLED = "model_explorer"


def complete(after: bool) -> Program:
    """sine and cosine go into a fusion whose body lists the second parameter first; before the pass there is another in front."""
    builder = ProgramBuilder("complete", "main")
    overlay = {"name": "route", "edgeColor": "#102030", "edges": [{"sourceNodeId": "x", "targetNodeId": "sum", "label": "far"}]}
    builder.attrs.update({"notes": ["not what was asked for"], "modules": {"layer": "Layer"}, STYLED: {}, "results": ["loss"]})
    builder.attrs[ESTIMATED_FOR] = device_of("h200").to_dict()
    body = builder.graph("fused")
    if not after:
        body.node("unused", "parameter", outputs=[X], role="parameter", attrs={"parameter_number": 0})
    body.node("second", "parameter", outputs=[X], role="parameter", attrs={"parameter_number": 2 - after})
    body.node("first", "parameter", outputs=[X], role="parameter", attrs={"parameter_number": 1 - after})
    body.node("exp", "exponential", [("first", 0)], [X], scope=("layer: Layer",))
    body.node("log", "log", [("second", 0)], [X], scope=("layer: Layer",))
    body.node("both", "add", [("exp", 0), ("log", 0)], [X])
    body.outputs.append(("both", 0))
    main = builder.graph("main")
    main.attrs[STYLED] = {
        "groupNodeConfigs": [{"namespaceRegex": "layer", "backgroundColor": "#405060"}],
        "tasksData": {"edgeOverlaysDataListLeftPane": [{"name": "routes", "overlays": [overlay]}]},
    }
    main.node("x", "parameter", outputs=[X], role="parameter", attrs={"label": "x: the input"}, source=HERE)
    if not after:
        main.node("idle", "negate", [("x", 0)], [X], links=[Link("forward_of", "exp", "fused")], scope=("layer: Layer", "old: Old"))
    main.node("sine", "sine", [("x", 0)], [X], scope=("layer: Layer",), source=HERE, attrs={STYLED: {"style": {"borderColor": "#708090"}}})
    main.node("cosine", "cosine", [("x", 0)], [X], control=["sine"], attrs={"config": {"a": [1, None]}, "output_names": "waves"})
    operands = [("sine", 0), ("cosine", 0)] if after else [("idle", 0), ("sine", 0), ("cosine", 0)]
    main.node("fusion", "fusion", operands, [X], calls=["fused"], attrs={"kind": "kLoop"}, links=[Link("backward_of", "exp", "fused")])
    main.node("c", "constant", outputs=[TensorType("f32")], role="constant", attrs={"value": "0.5"})
    main.node("sum", "reduce", [("fusion", 0), ("c", 0)], [TensorType("f32"), X], scope=("layer: Layer", "head: Head"))
    main.outputs += [("sum", 0), ("x", 0)]
    builder.metric(Metric("time", "s", "sum", "measured"))
    builder.metric(Metric("speed", "1/s", "ratio:time/time"))
    main.measure("time", "sine", 0.25 - after)
    main.measure("time", "cosine", 3)
    body.measure("time", "exp", 2**53)
    for name in ("sine", "sum"):
        main.group("partition", name, ("partition 0",))
    pieces = [Piece("wave_kernel", ("main", "sine"), "stream 7", 0.0, 1e-6), Piece("memcpy", None, "stream 20", 1e-6, 1e-6)]
    return with_lane(builder.build(), pieces)
