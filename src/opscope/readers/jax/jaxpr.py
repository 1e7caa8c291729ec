"""A jaxpr as a Program: every equation is a node, every inner jaxpr (scan, cond, jit, custom_vjp …) a called graph.

Values in a jaxpr have no names, so nodes are named after their primitive ("dot_general.3"). Literals become constant nodes, which are
drawn as text in their user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from opscope.naming import UnusedNames
from opscope.program import Frame, GraphBuilder, Program, ProgramBuilder, Role, TensorType, ValueRef
from opscope.readers.hlo.scope import Scope, parse_op_name
from opscope.readers.jax.jaxpr_text import JaxprText, Written
from opscope.readers.result_paths import results_attr

_PLAIN = (str, int, float, bool, type(None))
_MOST_FRAMES = 16
_NAMED_BY_FUNCTION = frozenset(["custom_jvp_call", "custom_vjp_call", "remat", "remat2", "checkpoint", "shard_map"])
"""Primitives that are named by the function they run: relu, not custom_jvp_call."""
_DTYPE = re.compile(r"(bfloat|float|uint|int|complex)(?=\d)")
_SHORT = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}


def read_jaxpr(closed: Any, name: str = "", arguments: Sequence[dict[str, Any]] = (), roles: Sequence[Role] = ()) -> Program:
    """`arguments` has extra attributes for each input (path in the argument tree, donation, sharding), `roles` its role in the model
    if known.

    The function's name is the outermost scope, as in JAX's HLO, so groups are the same at every stage.
    """
    name = name or _function_name(closed)
    program = ProgramBuilder(name, name)
    debug = getattr(getattr(closed, "jaxpr", closed), "debug_info", None)
    program.attrs.update(results_attr(getattr(debug, "result_paths", None) or (), len(getattr(closed, "jaxpr", closed).outvars)))
    names = _Names()
    names.of(closed, name)
    text = JaxprText()
    waiting = [_Inner(closed, name, Scope((name,)), arguments, roles)]
    while waiting:
        jaxpr, graph_name, outer_scope, arguments, roles = waiting.pop()
        graph = program.graph(graph_name)
        reader = _GraphReader(graph, jaxpr, outer_scope, names)
        waiting.extend(reversed(reader.read(arguments, roles)))
        text.add(graph_name, reader.jaxpr, reader.written)
    return replace(program.build(), own_text=text)


class _Inner(NamedTuple):
    """A jaxpr still to be read: its graph's name, the scope and transformations of its (first) caller, attributes and roles for its
    parameters."""

    jaxpr: Any
    name: str
    scope: Scope
    arguments: Sequence[dict[str, Any]] = ()
    roles: Sequence[Role] = ()


def _function_name(closed: Any) -> str:
    """The name of the function that a jaxpr was traced from; JAX stores it as "loss at train.py:12"."""
    debug = getattr(getattr(closed, "jaxpr", closed), "debug_info", None)
    return str(getattr(debug, "func_src_info", None) or "main").partition(" at ")[0]


class _Names:
    """Graph names, one per jaxpr object. An inner jaxpr that is called twice is one graph."""

    def __init__(self) -> None:
        self._by_id: dict[int, str] = {}
        self._unused = UnusedNames(".")

    def of(self, jaxpr: Any, wish: str) -> tuple[str, bool]:
        """The graph's name, and whether it is new."""
        key = id(getattr(jaxpr, "jaxpr", jaxpr))
        if key in self._by_id:
            return self._by_id[key], False
        name = self._by_id[key] = self._unused.of(wish)
        return name, True


