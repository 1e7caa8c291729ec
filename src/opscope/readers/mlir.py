"""MLIR (StableHLO and every other dialect in jaxlib's bindings), text or bytecode.

jaxlib's parser ends the process on damaged bytecode and on deep nesting, so files are read in a process of their own, with limits on
its time and memory.

Functions are graphs. A region (a loop's body, a branch, a reducer) is a graph that its operation calls. A value that a region
captures from outside becomes a parameter of that graph and an extra input of the operation, so no edge crosses a graph boundary.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from opscope import native
from opscope.child import answer_apart, fate, read_apart
from opscope.ellipsis import ellipsize
from opscope.errors import SourceError
from opscope.limits import Budget, InnerNames
from opscope.program import Frame, GraphBuilder, Program, ProgramBuilder, TensorType, ValueRef, dimension, line_number
from opscope.readers import Progress, Verdict
from opscope.readers.hlo.details import JAX_MODULE, Context
from opscope.readers.hlo.scope import NO_SCOPE, Scope, parse_op_name
from opscope.readers.mlir_captures import Region, operations_of, regions_of
from opscope.readers.mlir_lines import with_own_text
from opscope.readers.result_paths import results_attr
from opscope.readers.source import Source

BYTECODE = b"ML\xefR"
_LOOKS = re.compile(r"^\s*(module\b.*\{|func\.func\b|#loc\d*\s*=\s*loc|\"builtin\.module\"|#\w+\s*=\s*)", re.MULTILINE)
_FRAME = re.compile(r'"((?:[^"\\]|\\.)*)"\("((?:[^"\\]|\\.)+)":(\d+):(\d+(?: to \d*:\d+)?)')
_FILE = re.compile(r'loc\("((?:[^"\\]|\\.)+)":(\d+):')
_NAME = re.compile(r'loc\((?:fused\[)?"((?:[^"\\]|\\.)*)"(?!:\d)')
_TENSOR = re.compile(r"(?:ranked_)?(?:tensor|memref|vector)<((?:(?:\d+|\?)x)*)(.+)>", re.DOTALL)
_SHORT_DTYPE = re.compile(r"i(\d+)")
_DENSE = re.compile(r"dense<(.*)>", re.DOTALL)
_FLOAT = re.compile(r"\b(bf16|f16|f32|f64)>*$")
_MOST_TEXT = 4096
_NOT_TEXT = "str_from_cstr"
"""What jaxlib's bindings say of bytes that are not UTF-8, and where memory does not suffice for a text."""
_BYTE = re.compile(r"\\[89A-Fa-f][0-9A-Fa-f]")
"""A byte that is not ASCII, as MLIR writes it in a name."""


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    if source.head.startswith(BYTECODE):
        return Verdict(1, "MLIR bytecode")
    if source.suffixes[-1:] == [".mlir"]:
        return Verdict(0.9, "named .mlir")
    looks_like_mlir = _LOOKS.search(source.head_text[:4096])
    return Verdict(0.6, "text that looks like MLIR") if looks_like_mlir else Verdict(0, "no MLIR module, function or bytecode")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    data = source.read_bytes()
    try:
        answer = read_apart("opscope.readers.mlir", len(data), input=data)
    except subprocess.SubprocessError as error:
        raise SourceError(f"jaxlib's parser {fate(error, len(data))} on it; it is damaged or nested too deeply") from None
    programs = native.loads(answer.decode())
    return programs if data.startswith(BYTECODE) else [with_own_text(program, source.read_text) for program in programs]


def _answer(data: bytes) -> bytes:
    """What the process answers: the program as opscope's JSON."""
    text = _text_of_bytecode(data) if data.startswith(BYTECODE) else data.decode("utf-8", "replace")
    return native.dumps(read_mlir(text)).encode("utf-8", "backslashreplace")


def _text_of_bytecode(data: bytes) -> str:
    from jaxlib.mlir import ir

    try:
        return str(parsed(data).operation.get_asm(enable_debug_info=True))
    except (ir.MLIRError, ValueError, RuntimeError) as error:
        raise SourceError(f"is damaged MLIR bytecode: {_diagnosed(error)[0]}; write it again") from None


def read_mlir(text: str, progress: Progress | None = None) -> Program:
    """Read with jaxlib's parser, which has the StableHLO dialects."""
    from jaxlib.mlir import ir

    try:
        module = parsed(text)
        with module.context:
            return _ModuleReader(ir, module, Budget(len(text)), progress).program()
    except ir.MLIRError as error:
        raise _parse_error(error) from None
    except (RuntimeError, UnicodeDecodeError) as error:
        if isinstance(error, RuntimeError) and _NOT_TEXT not in str(error):
            raise
        if not _BYTE.search(text):
            raise MemoryError from None
        raise SourceError("has a name that is not UTF-8") from None


