"""One fx graph as nodes of the model. Exported programs, graph modules, joint graphs and compiler passes share this.

Every fx node is a node here and every fx edge an edge, with exceptions that express the same thing better: a `get_attr` of an inner
graph becomes a call of that graph, tied parameters become one node, the edge of a `getitem` refers to the output it takes, and a result of
an exported program that nothing computes (None, 2) is a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opscope.program import DIRECTION_ATTR, WHOLE, GraphBuilder, Path, Role, TensorType, ValueRef
from opscope.readers.torch.direction import directions, forward_links, missing_scopes
from opscope.readers.torch.names import Call, OwnerScopes, frames_of_text, op_name
from opscope.readers.torch.result_names import names_attr
from opscope.readers.torch.values import DEEPEST, constant_attrs, is_constant, is_tensor, output_types, plain

SPELLED_OUT = frozenset(
    (
        "val", "example_value", "tensor_meta", "nn_module_stack", "fwd_nn_module_stack", "stack_trace", "from_node",
        "unbacked_bindings", "desc", "autograd_backward", "eager_input_vals", "grapharg", "tensor_dict", "creation_timestamp",
        "mutation_region_id", "output_stack_traces", "user_visible_output_idxs", "original_output_strides",
    )
)  # fmt: skip
"""Metadata that has its own place in the model, or that is useful only to the compiler that wrote it."""


_ROLES: dict[str, Role] = {"parameter": "parameter", "buffer": "buffer", "constant": "constant", "gradient": "gradient"}


class Placeholder(NamedTuple):
    """What a signature says about an input of the graph."""

    kind: str
    """One of "parameter", "buffer", "constant", "gradient", "saved", "token", "object" and "input"."""
    name: str = ""
    """Qualified name in the model ("layers.3.mlp.weight")."""
    tied: tuple[str, ...] = ()
    """All qualified names of the same tensor, if it has several."""
    trainable: bool | None = None
    persistent: bool | None = None

    @property
    def role(self) -> Role:
        return _ROLES.get(self.kind, "input")

    @property
    def attrs(self) -> dict[str, Any]:
        attrs = {
            "name": self.name or None,
            "tied": list(self.tied) or None,
            "trainable": self.trainable,
            "persistent": self.persistent,
        }
        return {key: value for key, value in attrs.items() if value is not None}


INPUT = Placeholder("input")


class Signature(NamedTuple):
    """Roles of a graph's inputs and outputs, by fx name. `same` maps a tied placeholder to the one that is drawn."""

    placeholders: Mapping[str, Placeholder] = {}
    same: Mapping[str, str] = {}
    output_attrs: Mapping[str, Any] = {}
    shows_constants: bool = False
    """Whether results that nothing computes (None, 2) are shown. In a joint graph they are missing gradients."""
    result_names: Sequence[str] = ()
    """What the model calls its results, one name for each, or nothing."""


