"""The code that Inductor generates, as a Program: one node for each launch of a kernel, connected by the buffers that it reads and writes.

    buf8 = empty_strided_cuda((8192, 2304), (2304, 1), torch.bfloat16)
    # Topologically Sorted Source Nodes: [layer_norm, linear], Original ATen: [aten.native_layer_norm, aten.addmm]
    # [Provenance debug handles] extern_kernels.addmm:4
    extern_kernels.addmm(buf7, reinterpret_tensor(buf5, …), reinterpret_tensor(buf6, …), alpha=1, beta=1, out=buf8)

The code is parsed, never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from opscope.errors import SourceError
from opscope.profile.kineto.place import LAUNCH_ATTR
from opscope.program import GraphBuilder, Node, Program, ProgramBuilder, TensorType, ValueRef, dimension
from opscope.readers.torch.export import ENTRY

SOURCE_NODES = "source nodes"
"""The attribute with the nodes of Dynamo's graph, or of the joint graph, that a launch computes, in order."""
HANDLE = "handle"
"""The attribute with Inductor's own name of a launch, if it tracked provenance: `extern_kernels.addmm:4`."""

RESULTS = "results"
"""The attribute of the output with the node of each result; None for a result that is None."""

_SOURCES = re.compile(r"#.*Source Nodes: \[(?P<nodes>[^\]]*)\]")
_HANDLE = re.compile(r"# \[Provenance debug handles\] (?P<handle>\S+)")
_POINTERS = re.compile(r"\b(?P<role>in_out|in|out|ws)_ptr\d*\b")
_ALLOCATION = re.compile(r"empty\w*|alloc_from_pool")
_NAMESPACES = {"extern_kernels": "aten", "aten": "aten", "inductor_ops": "inductor", "_quantized": "_quantized"}
"""The operators behind the names that generated code uses."""
_BETWEEN = re.compile(r"(?:stream|workspace_)\d+ = ")
"""What may lie between a launch and its comments."""
_MOST_COMMENTS = 8


class GeneratedCode:
    """Code that was parsed."""

    def __init__(self, text: str) -> None:
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise SourceError(f"is not Python: {error}") from None
        functions = {node.name: node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}
        if "call" not in functions:
            raise SourceError("has no function call")
        self._lines = text.splitlines()
        self._pointers = _pointers(module)
        self._statements = list(_statements(functions["call"].body, functions))

    @property
    def arguments(self) -> list[str]:
        """The inputs of the graph that the code computes, by name."""
        unpacked = (each for each in self._statements if isinstance(each, ast.Assign) and ast.unparse(each.value) == "args")
        return next((_names(each.targets[0]) for each in unpacked), [])

    def program(self, title: str, inputs: Mapping[str, Node]) -> Program:
        """The launches, in order. `inputs` are the inputs of the graph, by name."""
        builder = ProgramBuilder(title, ENTRY)
        reader = _Reader(builder.graph(ENTRY), self._lines, inputs, self._pointers)
        for statement in self._statements:
            reader.take(statement)
        reader.end()
        return builder.build()


def _statements(body: list[ast.stmt], functions: Mapping[str, ast.FunctionDef]) -> Iterator[ast.stmt]:
    """The statements in the order in which they run: those of a partition at its call."""
    waiting = list(reversed(body))
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, ast.With):
            waiting += reversed(statement.body)
            continue
        yield statement
        called = getattr(statement, "value", None)
        partition = _partition(called) if isinstance(called, ast.Call) else ""
        if partition in functions:
            waiting += reversed([each for each in functions[partition].body if not isinstance(each, ast.Return)])
            functions = {name: function for name, function in functions.items() if name != partition}


def _partition(call: ast.Call) -> str:
    """The function behind `self.partitions[0](…)`."""
    match = re.fullmatch(r"(?:self\.)?partitions\[(\d+)\]|(?:self\.)?(partition_\d+)", ast.unparse(call.func))
    return "" if match is None else match[2] or f"partition_{match[1]}"


