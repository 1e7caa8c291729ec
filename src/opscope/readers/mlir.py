"""MLIR (StableHLO and whatever else jaxlib's bindings know), text or bytecode.

Functions are graphs. A region (a loop's body, a branch, a reducer) is a graph that its operation calls; a value which a region
takes from outside becomes a parameter of that graph and a further input of the operation, so that no edge crosses a graph's border.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from opscope.errors import SourceError
from opscope.program import Frame, GraphBuilder, Path, Program, ProgramBuilder, TensorType, ValueRef
from opscope.readers import Progress, Verdict
from opscope.readers.hlo.scope import parse_op_name
from opscope.readers.source import Source

BYTECODE = b"ML\xefR"
_PRINT_TEXT = """
import sys
from opscope.readers.mlir import parsed
print(parsed(sys.stdin.buffer.read()).operation.get_asm(enable_debug_info=True))
"""
_LOOKS = re.compile(r"^\s*(module\b.*\{|func\.func\b|#loc\d*\s*=\s*loc|\"builtin\.module\"|#\w+\s*=\s*)", re.MULTILINE)
_FRAME = re.compile(r'"((?:[^"\\]|\\.)*)"\("((?:[^"\\]|\\.)+)":(\d+):')
_FILE = re.compile(r'loc\("((?:[^"\\]|\\.)+)":(\d+):')
_NAME = re.compile(r'loc\((?:fused\[)?"((?:[^"\\]|\\.)*)"(?!:\d)')
_TENSOR = re.compile(r"(?:ranked_)?(?:tensor|memref|vector)<((?:(?:\d+|\?)x)*)(.+)>", re.DOTALL)
_SHORT_DTYPE = re.compile(r"i(\d+)")
_DENSE = re.compile(r"dense<(.*)>", re.DOTALL)
_FLOAT = re.compile(r"\b(bf16|f16|f32|f64)>*$")
_MOST_TEXT = 4096


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    if source.head.startswith(BYTECODE):
        return Verdict(1, "MLIR bytecode")
    if source.suffixes[-1:] == [".mlir"]:
        return Verdict(0.9, "named .mlir")
    found = _LOOKS.search(source.head_text[:4096])
    return Verdict(0.6, "text that looks like MLIR") if found else Verdict(0, "no module, function or bytecode mark of MLIR")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    data = source.read_bytes()
    return [read_mlir(_text_of(data) if data.startswith(BYTECODE) else data.decode("utf-8", "replace"), progress)]


def _text_of(bytecode: bytes) -> str:
    """Bytecode that may be damaged is parsed in a process of its own: jaxlib then ends the process, or never comes back."""
    command, patience = [sys.executable, "-c", _PRINT_TEXT], 60 + len(bytecode) / 1e5
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        asked = subprocess.run(command, input=bytecode, env=environment, capture_output=True, check=True, timeout=patience)
    except subprocess.SubprocessError:
        raise SourceError("is damaged MLIR bytecode; write it again") from None
    return asked.stdout.decode()


def read_mlir(text: str, progress: Progress | None = None) -> Program:
    """Read with jaxlib's own parser, which knows the StableHLO dialects."""
    from jaxlib.mlir import ir

    try:
        found = parsed(text)
        with found.context:
            return _ModuleReader(ir, found, progress).program()
    except ir.MLIRError as error:
        raise _parse_error(error) from None


def parsed(module: str | bytes) -> Any:
    """Bytecode that JAX exports is a portable artifact, in a dialect that stands for a version of StableHLO: that is undone."""
    from jax.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    context = make_ir_context()
    context.allow_unregistered_dialects = True
    if isinstance(module, bytes):
        try:
            return stablehlo.deserialize_portable_artifact(context, module)
        except (ValueError, ir.MLIRError):
            pass  # bytecode, but no portable artifact
    return ir.Module.parse(module, context)


def _parse_error(error: Exception) -> SourceError:
    for diagnostic in getattr(error, "error_diagnostics", ()):
        place = re.search(r":(\d+):(\d+)", str(diagnostic.location))
        line, column = (int(place[1]), int(place[2])) if place else (0, 0)
        unknown = re.search(r"Dialect `(.+?)' not found", str(diagnostic.message))
        if unknown:
            wrong = f"jaxlib knows no dialect {unknown[1]!r}; print the module in the generic form (--mlir-print-op-generic), which opens"
        else:
            wrong = f"not valid MLIR: {diagnostic.message}"
        return SourceError(wrong, line=line, column=column)
    return SourceError(f"not valid MLIR: {str(error).splitlines()[0]}")


