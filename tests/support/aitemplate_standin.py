"""Runs a script with an imitation of AITemplate, which is on no package index.

    python aitemplate_standin.py SCRIPT

Tensors and operators have `_attrs` like AITemplate's, and the tutorial's model gets the same names. There is one transform, which fuses
an add into the gemm before it. Each stage passes its graph to `graph_utils.dump_graph_debug_str_to_file`, like AITemplate's stages.
"""

from __future__ import annotations

import itertools
import runpy
import sys
import types
from typing import Any


class IntImm:
    def __init__(self, value: int) -> None:
        self._attrs = {"name": None, "values": [value]}


class Tensor:
    def __init__(self, shape: list[int], name: str | None = None, dtype: str = "float16", **attrs: Any) -> None:
        sizes = [IntImm(size) for size in shape]
        self.sizes = shape
        self._attrs: dict[str, Any] = {
            "name": name, "depth": 0, "nop": False, "shape": sizes, "src_ops": {}, "dst_ops": {}, "dtype": dtype,
            "is_output": False, "is_input": False, "is_param": False, "is_view_of": None, "value": None, **attrs,
        }  # fmt: skip

    def __add__(self, other: Tensor) -> Tensor:
        return Operator("elementwise", [self, other], self.sizes, func=types.SimpleNamespace(name="ADD")).output


class Operator:
    def __init__(self, op: str, inputs: list[Tensor], shape: list[int], **attrs: Any) -> None:
        depth = max(tensor._attrs["depth"] for tensor in inputs)
        self.output = Tensor(shape, depth=depth + 1)
        self._attrs = {
            "name": None, "depth": depth, "nop": False, "inputs": inputs, "has_profiler": False, "op": op, "outputs": [self.output],
            "original_name": None, **attrs,
        }  # fmt: skip
        for tensor in inputs:
            tensor._attrs["dst_ops"][self] = None
        self.output._attrs["src_ops"][self] = None


for imitation in (IntImm, Tensor, Operator):
    imitation.__module__ = "aitemplate.compiler.base"


class Module:
    def __call__(self, x: Tensor) -> Tensor:
        result: Tensor = self.forward(x)  # type: ignore[attr-defined]
        return result

    def name_parameter_tensor(self) -> None:
        for name, child in vars(self).items():
            for kind in ("weight", "bias") if isinstance(child, Module) else ():
                getattr(child, kind)._attrs["name"] = f"{name}_{kind}"


class Linear(Module):
    def __init__(self, inputs: int, outputs: int, specialization: str = "") -> None:
        self.op = "_".join(filter(None, ("gemm_rcr_bias", specialization)))
        self.outputs = outputs
        self.weight, self.bias = Tensor([outputs, inputs]), Tensor([outputs])

    def forward(self, x: Tensor) -> Tensor:
        return gemm(self.op, [x, self.weight, self.bias], [x.sizes[0], self.outputs])


def gemm(op: str, inputs: list[Tensor], shape: list[int]) -> Tensor:
    epilogue = {"gemm_rcr_bias_fast_gelu": "FastGELU", "gemm_rcr_bias_add": "ResidualBlock"}.get(op, "")
    facts = {"has_profiler": True, "epilogue_alignment": 8, "epilogue": f"LinearCombination{epilogue}", "split_k": 1, "permute_shape": ""}
    return Operator(op, inputs, shape, f_ab_alignment=gemm, **facts).output


class LayerNorm(Module):
    def __init__(self, size: int, eps: float = 1e-5) -> None:
        self.eps = eps
        self.weight, self.bias = Tensor([size]), Tensor([size])

    def forward(self, x: Tensor) -> Tensor:
        return Operator("layernorm", [x, self.weight, self.bias], x.sizes, eps=self.eps).output


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
        order.pop(id(tensor), None)
        order[id(tensor)] = tensor
        waiting += [each for op in tensor._attrs["src_ops"] for each in op._attrs["inputs"]]
    return list(order.values())[::-1]


_numbers = itertools.count()


def name_graph(graph: list[Tensor]) -> None:
    for tensor in graph:
        for op in tensor._attrs["src_ops"]:
            if op._attrs["name"] is None:
                op._attrs["name"] = op._attrs["original_name"] = f"{op._attrs['op']}_{next(_numbers)}"
            if tensor._attrs["name"] is None:
                tensor._attrs["name"] = f"{op._attrs['name']}_0"


def mark_param_tensor(graph: list[Tensor]) -> None:
    for tensor in graph:
        tensor._attrs["is_param"] = not (tensor._attrs["src_ops"] or tensor._attrs["is_input"])


def optimize_graph(graph: list[Tensor], workdir: str) -> list[Tensor]:
    graph_utils.dump_graph_debug_str_to_file(graph, workdir, "00-dedup")
    adds = [op for tensor in graph for op in tensor._attrs["src_ops"] if op._attrs["op"] == "elementwise"]
    for add in adds:
        hidden, other = add._attrs["inputs"]
        (before,) = hidden._attrs["src_ops"]
        (fused,) = gemm(f"{before._attrs['op']}_add", [*before._attrs["inputs"], other], hidden.sizes)._attrs["src_ops"]
        fused._attrs["outputs"] = [add.output]
        add.output._attrs["src_ops"] = {fused: None}
        for tensor in (*before._attrs["inputs"], other):
            for gone in (before, add):
                tensor._attrs["dst_ops"].pop(gone, None)
        graph = [tensor for tensor in graph if tensor is not hidden]
    name_graph(graph)
    graph_utils.dump_graph_debug_str_to_file(graph, workdir, "01-fuse_mm_elementwise")
    return graph


graph_utils = types.SimpleNamespace(dump_graph_debug_str_to_file=lambda tensors, workdir, name: None)
transform = types.SimpleNamespace(
    toposort=toposort,
    name_graph=name_graph,
    mark_param_tensor=mark_param_tensor,
    mark_special_views=lambda graph: None,
    optimize_graph=optimize_graph,
)
MODULES: dict[str, dict[str, Any]] = {
    "aitemplate": {},
    "aitemplate.compiler": {"transform": transform},
    "aitemplate.backend": {},
    "aitemplate.backend.cuda": {},
    "aitemplate.backend.cuda.target_def": {"CUDA": Target},
    "aitemplate.backend.target": {"Target": Target},
    "aitemplate.frontend": {"Tensor": Tensor, "nn": types.SimpleNamespace(Module=Module, Linear=Linear, LayerNorm=LayerNorm)},
    "aitemplate.testing": {"detect_target": Target},
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
