"""Writes real graphs for `benchmarks/layout/run.mjs`: boxes with sizes, edges, groups.

    python benchmarks/layout_graphs.py .bench/transformer4_lowered.hlo .bench/transformer24.hlo --open gpt2

`gpt2` is a 12-layer GPT-2 from transformers with random weights, exported by torch. Of a file, the entry graph is used; `--open` after it
also expands every fusion, call and loop. Files are written to `.bench/layout_NAME.json` or `.bench/layout_NAME_open.json`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import opscope
from opscope.program import Graph, Node, Program

WIDTH_OF_A_CHARACTER, MARGIN, HEIGHT = 7.0, 28.0, 40.0
OPENED = {"fusion", "call", "while", "conditional"}


def gpt2() -> Program:
    import torch
    from transformers import GPT2Config, GPT2Model

    model = GPT2Model(GPT2Config(n_layer=12, n_embd=64, n_head=4, vocab_size=256, n_positions=64, use_cache=False)).eval()
    return opscope.capture(model, torch.zeros(1, 16, dtype=torch.long))


def boxes_and_edges(program: Program, opened: bool = False) -> dict[str, list[float]]:
    """Every node of the entry graph a box; groups are numbered after the boxes.

    Opened, a fusion, call or loop is the last box of a group that holds the graph it runs: its operands go to that graph's parameters.
    """
    nodes: list[Node] = []
    group_of: list[int] = []
    parents: list[int] = []
    edges: list[tuple[int, int]] = []
    work: list[tuple[Graph, int, list[int], list[int]]] = [(program.main, -1, [], [])]
    while work:
        graph, around, arguments, results = work.pop()
        box = {node.id: len(nodes) + i for i, node in enumerate(graph)}
        edges += [(box[name], user) for user in results for name, _ in graph.outputs]
        edges += zip(arguments, (box[node.id] for node in graph if node.role == "parameter"), strict=False)
        groups: dict[tuple[str, ...], int] = {(): around}
        for node in graph:
            for length in range(1, len(node.scope) + 1):
                if node.scope[:length] not in groups:
                    groups[node.scope[:length]] = len(parents)
                    parents.append(groups[node.scope[: length - 1]])
            inside = groups[node.scope]
            operands = [box[name] for name, _ in node.inputs]
            if opened and node.op in OPENED:
                parents.append(inside)
                inside = len(parents) - 1
                work += [(program.graphs[name], inside, operands, [box[node.id]]) for name in node.calls]
            else:
                edges += [(operand, box[node.id]) for operand in operands]
            nodes.append(node)
            group_of.append(inside)
    return {
        "width": [MARGIN + WIDTH_OF_A_CHARACTER * max(len(node.op), len(node.type_text[:24])) for node in nodes],
        "height": [HEIGHT] * len(nodes),
        "source": [source for source, _ in edges],
        "target": [target for _, target in edges],
        "parent": [-1 if group < 0 else len(nodes) + group for group in (*group_of, *parents)],
    }


def main(words: list[str]) -> None:
    for name, following in zip(words, [*words[1:], ""], strict=True):
        if name == "--open":
            continue
        loaded = gpt2() if name == "gpt2" else opscope.load(name)
        assert isinstance(loaded, Program)
        opened = following == "--open"
        target = Path(".bench", f"layout_{Path(name).stem}{'_open' if opened else ''}.json")
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(boxes_and_edges(loaded, opened)))
        print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
