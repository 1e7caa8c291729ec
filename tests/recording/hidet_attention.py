"""hidet's self-attention tutorial with opscope around it; run by test_hidet.py in hidet's own environment.

python hidet_attention.py RECORDING OUTS
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import hidet
from hidet.graph import nn, ops
from hidet.utils import netron

import opscope

recording_path, outs = Path(sys.argv[1]), Path(sys.argv[2])
hidet.option.cache_dir(str(outs / "cache"))


class SelfAttention(nn.Module):
    def __init__(self, hidden_size: int = 768, num_attention_heads: int = 12) -> None:
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.attention_head_size = hidden_size // num_attention_heads
        self.query_layer = nn.Linear(hidden_size, hidden_size)
        self.key_layer = nn.Linear(hidden_size, hidden_size)
        self.value_layer = nn.Linear(hidden_size, hidden_size)

    def transpose_for_scores(self, x):  # type: ignore[no-untyped-def]
        batch_size, seq_length, _ = x.shape
        x = x.reshape([batch_size, seq_length, self.num_attention_heads, self.attention_head_size])
        return x.rearrange([[0, 2], [1], [3]])

    def forward(self, hidden_states, attention_mask):  # type: ignore[no-untyped-def]
        batch_size, seq_length, _ = hidden_states.shape
        query = self.transpose_for_scores(self.query_layer(hidden_states))
        key = self.transpose_for_scores(self.key_layer(hidden_states))
        value = self.transpose_for_scores(self.value_layer(hidden_states))
        scores = ops.matmul(query, ops.transpose(key, [-1, -2])) / math.sqrt(self.attention_head_size)
        probs = ops.softmax(scores + attention_mask, axis=-1)
        context = ops.matmul(probs, value).reshape([batch_size, self.num_attention_heads, seq_length, self.attention_head_size])
        return context.rearrange([[0], [2], [1, 3]])


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
            "put back": hidet.graph.operator.Operator.reforward is reforward,
        }
    )
)
