"""AITemplate: debug dumps (`NN-pass_graph.json`) and live tensors.

An AITemplate graph consists of tensors and operators that point at each other; each has its data in a dict `_attrs`. A dump is the
same with names in place of pointers, so live objects are first converted to that form, and one function turns it into a Program.
AITemplate is never imported: objects of that shape are enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from inspect import isroutine
from typing import Any

from opscope.errors import OpscopeError, SourceError, blamed_on_source
from opscope.json_text import parsed_json
from opscope.naming import UnusedNames
from opscope.program import GraphBuilder, Metric, Program, ProgramBuilder, Role, TensorType, ValueRef
from opscope.readers import Progress, Verdict
from opscope.readers.mistakes import refuse_arguments
from opscope.readers.source import Source

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_CODE = re.compile(r"<(function|bound method|built-in function|built-in method|functools\.partial)\b.*>", re.S)
_OPERATOR_FACTS = ("depth", "nop", "has_profiler", "epilogue", "epilogue_alignment", "split_k", "permute_shape", "func")
_TENSOR_FACTS = ("is_view_of", "is_input", "is_output", "is_param")
"""What AITemplate's own plot_graph shows of an operator and of a tensor, besides names, types and wiring."""
VIEW_OF = "view_of"
"""The attribute of an operator whose outputs are views: of which tensors."""
_WIRING = frozenset({"name", "inputs", "outputs", "src_ops", "dst_ops", "shape", "dtype", "op"})
_STRUCTURE = ('"Tensors"', '"Operators"')


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    head = source.head_text.lstrip()
    if head.startswith("{") and _STRUCTURE[0] in head[:64]:
        return Verdict(0.9, "begins like AITemplate's debug dump")
    return Verdict(0, 'JSON without "Tensors"' if head.startswith("{") else "not a JSON object")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    return [build(read_model(source), source.path.name.removesuffix(".json").removesuffix("_graph"))]


def read_model(source: Source) -> dict[str, Any]:
    """The dump as JSON, checked for its two lists."""
    model = parsed_json(source.read_text())
    if not isinstance(model, dict) or not all(isinstance(model.get(key), list) for key in ("Tensors", "Operators")):
        raise SourceError("is not an AITemplate debug dump: expected lists of Tensors and Operators")
    return model


def capture(obj: Any, *args: Any, **options: Any) -> Program | None:
    """One or more tensors, with everything that they are computed from."""
    tensors = [obj] if _is_tensor(obj) else list(obj) if isinstance(obj, (list, tuple)) else []
    if not tensors or not all(map(_is_tensor, tensors)):
        return None
    refuse_arguments("a graph of AITemplate", args, options)
    return build(plain(tensors), "aitemplate")


class OpNames:
    """Ids of live operators, by identity: an operator keeps its first name, even if a pass renames it."""

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Any, str]] = {}
        self._unused = UnusedNames()

    def name(self, op: Any) -> str:
        entry = self._by_identity.get(id(op))
        if entry is None:
            base = str(op._attrs.get("original_name") or op._attrs.get("name") or op._attrs["op"])
            entry = self._by_identity[id(op)] = (op, self._unused.of(base))
        return entry[1]


def plain(tensors: Iterable[Any], names: OpNames | None = None) -> dict[str, list[dict[str, Any]]]:
    """Live tensors, with everything they are computed from, in the form of a dump, in topological order."""
    names = names or OpNames()
    tensors_by_id: dict[int, Any] = {}
    ops_by_id: dict[int, Any] = {}
    stack = [(tensor, False) for tensor in reversed(list(tensors))]
    while stack:
        tensor, ready = stack.pop()
        if id(tensor) in tensors_by_id:
            continue
        ops = list(tensor._attrs["src_ops"])
        if ready:
            tensors_by_id[id(tensor)] = tensor
            ops_by_id.update((id(op), op) for op in ops)
            continue
        stack.append((tensor, True))
        above = [t for op in ops for t in op._attrs["inputs"] if id(t) not in tensors_by_id]
        stack += [(t, False) for t in reversed(above)] if not (ops and all(id(op) in ops_by_id for op in ops)) else []
    labels = {id(tensor): str(tensor._attrs.get("name") or f"tensor_{i}") for i, tensor in enumerate(tensors_by_id.values())}
    for op in ops_by_id.values():  # outputs without a name are named as AITemplate's name_graph does
        unnamed = ((i, tensor) for i, tensor in enumerate(op._attrs["outputs"]) if not tensor._attrs.get("name"))
        labels.update((id(tensor), f"{names.name(op)}_{i}") for i, tensor in unnamed)
    return {
        "Tensors": [{**_plain_attrs(t, labels), "name": labels[id(t)]} for t in tensors_by_id.values()],
        "Operators": [{**_plain_attrs(op, labels), "id": names.name(op)} for op in ops_by_id.values()],
    }


