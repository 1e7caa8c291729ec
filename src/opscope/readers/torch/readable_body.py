"""Statements of a readable fx graph as nodes, with the names and operators of the live graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from opscope.limits import MOST_ELEMENTS
from opscope.program import UNKNOWN_TYPE, WHOLE, Frame, GraphBuilder, Role, TensorType, ValueRef
from opscope.readers.torch.names import op_name
from opscope.readers.torch.readable_types import type_of

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift",
    ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not_", ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt",
    ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip


class _Statement(NamedTuple):
    name: str
    value: ast.expr
    annotation: str
    line: int


class BodyReader:
    """Fills one graph from one `forward`. `inner` maps attributes of self to the graphs in them."""

    def __init__(self, builder: GraphBuilder, inner: Mapping[str, str], frames: list[Frame | None], lines: list[str]) -> None:
        self.builder = builder
        self.inner = inner
        self.frames = frames
        self.lines = lines
        self.comments: dict[int, str] = {}
        """What is behind the code of a line."""
        self.output_counts: dict[str, int] = {}
        """Values so far, each with its number of outputs."""
        self.called: dict[str, str] = {}
        self.elements: dict[str, dict[int, TensorType]] = {}

    def read(self, function: ast.FunctionDef) -> None:
        parameters = [argument for argument in function.args.args if argument.arg != "self"]
        typed = {argument.arg: _annotation(argument.annotation) for argument in parameters}
        described = {argument.arg: self._comment(argument.lineno) for argument in parameters}
        statements: list[_Statement] = []
        renamed: dict[str, str] = {}
        flattened: list[str] | None = None
        returned: ast.expr | None = None
        for item in function.body:
            if isinstance(item, ast.Return):
                returned = item.value
            elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                if item.value is None:
                    typed[item.target.id], described[item.target.id] = _annotation(item.annotation), self._comment(item.lineno)
                else:
                    statements.append(_Statement(item.target.id, item.value, _annotation(item.annotation), item.lineno))
            elif isinstance(item, ast.Assign):
                names = [target.id for target in item.targets if isinstance(target, ast.Name)]
                if isinstance(item.value, ast.Call) and _dotted(item.value.func).endswith("tree_flatten_spec"):
                    flattened = [name.id for name in ast.walk(item.targets[0]) if isinstance(name, ast.Name)]
                elif isinstance(item.value, ast.Name) and item.value.id in typed and len(names) == 1 and names[0] not in typed:
                    renamed.setdefault(item.value.id, names[0])
                elif not (isinstance(item.value, ast.Constant) and item.value.value is None) and len(names) == 1:
                    statements.append(_Statement(names[0], item.value, "", item.lineno))
            elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
                statements.append(_Statement(f"{_dotted(item.value.func).rpartition('.')[2]}_{item.lineno}", item.value, "", item.lineno))
        for parameter in dict.fromkeys(flattened if flattened is not None else typed):
            self._parameter(renamed.get(parameter, parameter), typed.get(parameter, ""), described.get(parameter, ""))
        self._find_elements(statements)
        for statement in statements:
            if statement.name not in self.output_counts:
                self._statement(statement)
        operands = _Operands(self)
        if returned is not None:
            operands.argument(returned)
        self.builder.outputs = operands.inputs
        name = "output"
        while name in self.output_counts:
            name += "_1"
        self.builder.node(name, "output", operands.inputs, role="output")

    def _comment(self, line: int) -> str:
        """AOTAutograd's comment after an input."""
        if line not in self.comments:  # a line can have thousands of arguments
            self.comments[line] = self.lines[line - 1].partition("  # ")[2].strip() if 0 < line <= len(self.lines) else ""
        return self.comments[line]

    def _parameter(self, name: str, annotation: str, described: str) -> None:
        kind, device = type_of(annotation) if annotation else (UNKNOWN_TYPE, "")
        attrs = {"device": device} if device else {}
        is_tangent = described.startswith("TangentAOTInput") or name.startswith("tangents_")
        role: Role = "gradient" if is_tangent else "input"
        self.builder.node(name, role, (), (kind,), role=role, attrs=attrs)
        self.output_counts[name] = 1

    def _find_elements(self, statements: list[_Statement]) -> None:
        """Find tuples: values without a type whose elements are used. The elements have the types."""
        untyped = {statement.name for statement in statements if not statement.annotation}
        for statement in statements:
            element = _element(statement.value)
            if element is not None and element[0] in untyped:
                kind = type_of(statement.annotation)[0] if statement.annotation else UNKNOWN_TYPE
                self.elements.setdefault(element[0], {})[element[1]] = kind

    def _statement(self, statement: _Statement) -> None:
        value, name = statement.value, statement.name
        operands = _Operands(self)
        op, role = "", "op"
        element = _element(value)
        if isinstance(value, ast.Attribute) and _is_self(value.value):
            if value.attr in self.inner:
                self.called[name] = self.inner[value.attr]
                return
            op, role, operands.attrs = "constant", "constant", {"name": value.attr}
        elif element is not None and element[0] in self.elements:
            op = "getitem"
            operands.inputs.append(element)
        else:
            op = operands.operation(value)
        elements = self.elements.get(name)
        if elements:
            types = [elements.get(i, UNKNOWN_TYPE) for i in range(max(elements) + 1)]
        else:
            types = []
            if statement.annotation:
                kind, device = type_of(statement.annotation)
                types = [kind]
                if device:
                    operands.attrs["device"] = device
        frame = self.frames[statement.line - 1]
        self.builder.node(
            name,
            op,
            operands.inputs,
            types,
            role="constant" if role == "constant" else "op",
            attrs=operands.attrs,
            source=[frame] if frame else (),
            calls=operands.calls,
        )
        self.output_counts[name] = len(types)