def parsed(module: str | bytes) -> Any:
    """A parsed module. JAX exports bytecode as a portable artifact, in a versioned form of StableHLO, which is converted back."""
    from jax.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    context = make_ir_context()
    context.allow_unregistered_dialects = True
    if isinstance(module, bytes):
        try:
            return stablehlo.deserialize_portable_artifact(context, module)
        except (ValueError, ir.MLIRError):
            pass  # bytecode, but not a portable artifact
    return ir.Module.parse(module, context)


def _parse_error(error: Exception) -> SourceError:
    said, line, column = _diagnosed(error)
    unknown = re.search(r"Dialect `(.+?)' not found", said)
    if unknown:
        message = f"jaxlib does not have the dialect {unknown[1]!r}; print the module in generic form (--mlir-print-op-generic)"
    elif "integer quantized" in said and "!quant" in said:
        message = "jaxlib does not have the dialect 'quant', which types of this module are from"
    else:
        message = f"not valid MLIR: {said}"
    return SourceError(message, line=line, column=column)


def _diagnosed(error: Exception) -> tuple[str, int, int]:
    """The first diagnostic of an error, its line and its column."""
    for diagnostic in getattr(error, "error_diagnostics", ()):
        place = re.search(r":(\d+):(\d+)", str(diagnostic.location))
        line, column = (int(place[1]), int(place[2])) if place else (0, 0)
        return " ".join(str(diagnostic.message).split()), line, column
    return (str(error).splitlines() or [type(error).__name__])[0], 0, 0


class _ModuleReader:
    def __init__(self, ir: Any, module: Any, budget: Budget, progress: Progress | None) -> None:
        self.ir = ir
        self.module = module
        self.budget = budget
        """Of what the text stands for: an alias in it can mean a thousand times its length, again and again."""
        self.progress = progress
        self.state = ir.AsmState(module.operation)
        self.types: dict[str, TensorType] = {}
        self.pending: list[_Block] = []
        self.inner = InnerNames()
        self.around: dict[str, Scope] = {}
        """By function, the scope of its first call. JAX names what is in a function relative to it, and writes callers first."""

    def program(self) -> Program:
        attributes = self.attributes(self.module.operation)
        name = attributes.pop("sym_name", "module").strip('"')
        self.builder = ProgramBuilder(name)
        self.builder.attrs.update(attributes)
        self.names = Context(name if JAX_MODULE.match(name) else "")
        self.functions, others = _functions(self.module.body, self.inner)
        if not self.functions:
            self.builder.entry = name
            others = [op.operation for op in self.module.body.operations]
        graphs: dict[str, GraphBuilder] = {}
        results: dict[str, list[str]] = {}
        public: list[str] = []
        for done, (function_name, function) in enumerate(self.functions.items()):
            extra = self.attributes(function.operation)
            extra.pop("sym_name", None)
            if "private" not in extra.get("sym_visibility", ""):
                public.append(function_name)
            graph = self.builder.graph(function_name)
            blocks = list(function.operation.regions[0].blocks)
            regions = regions_of(operations_of(blocks), self.state, self.budget)
            self._read(_Block(self, graph, blocks, regions, self.around.get(function_name, NO_SCOPE), function.symbols))
            graph.attrs.update(extra)
            graphs[function_name] = graph
            results[function_name] = _result_paths(function.operation)
            if self.progress:
                self.progress(done / len(self.functions))
        if others or not graphs:
            regions = regions_of(others, self.state, self.budget)
            block = _Block(self, self.builder.graph(name if name not in graphs else f"{name}/module"), [], regions, NO_SCOPE)
            for op in others:
                block.operation(op)
            self._read()
        if graphs:
            self.builder.entry = "main" if "main" in graphs else (public or list(graphs))[0]
            entry = graphs[self.builder.entry]
            self.builder.attrs.update(results_attr(results[self.builder.entry], len(entry.outputs)))
        return self.builder.build()

    def _read(self, *blocks: _Block) -> None:
        """Read blocks and, from a worklist, all regions inside them."""
        self.pending.extend(blocks)
        while self.pending:
            self.pending.pop().read()

    def called(self, callee: str, symbols: str) -> list[str]:
        """The function that an operation among these symbols calls, if its body is here: others are only declared."""
        name = "::".join(part.strip('@"') for part in callee.split("::"))
        return [each for each in (symbols + name, name) if each in self.functions][:1]

    def text_of(self, thing: Any) -> str:
        """A type, an attribute or a place, as it is printed: in whole, without aliases."""
        text = str(thing)
        self.budget.take(len(text))
        return text

    def attributes(self, op: Any) -> dict[str, Any]:
        """An operation's attributes as text. Some (complex constants) are not available as objects, so they are read by number."""
        attributes: dict[str, Any] = {}
        for number in range(len(op.attributes)):
            text = self.text_of(op.attributes[number])
            name, _, value = text.removeprefix("NamedAttribute(").removesuffix(")").partition("=")
            attributes[name] = ellipsize(value, _MOST_TEXT)
        return attributes

    def type_of(self, value: Any) -> TensorType:
        text = self.text_of(value.type)
        tensor_type = self.types.get(text)
        if tensor_type is None:
            tensor_type = self.types[text] = _parse_type(text)
        return tensor_type