def _is_tensor(obj: Any) -> bool:
    attrs = getattr(obj, "_attrs", None)
    return isinstance(attrs, dict) and "src_ops" in attrs and "shape" in attrs


def _plain_attrs(thing: Any, labels: Mapping[int, str]) -> dict[str, Any]:
    return {str(key): _plain(value, labels) for key, value in thing._attrs.items() if not isroutine(value)}


def _plain(value: Any, labels: Mapping[int, str], depth: int = 0) -> Any:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if id(value) in labels:
        return labels[id(value)]
    attrs = getattr(value, "_attrs", None)
    if isinstance(attrs, dict):
        if "values" in attrs:
            return {"_attrs": {"name": attrs.get("name"), "values": list(attrs["values"])}}
        if "func" in attrs:
            return {"name": str(attrs.get("name")), "func": _plain(attrs["func"], labels, depth + 1)}
        return str(attrs.get("name"))
    if depth < 8 and isinstance(value, Mapping):
        return {str(key): _plain(item, labels, depth + 1) for key, item in value.items()}
    if depth < 8 and isinstance(value, Iterable):
        return [_plain(item, labels, depth + 1) for item in value]
    return getattr(value, "name", None) or _ADDRESS.sub("", str(value))


def build(model: Mapping[str, Any], name: str) -> Program:
    """A Program from a dump."""
    program = ProgramBuilder(name, "main")
    graph = program.graph("main")
    with blamed_on_source("is not an AITemplate graph"):
        tensors = {str(tensor["name"]): tensor for tensor in model["Tensors"]}
        producers = {str(out): op for op in model["Operators"] for out in op["outputs"]}
        value: dict[str, ValueRef] = {}
        for tensor in tensors.values():
            if str(tensor["name"]) not in producers:
                _source_tensor(graph, tensor, value)
        unused = UnusedNames()
        for op in _in_order(model["Operators"], producers):
            _operator(graph, op, tensors, value, unused)
        outputs = [str(t["name"]) for t in tensors.values() if t.get("is_output")]
        graph.outputs = [value[name] for name in outputs] or [value[n] for n, t in tensors.items() if not t.get("dst_ops")]
    return program.build()


def _source_tensor(graph: GraphBuilder, tensor: Mapping[str, Any], value: dict[str, ValueRef]) -> None:
    name = str(tensor["name"])
    constant = tensor.get("is_internal_constant") or tensor.get("value") is not None or tensor.get("data") is not None
    kind = "input" if tensor.get("is_input") else "param" if tensor.get("is_param") else "constant" if constant else "tensor"
    role: Role = "constant" if kind == "constant" else "input" if kind == "input" else "parameter"
    graph.node(name, kind, (), [_type(tensor)], role=role, attrs=_attrs(tensor, _TENSOR_FACTS))
    value[name] = (name, 0)


def _operator(
    graph: GraphBuilder, op: Mapping[str, Any], tensors: Mapping[str, Any], value: dict[str, ValueRef], unused: UnusedNames
) -> None:
    id_ = unused.of(str(op.get("id") or op.get("original_name") or op["name"]), value)
    outputs = [str(out) for out in op["outputs"]]
    parts = op.get("elementwise_ops")
    if parts and all(isinstance(part, Mapping) for part in parts):
        op = {**op, "func": ", ".join(str(part.get("func")) for part in parts)}
    attrs = _attrs(op, _OPERATOR_FACTS)
    attrs["output_names"] = ", ".join(outputs)
    if op["name"] != id_:
        attrs["name"] = op["name"]
    for i, out in enumerate(outputs):
        attrs.update((f"outputs.{i}.{key}", item) for key, item in _attrs(tensors.get(out, {}), _TENSOR_FACTS).items())
    views = [str(tensors[out]["is_view_of"]) for out in outputs if tensors.get(out, {}).get("is_view_of")]
    if views:
        attrs[VIEW_OF] = ", ".join(views)
    inputs = [value[str(name)] for name in op["inputs"] if str(name) in value]
    graph.node(id_, str(op["op"]), inputs, [_type(tensors[out]) for out in outputs], attrs=attrs)
    value.update((out, (id_, i)) for i, out in enumerate(outputs))


