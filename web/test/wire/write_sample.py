"""Writes a program as wire bytes, and next to them what a reader must find in them, for wire.test.ts."""

import json
import sys
from pathlib import Path

from opscope.analysis.cost_metrics import with_costs
from opscope.program import WHOLE, Frame, Link, Metric, ProgramBuilder, TensorType
from opscope.render.wire.details import encode_details
from opscope.render.wire.program import encode_wire

F32 = TensorType("f32", (2, 3), "{1,0}")
builder = ProgramBuilder("größe → 名前 🙂", "main")
body = builder.graph("body")
body.node("p", "parameter", outputs=[F32], role="parameter")
body.node("t", "tanh", [("p", 0)], [F32])
body.outputs.append(("t", 0))
main = builder.graph("main")
main.node("x", "parameter", outputs=[F32], role="parameter", attrs={"label": "x: the input"})
main.node("pair", "tuple", [("x", 0), ("x", 0)], [F32, TensorType("s32", ("<=10", "?"))])
main.node("</script>", "send", [("pair", WHOLE)], [TensorType("token")], scope=("layer_0", "größe/🙂"))
main.node("c", "constant", outputs=[TensorType("f32")], role="constant", attrs={"value": "0.5"})
main.node(
    "call", "call", [("pair", 1), ("c", 0)], [F32], calls=["body"], control=["</script>"], links=[Link("backward_of", "t", "body")],
    attrs={"config": {"a": [1, 2, None]}, "metadata.op_name": "jit(f)/call", "flag": True}, scope=("layer_0",),
    source=[Frame("model.py", 12, "forward"), Frame("train.py", 3)],
)
for i in range(300):
    main.node(f"many.{i}", "add", [("call" if i == 0 else f"many.{i - 1}", 0), ("x", 0)], [F32], scope=("layer_1", f"part_{i % 7}"))
    main.measure("time", f"many.{i}", i / 7)
main.outputs.append(("many.299", 0))
builder.metric(Metric("time", "s", "max", "measured"))
builder.metric(Metric("speed", "FLOP/s", "ratio:flops/time"))
builder.metric(Metric("flops", "FLOP", "sum", "given"))
main.measure("flops", "many.7", 2**40)
program = builder.build()

graphs = list(with_costs(program))
starts = [sum(len(g) for g in graphs[:i]) for i in range(len(graphs))]
expected = {
    "name": program.name,
    "entry": [g.name for g in graphs].index(program.entry),
    "graphs": [g.name for g in graphs],
    "nodes": [
        {
            "id": node.id, "op": node.op, "role": node.role,
            "inputs": [[starts[g] + graph.position[name], index] for name, index in node.inputs],
            "types": [[str(t), t.dtype, t.layout, -1 if t.bytes is None else t.bytes] for t in node.outputs],
            "calls": [[h.name for h in graphs].index(name) for name in node.calls],
            "control": [starts[g] + graph.position[name] for name in node.control],
            "links": [[link.kind, starts[0] + graphs[0].position[link.node]] for link in node.links],
            "scope": list(node.scope),
            "attrs": dict(node.attrs),
            "source": [{"file": f.file, "line": f.line, **({"function": f.function} if f.function else {})} for f in node.source],
        }
        for g, graph in enumerate(graphs) for node in graph
    ],
    "metrics": [
        {
            "name": metric.name, "unit": metric.unit, "combine": metric.combine, "origin": metric.origin,
            "values": [graph.metrics.get(metric.name, {}).get(node.id) for graph in graphs for node in graph],
        }
        for metric in with_costs(program).metrics.values()
    ],
    "outputs": [[[starts[g] + graph.position[name], index] for name, index in graph.outputs] for g, graph in enumerate(graphs)],
}
directory = Path(sys.argv[1])
(directory / "whole.opsw").write_bytes(encode_wire(with_costs(program)))
(directory / "bare.opsw").write_bytes(encode_wire(with_costs(program), details=False))
(directory / "block.opsw").write_bytes(encode_details(program, 4, 9))
(directory / "expected.json").write_text(json.dumps(expected), encoding="utf-8")