class _ModuleReader:
    def __init__(self, ir: Any, module: Any, progress: Progress | None) -> None:
        self.ir = ir
        self.module = module
        self.progress = progress
        self.state = ir.AsmState(module.operation)
        self.types: dict[str, TensorType] = {}
        self.pending: list[_Block] = []

    def program(self) -> Program:
        attributes = _attributes(self.module.operation)
        name = attributes.pop("sym_name", "module").strip('"')
        self.builder = ProgramBuilder(name)
        self.builder.attrs.update(attributes)
        top = list(self.module.body.operations)
        functions = [op for op in top if op.operation.name.endswith(".func") and list(op.regions[0].blocks)]
        if not functions:
            self.builder.entry = name
            self._graph(name, self.module.operation.regions[0], ())
        names: list[str] = []
        public: list[str] = []
        for done, function in enumerate(functions):
            extra = _attributes(function.operation)
            function_name = extra.pop("sym_name", f'"f{done}"').strip('"')
            names.append(function_name)
            if "private" not in extra.get("sym_visibility", ""):
                public.append(function_name)
            graph = self._graph(function_name, function.regions[0], ())
            graph.attrs.update(extra)
            if self.progress:
                self.progress(done / len(functions))
        if functions:
            self.builder.entry = "main" if "main" in names else (public or names)[0]
        return self.builder.build()

    def _graph(self, name: str, region: Any, scope: Path) -> GraphBuilder:
        """One region and, from a worklist, all regions inside it."""
        graph = self.builder.graph(name)
        self.pending.append(_Block(self, graph, list(region.blocks), scope))
        while self.pending:
            self.pending.pop().read()
        return graph

    def type_of(self, value: Any) -> TensorType:
        text = str(value.type)
        known = self.types.get(text)
        if known is None:
            known = self.types[text] = _parse_type(text)
        return known


class _Block:
    """The blocks of one region as one graph."""

    def __init__(self, module: _ModuleReader, graph: GraphBuilder, blocks: list[Any], scope: Path) -> None:
        self.module = module
        self.graph = graph
        self.blocks = blocks
        self.scope = scope
        self.counts: dict[str, int] = {}
        self.known: dict[str, ValueRef] = {}

    def read(self) -> None:
        for block in self.blocks[:1]:
            for index, argument in enumerate(block.arguments):
                self._parameter(argument, {"index": index})
        self._block_arguments()
        for block in self.blocks:
            for op in block.operations:
                self._operation(op.operation)

    def _parameter(self, argument: Any, attrs: dict[str, Any]) -> None:
        name = argument.get_name(self.module.state)
        label = _NAME.match(str(argument.location))
        if label:
            attrs["label"] = _unescape(label[1])
        self.graph.node(name, "parameter", (), [self.module.type_of(argument)], role="parameter", attrs=attrs)
        self.known[name] = (name, 0)

    def _block_arguments(self) -> None:
        """What further blocks of a control-flow graph take: one of the values that the branches to them hand over."""
        arguments = {argument.get_name(self.module.state): argument for block in self.blocks[1:] for argument in block.arguments}
        arriving: dict[str, list[ValueRef]] = {name: [] for name in arguments}
        for block in self.blocks if arguments else ():
            end = block.operations[len(block.operations) - 1].operation
            targets = [argument.get_name(self.module.state) for successor in end.successors for argument in successor.arguments]
            for target, value in zip(targets, list(end.operands)[len(end.operands) - len(targets) :], strict=False):
                arriving[target].append(self._value(value))
        for name, argument in arguments.items():
            self.graph.node(name, "block argument", arriving[name], [self.module.type_of(argument)])
            self.known[name] = (name, 0)

    def _operation(self, op: Any) -> None:
        results = list(op.results)
        state = self.module.state
        if results:
            node_id = results[0].get_name(state).partition("#")[0]
        else:
            count = self.counts[op.name] = self.counts.get(op.name, 0) + 1
            node_id = f"{op.name}.{count}"
        inputs = [self._value(operand) for operand in op.operands]
        if not results and op.name.endswith((".return", ".yield")):
            self.graph.outputs.extend(inputs)
            return
        location = str(op.location)
        named = _NAME.match(location)
        op_name = _unescape(named[1]) if named else ""
        parsed = parse_op_name(op_name)
        scope = parsed.path if op_name.startswith(("jit(", "pjit(")) else self.scope + parsed.path
        attrs: dict[str, Any] = ({"op_name": op_name} if op_name else {}) | _attributes(op) | parsed.attrs
        calls = [attrs["callee"].removeprefix("@").strip('"')] if "callee" in attrs else []
        regions = [region for region in op.regions if list(region.blocks)]
        for index, region in enumerate(regions):
            name = f"{self.graph.name}/{node_id}" + (f".{index}" if len(regions) > 1 else "")
            body = _Block(self.module, self.module.builder.graph(name), list(region.blocks), scope)
            calls.append(name)
            inputs.extend(self._value(outside) for outside in body.take_captures(state, len(inputs)))
            self.module.pending.append(body)
        is_constant = op.name.endswith(".constant")
        if is_constant and "value" in attrs:
            attrs["value"] = _constant(attrs["value"])
        types = [self.module.type_of(result) for result in results]
        self.graph.node(
            node_id, op.name, inputs, types, role="constant" if is_constant else "op", attrs=attrs, scope=scope,
            calls=calls, source=_frames(location),
        )  # fmt: skip
        for index, result in enumerate(results):
            self.known[result.get_name(state)] = (node_id, index)

    def _value(self, value: Any) -> ValueRef:
        name = value.get_name(self.module.state)
        return self.known.get(name) or (name.partition("#")[0], int(name.partition("#")[2] or 0))

    def take_captures(self, state: Any, first: int) -> list[Any]:
        """Values that the region uses but does not define. Each becomes a parameter here; the caller passes them in, as operand
        `first` and those after it."""
        inside: set[str] = set()
        outside: dict[str, Any] = {}
        for op in _walk(self.blocks):
            inside.update(result.get_name(state) for result in op.results)
            inside.update(a.get_name(state) for region in op.regions for block in region.blocks for a in block.arguments)
            for operand in op.operands:
                outside.setdefault(operand.get_name(state), operand)
        inside.update(argument.get_name(state) for block in self.blocks for argument in block.arguments)
        captured = [value for name, value in outside.items() if name not in inside]
        for index, value in enumerate(captured, first):
            name = value.get_name(state)
            attrs = {"captured": True, "index": index}
            self.graph.node(name, "parameter", (), [self.module.type_of(value)], role="parameter", attrs=attrs)
            self.known[name] = (name, 0)
        return captured