class FxGraphReader:
    """Fills one GraphBuilder from one fx graph. `called` maps a get_attr or call_module node to its graph."""

    def __init__(self, builder: GraphBuilder, signature: Signature, called: Mapping[str, str], root: Any = None) -> None:
        self.builder = builder
        self.signature = signature
        self.called = called
        self.root = root
        self.owners = OwnerScopes()
        self.types: dict[str, tuple[TensorType, ...]] = {}
        self.is_tuple: set[str] = set()
        self.directions: dict[str, str] = {}
        self.names: set[str] = set()

    def read(self, nodes: Iterable[Any]) -> None:
        nodes = list(nodes)
        self.names = {node.name for node in nodes}
        scopes = {node.name: self.owners.note(module_calls(node.meta)) for node in nodes}
        links = forward_links(nodes, self.signature.same)
        scopes |= missing_scopes(nodes, scopes, links)
        self.directions = directions(nodes)
        for node in nodes:
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "output":
                self._output(node)
            elif not (node.op == "get_attr" and node.name in self.called):
                self._operation(node, scopes[node.name], links.get(node.name, ()))

    def _placeholder(self, node: Any) -> None:
        if node.name in self.signature.same:
            return
        placeholder = self.signature.placeholders.get(node.name, INPUT)
        attrs = placeholder.attrs | self._attributes(node)
        attrs.pop("torch_fn", None)  # describes the value passed in from the outer graph
        if placeholder.role == "gradient":
            attrs["label"] = placeholder.name
        value = value_of(node.meta)
        if isinstance(value, bool | int | float | str):
            attrs["value"] = plain(value)
        scope = self.owners.of(placeholder.name) if placeholder.name else ()
        outputs = self._outputs(node)
        self.builder.node(node.name, placeholder.kind, (), outputs, role=placeholder.role, attrs=attrs, scope=scope)

    def _output(self, node: Any) -> None:
        operands = Operands(self)
        results = node.args[0] if node.args else ()
        numbers: list[int] = []
        if self.signature.shows_constants and isinstance(results, list | tuple):
            for number, result in enumerate(results):
                if is_constant(result):
                    operands.inputs.append(self._constant_result(node, number, result))
                else:
                    operands.argument(result)
                numbers += [number] * (len(operands.inputs) - len(numbers))
        else:
            operands.argument(results)
        self.builder.outputs = operands.inputs
        attrs = dict(self.signature.output_attrs) | names_attr(numbers, self.signature.result_names) | self._attributes(node)
        self.builder.node(node.name, "output", operands.inputs, (), role="output", attrs=attrs)

    def _constant_result(self, output: Any, number: int, value: Any) -> ValueRef:
        name = f"{output.name}_{number}"
        while name in self.names:
            name += "_"
        self.builder.node(name, "constant", (), output_types(value), role="constant", attrs=constant_attrs(value))
        return name, 0

    def _operation(self, node: Any, scope: Path, links: Iterable[Any]) -> None:
        operands = Operands(self)
        op, names = target_of(node, self.root)
        if op == "getitem" and len(node.args) == 2:
            operands.element(*node.args)
        else:
            for position, value in enumerate(node.args):
                operands.add(names[position] if position < len(names) else f"arg{position}", value)
        for name, value in node.kwargs.items():
            operands.add(name, value)
        attrs = operands.attrs | self._attributes(node)
        if attrs.get("original_aten") == op:
            del attrs["original_aten"]
        if node.name in self.directions:
            attrs[DIRECTION_ATTR] = self.directions[node.name]
        calls = operands.calls
        if node.op == "call_module":
            attrs.setdefault("module", node.target)
            calls += [self.called[node.name]] if node.name in self.called else []
        role: Role = "constant" if node.op == "get_attr" else "op"
        frames = frames_of_text(node.meta.get("stack_trace") or "")
        outputs = self._outputs(node)
        self.builder.node(
            node.name, op, operands.inputs, outputs, role=role, attrs=attrs, scope=scope, source=frames, calls=calls, links=links
        )

    def _outputs(self, node: Any) -> tuple[TensorType, ...]:
        value = value_of(node.meta, MISSING)
        if value is MISSING and node.op == "get_attr":
            value = attribute(self.root, node.target)
        if value is MISSING or (value is None and node.op != "placeholder"):
            return ()
        if isinstance(value, tuple | list) and not is_tensor(value):
            self.is_tuple.add(node.name)
        types = self.types[node.name] = output_types(value)
        return types

    def _attributes(self, node: Any) -> dict[str, Any]:
        attrs = {key: plain(value) for key, value in node.meta.items() if key not in SPELLED_OUT and not is_empty(value)}
        if "torch_fn" in attrs:
            attrs["torch_fn"] = str(node.meta["torch_fn"][-1])
        if "source_fn_stack" in attrs:
            attrs["source_fn_stack"] = ";".join(f"{name},{class_name(source)}" for name, source in node.meta["source_fn_stack"])
        origins = node.meta.get("from_node")
        if origins:
            attrs["from_node"] = [str(getattr(origin, "name", origin)) for origin in origins]
        device = getattr(value_of(node.meta), "device", None)
        if device is not None and str(device) != "cpu":
            attrs["device"] = str(device)
        return attrs


