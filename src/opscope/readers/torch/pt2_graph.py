"""Graphs of a `.pt2` file as Graphs of the model: the same nodes and edges that torch.export.load would make."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from opscope.program import Details, Frame, GraphBuilder, Node, Path, ProgramBuilder, TensorType, ValueRef
from opscope.readers.torch.fx import INPUT, Placeholder
from opscope.readers.torch.names import OwnerScopes, about_modules, calls_of_text, frames_of_text, op_name
from opscope.readers.torch.pt2_values import Argument, Json, device_text, symbol_type, tensor_type, variant

_SHOWN_ELSEWHERE = frozenset(("nn_module_stack", "stack_trace"))
_JSON_METADATA = frozenset(("custom", "from_node"))


class SavedDetails(Details):
    """A node's details, decoded from the file's own words when somebody looks."""

    __slots__ = ("_device", "_scope", "_written")

    def __init__(self, written: Json, scope: Path, device: str = "") -> None:
        self._written = written
        self._scope = scope
        self._device = device

    @property
    def attrs(self) -> Mapping[str, Any]:
        attrs: dict[str, Any] = {}
        arguments = [(written["name"], Argument(written["arg"])) for written in self._written["inputs"]]
        calls = any(argument.graphs for _, argument in arguments)
        for position, (name, argument) in enumerate(arguments):
            listed = isinstance(argument.plain, list)
            if not argument.graphs and (not argument.only_names or (listed and calls)):
                attrs[name or f"arg{position}"] = argument.plain
        return attrs | self.metadata | ({"device": self._device} if self._device else {})

    @property
    def metadata(self) -> dict[str, Any]:
        return {key: _metadata(key, text) for key, text in self._written["metadata"].items() if key not in _SHOWN_ELSEWHERE}

    @property
    def scope(self) -> Path:
        return self._scope

    @property
    def source(self) -> tuple[Frame, ...]:
        return frames_of_text(self._written["metadata"].get("stack_trace", ""))


class ElementDetails(SavedDetails):
    """Details of a `getitem`, which the file does not hold: it shares its producer's, without the arguments."""

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
        except ValueError:
            return text
        return [origin.get("name", "") for origin in value] if key == "from_node" else value
    return text


def read_graphs(
    program: ProgramBuilder,
    entry: str,
    graph: Json,
    placeholders: Mapping[int, Placeholder],
    same: Mapping[str, str],
    output_attrs: Mapping[str, Any],
) -> None:
    """The entry and every graph called from it, breadth first."""
    waiting = deque([(entry, graph)])
    classes: dict[str, str] = {}
    while waiting:
        name, graph = waiting.popleft()
        is_entry = name == entry
        reader = _GraphReader(program.graph(name), graph, "" if is_entry else f"{name}.", same if is_entry else {})
        reader.read(placeholders if is_entry else {}, output_attrs if is_entry else {})
        classes.update(reader.owners.classes)
        waiting.extend(reader.called)
    program.attrs.update(about_modules(classes))


def _check_texts(written: Json) -> None:
    """Details are decoded later, where nobody expects a broken file: what they rely on is checked while reading."""
    texts = [*written["metadata"].values(), *(argument["name"] for argument in written["inputs"]), written.get("name") or ""]
    if not all(type(text) is str for text in texts):
        raise TypeError("a name or a piece of metadata is no text")


