"""GPT-2 with twelve layers and random weights, from a module to a file that opens in any browser. Needs transformers, but no network.

python examples/pytorch_gpt2.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import opscope


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    model = GPT2LMHeadModel(GPT2Config(n_embd=96, n_head=6, vocab_size=1000, bos_token_id=0, eos_token_id=0, use_cache=False)).eval()
    tokens = torch.arange(16).reshape(1, 16)

    start = time.perf_counter()
    exported = torch.export.export(model, (tokens,))
    exporting = time.perf_counter()
    program = opscope.capture(exported)
    opscope.save(program, directory / "gpt2.html")
    done = time.perf_counter()
    opscope.save(program, directory / "gpt2.svg", depth=2)
    print(f"torch.export {exporting - start:.1f} s, from its graph to the page {done - exporting:.1f} s")
    print(f"gpt2: {program.node_count} nodes, written to {directory / 'gpt2'}.{{html,svg}}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/pytorch_gpt2"))
