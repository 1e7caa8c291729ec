"""Exported programs and graph modules as Programs, with the graphs that their nodes call."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from opscope.program import Program, ProgramBuilder
from opscope.readers.torch.fx import MISSING, FxGraphReader, Placeholder, Signature, attribute
from opscope.readers.torch.names import about_modules
from opscope.readers.torch.result_names import live_spec, result_names
from opscope.readers.torch.tags import tag_groupings
from opscope.readers.torch.values import plain

ENTRY = "main"
NO_SIGNATURE = Signature()

_KINDS = {
    "PARAMETER": "parameter",
    "BUFFER": "buffer",
    "CONSTANT_TENSOR": "constant",
    "CUSTOM_OBJ": "object",
    "TOKEN": "token",
}


def program_of_exported(exported: Any, name: str = "") -> Program:
    """A torch.export.ExportedProgram."""
    program = ProgramBuilder(name or root_class(exported.graph_module) or "ExportedProgram", ENTRY)
    program.attrs.update(about_ranges(exported))
    _read_all(program, exported.graph_module, signature_of(exported))
    return program.build()


def about_ranges(exported: Any) -> dict[str, dict[str, str]]:
    """A program's attributes for its symbolic sizes."""
    ranges = {str(symbol): str(bounds) for symbol, bounds in exported.range_constraints.items()}
    return {"range_constraints": ranges} if ranges else {}


def program_of_graph_module(module: Any, name: str = "", signature: Signature = NO_SIGNATURE) -> Program:
    """A torch.fx.GraphModule: traced, partitioned, or from inside a compiler that knows its signature."""
    program = ProgramBuilder(name or root_class(module) or type(module).__name__, ENTRY)
    _read_all(program, module, signature)
    return program.build()


def _read_all(program: ProgramBuilder, root: Any, signature: Signature) -> None:
    """Read the entry and every graph called from it, breadth first, because nesting may be arbitrarily deep."""
    waiting: deque[tuple[str, Any, Signature]] = deque([(ENTRY, root, signature)])
    classes: dict[str, str] = {}
    while waiting:
        name, module, signature = waiting.popleft()
        builder = program.graph(name)
        called: dict[str, str] = {}
        for node in module.graph.nodes:
            if node.op not in ("get_attr", "call_module"):
                continue
            inner = attribute(module, node.target)
            inner_graph = _graph_in(inner)
            if inner_graph is None:
                continue
            inner_name = node.target if name == ENTRY else f"{name}.{node.target}"
            called[node.name] = inner_name
            if inner_name not in program and all(inner_name != other for other, _, _ in waiting):
                waiting.append((inner_name, *inner_graph))
        reader = FxGraphReader(builder, signature, called, module)
        reader.read(module.graph.nodes)
        classes.update(reader.owners.classes)
        builder.attrs.update(_delegate_attrs(module))
        if not isinstance(module, _Delegate):  # everything in it went to the same backend
            drawn = {node.id for node in builder.nodes}
            for grouping, paths in tag_groupings(module.graph.nodes).items():
                builder.groupings[grouping] = {node_id: path for node_id, path in paths.items() if node_id in drawn}
    program.attrs.update(about_modules(classes))


def _graph_in(value: Any) -> tuple[Any, Signature] | None:
    """The graph behind an attribute: a GraphModule, or the program that a backend's delegate was made from."""
    if value is MISSING:
        return None
    original = getattr(value, "original_module", None)
    if original is not None and hasattr(original, "graph_signature"):
        return _Delegate(value), signature_of(original)
    return (value, Signature()) if hasattr(value, "graph") and hasattr(value.graph, "nodes") else None


class _Delegate:
    """A lowered module, treated as the graph it was made from."""

    def __init__(self, lowered: Any) -> None:
        self.lowered = lowered
        self.graph_module = lowered.original_module.graph_module
        self.graph = self.graph_module.graph

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph_module, name)


def _delegate_attrs(module: Any) -> dict[str, Any]:
    if not isinstance(module, _Delegate):
        return {}
    lowered = module.lowered
    specs = {spec.key: plain(getattr(spec, "value", None)) for spec in getattr(lowered, "compile_specs", ())}
    return {"backend": str(lowered.backend_id), "bytes": len(lowered.processed_bytes)} | ({"compile_specs": specs} if specs else {})


def root_class(module: Any) -> str:
    """The class of the traced module, according to the module stacks of its nodes."""
    for node in module.graph.nodes:
        stack = node.meta.get("nn_module_stack") or {}
        for path, cls in stack.values():
            name = str(getattr(cls, "__name__", cls)).rpartition(".")[2]
            if path == "" and not name.startswith("GraphModule"):  # a retraced graph has lost its class
                return name
            break
    return ""


def signature_of(exported: Any) -> Signature:
    nodes = {node.name: node for node in exported.graph_module.graph.nodes if node.op == "placeholder"}
    placeholders: dict[str, Placeholder] = {}
    by_tensor: dict[Any, list[str]] = {}
    tensors: dict[str, Any] = {**exported.constants, **exported.state_dict}
    for spec in exported.graph_signature.input_specs:
        fx_name, kind, target = getattr(spec.arg, "name", ""), _KINDS.get(spec.kind.name, "input"), spec.target or ""
        tensor = tensors.get(target)
        trainable = bool(tensor.requires_grad) if kind == "parameter" and tensor is not None else None
        persistent = False if kind == "buffer" and spec.persistent is False else None
        placeholders[fx_name] = Placeholder(kind, target, (), trainable, persistent)
        if kind in ("parameter", "buffer") and tensor is not None and fx_name in nodes:
            by_tensor.setdefault(_identity(tensor, target), []).append(fx_name)
    same: dict[str, str] = {}
    for tied in by_tensor.values():
        if len(tied) > 1:
            drawn = next((fx_name for fx_name in tied if nodes[fx_name].users), tied[0])
            names = tuple(dict.fromkeys(placeholders[fx_name].name for fx_name in tied))
            placeholders[drawn] = placeholders[drawn]._replace(name=names[0], tied=names if len(names) > 1 else ())
            same.update((fx_name, drawn) for fx_name in tied if fx_name != drawn)
    return Signature(placeholders, same, _output_attrs(exported), shows_constants=True, result_names=_result_names(exported))


def _identity(tensor: Any, name: str) -> Any:
    """A key that is equal for two names of one tensor, on any device; the name for tensors without a storage."""
    try:
        return (tensor.untyped_storage()._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
    except (AttributeError, RuntimeError, NotImplementedError):
        return name


def _output_attrs(exported: Any) -> Mapping[str, Any]:
    """Outputs that are more than results: mutated buffers, gradients."""
    special = [
        {"value": getattr(spec.arg, "name", ""), "kind": spec.kind.name.lower(), "target": spec.target or ""}
        for spec in exported.graph_signature.output_specs
        if spec.kind.name != "USER_OUTPUT"
    ]
    return {"effects": special} if special else {}


def own_result_names(exported: Any) -> list[str]:
    """The names of what the model returns. Nothing if it does not name it."""
    return result_names(exported.module_call_graph[0].signature.out_spec, live_spec) if exported.module_call_graph else []


def _result_names(exported: Any) -> list[str]:
    """The names of all results, those that are more than results included. Nothing if the model does not name what it returns."""
    names = own_result_names(exported)
    specs = exported.graph_signature.output_specs
    special = [spec.target or "" for spec in specs if spec.kind.name != "USER_OUTPUT"]
    return [*special, *names] if names and len(special) + len(names) == len(specs) else []
