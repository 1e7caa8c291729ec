"""Makes the picture of docs/jax.md: the train step of a 4-layer transformer, forward and backward side by side. python docs/jax/make.py"""

from __future__ import annotations

import sys
from pathlib import Path

import opscope

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "benchmarks"))

from make_hlo import make  # noqa: E402  (benchmarks are not a package)


def main() -> None:
    lowered, _ = make(4)
    program = opscope.load(lowered)
    opscope.save(program, HERE / "train_step.svg", forward_backward=True)
    opscope.save(program, HERE / "train_step.png", forward_backward=True, scale=1.5)
    print("docs/jax/train_step.svg")


if __name__ == "__main__":
    main()
