"""ONNX models: files and ModelProtos. Weights keep their names and types but are not loaded; external files are not opened.

Functions, and the bodies of If, Loop and Scan, are graphs that nodes call. A body may use values of the enclosing graphs: they become
inputs of the same name.
"""

from __future__ import annotations

import ast
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

from opscope.errors import SourceError, blamed_on_source
from opscope.limits import InnerNames
from opscope.naming import UnusedNames
from opscope.program import UNKNOWN_TYPE, Frame, GraphBuilder, Path, Program, ProgramBuilder, TensorType, ValueRef, line_number
from opscope.python_text import parsed_expression
from opscope.readers import Progress, Verdict
from opscope.readers.mistakes import refuse_arguments
from opscope.readers.source import Source

_FRAME = re.compile(r'File "([^"]+)", line (\d+)(?:, in (\S+))?')
_NAMESPACE = "namespace"
_NAME_SCOPES = "pkg.torch.onnx.name_scopes"
_LONGEST_LIST = 10_000
_SMALL = 16
"""Tensors of at most this many elements are shown with their values."""


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    head = source.head[:3]
    begins_alike = len(head) == 3 and head[0] == 0x08 and 3 <= head[1] < 32 and head[2] in (0x12, 0x1A, 0x22, 0x3A, 0x42)
    if ".onnx" in source.suffixes:
        return Verdict(0.9 if begins_alike else 0.4, "is named .onnx")
    return Verdict(0.5, "begins like an ONNX model") if begins_alike else Verdict(0, "does not begin like an ONNX model")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    import onnx

    try:
        model = onnx.load_model_from_string(source.read_bytes())
    except Exception as error:
        raise SourceError(f"is not an ONNX model: {str(error).splitlines()[0] if str(error) else type(error).__name__}") from None
    with blamed_on_source("is a damaged ONNX model"):
        return [model_program(model, source.path.stem)]


def capture(obj: Any, *args: Any, **options: Any) -> Program | None:
    """A ModelProto."""
    if type(obj).__name__ != "ModelProto":
        return None
    refuse_arguments("a ModelProto", args, options)
    return model_program(obj)


def model_program(model: Any, name: str = "onnx") -> Program:
    if not model.HasField("graph"):
        raise SourceError("is an ONNX model without a graph; export it again")
    _check_names([model.graph.name])
    program = ProgramBuilder(model.graph.name or name, "main")
    program.attrs.update(_model_attrs(model))
    functions = {(f.domain, f.name): f"{f.domain}::{f.name}" if f.domain else f.name for f in model.functions}
    reader = _Reader(program, functions)
    reader.graph("main", model.graph)
    for function in model.functions:
        reader.function(functions[function.domain, function.name], function)
    return program.build()


def _check_names(names: Iterable[Any]) -> None:
    if not all(isinstance(name, str) for name in names):  # protobuf returns invalid UTF-8 as bytes
        raise SourceError("is a damaged ONNX model (a name is not text); export it again")


def _model_attrs(model: Any) -> dict[str, Any]:
    opsets = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    attrs = {"ir_version": model.ir_version, "producer": f"{model.producer_name} {model.producer_version}".strip(), "opsets": opsets}
    attrs.update((f"metadata.{entry.key}", entry.value) for entry in model.metadata_props)
    return {key: value for key, value in attrs.items() if value}


