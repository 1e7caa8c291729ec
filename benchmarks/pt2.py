"""How long a `.pt2` file of 10,000 nodes takes to open: opscope's reader, and torch.export.load for comparison.

python benchmarks/pt2.py [--nodes 10000] [--no-torch-load] [--keep]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results import Figure, keep

READ = """
import sys, time
start = time.perf_counter()
from opscope.readers import read
from opscope.readers.source import Source
(program,) = read(Source(sys.argv[1]), format="torch")
print(f"opscope: {program.node_count} nodes in {time.perf_counter() - start:.2f} s, imports included")
assert "torch" not in sys.modules
"""

LOAD = """
import sys, time
import torch
start = time.perf_counter()
program = torch.export.load(sys.argv[1])
print(f"torch.export.load: {len(program.graph.nodes)} nodes in {time.perf_counter() - start:.2f} s, imports excluded")
"""


def write_model(path: Path, nodes: int) -> None:
    """A deep stack of small pre-norm blocks of about 15 nodes each, in nested modules, with parameters."""
    import torch
    from torch import nn

    class Mlp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down, self.norm = nn.Linear(8, 16), nn.Linear(16, 8), nn.LayerNorm(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.up(self.norm(x))
            return x + self.down(hidden * torch.sigmoid(hidden).transpose(-1, -2).reshape(hidden.shape)) * 0.5

    class Deep(nn.Module):
        def __init__(self, depth: int) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Mlp() for _ in range(depth)])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x)
            return x

    start = time.perf_counter()
    exported = torch.export.export(Deep(nodes // 15), (torch.zeros(2, 4, 8),))
    print(f"torch.export: {len(exported.graph.nodes)} nodes in {time.perf_counter() - start:.1f} s")
    torch.export.save(exported, path)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nodes", type=int, default=10_000)
    options.add_argument("--no-torch-load", action="store_true")
    options.add_argument("--keep", action="store_true", help="append the figures to benchmarks/results/pt2.jsonl")
    chosen = options.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "deep.pt2"
        write_model(path, chosen.nodes)
        print(f"file: {path.stat().st_size / 1e6:.1f} MB")
        for script in [READ] if chosen.no_torch_load else [READ, LOAD]:
            printed = subprocess.run([sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True).stdout
            print(printed, end="")
            tool, nodes, seconds = re.findall(r"^(.*): (\d+) nodes in ([\d.]+) s", printed)[0]
            figures.append(Figure("read a .pt2 file", float(seconds), "s", "deep.pt2", int(nodes), tool))
    if chosen.keep:
        keep("pt2", figures)


if __name__ == "__main__":
    main()
