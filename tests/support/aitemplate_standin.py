"""Runs a script with an imitation of AITemplate, which is on no package index.

    python aitemplate_standin.py SCRIPT

Tensors and operators have `_attrs` like AITemplate's. There is one transform, which fuses an add into the gemm before it. Each stage passes
its graph to `graph_utils.dump_graph_debug_str_to_file`, like AITemplate's stages.
"""

from __future__ import annotations

import itertools
import runpy
import sys
import types
from typing import Any

_numbers = itertools.count()


class IntImm:
    def __init__(self, value: int) -> None:
        self._attrs = {"name": None, "values": [value]}


class Tensor:
    def __init__(self, shape: list[int], name: str = "", dtype: str = "float16", **attrs: Any) -> None:
        sizes = [IntImm(size) for size in shape]
        self.sizes = shape
        self._attrs: dict[str, Any] = {"name": name or f"tensor_{next(_numbers)}", "shape": sizes, "dtype": dtype, **attrs}
        self._attrs.update(src_ops=set(), dst_ops=set(), is_view_of=None)

    def __add__(self, other: Tensor) -> Tensor:
        return Operator("elementwise", [self, other], self.sizes, func=types.SimpleNamespace(name="ADD")).output


class Operator:
    def __init__(self, op: str, inputs: list[Tensor], shape: list[int], **attrs: Any) -> None:
        name = f"{op}_{next(_numbers)}"
        self.output = Tensor(shape, f"{name}_0")
        self._attrs = {"name": name, "original_name": name, "op": op, "inputs": inputs, "outputs": [self.output], "depth": 0, **attrs}
        for tensor in inputs:
            tensor._attrs["dst_ops"].add(self)
        self.output._attrs["src_ops"].add(self)


for imitation in (IntImm, Tensor, Operator):
    imitation.__module__ = "aitemplate.compiler.base"


class Module:
    def __call__(self, x: Tensor) -> Tensor:
        result: Tensor = self.forward(x)  # type: ignore[attr-defined]
        return result

    def name_parameter_tensor(self) -> None:
        pass


class Linear(Module):
    def __init__(self, inputs: int, outputs: int, specialization: str = "") -> None:
        self.op = "_".join(filter(None, ("gemm_rcr_bias", specialization)))
        self.outputs = outputs
        self.weights = [Tensor([outputs, inputs], is_param=True), Tensor([outputs], is_param=True)]

    def forward(self, x: Tensor) -> Tensor:
        return Operator(self.op, [x, *self.weights], [x.sizes[0], self.outputs]).output


class LayerNorm(Module):
    def __init__(self, size: int) -> None:
        self.weights = [Tensor([size], is_param=True), Tensor([size], is_param=True)]

    def forward(self, x: Tensor) -> Tensor:
        return Operator("layernorm", [x, *self.weights], x.sizes).output


class Target:
    def __init__(self, arch: str = "") -> None:
        self.arch = arch

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def toposort(y: Tensor) -> list[Tensor]:
    order: dict[int, Tensor] = {}
    waiting = [y]
    while waiting:
        tensor = waiting.pop()
        order[id(tensor)] = tensor
        waiting += [each for op in tensor._attrs["src_ops"] for each in op._attrs["inputs"] if id(each) not in order]
    return list(order.values())[::-1]


def optimize_graph(graph: list[Tensor], workdir: str) -> list[Tensor]:
    graph_utils.dump_graph_debug_str_to_file(graph, workdir, "00-dedup")
    adds = [op for tensor in graph for op in tensor._attrs["src_ops"] if op._attrs["op"] == "elementwise"]
    for add in adds:
        hidden, other = add._attrs["inputs"]
        (gemm,) = hidden._attrs["src_ops"]
        fused = Operator(f"{gemm._attrs['op']}_add", [*gemm._attrs["inputs"], other], hidden.sizes)
        fused._attrs["outputs"] = [add.output]
        add.output._attrs["src_ops"] = {fused}
        for tensor in (*gemm._attrs["inputs"], other):
            tensor._attrs["dst_ops"] -= {gemm, add}
    graph = [tensor for tensor in graph if tensor is not hidden]
    graph_utils.dump_graph_debug_str_to_file(graph, workdir, "01-fuse_mm_elementwise")
    return graph


graph_utils = types.SimpleNamespace(dump_graph_debug_str_to_file=lambda tensors, workdir, name: None)
transform = types.SimpleNamespace(
    toposort=toposort, name_graph=lambda graph: None, mark_param_tensor=lambda graph: None, optimize_graph=optimize_graph
)
MODULES: dict[str, dict[str, Any]] = {
    "aitemplate": {},
    "aitemplate.compiler": {"transform": transform},
    "aitemplate.backend": {},
    "aitemplate.backend.cuda": {},
    "aitemplate.backend.cuda.target_def": {"CUDA": Target},
    "aitemplate.backend.target": {"Target": Target},
    "aitemplate.frontend": {"Tensor": Tensor, "nn": types.SimpleNamespace(Module=Module, Linear=Linear, LayerNorm=LayerNorm)},
    "aitemplate.utils": {"graph_utils": graph_utils},
}

if __name__ == "__main__":
    for name, contents in MODULES.items():
        module = sys.modules[name] = types.ModuleType(name)
        vars(module).update(contents)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    runpy.run_path(sys.argv[1], run_name="__main__")
