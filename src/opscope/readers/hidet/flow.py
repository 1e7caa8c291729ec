"""A live FlowGraph as a Program. hidet is never imported: the live object is enough.

hidet's operators have no unique names, so ids are ours: `FlowNames` assigns each object one and keeps it, so that in a recording an
equal id means the same object.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from opscope.program import PRINTED, GraphBuilder, Path, Program, ProgramBuilder, TensorType, ValueRef, whole_number
from opscope.readers.hidet.attributes import FUSED, FUSED_GRAPH, SHARE_MAP, SOURCE, TASK, VERBATIM, netron_form, verbatim_of
from opscope.readers.hidet.modules import NOWHERE, Place, Traced


class FlowNames:
    """Ids for objects, by identity. Objects are kept alive, because Python would reuse their identity."""

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Any, str]] = {}
        self._counts: dict[str, int] = {}
        self._texts: dict[int, tuple[Any, str]] = {}

    def name(self, thing: Any, base: str) -> str:
        entry = self._by_identity.get(id(thing))
        if entry is None:
            count = self._counts[base] = self._counts.get(base, -1) + 1
            entry = self._by_identity[id(thing)] = (thing, f"{base}_{count}" if count else base)
        return entry[1]

    def existing(self, thing: Any) -> str | None:
        entry = self._by_identity.get(id(thing))
        return entry[1] if entry else None

    def text(self, thing: Any) -> str:
        """A task or a fused graph as hidet prints it. Printing is slow, so each is printed once."""
        entry = self._texts.get(id(thing))
        if entry is None:
            entry = self._texts[id(thing)] = (thing, str(thing))
        return entry[1]


_MOST_HASHED = 64 * 2**20
"""hidet's text has a hash of each constant. Beyond this many bytes, a graph is printed as those of other frameworks are."""


def module_program(traced: Traced) -> Program:
    """What a module computes, as a Program with its layers. Only here are weights parameters: a graph alone has constants."""
    return flow_graph_program(traced.graph, name=traced.classes[""], layers=traced)


def flow_graph_program(flow: Any, names: FlowNames | None = None, name: str = "hidet", layers: Traced | None = None) -> Program:
    """A graph, with the text that hidet prints of it; between passes (with `names`), only fused graphs have theirs."""
    is_printed = names is None and _constant_bytes(flow) <= _MOST_HASHED
    names = names or FlowNames()
    program = ProgramBuilder(name, "main")
    program.attrs["source"] = SOURCE
    if layers is not None:
        program.attrs["modules"] = layers.classes
    waiting = [("main", flow)]
    while waiting:
        title, content = waiting.pop()
        graph = program.graph(title)
        if is_printed or title != "main":
            with suppress(Exception):  # hidet 0.3 cannot print an operator with several results
                graph.attrs[PRINTED] = names.text(content)
        waiting += _add_graph(graph, content, names, layers)
    return program.build()


def _constant_bytes(flow: Any) -> int:
    """The bytes of a graph's constants, as far as they are known."""
    constants = {id(tensor): tensor for op in flow.nodes for tensor in op.inputs if tensor.storage is not None}
    return sum(int(tensor.nbytes) for tensor in constants.values())


def _add_graph(graph: GraphBuilder, flow: Any, names: FlowNames, layers: Traced | None) -> list[tuple[str, Any]]:
    """Add one graph, and return the fused graphs in it with their names."""
    inner: list[tuple[str, Any]] = []
    value: dict[int, ValueRef] = {}
    places: dict[int, Place] = layers.places if layers else {}
    weights: dict[int, str] = layers.weights if layers else {}

    def parameter(tensor: Any, base: str, role: Any, attrs: dict[str, Any], scope: Path = ()) -> ValueRef:
        id_ = names.name(tensor, base) if graph.name == "main" else f"{base}_{len(graph.nodes)}"
        graph.node(id_, base, (), [_type(tensor)], role=role, attrs={**attrs, "device": str(tensor.device)}, scope=scope)
        ref = value[id(tensor)] = (id_, 0)
        return ref

    def of(tensor: Any, scope: Path = ()) -> ValueRef:
        ref = value.get(id(tensor))
        if ref is not None:
            return ref
        if weight := weights.get(id(tensor)):
            return parameter(tensor, weight, "parameter", {}, scope)
        return parameter(tensor, "const", "constant", _constant(tensor))

    for i, tensor in enumerate(flow.inputs or ()):
        parameter(tensor, "input", "input", {"parameter_number": i})
    for op in flow.nodes:
        scope, source = places.get(id(op), NOWHERE)
        inputs = [of(tensor, scope) for tensor in op.inputs]
        id_ = names.name(op, str(op.name))
        values = {str(key): (_plain(item), netron_form(item)) for key, item in op.attrs.items() if key != FUSED_GRAPH}
        attrs: dict[str, Any] = {key: value for key, (value, _) in values.items()}
        if verbatim := verbatim_of(values):
            graph.attrs.setdefault(VERBATIM, {})[id_] = verbatim
        fused = op.attrs.get(FUSED_GRAPH)
        if fused is not None:
            inner.append((f"{id_}.fused", fused))
            attrs[FUSED] = [str(each.name) for each in fused.nodes]
        calls = [f"{id_}.fused"] if fused is not None else []
        if op.share_map:
            attrs[SHARE_MAP] = str(op.share_map)
        attrs[TASK] = names.text(op.task)
        results = [_type(tensor) for tensor in op.outputs]
        graph.node(id_, str(op.name), inputs, results, attrs=attrs, calls=calls, scope=scope, source=source)
        value.update((id(tensor), (id_, i)) for i, tensor in enumerate(op.outputs))
    graph.outputs = [of(tensor) for tensor in flow.outputs]
    return inner


def _type(tensor: Any) -> TensorType:
    return TensorType(str(tensor.dtype.name), tuple(dim if isinstance(dim, int) else str(dim) for dim in tensor.shape))


def _constant(tensor: Any) -> dict[str, Any]:
    """The value of a scalar; larger constants only have their type, and constants of a virtual device have no values."""
    if len(tensor.shape) == 0 and tensor.storage is not None and str(tensor.device).startswith(("cpu", "cuda")):
        return {"value": str(tensor.cpu().numpy())}
    return {}


def _plain(value: Any) -> Any:
    if value is None:
        return None
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    text = str(value)
    number = whole_number(text)  # hidet's own constants
    return text if number is None else number