class Operands:
    """The arguments of one fx node: nodes become inputs, inner graphs calls, and the rest attributes."""

    def __init__(self, reader: FxGraphReader) -> None:
        self.reader = reader
        self.inputs: list[ValueRef] = []
        self.calls: list[str] = []
        self.attrs: dict[str, Any] = {}

    def add(self, name: str, value: Any) -> None:
        before = len(self.inputs)
        shown = self.argument(value)
        only_nodes = is_node(value) or (isinstance(value, list | tuple) and value and all(map(is_node, value)))
        if not only_nodes or (not is_node(value) and self.calls and len(self.inputs) > before):
            self.attrs[name] = shown

    def element(self, source: Any, index: Any) -> None:
        """`getitem`: on a tuple it selects one output; on anything else it is an operation with an index."""
        if not is_node(source) or not isinstance(index, int) or source.name not in self.reader.is_tuple:
            self.argument(source)
            self.attrs["index"] = self.argument(index)
            return
        count = len(self.reader.types[source.name])
        self.inputs.append((self._id(source), index % count if count else 0))

    def argument(self, value: Any, depth: int = 0) -> Any:
        """Add the nodes in a value as inputs, and return it as plain data with `%name` for each of them."""
        if is_node(value):
            name = self._id(value)
            graph = self.reader.called.get(value.name)
            if graph is not None and value.op == "get_attr":
                self.calls.append(graph)
            else:
                self.inputs.append((name, WHOLE if len(self.reader.types.get(value.name, "1")) != 1 else 0))
            return f"%{name}"
        if isinstance(value, list | tuple) and depth < DEEPEST:
            return [self.argument(item, depth + 1) for item in value]
        if isinstance(value, dict) and depth < DEEPEST:
            return {str(key): self.argument(item, depth + 1) for key, item in value.items()}
        if isinstance(value, slice):
            parts = [self.argument(part, depth + 1) for part in (value.start, value.stop, value.step)]
            return ":".join("" if part is None else str(part) for part in (parts if parts[2] is not None else parts[:2]))
        return plain(value)

    def _id(self, node: Any) -> str:
        return self.reader.signature.same.get(node.name, str(node.name))


MISSING = object()


def value_of(meta: Mapping[str, Any], default: Any = None) -> Any:
    """The value that torch traced for a node, whichever tracer it was."""
    for key in ("val", "example_value", "tensor_meta"):
        if key in meta:
            return meta[key]
    return default


def is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, dict | list | tuple) and not value)


def is_node(value: Any) -> bool:
    return hasattr(value, "all_input_nodes")


def attribute(root: Any, path: str) -> Any:
    """`root.layers.3.weight` by its path, or MISSING."""
    for name in path.split("."):
        root = getattr(root, name, MISSING)
    return root


def module_calls(meta: Mapping[str, Any]) -> tuple[Call, ...]:
    """The module stack of a node; a backward node has that of its forward module."""
    stack = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack") or {}
    return tuple(Call.of(str(key), str(path), class_name(cls)) for key, (path, cls) in stack.items())


def class_name(cls: Any) -> str:
    if isinstance(cls, str):
        return cls
    module = getattr(cls, "__module__", None) or getattr(cls, "__objclass__", type(cls)).__module__  # a method of C has no module
    return f"{module}.{getattr(cls, '__qualname__', type(cls).__name__)}"


def target_of(node: Any, root: Any) -> tuple[str, tuple[str, ...]]:
    """The operator's name, and the names of its arguments if it has a schema."""
    target = node.target
    if node.op == "call_method":
        return f"Tensor.{target}", ("self",)
    if node.op == "call_module":
        return type(attribute(root, target)).__name__, ()
    if node.op == "get_attr":
        return "constant", ()
    overload = target._op if type(target).__name__ == "EdgeOpOverload" else target  # ExecuTorch's wrapper
    schema = getattr(overload, "_schema", None)
    if schema is not None and hasattr(overload, "_overloadname"):
        return str(overload), tuple(argument.name for argument in schema.arguments)
    if hasattr(target, "namespace"):  # a higher-order operator
        return op_name(f"torch.ops.{target.namespace}.{target.name() if callable(target.name) else target.name}"), ()
    module, name = getattr(target, "__module__", None) or "", getattr(target, "__name__", None) or str(target)
    return op_name(f"{module}.{name}" if module and module != "builtins" else name), ()