class _Function(NamedTuple):
    operation: Any
    symbols: str
    """The modules around it, as calls name them: `inner::`."""


def _functions(body: Any, inner: InnerNames) -> tuple[dict[str, _Function], list[Any]]:
    """The functions of a module and of the modules in it, by name, and what has operations inside but no function."""
    operations: list[tuple[Any, int, bool]] = []
    """With the position of what each is in, and whether anything is inside."""
    with_functions: set[int] = set()
    waiting = [(op.operation, -1) for op in reversed(list(body.operations))]
    while waiting:
        op, around = waiting.pop()
        blocks = [block for region in op.regions for block in region.blocks]
        if not op.name.endswith(".func"):
            inside = [each.operation for block in blocks for each in block.operations]
            waiting.extend((each, len(operations)) for each in reversed(inside))
            operations.append((op, around, bool(inside)))
            continue
        operations.append((op, around, bool(blocks)))
        if blocks:
            while around >= 0 and around not in with_functions:
                with_functions.add(around)
                around = operations[around][1]
    functions: dict[str, _Function] = {}
    others: list[Any] = []
    symbols = {-1: ""}
    for number, (op, around, has_body) in enumerate(operations):
        if around not in symbols or not has_body:
            continue
        symbol = str(op.attributes["sym_name"]).strip('"') if "sym_name" in op.attributes else ""
        own = symbol or (f"f{len(functions)}" if op.name.endswith(".func") else op.name)
        name = inner.of(symbols[around], own) if symbols[around] else own
        if number in with_functions:
            symbols[number] = f"{name}::"
        elif not op.name.endswith(".func"):
            others.append(op)
        else:
            functions[name if name not in functions else f"{name}.{len(functions)}"] = _Function(op, symbols[around])
    return functions, others


def _result_paths(function: Any) -> list[str]:
    """Where each result of a function is in the tree that JAX's function returns; nothing unless JAX says it of all."""
    if "res_attrs" not in function.attributes:
        return []
    results = list(function.attributes["res_attrs"])
    texts = [getattr(each["jax.result_info"], "value_bytes", None) for each in results if "jax.result_info" in each]
    names = [text.decode("utf-8", "backslashreplace") for text in texts if isinstance(text, bytes)]
    return names if len(names) == len(results) else []