def _pointers(module: ast.Module) -> dict[str, list[str]]:
    """Whether a kernel reads or writes each of its pointers: "in", "out", "in_out", or "ws" for a workspace."""
    roles = {}
    for statement in module.body:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and isinstance(statement.targets[0], ast.Name)):
            continue
        name = statement.targets[0].id
        texts = [arg.value for arg in statement.value.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        code = texts[-1] if texts else ""
        signature = re.search(rf"(?:def {re.escape(name)}|\bkernel)\(([^)]*)\)", code)
        mutated = re.search(r"'mutated_arg_names': \[([^\]]*)\]", code)
        updated = re.findall(r"'(\w+)'", mutated[1]) if mutated else []
        if signature:
            pointers = _POINTERS.finditer(signature[1])
            roles[name] = ["in_out" if pointer[0] in updated else pointer["role"] for pointer in pointers]
    return roles


class _Reader:
    """Follows the buffers from launch to launch."""

    def __init__(self, graph: GraphBuilder, lines: list[str], inputs: Mapping[str, Node], pointers: Mapping[str, list[str]]) -> None:
        self._graph = graph
        self._lines = lines
        self._inputs = inputs
        self._pointers = pointers
        self._writers: dict[str, list[ValueRef]] = {}
        """Who has written a buffer: the last launch, or several that each wrote a part of it."""
        self._types: dict[str, TensorType] = {}
        self._buffers: dict[str, str] = {}
        """The buffer that a view shows."""
        self._ids: set[str] = set()
        self._results: list[ValueRef | None] = []

    def take(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Return):
            elements = statement.value.elts if isinstance(statement.value, ast.Tuple | ast.List) else []
            self._results = [next((value for name in _names(element) for value in self._value(name)[-1:]), None) for element in elements]
            self._graph.outputs = [value for value in self._results if value is not None]
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._launch(statement.value, "")
        elif isinstance(statement, ast.Assign):
            self._assign(statement.targets[0], statement.value)

    def end(self) -> None:
        attrs = {RESULTS: [None if value is None else value[0] for value in self._results]}
        self._graph.node("output", "output", self._graph.outputs, role="output", attrs=attrs)

    def _value(self, name: str) -> list[ValueRef]:
        return self._writers.get(self._buffers.get(name, name), [])

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(value, ast.Name) and value.id == "args":
            for name in _names(target):
                self._input(name)
        if not isinstance(target, ast.Name):
            return
        name = target.id
        if isinstance(value, ast.Name):
            self._alias(name, value.id, value.lineno)
        elif isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            number = value.slice.value if isinstance(value.slice, ast.Constant) and isinstance(value.slice.value, int) else 0
            self._writers[name] = [(node, number) for node, _ in self._value(value.value.id)]
        elif isinstance(value, ast.Call):
            function = ast.unparse(value.func)
            if _ALLOCATION.fullmatch(function):
                self._types[name] = _type(value)
            elif function == "reinterpret_tensor":
                for source in _names(value)[:1]:
                    self._alias(name, source, value.lineno)
            else:
                self._launch(value, name)

    def _input(self, name: str) -> None:
        if self._value(name):  # the arguments of a partition exist
            return
        if name in self._inputs:
            self._graph.add(self._inputs[name]._replace(links=()))
        else:
            self._graph.node(name, "input", (), (TensorType("(input)"),), role="input")
        self._ids.add(name)
        self._types[name] = TensorType("(input)")
        self._writers[name] = [(name, 0)]

    def _alias(self, name: str, source: str, line: int) -> None:
        """Another name for a buffer: a view of it, or a new buffer in the same memory, if the old one is deleted."""
        self._types[name] = self._types.get(source, TensorType("(buffer)"))
        if re.search(rf"\bdel {re.escape(source)}\b", self._lines[line - 1]):
            self._writers[name] = self._value(source)
        else:
            self._buffers[name] = self._buffers.get(source, source)

    def _launch(self, call: ast.Call, target: str) -> None:
        kernel, label = _kernel(call.func)
        if not kernel:
            return
        arguments = [name for argument in (call.func, *call.args) for name in _names(argument)]
        written = [name for keyword in call.keywords if keyword.arg == "out" for name in _names(keyword.value)]
        read = arguments + [name for keyword in call.keywords if keyword.arg != "out" for name in _names(keyword.value)]
        buffers = [name for name in arguments if name in self._types or self._value(name)]
        roles = self._pointers.get(kernel, [])
        if kernel == label and len(roles) == len(buffers):
            written = [name for name, role in zip(buffers, roles, strict=True) if role != "in"]
            read = [name for name, role in zip(buffers, roles, strict=True) if role in ("in", "in_out")]
        elif kernel == label:  # a buffer that nobody has written yet is a result
            written = [name for name in buffers if not self._value(name)]
        inputs = list(dict.fromkeys(value for name in read for value in self._value(name)))
        self._add(call, kernel, label, inputs, [target] if target else written)

    def _add(self, call: ast.Call, kernel: str, label: str, inputs: list[ValueRef], written: list[str]) -> None:
        base = written[0] if written else kernel
        id, number = base, 1
        while id in self._ids:
            id, number = f"{base}_{number}", number + 1
        self._ids.add(id)
        attrs: dict[str, Any] = {LAUNCH_ATTR: label, **self._comments(call.lineno - 1)}
        several = [TensorType("(buffer)")] * self._items(call, written) if written and written[0] not in self._types else []
        types = several or [self._types.get(name, TensorType("(buffer)")) for name in written]
        self._graph.node(id, kernel, inputs, types, attrs=attrs)
        for i, name in enumerate(written):
            buffer = self._buffers.get(name)
            if buffer is None:
                self._writers[name] = [(id, i)]
            else:
                self._writers[buffer] = [*self._writers.get(buffer, []), (id, i)]

    def _items(self, call: ast.Call, written: list[str]) -> int:
        """How many results of a call the code that follows takes apart: `buf10 = buf9[0]`."""
        item = re.compile(rf"= {re.escape(written[0])}\[(\d+)\]")
        end = call.end_lineno or call.lineno
        numbers = [int(match[1]) for line in self._lines[end : end + 4 * _MOST_COMMENTS] if (match := item.search(line))]
        return max(numbers, default=0) + 1

    def _comments(self, line: int) -> dict[str, Any]:
        """What the comments above a launch say."""
        facts: dict[str, Any] = {}
        for above in range(line - 1, max(-1, line - 1 - _MOST_COMMENTS), -1):
            text = self._lines[above].strip()
            if text.startswith("#"):
                if (sources := _SOURCES.match(text)) and sources["nodes"]:
                    facts[SOURCE_NODES] = sources["nodes"].split(", ")
                if handle := _HANDLE.match(text):
                    facts[HANDLE] = handle["handle"]
            elif not _BETWEEN.match(text):
                break
        return facts


def _kernel(function: ast.expr) -> tuple[str, str]:
    """The kernel that a call launches, and what a profiler calls it; nothing for other calls."""
    parts = ast.unparse(function).split(".")
    if parts[-1] == "run" and len(parts) == 2:
        return parts[0], parts[0]
    if len(parts) == 1 and re.match(r"(?:cpp_|triton_)", parts[0]):
        return parts[0], parts[0]
    if parts[:2] == ["torch", "ops"] and len(parts) >= 4:
        return ".".join(parts), f"{parts[2]}::{parts[3]}"
    if parts[0] in _NAMESPACES and len(parts) >= 2:
        return ".".join(parts), f"{_NAMESPACES[parts[0]]}::{parts[1]}"
    if isinstance(function, ast.Attribute) and not isinstance(function.value, ast.Name) and parts[0] != "torch":
        return f"Tensor.{function.attr}", f"aten::{function.attr}"
    return "", ""


def _names(expression: ast.expr | None) -> list[str]:
    """The variables in an expression, in order; also the names of functions and modules, except in front of parentheses."""
    names: list[str] = []
    waiting: list[ast.AST] = [] if expression is None else [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            names.append(node.id)
        elif isinstance(node, ast.Call):
            function = [node.func] if isinstance(node.func, ast.Attribute) else []
            waiting += reversed([*function, *node.args, *(keyword.value for keyword in node.keywords)])
        else:
            waiting += reversed(list(ast.iter_child_nodes(node)))
    return names


def _type(allocation: ast.Call) -> TensorType:
    """The type of `empty_strided_cuda((16, 768), (768, 1), torch.bfloat16)`."""
    shape = allocation.args[0] if allocation.args else None
    sizes = shape.elts if isinstance(shape, ast.Tuple) else []
    dtypes = [ast.unparse(each) for each in (*allocation.args[1:], *(keyword.value for keyword in allocation.keywords))]
    dtype = next((text.removeprefix("torch.") for text in dtypes if text.startswith("torch.")), "(buffer)")
    return TensorType(dtype, tuple([dimension(ast.unparse(size)) for size in sizes]))