def _in_order(ops: list[Any], producers: Mapping[str, Any]) -> list[Any]:
    """Operators in topological order, as close as possible to the dump's order."""
    order: list[Any] = []
    done: set[int] = set()
    for start in ops:
        stack = [(start, iter(start["inputs"]))]
        entered = {id(start)}
        while stack and id(start) not in done:
            op, waiting = stack[-1]
            makers = (producers[str(name)] for name in waiting if str(name) in producers)
            above = next((maker for maker in makers if id(maker) not in done and id(maker) not in entered), None)
            if above is None:
                stack.pop()
                done.add(id(op))
                order.append(op)
            else:
                entered.add(id(above))
                stack.append((above, iter(above["inputs"])))
    return order


def _attrs(thing: Mapping[str, Any], facts: Iterable[str]) -> dict[str, Any]:
    """The attributes of a tensor or operator except wiring and code: first the facts, also those that are False or 0, then what is set."""
    attrs = {key: thing[key] for key in facts if key in thing and thing[key] != "" and (thing[key] is not None or key == "is_view_of")}
    for key, value in thing.items():
        if key in attrs or key in _WIRING or key == "id" or value in (None, False, "", []):
            continue
        if not isinstance(value, str):
            attrs[key] = value
        elif not _CODE.fullmatch(value):
            attrs[key] = _ADDRESS.sub("", value)
    return attrs


def _type(tensor: Mapping[str, Any]) -> TensorType:
    return TensorType(str(tensor.get("dtype") or "?"), tuple(_dim(dim) for dim in tensor.get("shape") or ()))


def _dim(dim: Any) -> int | str:
    if isinstance(dim, int):
        return dim
    attrs = dim.get("_attrs", {}) if isinstance(dim, Mapping) else {}
    values = attrs.get("values") or []
    if len(values) == 1 and isinstance(values[0], int):
        return values[0]
    return str(attrs.get("name") or f"{values[0]}..{values[-1]}" if values else "?")


TIME = Metric("time", "s", "sum", "measured")
FINISHED = Metric("finished", "s", "max", "estimated")
FINISHED_IN_PARALLEL = Metric("finished in parallel", "s", "max", "estimated")


def with_times(program: Program, times: Any) -> Program:
    """The program with the operator times of an AITemplate profile, and with when each result is finished.

    Results are finished one after the other, in the order of the program, or in parallel, each as soon as its inputs are there.
    """
    rows = times.items() if isinstance(times, Mapping) else ()
    profile = {name: entry["ms_per_iter"] for name, entry in rows if isinstance(entry, Mapping) and "ms_per_iter" in entry}
    if not profile:
        raise OpscopeError("the time profile contains no operators; expected {operator: {ms_per_iter: …}}")
    seconds = {}
    for node in program.main:
        milliseconds = profile.get(node.id, profile.get(str(node.attrs.get("name"))))
        if milliseconds is not None:
            seconds[node.id] = milliseconds / 1000 if isinstance(milliseconds, (int, float)) else milliseconds
    timed = program.with_metric(TIME, seconds)
    now = 0.0
    finished: dict[str, float] = {}
    in_parallel: dict[str, float] = {}
    for node in program.main:
        if node.role != "op":
            continue
        now += seconds.get(node.id, 0)
        finished[node.id] = now
        in_parallel[node.id] = max((in_parallel.get(name, 0.0) for name, _ in node.inputs), default=0.0) + seconds.get(node.id, 0)
    return timed.with_metric(FINISHED, finished).with_metric(FINISHED_IN_PARALLEL, in_parallel)