class _GraphReader:
    def __init__(self, builder: GraphBuilder, graph: Json, prefix: str, same: Mapping[str, str]) -> None:
        self.builder = builder
        self.graph = graph
        self.prefix = prefix
        self.same = same
        self.owners = OwnerScopes()
        self.called: list[tuple[str, Json]] = []
        self.types: dict[str, TensorType] = {}
        self.devices: dict[str, str] = {}
        self.taken: set[str] = set()

    def read(self, placeholders: Mapping[int, Placeholder], output_attrs: Mapping[str, Any]) -> None:
        self._read_types()
        scopes = [self._scope(node) for node in self.graph["nodes"]]
        for position, written in enumerate(self.graph["inputs"]):
            self._placeholder(position, written, placeholders.get(position, INPUT))
        for node, scope in zip(self.graph["nodes"], scopes, strict=True):
            self._node(node, scope)
        outputs = [self._ref(name) for written in self.graph["outputs"] for name in Argument(written).names]
        self.builder.outputs = outputs
        self.builder.node(self._unique("output"), "output", outputs, (), role="output", attrs=output_attrs)

    def _read_types(self) -> None:
        types = self.types
        for name, meta in self.graph["tensor_values"].items():
            types[name] = tensor_type(meta)
            if meta["device"]["type"] != "cpu":
                self.devices[name] = device_text(meta["device"])
        for field, kind in (("sym_int_values", "SymInt"), ("sym_float_values", "SymFloat"), ("sym_bool_values", "SymBool")):
            for name, written in (self.graph.get(field) or {}).items():
                types[name] = symbol_type(kind, written)
        for name, held in (self.graph.get("custom_obj_values") or {}).items():
            types[name] = TensorType(f"({held.get('class_fqn', 'object')})")
        self.taken.update(types)

    def _scope(self, node: Json) -> Path:
        stack = node["metadata"].get("nn_module_stack")
        return self.owners.note(calls_of_text(stack)) if stack else ()

    def _ref(self, name: str) -> ValueRef:
        return (self.same.get(name, name), 0)

    def _unique(self, name: str) -> str:
        """A name for a node whose own name the file does not hold (older schemas), as fx would choose it."""
        found, count = name, 0
        while found in self.taken:
            count += 1
            found = f"{name}_{count}"
        self.taken.add(found)
        return found

    def _placeholder(self, position: int, written: Json, known: Placeholder) -> None:
        argument = Argument(written)
        name = argument.names[0] if argument.names else known.name or self._unique(f"arg{position}")
        if name in self.same:
            return
        attrs = known.attrs if argument.names else {"value": argument.plain}
        if name in self.devices:
            attrs["device"] = self.devices[name]
        types = (self.types.get(name) or TensorType(f"({type(argument.plain).__name__})"),)
        scope = self.owners.of(known.name) if known.name else ()
        self.builder.node(name, known.kind, (), types, role=known.role, attrs=attrs, scope=scope)

    def _node(self, written: Json, scope: Path) -> None:
        op = op_name(written["target"])
        outputs = written["outputs"]
        values: list[Any] = []
        for output in outputs:
            kind, value = variant(output)
            values.append([item["name"] for item in value] if kind == "as_tensors" else next(iter(Argument(output).names), None))
        single = len(values) == 1 and not isinstance(values[0], list)
        _check_texts(written)
        name = written.get("name") or (values[0] if single else None) or self._unique(op.split(".")[1 if "." in op else 0])
        inputs: list[ValueRef] = []
        calls: list[str] = []
        for argument in written["inputs"]:
            kind, held = variant(argument["arg"])
            if kind == "as_tensor":  # nearly every argument: not worth an object
                inputs.append(self._ref(held["name"]))
                continue
            decoded = Argument(argument["arg"])
            inputs.extend([self._ref(each) for each in decoded.names])
            for graph_name, graph in decoded.graphs:
                calls.append(self.prefix + graph_name)
                self.called.append((self.prefix + graph_name, graph))
        elements = values[0] if len(values) == 1 and isinstance(values[0], list) else values
        direct = single and values[0] in (name, None)
        types = tuple([self._type(element) for element in elements])
        details = SavedDetails(written, scope, self.devices.get(name, ""))
        self.builder.add(Node(name, op, tuple(inputs), types, "op", tuple(calls), details=details))
        if not direct:
            self._elements(name, elements, written, scope)

    def _type(self, element: Any) -> TensorType:
        if isinstance(element, list):
            return TensorType(f"({', '.join(str(self.types[name]) for name in element)})")
        return self.types.get(element) or TensorType("(None)")

    def _elements(self, name: str, elements: list[Any], written: Json, scope: Path) -> None:
        """`getitem` nodes: fx has one for every output that is used; the file names the outputs after them."""
        unused = f"{name}_unused_"
        for index, element in enumerate(elements):
            for each in element if isinstance(element, list) else [element]:
                if each is not None and not each.startswith(unused):
                    details = ElementDetails(written, scope, self.devices.get(each, ""))
                    self.builder.add(Node(each, "getitem", ((name, index),), (self.types[each],), details=details))


_INPUT_KINDS: dict[str, tuple[str, str]] = {
    "parameter": ("parameter", "parameter_name"),
    "buffer": ("buffer", "buffer_name"),
    "tensor_constant": ("constant", "tensor_constant_name"),
    "custom_obj": ("object", "custom_obj_name"),
    "token": ("token", ""),
    "constant_input": ("input", "name"),
}

Saved = Mapping[str, Any]


def signature(written: Json, graph: Json, weights: Saved) -> tuple[dict[int, Placeholder], dict[str, str]]:
    """What each input of the entry graph is, and which inputs are further names of a tensor that is drawn already.

    `weights` is the file's table of tensors; two names with one entry are one tensor.
    """
    placeholders: dict[int, Placeholder] = {}
    names: dict[int, str] = {}
    by_tensor: dict[str, list[int]] = {}
    for position, spec in enumerate(written["input_specs"]):
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


def effects(written: Json) -> dict[str, Any]:
    """Outputs that are more than results: mutated buffers, gradients."""
    found = []
    for spec in written["output_specs"]:
        kind, held = variant(spec)
        if kind != "user_output":
            target = next((value for key, value in held.items() if key.endswith("_name")), "")
            found.append({"value": held["arg"].get("name", ""), "kind": kind, "target": target})
    return {"effects": found} if found else {}
