"""What AITemplate's transforms do to a model. AITemplate runs from a checkout; no GPU is needed.

    AIT_BUILD_DOCS=1 CACHE_DIR=/tmp/ait PYTHONPATH=AITemplate/python python examples/passes_aitemplate.py
    opscope passes aitemplate.opscope

AITemplate's debug dumps (LOGLEVEL=DEBUG) show the same without AITemplate: opscope passes DIRECTORY.
"""

from __future__ import annotations

import tempfile
from typing import Any

from aitemplate import compiler
from aitemplate.backend.cuda.target_def import CUDA
from aitemplate.backend.target import Target
from aitemplate.frontend import Tensor, nn

import opscope
from opscope.compat.aitemplate import plot_graph


class Model(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.dense1 = nn.Linear(hidden, 4 * hidden, specialization="fast_gelu")
        self.dense2 = nn.Linear(4 * hidden, hidden)
        self.layernorm = nn.LayerNorm(hidden)

    def forward(self, x: Any) -> Any:
        return self.layernorm(self.dense2(self.dense1(x)) + x)


class NoGpu(CUDA):
    """The CUDA target, without the parts that only code generation needs."""

    def __enter__(self) -> None:
        Target.__enter__(self)
        self.lib_folder = None
        self._operators: dict[str, Any] = {}


def main(path: str = "aitemplate.opscope") -> None:
    model = Model(1024)
    model.name_parameter_tensor()
    y = model(Tensor(shape=[512, 1024], name="X", dtype="float16", is_input=True))
    y._attrs.update(is_output=True, name="Y")
    with tempfile.TemporaryDirectory() as workdir, NoGpu(arch="80"), opscope.record(path, overwrite=True) as rec:
        graph = compiler.transform.toposort(y)
        compiler.transform.name_graph(graph)
        compiler.transform.mark_param_tensor(graph)
        rec.aitemplate()
        graph = compiler.transform.optimize_graph(graph, workdir)
    plot_graph(graph, "aitemplate.html")


if __name__ == "__main__":
    main()