class _GraphReader:
    def __init__(self, graph: GraphBuilder, jaxpr: Any, outer_scope: Scope, names: _Names) -> None:
        self.graph = graph
        self.jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        self.consts = getattr(jaxpr, "consts", ())
        self.outer_scope = outer_scope
        self.names = names
        self.values: dict[Any, ValueRef] = {}
        self.counts: dict[str, int] = {}
        self.inner: list[_Inner] = []
        self.written: list[Written | None] = []
        """What each node is in the jaxpr."""

    def read(self, arguments: Sequence[dict[str, Any]], roles: Sequence[Role]) -> list[_Inner]:
        """Fill the graph; returns the called jaxprs that do not have a graph yet."""
        self._parameters(arguments, roles)
        for equation in self.jaxpr.eqns:
            self._equation(equation)
        self.graph.outputs = [self._value(atom) for atom in self.jaxpr.outvars]
        return self.inner

    def _fresh(self, stem: str) -> str:
        count = self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}.{count}"

    def _parameters(self, arguments: Sequence[dict[str, Any]], roles: Sequence[Role]) -> None:
        debug = getattr(self.jaxpr, "debug_info", None)
        labels = getattr(debug, "safe_arg_names", None)
        arg_names = labels(len(self.jaxpr.invars)) if callable(labels) else getattr(debug, "arg_names", None) or ()
        used_ids: set[str] = set()
        for i, var in enumerate(self.jaxpr.invars):
            label = str(arg_names[i]) if i < len(arg_names) and arg_names[i] else ""
            node_id = label if label and label not in used_ids else f"{label or 'arg'}.{i}"
            used_ids.add(node_id)
            attrs = {"index": i} | (arguments[i] if i < len(arguments) else {})
            role = roles[i] if i < len(roles) else "parameter"
            self.graph.node(node_id, role, (), [_type_of(var.aval)], role=role, attrs=attrs)
            self.values[var] = (node_id, 0)
            self.written.append(Written(var, {}))
        for i, var in enumerate(self.jaxpr.constvars):
            attrs = {"value": _literal(self.consts[i])} if i < len(self.consts) else {}
            node = self.graph.node(f"const.{i}", "constant", (), [_type_of(var.aval)], role="constant", attrs=attrs)
            self.values[var] = (node.id, 0)
            self.written.append(Written(var, {}))

    def _value(self, atom: Any) -> ValueRef:
        if hasattr(atom, "val"):  # a Literal is written where it is used, and has no name
            node_id = self._fresh("literal")
            attrs = {"value": _literal(atom.val)}
            self.graph.node(node_id, "constant", (), [_type_of(atom.aval)], role="constant", attrs=attrs)
            self.written.append(None)
            return node_id, 0
        return self.values[atom]

    def _equation(self, equation: Any) -> None:
        primitive = equation.primitive.name
        node_id = self._fresh(primitive)
        inputs = [self._value(atom) for atom in equation.invars]
        scope = parse_op_name(f"{equation.source_info.name_stack}/{primitive}").below(self.outer_scope)
        attrs, calls = self._parameters_of(equation, node_id, scope)
        self.written.append(
            Written(equation, {key: attrs[key] for key in equation.params if calls and any(_jaxprs_in(equation.params[key]))})
        )
        attrs |= scope.attrs
        outputs = [_type_of(var.aval) for var in equation.outvars]
        frames, columns = _frames(equation)
        self.graph.node(
            node_id, primitive, inputs, outputs, attrs=attrs, calls=calls, scope=scope.path, source=frames, columns=columns,
        )  # fmt: skip
        for index, var in enumerate(equation.outvars):
            self.values[var] = (node_id, index)

    def _parameters_of(self, equation: Any, node_id: str, scope: Scope) -> tuple[dict[str, Any], list[str]]:
        attrs: dict[str, Any] = {}
        calls: list[str] = []
        name = equation.params.get("name")
        label = name if isinstance(name, str) and name else node_id
        for key, value in equation.params.items():
            jaxprs = list(_jaxprs_in(value))
            for i, jaxpr in enumerate(jaxprs):
                part = "" if key in ("jaxpr", "call_jaxpr") else f".{key.removesuffix('_jaxpr')}"
                if not part and label == node_id and equation.primitive.name in _NAMED_BY_FUNCTION:
                    label = _function_name(jaxpr)
                graph_name, new = self.names.of(jaxpr, f"{label}{part}" + (f"_{i}" if len(jaxprs) > 1 else ""))
                calls.append(graph_name)
                if new:
                    self.inner.append(_Inner(jaxpr, graph_name, scope, _operands_of(equation, key, jaxpr)))
            if jaxprs:
                attrs[key] = ", ".join(calls[-len(jaxprs) :])
            elif value is not None:
                attrs[key] = _attribute(value)
        return attrs, calls


def _operands_of(equation: Any, key: str, jaxpr: Any) -> list[dict[str, Any]]:
    """Which operands a loop's condition and body take. Each has its own constants, so neither takes all operands."""
    if equation.primitive.name != "while":
        return []
    cond_consts, body_consts = equation.params["cond_nconsts"], equation.params["body_nconsts"]
    count = len(getattr(jaxpr, "jaxpr", jaxpr).invars)
    if key == "cond_jaxpr":
        numbers = [i if i < cond_consts else i + body_consts for i in range(count)]
    else:
        numbers = list(range(cond_consts, cond_consts + count))
    return [{"index": number} for number in numbers]


def _jaxprs_in(value: Any) -> Iterator[Any]:
    for item in value if isinstance(value, (tuple, list)) else (value,):
        if hasattr(getattr(item, "jaxpr", item), "eqns"):
            yield item


def _attribute(value: Any) -> Any:
    """The value itself if it is JSON, otherwise its text."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (tuple, list)) and all(isinstance(item, _PLAIN) for item in value):
        return list(value)
    return str(value)


def _literal(value: Any) -> str:
    """Small values in full, large ones by size: a constant's data does not belong in every picture."""
    import numpy as np

    size = getattr(value, "size", 1)
    if size > 16:
        return f"{{{size} elements}}"
    try:
        return str(np.asarray(value))  # JAX's scalars would include their type: TypedInt(0, dtype=int32)
    except TypeError:  # random keys are not arrays of numbers
        from jax.random import key_data

        return f"key {np.asarray(key_data(value))}"


def _type_of(aval: Any) -> TensorType:
    """Types as JAX prints them in a jaxpr: f32[2, 3], i32[], key<fry>[]."""
    shape = getattr(aval, "shape", None)
    if shape is None:
        return TensorType(str(aval))
    dims = tuple(d if isinstance(d, int) else str(d) for d in shape)
    return TensorType(_DTYPE.sub(lambda match: _SHORT[match[1]], str(getattr(aval, "dtype", aval)), count=1), dims)


def _frames(equation: Any) -> tuple[list[Frame], list[str]]:
    """The user's frames, innermost first, and their columns if Python has them. The helper is private to JAX: without it, the graph has no
    frames."""
    try:
        from jax._src import source_info_util
    except ImportError:
        return [], []
    info = equation.source_info
    try:
        user_frames = source_info_util.user_frames(info)
    except (TypeError, AttributeError):
        user_frames = source_info_util.user_frames(info.traceback)
    frames: list[Frame] = []
    columns: list[str] = []
    for frame in user_frames:
        frames.append(Frame(frame.file_name, frame.start_line, frame.function_name))
        if frame.end_column:
            columns.append(f"{frame.start_column}-{frame.end_line}-{frame.end_column}")
        if len(frames) == _MOST_FRAMES:
            break
    return frames, columns if len(columns) == len(frames) else []
