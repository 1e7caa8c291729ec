"""A live FlowGraph as a Program. hidet is never imported: an object of it is enough.

hidet gives its operators no names. Ids are therefore ours: `FlowNames` gives each object one when it is first seen, and keeps it,
so that in a recording an equal id means the same object.
"""

from __future__ import annotations

from typing import Any

from opscope.program import GraphBuilder, Program, ProgramBuilder, TensorType, ValueRef


class FlowNames:
    """Ids for objects, by identity. Objects are kept alive: Python would give their identity to others."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}
        self._counts: dict[str, int] = {}
        self._tasks: dict[int, tuple[Any, str]] = {}

    def name(self, thing: Any, base: str) -> str:
        known = self._known.get(id(thing))
        if known is None:
            count = self._counts[base] = self._counts.get(base, -1) + 1
            known = self._known[id(thing)] = (thing, f"{base}_{count}" if count else base)
        return known[1]

    def known(self, thing: Any) -> str | None:
        found = self._known.get(id(thing))
        return found[1] if found else None

    def task_text(self, task: Any) -> str:
        """What an operator computes, in hidet's own words. Printing is slow, so each task is printed once."""
        known = self._tasks.get(id(task))
        if known is None:
            known = self._tasks[id(task)] = (task, str(task))
        return known[1]


def flow_graph_program(flow: Any, names: FlowNames | None = None, name: str = "hidet") -> Program:
    names = names or FlowNames()
    program = ProgramBuilder(name, "main")
    waiting = [("main", flow)]
    while waiting:
        title, graph = waiting.pop()
        waiting += _add_graph(program.graph(title), graph, names)
    return program.build()


def _add_graph(graph: GraphBuilder, flow: Any, names: FlowNames) -> list[tuple[str, Any]]:
    """Adds one graph, and returns the fused graphs in it with the names that they are to have."""
    inner: list[tuple[str, Any]] = []
    value: dict[int, ValueRef] = {}

    def parameter(tensor: Any, base: str, role: Any, attrs: dict[str, Any]) -> ValueRef:
        id_ = names.name(tensor, base) if graph.name == "main" else f"{base}_{len(graph.nodes)}"
        graph.node(id_, base, (), [_type(tensor)], role=role, attrs={**attrs, "device": str(tensor.device)})
        found = value[id(tensor)] = (id_, 0)
        return found

    def of(tensor: Any) -> ValueRef:
        found = value.get(id(tensor))
        return found if found is not None else parameter(tensor, "const", "constant", _constant(tensor))

    for i, tensor in enumerate(flow.inputs or ()):
        parameter(tensor, "input", "input", {"parameter_number": i})
    for op in flow.nodes:
        inputs = [of(tensor) for tensor in op.inputs]
        id_ = names.name(op, str(op.name))
        attrs = {str(key): _plain(item) for key, item in op.attrs.items() if key != "fused_graph"}
        if op.share_map:
            attrs["share_map"] = str(op.share_map)
        attrs["task"] = names.task_text(op.task)
        fused = op.attrs.get("fused_graph")
        if fused is not None:
            inner.append((f"{id_}.fused", fused))
        calls = [f"{id_}.fused"] if fused is not None else []
        graph.node(id_, str(op.name), inputs, [_type(tensor) for tensor in op.outputs], attrs=attrs, calls=calls)
        value.update((id(tensor), (id_, i)) for i, tensor in enumerate(op.outputs))
    graph.outputs = [of(tensor) for tensor in flow.outputs]
    return inner


def _type(tensor: Any) -> TensorType:
    return TensorType(str(tensor.dtype.name), tuple(dim if isinstance(dim, int) else str(dim) for dim in tensor.shape))


def _constant(tensor: Any) -> dict[str, Any]:
    """The value of a scalar; of anything bigger only its type is kept."""
    if len(tensor.shape) == 0 and tensor.storage is not None and str(tensor.device).startswith("cpu"):
        return {"value": str(tensor.item())}
    return {}


def _plain(value: Any) -> Any:
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else str(value)
