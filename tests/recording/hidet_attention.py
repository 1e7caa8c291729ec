"""hidet's self-attention tutorial, recorded by opscope; test_hidet.py runs it in hidet's own environment.

python hidet_attention.py RECORDING OUTS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import hidet
from hidet.utils import netron

import opscope

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from passes_hidet import SelfAttention

recording_path, outs = Path(sys.argv[1]), Path(sys.argv[2])
hidet.option.cache_dir(str(outs / "cache"))


x = hidet.symbol([1, 128, 768], dtype="float32", device="cpu")
mask = hidet.symbol([1, 128], dtype="int32", device="cpu")
graph = hidet.trace_from(SelfAttention()(x, mask), inputs=[x, mask])
with (outs / "attention-graph.json").open("w") as stream:
    netron.dump(graph, stream)
reforward = hidet.graph.operator.Operator.reforward
with opscope.record(recording_path, times=True) as rec, hidet.graph.PassContext() as ctx:
    ctx.instruments.append(rec.hidet())
    ctx.profile_pass_instrument(log_file=str(outs / "passes" / "profile.log"), print_stdout=False)
    ctx.save_graph_instrument(out_dir=str(outs / "passes"))
    optimized = hidet.graph.optimize(graph)

captured = opscope.capture(graph)
opscope.save(captured, outs / "written.json", format="hidet-netron")
print(
    json.dumps(
        {
            "version": hidet.__version__,
            "operators": len(graph.nodes),
            "optimized": len(optimized.nodes),
            "captured": [node.op for node in captured.main if node.role == "op"],
            "names": [op.name for op in graph.nodes],
            "text": str(captured.main).splitlines()[0],
            "restored": hidet.graph.operator.Operator.reforward is reforward,
        }
    )
)
