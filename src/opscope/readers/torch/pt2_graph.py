"""Graphs of a `.pt2` file as Graphs of the model, with the same nodes and edges that torch.export.load would create."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from opscope.limits import InnerNames
from opscope.naming import UnusedNames
from opscope.program import Details, Frame, GraphBuilder, Node, Path, ProgramBuilder, TensorType, ValueRef
from opscope.readers.torch.fx import INPUT, Placeholder
from opscope.readers.torch.names import OwnerScopes, about_modules, calls_of_text, frames_of_text, op_name
from opscope.readers.torch.pt2_values import Argument, Json, device_text, symbol_type, tensor_type, variant
from opscope.readers.torch.result_names import names_attr, result_names, stored_spec
from opscope.readers.torch.values import constant_attrs, is_constant, output_types

_SHOWN_ELSEWHERE = frozenset(("nn_module_stack", "stack_trace"))
_JSON_METADATA = frozenset(("custom", "from_node"))


class SavedDetails(Details):
    """A node's details, decoded from the file's JSON on demand."""

    __slots__ = ("_device", "_json", "_scope")

    def __init__(self, node: Json, scope: Path, device: str = "") -> None:
        self._json = node
        self._scope = scope
        self._device = device

    @property
    def attrs(self) -> Mapping[str, Any]:
        attrs: dict[str, Any] = {}
        arguments = [(entry["name"], Argument(entry["arg"])) for entry in self._json["inputs"]]
        calls = any(argument.graphs for _, argument in arguments)
        for position, (name, argument) in enumerate(arguments):
            listed = isinstance(argument.plain, list)
            if not argument.graphs and (not argument.only_names or (listed and calls)):
                attrs[name or f"arg{position}"] = argument.plain
        return attrs | self.metadata | ({"device": self._device} if self._device else {})

    @property
    def metadata(self) -> dict[str, Any]:
        return {key: _metadata(key, text) for key, text in self._json["metadata"].items() if key not in _SHOWN_ELSEWHERE}

    @property
    def scope(self) -> Path:
        return self._scope

    @property
    def source(self) -> tuple[Frame, ...]:
        return frames_of_text(self._json["metadata"].get("stack_trace", ""))


class ElementDetails(SavedDetails):
    """Details of a `getitem`, which the file does not contain: those of its producer, without the arguments."""

    __slots__ = ()

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self.metadata | ({"device": self._device} if self._device else {})


def _metadata(key: str, text: str) -> Any:
    if key == "torch_fn":
        return text.rpartition(";")[2]
    if key in _JSON_METADATA:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if key != "from_node":
            return value
        is_list = isinstance(value, list) and all(isinstance(origin, dict) for origin in value)
        return [origin.get("name", "") for origin in value] if is_list else text
    return text


def read_graphs(
    program: ProgramBuilder,
    entry: str,
    graph: Json,
    placeholders: Mapping[int, Placeholder],
    same: Mapping[str, str],
    output_attrs: Mapping[str, Any],
    names: Sequence[str],
) -> None:
    """The entry and every graph called from it, breadth first."""
    waiting = deque([(entry, graph)])
    classes: dict[str, str] = {}
    inner = InnerNames()
    while waiting:
        name, graph = waiting.popleft()
        is_entry = name == entry
        reader = _GraphReader(program.graph(name), graph, "" if is_entry else f"{name}.", same if is_entry else {}, inner)
        reader.read(placeholders if is_entry else {}, output_attrs if is_entry else {}, names if is_entry else (), is_entry)
        classes.update(reader.owners.classes)
        waiting.extend(reader.called)
    program.attrs.update(about_modules(classes))


def _check_texts(node: Json) -> None:
    """Check while reading what details rely on: they are decoded later, where errors would be unexpected."""
    texts = [*node["metadata"].values(), *(argument["name"] for argument in node["inputs"]), node.get("name") or ""]
    if not all(type(text) is str for text in texts):
        raise TypeError("a name or metadata value is not a string")


class _GraphReader:
    def __init__(self, builder: GraphBuilder, graph: Json, prefix: str, same: Mapping[str, str], inner: InnerNames) -> None:
        self.builder = builder
        self.graph = graph
        self.prefix = prefix
        self.inner = inner
        self.same = same
        self.owners = OwnerScopes()
        self.called: list[tuple[str, Json]] = []
        self.types: dict[str, TensorType] = {}
        self.devices: dict[str, str] = {}
        self.unused = UnusedNames("_", 1)
        """Names for nodes that have none in the file (older schemas), as fx would choose them."""

    def read(self, placeholders: Mapping[int, Placeholder], output_attrs: Mapping[str, Any], names: Sequence[str], is_entry: bool) -> None:
        self._read_types()
        scopes = [self._scope(node) for node in self.graph["nodes"]]
        for position, entry in enumerate(self.graph["inputs"]):
            self._placeholder(position, entry, placeholders.get(position, INPUT))
        for node, scope in zip(self.graph["nodes"], scopes, strict=True):
            self._node(node, scope)
        results = [
            (number, ref) for number, entry in enumerate(self.graph["outputs"]) for ref in self._results(number, Argument(entry), is_entry)
        ]
        outputs = self.builder.outputs = [ref for _, ref in results]
        attrs = {**output_attrs, **names_attr([number for number, _ in results], names)}
        self.builder.node(self.unused.of("output"), "output", outputs, (), role="output", attrs=attrs)

    def _results(self, number: int, result: Argument, shows_constants: bool) -> list[ValueRef]:
        if result.names or result.graphs or not shows_constants or not is_constant(result.plain):
            return [self._ref(name) for name in result.names]
        name = self.unused.of(f"output_{number}")
        self.builder.node(name, "constant", (), output_types(result.plain), role="constant", attrs=constant_attrs(result.plain))
        return [(name, 0)]

    def _read_types(self) -> None:
        types = self.types
        for name, meta in self.graph["tensor_values"].items():
            types[name] = tensor_type(meta)
            if meta["device"]["type"] != "cpu":
                self.devices[name] = device_text(meta["device"])
        for field, kind in (("sym_int_values", "SymInt"), ("sym_float_values", "SymFloat"), ("sym_bool_values", "SymBool")):
            for name, symbol in (self.graph.get(field) or {}).items():
                types[name] = symbol_type(kind, symbol)
        for name, held in (self.graph.get("custom_obj_values") or {}).items():
            types[name] = TensorType(f"({held.get('class_fqn', 'object')})")
        self.unused.used.update(types)

    def _scope(self, node: Json) -> Path:
        stack = node["metadata"].get("nn_module_stack")
        return self.owners.note(calls_of_text(stack)) if stack else ()

    def _ref(self, name: str) -> ValueRef:
        return (self.same.get(name, name), 0)

    def _placeholder(self, position: int, entry: Json, placeholder: Placeholder) -> None:
        argument = Argument(entry)
        name = argument.names[0] if argument.names else placeholder.name or self.unused.of(f"arg{position}")
        if name in self.same:
            return
        attrs = placeholder.attrs if argument.names else {"value": argument.plain}
        if name in self.devices:
            attrs["device"] = self.devices[name]
        types = (self.types.get(name) or TensorType(f"({type(argument.plain).__name__})"),)
        scope = self.owners.of(placeholder.name) if placeholder.name else ()
        self.builder.node(name, placeholder.kind, (), types, role=placeholder.role, attrs=attrs, scope=scope)

    def _node(self, node: Json, scope: Path) -> None:
        op = op_name(node["target"])
        outputs = node["outputs"]
        values: list[Any] = []
        for output in outputs:
            kind, value = variant(output)
            values.append([item["name"] for item in value] if kind == "as_tensors" else next(iter(Argument(output).names), None))
        single = len(values) == 1 and not isinstance(values[0], list)
        _check_texts(node)
        name = node.get("name") or (values[0] if single else None) or self.unused.of(op.split(".")[1 if "." in op else 0])
        inputs: list[ValueRef] = []
        calls: list[str] = []
        for argument in node["inputs"]:
            kind, held = variant(argument["arg"])
            if kind == "as_tensor":  # nearly every argument: not worth an object
                inputs.append(self._ref(held["name"]))
                continue
            decoded = Argument(argument["arg"])
            inputs.extend([self._ref(operand) for operand in decoded.names])
            for graph_name, graph in decoded.graphs:
                called = self.inner.of(self.prefix, graph_name)
                calls.append(called)
                self.called.append((called, graph))
        elements = values[0] if len(values) == 1 and isinstance(values[0], list) else values
        direct = single and values[0] in (name, None)
        types = tuple([self._type(element) for element in elements])
        details = SavedDetails(node, scope, self.devices.get(name, ""))
        self.builder.add(Node(name, op, tuple(inputs), types, "op", tuple(calls), details=details))
        if not direct:
            self._elements(name, elements, node, scope)

    def _type(self, element: Any) -> TensorType:
        if isinstance(element, list):
            return TensorType(f"({', '.join(str(self.types[name]) for name in element)})")
        return self.types.get(element) or TensorType("(None)")

    def _elements(self, name: str, elements: list[Any], node: Json, scope: Path) -> None:
        """Add `getitem` nodes: fx has one for every output that is used, and the file names the outputs after them."""
        unused = f"{name}_unused_"
        for index, element in enumerate(elements):
            for output in element if isinstance(element, list) else [element]:
                if output is not None and not output.startswith(unused):
                    details = ElementDetails(node, scope, self.devices.get(output, ""))
                    self.builder.add(Node(output, "getitem", ((name, index),), (self.types[output],), details=details))


_INPUT_KINDS: dict[str, tuple[str, str]] = {
    "parameter": ("parameter", "parameter_name"),
    "buffer": ("buffer", "buffer_name"),
    "tensor_constant": ("constant", "tensor_constant_name"),
    "custom_obj": ("object", "custom_obj_name"),
    "token": ("token", ""),
    "constant_input": ("input", "name"),
}

Saved = Mapping[str, Any]


def signature(spec_json: Json, graph: Json, weights: Saved) -> tuple[dict[int, Placeholder], dict[str, str]]:
    """What each input of the entry graph is, and which inputs are other names of a tensor that is already drawn.

    `weights` is the file's table of tensors; two names with the same entry are one tensor.
    """
    placeholders: dict[int, Placeholder] = {}
    names: dict[int, str] = {}
    by_tensor: dict[str, list[int]] = {}
    for position, spec in enumerate(spec_json["input_specs"]):
        kind, held = variant(spec)
        if kind not in _INPUT_KINDS:
            continue
        shown, field = _INPUT_KINDS[kind]
        qualified = held.get(field, "") if field else ""
        stored = weights.get(qualified)
        tensors = graph["tensor_values"]
        names[position] = held["arg"]["name"] if "arg" in held else qualified
        trainable = bool(tensors.get(names[position], {}).get("requires_grad")) if shown == "parameter" else None
        persistent = False if held.get("persistent") is False else None
        placeholders[position] = Placeholder(shown, qualified, (), trainable, persistent)
        if shown in ("parameter", "buffer"):
            key = f"{stored.get('path_name')} {json.dumps(stored.get('tensor_meta'), sort_keys=True)}" if stored else f"name {qualified}"
            by_tensor.setdefault(key, []).append(position)
    same: dict[str, str] = {}
    tied_groups = [tied for tied in by_tensor.values() if len(tied) > 1]
    used = _used_names(graph) if tied_groups else set()
    for tied in tied_groups:
        drawn = next((position for position in tied if names[position] in used), tied[0])
        shared = tuple(dict.fromkeys(placeholders[position].name for position in tied))
        placeholders[drawn] = placeholders[drawn]._replace(name=shared[0], tied=shared if len(shared) > 1 else ())
        same.update((names[position], names[drawn]) for position in tied if position != drawn)
    return placeholders, same


def _used_names(graph: Json) -> set[str]:
    used = {name for output in graph["outputs"] for name in Argument(output).names}
    for node in graph["nodes"]:
        for argument in node["inputs"]:
            used.update(Argument(argument["arg"]).names)
    return used


def effects(spec_json: Json) -> dict[str, Any]:
    """Outputs that are more than results: mutated buffers, gradients."""
    effect_list = []
    for spec in spec_json["output_specs"]:
        kind, held = variant(spec)
        if kind != "user_output":
            target = next((value for key, value in held.items() if key.endswith("_name")), "")
            effect_list.append({"value": held["arg"].get("name", ""), "kind": kind, "target": target})
    return {"effects": effect_list} if effect_list else {}


def stored_names(module: Json) -> list[str]:
    """The names of all results, those that are more than results included. Nothing if the model does not name what it returns."""
    calls = module.get("module_call_graph") or [{}]
    out_spec = (calls[0].get("signature") or {}).get("out_spec")
    names = result_names(json.loads(out_spec)[1], stored_spec) if out_spec else []
    specs = module["signature"]["output_specs"]
    special = [effect["target"] for effect in effects(module["signature"]).get("effects", ())]
    return [*special, *names] if names and len(special) + len(names) == len(specs) else []