class _Block:
    """The blocks of one region as one graph."""

    def __init__(
        self, module: _ModuleReader, graph: GraphBuilder, blocks: Sequence[Any], regions: deque[Region], around: Scope, symbols: str = ""
    ) -> None:
        self.module = module
        self.symbols = symbols
        self.regions = regions
        """Of the operations that have not been read, in their order."""
        self.graph = graph
        self.blocks = blocks
        self.around = around
        self.counts: dict[str, int] = {}
        self.values: dict[str, ValueRef] = {}

    def read(self) -> None:
        for block in self.blocks[:1]:
            for index, argument in enumerate(block.arguments):
                self._parameter(argument, {"index": index})
        self._block_arguments()
        for block in self.blocks:
            for op in block.operations:
                self.operation(op.operation)

    def _parameter(self, argument: Any, attrs: dict[str, Any]) -> None:
        name = argument.get_name(self.module.state)
        label = _NAME.match(self.module.text_of(argument.location))
        if label:
            attrs["label"] = _unescape(label[1])
        self.graph.node(name, "parameter", (), [self.module.type_of(argument)], role="parameter", attrs=attrs)
        self.values[name] = (name, 0)

    def _block_arguments(self) -> None:
        """The arguments of further blocks of a control-flow graph: each is one of the values passed by the branches to its block."""
        arguments = {argument.get_name(self.module.state): argument for block in self.blocks[1:] for argument in block.arguments}
        arriving: dict[str, list[ValueRef]] = {name: [] for name in arguments}
        for block in self.blocks if arguments else ():
            end = block.operations[len(block.operations) - 1].operation
            targets = [argument.get_name(self.module.state) for successor in end.successors for argument in successor.arguments]
            for target, value in zip(targets, list(end.operands)[len(end.operands) - len(targets) :], strict=False):
                arriving[target].append(self._value(value))
        for name, argument in arguments.items():
            self.graph.node(name, "block argument", arriving[name], [self.module.type_of(argument)])
            self.values[name] = (name, 0)

    def operation(self, op: Any) -> None:
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
        location = self.module.text_of(op.location)
        label = _NAME.match(location)
        op_name = _unescape(label[1]) if label else ""
        parsed = parse_op_name(op_name)
        if self.module.names.is_relative(op_name) or not op_name.startswith(("jit(", "pjit(")):
            parsed = parsed.below(self.around)
        attrs: dict[str, Any] = ({"op_name": op_name} if op_name else {}) | self.module.attributes(op) | {**parsed.attrs}
        calls = self.module.called(attrs["callee"], self.symbols) if "callee" in attrs else []
        for called in calls:
            self.module.around.setdefault(called, Scope(parsed.path + parsed.call, (), parsed.transforms))
        regions = [self.regions.popleft() for region in op.regions if list(region.blocks)]
        for index, region in enumerate(regions):
            name = self.module.inner.of(self.graph.name, f"/{node_id}" + (f".{index}" if len(regions) > 1 else ""))
            scope = Scope(parsed.path, (), parsed.transforms)
            body = _Block(self.module, self.module.builder.graph(name), region.blocks, region.inside, scope, self.symbols)
            calls.append(name)
            body._take(region.captured, len(inputs))
            inputs.extend(map(self._value, region.captured.values()))
            self.module.pending.append(body)
        is_constant = op.name.endswith(".constant")
        if is_constant and "value" in attrs:
            attrs["value"] = _constant(attrs["value"])
        types = [self.module.type_of(result) for result in results]
        frames, columns = _frames(location)
        self.graph.node(
            node_id, op.name, inputs, types, role="constant" if is_constant else "op", attrs=attrs, scope=parsed.path,
            calls=calls, source=frames, columns=columns,
        )  # fmt: skip
        for index, result in enumerate(results):
            self.values[result.get_name(state)] = (node_id, index)

    def _value(self, value: Any) -> ValueRef:
        name = value.get_name(self.module.state)
        return self.values.get(name) or (name.partition("#")[0], int(name.partition("#")[2] or 0))

    def _take(self, captured: dict[str, Any], first: int) -> None:
        """Values from outside become parameters here. The caller passes them as operands, starting at `first`."""
        for index, (name, value) in enumerate(captured.items(), first):
            attrs = {"captured": True, "index": index}
            self.graph.node(name, "parameter", (), [self.module.type_of(value)], role="parameter", attrs=attrs)
            self.values[name] = (name, 0)


def _constant(text: str) -> str:
    """A constant's value without its type, which the node already has: `dense<1.000000e+00> : tensor<f32>` is 1."""
    value = text.rpartition(" : ")[0] or text
    dense = _DENSE.fullmatch(value)
    value = dense[1] if dense else value
    kind = _FLOAT.search(text)
    if not kind:
        return value
    coding = {"f64": ">d", "f16": ">e"}.get(kind[1], ">f")
    try:
        if value.startswith("0x"):  # infinities and NaNs are printed as their bits
            bits = bytes.fromhex(value[2:]) + (b"\0\0" if kind[1] == "bf16" else b"")
            return str(struct.unpack(coding, bits)[0])
        number = float(value)
        return next(short for digits in (4, 6, 9, 17) if _same(coding, float(short := f"{number:.{digits}g}"), number))
    except (ValueError, struct.error):
        return value


def _same(coding: str, one: float, other: float) -> bool:
    try:
        return struct.pack(coding, one) == struct.pack(coding, other)
    except OverflowError:  # the largest number of a type, rounded up
        return False


def _parse_type(text: str) -> TensorType:
    tensor = _TENSOR.fullmatch(text)
    if not tensor:
        return TensorType(text) if re.fullmatch(r"\w+", text) else TensorType(f"({text})")
    dims = tuple(dimension(d) for d in tensor[1].split("x") if d)
    dtype, _, encoding = tensor[2].partition(", ")
    integer = _SHORT_DTYPE.fullmatch(dtype)
    if integer:
        dtype = "pred" if integer[1] == "1" else f"s{integer[1]}"
    elif dtype.startswith("ui"):
        dtype = f"u{dtype[2:]}"
    return TensorType(dtype, dims, encoding)


def _frames(location: str) -> tuple[list[Frame], list[str]]:
    """Those of a location, innermost first, and their columns."""
    found = _FRAME.findall(location)
    if not found:
        return [Frame(_unescape(file), line_number(line)) for file, line in _FILE.findall(location)], []
    return [Frame(_unescape(file), line_number(line), _unescape(function)) for function, file, line, _ in found], [row[3] for row in found]


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


if __name__ == "__main__":
    content = sys.stdin.buffer.read()
    answer_apart(lambda: _answer(content), len(content))