def _walk(blocks: list[Any]) -> Iterator[Any]:
    stack = [op.operation for block in reversed(blocks) for op in reversed(list(block.operations))]
    while stack:
        op = stack.pop()
        yield op
        stack.extend(inner.operation for region in op.regions for block in region.blocks for inner in block.operations)


def _attributes(op: Any) -> dict[str, Any]:
    """By number, because the bindings cannot hand out some attributes as objects (complex constants), only as text."""
    found: dict[str, Any] = {}
    for number in range(len(op.attributes)):
        name, _, text = str(op.attributes[number]).removeprefix("NamedAttribute(").removesuffix(")").partition("=")
        found[name] = text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"
    return found


def _constant(text: str) -> str:
    """A constant's value without its type, which the node has: `dense<1.000000e+00> : tensor<f32>` is 1."""
    value = text.rpartition(" : ")[0] or text
    dense = _DENSE.fullmatch(value)
    value = dense[1] if dense else value
    kind = _FLOAT.search(text)
    if not kind:
        return value
    coding = {"f64": ">d", "f16": ">e"}.get(kind[1], ">f")
    try:
        if value.startswith("0x"):  # infinities and not-a-numbers are printed as their bits
            bits = bytes.fromhex(value[2:]) + (b"\0\0" if kind[1] == "bf16" else b"")
            return str(struct.unpack(coding, bits)[0])
        number = float(value)
        return next(short for digits in (4, 6, 9, 17) if _same(coding, float(short := f"{number:.{digits}g}"), number))
    except (ValueError, struct.error):
        return value


def _same(coding: str, one: float, other: float) -> bool:
    return struct.pack(coding, one) == struct.pack(coding, other)


def _parse_type(text: str) -> TensorType:
    found = _TENSOR.fullmatch(text)
    if not found:
        return TensorType(text) if re.fullmatch(r"\w+", text) else TensorType(f"({text})")
    dims = tuple(int(d) if d.isdigit() else d for d in found[1].split("x") if d)
    dtype, _, encoding = found[2].partition(", ")
    integer = _SHORT_DTYPE.fullmatch(dtype)
    if integer:
        dtype = "pred" if integer[1] == "1" else f"s{integer[1]}"
    elif dtype.startswith("ui"):
        dtype = f"u{dtype[2:]}"
    return TensorType(dtype, dims, encoding)


def _frames(location: str) -> list[Frame]:
    frames = [Frame(_unescape(file), int(line), _unescape(function)) for function, file, line in _FRAME.findall(location)]
    return frames or [Frame(_unescape(file), int(line)) for file, line in _FILE.findall(location)]


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