class _Reader:
    """Fills a program. Bodies are read from a worklist, so deep nesting needs no recursion."""

    def __init__(self, program: ProgramBuilder, functions: Mapping[tuple[str, str], str]) -> None:
        self._program = program
        self._functions = functions
        self._names = InnerNames()
        self._waiting: list[tuple[str, Any, ChainMap[str, TensorType]]] = []

    def graph(self, name: str, proto: Any) -> None:
        self._waiting.append((name, proto, ChainMap()))
        while self._waiting:
            title, body, outer = self._waiting.pop()
            self._body(title, body, outer)

    def function(self, name: str, proto: Any) -> None:
        graph = self._program.graph(name)
        values: dict[str, ValueRef] = {}
        for i, parameter in enumerate(proto.input):
            graph.node(parameter, "input", outputs=[UNKNOWN_TYPE], role="input", attrs={"parameter_number": i})
            values[parameter] = (parameter, 0)
        graph.attrs.update({"attributes": ", ".join(proto.attribute)} if proto.attribute else {})
        types = ChainMap({info.name: _type(info.type) for info in proto.value_info})
        self._nodes(graph, proto.node, values, types)
        graph.outputs = [values[out] for out in proto.output if out in values]
        while self._waiting:
            self._body(*self._waiting.pop())

    def _body(self, name: str, proto: Any, outer: ChainMap[str, TensorType]) -> None:
        graph = self._program.graph(name)
        values: dict[str, ValueRef] = {}
        types = outer.new_child()  # a copy for each of many bodies would take long
        types.update((info.name, _type(info.type)) for info in (*proto.value_info, *proto.input, *proto.output))
        weights = {tensor.name: tensor for tensor in proto.initializer}
        sparse = {tensor.values.name: tensor for tensor in proto.sparse_initializer}
        for i, info in enumerate(proto.input):
            if info.name not in weights:
                graph.node(info.name, "input", outputs=[types[info.name]], role="input", attrs={"parameter_number": i})
                values[info.name] = (info.name, 0)
        for tensor in weights.values():
            types[tensor.name] = _tensor_type(tensor)
            graph.node(tensor.name, "initializer", outputs=[types[tensor.name]], role="parameter", attrs=_weight_attrs(tensor))
            values[tensor.name] = (tensor.name, 0)
        for key, tensor in sparse.items():
            types[key] = TensorType(_dtype(tensor.values.data_type), tuple(tensor.dims))
            graph.node(key, "sparse_initializer", outputs=[types[key]], role="parameter")
            values[key] = (key, 0)
        self._nodes(graph, proto.node, values, types)
        graph.outputs = [values[info.name] for info in proto.output if info.name in values]

    def _nodes(self, graph: GraphBuilder, nodes: Iterable[Any], values: dict[str, ValueRef], types: ChainMap[str, TensorType]) -> None:
        listed = list(nodes)
        names = [name for node in listed for name in (node.name, node.op_type, node.domain, *node.input, *node.output)]
        _check_names((graph.name, *values, *names))
        makers = {out for node in listed for out in node.output if out}
        unused = UnusedNames()
        unused.used.update(node.id for node in graph.nodes)
        ids = [unused.of(node.name or f"{node.op_type}_{i}") for i, node in enumerate(listed)]
        for node, id_ in zip(listed, ids, strict=True):
            values.update((out, (id_, i)) for i, out in enumerate(node.output) if out)
        for node, id_ in zip(listed, ids, strict=True):
            inputs = []
            for name in node.input:
                if name and name not in values and name not in makers:
                    outer = graph.node(unused.of(name), "outer value", outputs=[types.get(name, UNKNOWN_TYPE)], role="input")
                    values[name] = (outer.id, 0)
                if name:
                    inputs.append(values[name])
            self._node(graph, node, id_, inputs, types)

    def _node(self, graph: GraphBuilder, node: Any, id_: str, inputs: list[ValueRef], types: ChainMap[str, TensorType]) -> None:
        attrs: dict[str, Any] = {}
        calls = []
        called = self._functions.get((node.domain, node.op_type))
        if called is not None:
            calls.append(called)
        for attribute in node.attribute:
            bodies = [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
            for i, body in enumerate(bodies):
                title = self._names.of(graph.name, f"/{id_}.{attribute.name}" + (f".{i}" if len(bodies) > 1 else ""))
                calls.append(title)
                self._waiting.append((title, body, types))
            if not bodies:
                attrs[attribute.name] = _attribute(attribute)
        missing = [i for i, name in enumerate(node.input) if not name]
        if missing:
            attrs["inputs not given"] = missing
        if node.doc_string:
            attrs["doc_string"] = node.doc_string
        attrs["output_names"] = ", ".join(node.output)
        metadata = {entry.key: entry.value for entry in getattr(node, "metadata_props", ())}
        attrs.update((f"metadata.{key}", value) for key, value in metadata.items())
        outputs = [types.get(out, UNKNOWN_TYPE) for out in node.output]
        op = f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        graph.node(id_, op, inputs, outputs, attrs=attrs, scope=_scope(node, metadata), source=_frames(metadata), calls=calls)


def _scope(node: Any, metadata: Mapping[str, str]) -> Path:
    """The modules around a node, from the exporter's metadata if it has any, otherwise from its name ("/encoder/layer.0/MatMul")."""
    namespace = next((value for key, value in metadata.items() if key.rpartition(".")[2] == _NAMESPACE), "")
    if namespace:
        parts = [part.partition(": ") for part in namespace.split("/")[:-1]]
        outer = ["", *(name for name, _, _ in parts)]
        return tuple(_module(name.removeprefix(f"{around}."), cls) for around, (name, _, cls) in zip(outer, parts, strict=False) if name)
    if _NAME_SCOPES in metadata:
        scopes = _texts(metadata[_NAME_SCOPES])
        return tuple(name.removeprefix(outer + ".") for outer, name in zip(["", *scopes], scopes[:-1], strict=False) if name)
    return tuple(part for part in node.name.split("/")[:-1] if part)


def _texts(listed: str) -> list[str]:
    """The texts of a list as Python prints it; none if it is not one. Python's parser takes memory without bounds for long texts."""
    try:
        texts = ast.literal_eval(parsed_expression(listed)) if len(listed) <= _LONGEST_LIST else ()
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    return list(map(str, texts)) if isinstance(texts, list | tuple) else []


def _module(name: str, cls: str) -> str:
    """`mlp` of class `model.layers.MLP` as `mlp: MLP`."""
    return f"{name}: {cls.rpartition('.')[2]}" if cls else name


def _frames(metadata: Mapping[str, str]) -> list[Frame]:
    trace = next((value for key, value in metadata.items() if key.endswith("stack_trace")), "")
    return [Frame(file, line_number(line), function or "") for file, line, function in reversed(_FRAME.findall(trace))]


def _attribute(attribute: Any) -> Any:
    import onnx

    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return _tensor_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (int, float)):
        return value
    return [_item(item) for item in value] if isinstance(value, Iterable) else str(value)


