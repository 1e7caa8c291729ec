"""hidet's self-attention tutorial, recorded by opscope; test_hidet.py runs it in hidet's own environment.

python hidet_attention.py RECORDING OUTS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import hidet
from hidet.graph import ops
from hidet.utils import netron

import opscope

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from passes_hidet import SelfAttention

recording_path, outs = Path(sys.argv[1]), Path(sys.argv[2])
hidet.option.cache_dir(str(outs / "cache"))


x = hidet.symbol([1, 128, 768], dtype="float32", device="cpu")
mask = hidet.symbol([1, 128], dtype="int32", device="cpu")
model = SelfAttention()
weights = dict(model.named_parameters())
printed = str(model)
layered = opscope.capture(model, x, mask)
untouched = str(model) == printed and dict(model.named_parameters()) == weights
print(model)
graph = hidet.trace_from(model(x, mask), inputs=[x, mask])


def every_kind_of_attribute() -> hidet.FlowGraph:
    """Booleans, numbers, lists, tuples, texts, None and types as attributes, a scalar, a shared constant and a symbolic dimension."""
    images = hidet.symbol(["n", 3, 8, 8], dtype="float32", device="cpu")
    weight = hidet.randn([4, 2, 3, 3], device="cpu")
    shift = hidet.full([], 0.1, dtype="float32", device="cpu")
    y = ops.relu(ops.conv2d(images[:, :2], weight, stride=(1, 1)) + shift)
    y = ops.maximum(ops.maximum(y, shift) - 1.0, shift)
    y = ops.max_pool2d(y, kernel=2, stride=2, padding=0)
    y = ops.clip(ops.mean(y, dims=[1, 2], keep_dim=True) * shift, 0.0, None)
    return hidet.trace_from(ops.cast(ops.unsqueeze(ops.reshape(y, [-1]), [0]), "float16"), inputs=[images])


def written(graph: hidet.FlowGraph, name: str) -> None:
    """Both dumps of a graph: hidet's, and opscope's of the captured graph."""
    with (outs / f"{name}.json").open("w") as stream:
        netron.dump(graph, stream)
    opscope.save(opscope.capture(graph), outs / f"{name}-written.json", format="hidet-netron")
    (outs / f"{name}.txt").write_text(str(graph))
    (outs / f"{name}-printed.txt").write_text(opscope.capture(graph).main.text(whole=True))


reforward = hidet.graph.operator.Operator.reforward
with opscope.record(recording_path, times=True) as rec, hidet.graph.PassContext() as ctx:
    ctx.instruments.append(rec.hidet())
    ctx.profile_pass_instrument(log_file=str(outs / "passes" / "profile.log"), print_stdout=False)
    ctx.save_graph_instrument(out_dir=str(outs / "passes"))
    optimized = hidet.graph.optimize(graph)

attributes = every_kind_of_attribute()
for each, name in ((graph, "attention-graph"), (optimized, "optimized"), (attributes, "attributes")):
    written(each, name)
captured, kinds = opscope.capture(graph), opscope.capture(attributes)
opscope.save(layered, outs / "layered.json")
opscope.save(layered, outs / "layered-written.json", format="hidet-netron")
print(
    json.dumps(
        {
            "version": hidet.__version__,
            "operators": len(graph.nodes),
            "optimized": len(optimized.nodes),
            "captured": [node.op for node in captured.main if node.role == "op"],
            "names": [op.name for op in graph.nodes],
            "text": str(captured.main).splitlines()[0],
            "ends": next(node.attrs["ends"] for node in kinds.main if node.op == "StridedSlice"),
            "untouched": untouched,
            "summary": opscope.summary(layered).to_dict()["rows"],
            "restored": hidet.graph.operator.Operator.reforward is reforward,
        }
    )
)