class _Operands:
    """The expression of one statement: names of values become inputs, inner graphs calls, and the rest attributes."""

    def __init__(self, body: BodyReader) -> None:
        self.body = body
        self.inputs: list[ValueRef] = []
        self.calls: list[str] = []
        self.attrs: dict[str, Any] = {}

    def operation(self, value: ast.expr) -> str:
        """Add the operands of an expression, and return the name of its operator."""
        if isinstance(value, ast.Call):
            op = self._function(value.func)
            for position, argument in enumerate(value.args):
                self._add(f"arg{position}", argument)
            for keyword in value.keywords:
                self._add(keyword.arg or "kwargs", keyword.value)
            return op
        if isinstance(value, ast.Subscript):
            self._add("arg0", value.value)
            self._add("index", value.slice)
            return "getitem"
        if isinstance(value, ast.Attribute):
            self._add("arg0", value.value)
            self.attrs["name"] = value.attr
            return "getattr"
        parts = _parts(value)
        for position, part in enumerate(parts):
            self._add(f"arg{position}", part)
        kind: type[ast.AST] = type(getattr(value, "op", None) or next(iter(getattr(value, "ops", ())), value))
        return f"operator.{_OPERATORS.get(kind, kind.__name__)}" if parts else "value"

    def _function(self, function: ast.expr) -> str:
        dotted = _dotted(function)
        first, _, rest = dotted.partition(".")
        if first == "self" and rest:
            self.attrs["module"] = rest
            return rest
        if first in self.body.output_counts and rest and isinstance(function, ast.Attribute):
            self._take(first)
            return f"Tensor.{rest}"
        return op_name(dotted) if dotted else ast.unparse(function)

    def _add(self, name: str, value: ast.expr) -> None:
        before = len(self.inputs) + len(self.calls)
        shown = self.argument(value)
        names = [value] if isinstance(value, ast.Name) else list(getattr(value, "elts", ()))
        only_values = bool(names) and all(isinstance(item, ast.Name) for item in names)
        if not only_values or len(self.inputs) + len(self.calls) - before != len(names):
            self.attrs[name] = shown

    def argument(self, value: ast.expr) -> Any:
        """Plain data, with `%name` for each value in it. Deeper nesting than torch prints stays text."""
        if isinstance(value, ast.Name):
            if value.id in self.body.called:
                self.calls.append(self.body.called[value.id])
                return f"%{value.id}"
            return self._take(value.id) if value.id in self.body.output_counts else value.id
        if isinstance(value, ast.Constant):
            return value.value if isinstance(value.value, bool | int | float | str | None) else repr(value.value)
        if isinstance(value, ast.List | ast.Tuple):
            return [self.argument(item) if not isinstance(item, ast.List | ast.Tuple) else self._nested(item) for item in value.elts]
        return self._nested(value)

    def _nested(self, value: ast.expr) -> str:
        """Any other expression as text; the values in it are still inputs."""
        for name in _names(value):
            if name in self.body.output_counts:
                self._take(name)
        try:
            return ast.unparse(value).removeprefix("torch.")
        except RecursionError:  # an expression that torch did not print
            return "…"

    def _take(self, name: str) -> str:
        self.inputs.append((name, WHOLE if self.body.output_counts[name] > 1 else 0))
        return f"%{name}"


def _names(value: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(value) if isinstance(node, ast.Name))


def _parts(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.BinOp):
        return [value.left, value.right]
    if isinstance(value, ast.UnaryOp):
        return [value.operand]
    if isinstance(value, ast.Compare):
        return [value.left, *value.comparators]
    if isinstance(value, ast.BoolOp):
        return value.values
    return []


def _element(value: ast.expr) -> tuple[str, int] | None:
    """The value and index of `var_mean[1]`, if the index can be that of a result."""
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and isinstance(value.slice, ast.Constant):
        index = value.slice.value
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < MOST_ELEMENTS:
            return value.value.id, index
    return None


def _dotted(value: ast.expr) -> str:
    """`torch.ops.aten.add.Tensor` as text; empty for anything that is not a chain of names."""
    parts: list[str] = []
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    if not isinstance(value, ast.Name):
        return ""
    return ".".join([value.id, *reversed(parts)])


def _is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == "self"


def _annotation(annotation: ast.expr | None) -> str:
    if annotation is None:
        return ""
    return annotation.value if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str) else ast.unparse(annotation)