def _item(item: Any) -> Any:
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    return item if isinstance(item, (int, float)) else str(item)


def _tensor_text(tensor: Any) -> str:
    import onnx

    type_ = _tensor_type(tensor)
    if not 0 <= (type_.elements or 0) <= _SMALL or tensor.data_location == onnx.TensorProto.EXTERNAL:
        return str(type_)
    return f"{type_} {onnx.numpy_helper.to_array(tensor).tolist() if type_.elements else []}"


def _weight_attrs(tensor: Any) -> dict[str, Any]:
    """Where a weight is stored, if outside the model."""
    return {f"external.{entry.key}": entry.value for entry in tensor.external_data}


def _tensor_type(tensor: Any) -> TensorType:
    return TensorType(_dtype(tensor.data_type), tuple(tensor.dims))


def _dtype(number: int) -> str:
    import onnx

    try:
        name = str(onnx.TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"type {number}"
    return {"float": "float32", "double": "float64"}.get(name, name)


def _type(proto: Any) -> TensorType:
    kind = proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(proto, kind)
        if not tensor.HasField("shape"):
            return TensorType(_dtype(tensor.elem_type), ("?",))
        return TensorType(_dtype(tensor.elem_type), tuple(_dim(dim) for dim in tensor.shape.dim))
    return TensorType(kind.removesuffix("_type")) if kind else UNKNOWN_TYPE


def _dim(dim: Any) -> int | str:
    kind = dim.WhichOneof("value")
    return int(dim.dim_value) if kind == "dim_value" else str(dim.dim_param) if kind else "?"
