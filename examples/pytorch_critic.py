"""A critic network: its autograd graph with everything that is saved for backward, and both halves of its training step.

python examples/pytorch_critic.py [DIRECTORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn

import opscope
from opscope.compat.torchviz import make_dot


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 2, bias=False), nn.Tanh(), nn.Linear(2, 1))
    states = torch.rand(100, 4)
    values = critic(states).squeeze()

    programs = {
        "critic": opscope.capture(critic, states),
        "critic_autograd": opscope.capture(values, params=critic, show_saved=True),
        "critic_joint": opscope.capture(critic, states, stage="joint"),
    }
    for name, program in programs.items():
        for suffix in ("html", "svg"):
            opscope.save(program, directory / f"{name}.{suffix}")
        print(f"{name}: {program.node_count} nodes, written to {directory / name}.{{html,svg}}")

    dot = make_dot(values, params=dict(critic.named_parameters()), show_attrs=True, show_saved=True)
    print("make_dot, as with torchviz:", dot.render(str(directory / "critic_make_dot"), format="svg", cleanup=True))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/pytorch_critic"))
