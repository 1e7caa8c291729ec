"""hidet's tutorial "Visualize Flow Graph", unchanged except for one more line: `ctx.instruments.append(rec.hidet())`.

    python examples/passes_hidet.py
    opscope passes hidet.opscope

hidet's own files (`./outs`) can be opened too: opscope passes outs.
"""

from __future__ import annotations

import math
import sys

import hidet
from hidet import Tensor
from hidet.graph import nn, ops

import opscope


class SelfAttention(nn.Module):
    def __init__(self, hidden_size: int = 768, num_attention_heads: int = 12) -> None:
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.attention_head_size = hidden_size // num_attention_heads
        self.query_layer = nn.Linear(hidden_size, hidden_size)
        self.key_layer = nn.Linear(hidden_size, hidden_size)
        self.value_layer = nn.Linear(hidden_size, hidden_size)

    def transpose_for_scores(self, x: Tensor) -> Tensor:
        batch_size, seq_length, _ = x.shape
        x = x.reshape([batch_size, seq_length, self.num_attention_heads, self.attention_head_size])
        return x.rearrange([[0, 2], [1], [3]])

    def forward(self, hidden_states: Tensor, attention_mask: Tensor) -> Tensor:
        batch_size, seq_length, _ = hidden_states.shape
        query = self.transpose_for_scores(self.query_layer(hidden_states))
        key = self.transpose_for_scores(self.key_layer(hidden_states))
        value = self.transpose_for_scores(self.value_layer(hidden_states))
        scores = ops.matmul(query, ops.transpose(key, [-1, -2])) / math.sqrt(self.attention_head_size)
        probs = ops.softmax(scores + attention_mask, axis=-1)
        context = ops.matmul(probs, value).reshape([batch_size, self.num_attention_heads, seq_length, self.attention_head_size])
        return context.rearrange([[0], [2], [1, 3]])


def main(path: str = "hidet.opscope") -> None:
    hidden_states = hidet.symbol([1, 128, 768], dtype="float32", device="cpu")
    attention_mask = hidet.symbol([1, 128], dtype="int32", device="cpu")
    graph = hidet.trace_from(SelfAttention()(hidden_states, attention_mask), inputs=[hidden_states, attention_mask])
    print(opscope.capture(graph).main)
    with opscope.record(path, overwrite=True, times=True) as rec, hidet.graph.PassContext() as ctx:
        ctx.instruments.append(rec.hidet())
        hidet.graph.optimize(graph)
    recording = opscope.open_recording(path)
    for snapshot in recording:
        for origin in snapshot.origins:
            if origin.rule:
                old, new = (", ".join(id for _, id in keys) for keys in (origin.old, origin.new))
                print(f"{snapshot.name}: {origin.rule}\n    {old} → {new}  ({origin.where})")


if __name__ == "__main__":
    main(*sys.argv[1:])
