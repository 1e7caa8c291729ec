"""Writes real graphs in the form that `benchmarks/layout/run.mjs` lays out: boxes with sizes, edges, groups.

    python benchmarks/layout_graphs.py .bench/transformer4_lowered.hlo .bench/transformer4.hlo gpt2

`gpt2` is a 12-layer GPT-2 of transformers with random weights, exported by torch. Files go to `.bench/layout_NAME.json`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import opscope
from opscope.program import Program

WIDTH_OF_A_CHARACTER, MARGIN, HEIGHT = 7.0, 28.0, 40.0


def gpt2() -> Program:
    import torch
    from transformers import GPT2Config, GPT2Model

    model = GPT2Model(GPT2Config(n_layer=12, n_embd=64, n_head=4, vocab_size=256, n_positions=64, use_cache=False)).eval()
    return opscope.capture(model, torch.zeros(1, 16, dtype=torch.long))


def boxes_and_edges(program: Program) -> dict[str, list[float]]:
    """The entry graph, every node a box; groups are numbered after the nodes."""
    graph = program.main
    groups: dict[tuple[str, ...], int] = {}
    parents: list[int] = []

    def group(path: tuple[str, ...]) -> int:
        found = -1
        for length in range(1, len(path) + 1):
            prefix = path[:length]
            if prefix not in groups:
                groups[prefix] = len(graph) + len(groups)
                parents.append(found)
            found = groups[prefix]
        return found

    of_node = [group(node.scope) for node in graph]
    width = [MARGIN + WIDTH_OF_A_CHARACTER * max(len(node.op), len(node.type_text[:24])) for node in graph]
    edges = [(graph.position[name], here) for here, node in enumerate(graph) for name, _ in node.inputs]
    return {
        "width": width,
        "height": [HEIGHT] * len(graph),
        "source": [source for source, _ in edges],
        "target": [target for _, target in edges],
        "parent": of_node + parents,
    }


def main(names: list[str]) -> None:
    for name in names:
        loaded = gpt2() if name == "gpt2" else opscope.load(name)
        assert isinstance(loaded, Program)
        target = Path(".bench", f"layout_{Path(name).stem}.json")
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(boxes_and_edges(loaded)))
        print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
