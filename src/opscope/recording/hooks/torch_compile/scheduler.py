"""Inductor's scheduler as Programs: one node per buffer or kernel, before and after fusion."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opscope.program import GraphBuilder, Node, NodeKey, Program, ProgramBuilder, TensorType, ValueRef
from opscope.readers.torch.export import ENTRY
from opscope.readers.torch.values import dimension
from opscope.recording.dumps.inductor_code import COMPUTES
from opscope.recording.hooks.torch_compile.fusion_log import FusionLog
from opscope.recording.hooks.torch_compile.remarks import TorchRemarks
from opscope.recording.model import Origin

if TYPE_CHECKING:
    from opscope.recording.hooks.torch_compile.chain import Chain

LOWERED = "Inductor: lowered"
BUFFERS = "buffers"
"""The attribute of a scheduler's node with the buffers that it writes."""


@contextmanager
def watching_scheduler(chain: Chain, part: str, remarks: TorchRemarks) -> Iterator[None]:
    """Record the scheduler before and after fusion. Hooks that the user has set there still run."""
    import torch._inductor.config as config

    names = ("_pre_fusion_custom_pass", "_post_fusion_custom_pass")
    if not all(hasattr(config, name) for name in names):
        remarks.missing("_pre_fusion_custom_pass", "the scheduler is not recorded")
        yield
        return
    before, after = [getattr(config, name) for name in names]
    pipeline = ("scheduler", part) if part else ("scheduler",)
    started = 0.0
    log = FusionLog()

    def pre_fusion(nodes: Any) -> Any:
        nonlocal started
        nodes = nodes if before is None else before(nodes)
        with remarks.safely("the scheduler"):
            last = chain.parts.get(part)
            fx = {key[1]: key for key in last.keys.values() if key[0] == ENTRY} if last else {}
            program = program_of_schedule(nodes, chain.title, chain.inputs_of(part))
            chain.lowered(program, _lowering_origins(nodes, fx), "before fusion", pipeline, part)
        started = time.perf_counter()
        return nodes

    def post_fusion(nodes: Any) -> Any:
        seconds = time.perf_counter() - started
        nodes = nodes if after is None else after(nodes)
        with remarks.safely("the scheduler"):
            program = program_of_schedule(nodes, chain.title, chain.inputs_of(part))
            chain.lowered(program, _fusion_origins(nodes), "after fusion", pipeline, part, seconds)
            kernels = {node.get_name(): [member.get_name() for member in _members(node)] for node in nodes if _is_fused(node)}
            chain.noted(log.notes(chain.title, part, kernels))
        return nodes

    with config.patch({names[0]: pre_fusion, names[1]: post_fusion}), log.listening():
        yield


def _members(node: Any) -> list[Any]:
    return list(node.get_nodes())


def _is_fused(node: Any) -> bool:
    return len(_members(node)) > 1 or _members(node)[0] is not node


def _lowering_origins(nodes: Iterable[Any], fx: dict[str, NodeKey]) -> Iterator[Origin]:
    """Origins of buffers: each lists the fx nodes that it computes. A call of a library also lists the nodes of its operands; those that
    loops compute are left out."""
    nodes = list(nodes)
    in_loops = {name for node in nodes if not _library_kernel(node) for name in _origin_names(node)}
    for node in nodes:
        names = _origin_names(node)
        if _library_kernel(node):
            names = [name for name in names if name not in in_loops] or names
        old = tuple([fx[name] for name in names if name in fx])
        if old:
            yield Origin(old, ((ENTRY, node.get_name()),), "rewrite", LOWERED)


def _fusion_origins(nodes: Iterable[Any]) -> Iterator[Origin]:
    for node in nodes:
        if _is_fused(node):
            for member in _members(node):
                yield Origin(((ENTRY, member.get_name()),), ((node.get_name(), member.get_name()),), "identity")


def _origin_names(node: Any) -> list[str]:
    names = {origin.name for member in _members(node) if member.node is not None for origin in member.node.get_origins()}
    return sorted(names)


def _computed(node: Any) -> list[str]:
    """The operators that a kernel computes, as the model called them. Inductor makes the names of kernels of them."""
    origins = (origin for member in _members(node) if member.node is not None for origin in member.node.get_origins())
    operators = (origin.meta.get("original_aten") for origin in origins)
    return sorted({str(operator._overloadpacket.__name__) for operator in operators if hasattr(operator, "_overloadpacket")})


def program_of_schedule(nodes: list[Any], title: str, inputs: Mapping[str, Node]) -> Program:
    """The scheduler's nodes as a Program. A fused kernel calls a graph of its buffers; `inputs` are the inputs of the fx graph, by name."""
    from torch._inductor.virtualized import V

    program = ProgramBuilder(title, ENTRY)
    main = program.graph(ENTRY)
    values: dict[str, ValueRef] = {}
    for name in V.graph.graph_input_names:
        if name in inputs:
            main.add(inputs[name]._replace(links=()))
        else:
            main.node(name, "input", (), _types(V.graph.graph_inputs.get(name)), role="input")
        values[name] = (name, 0)
    for node in nodes:
        if _is_fused(node):
            _kernel(program, main, node, values)
        else:
            _buffer(main, node, values)
    main.outputs = [values[name] for name in V.graph.get_output_names() if name in values]
    main.node("output", "output", main.outputs, role="output")
    return program.build()


def _kernel(program: ProgramBuilder, main: GraphBuilder, node: Any, values: dict[str, ValueRef]) -> None:
    name = node.get_name()
    inner = program.graph(name)
    buffers = {buffer for member in _members(node) for buffer in member.get_buffer_names()}
    outside = [read for read in _reads(node) if read not in buffers and read in values]
    inside: dict[str, ValueRef] = {}
    for read in outside:
        inner.node(read, "input", (), _types(_buffer_of(read)), role="input")
        inside[read] = (read, 0)
    for member in _members(node):
        _buffer(inner, member, inside)
    written = [buffer for member in _members(node) for buffer in member.get_buffer_names()]
    inner.outputs = [inside[buffer] for buffer in written]
    computed = _computed(node)
    attrs = {"origins": _origin_names(node), COMPUTES: computed, BUFFERS: written}
    types = [kind for buffer in written for kind in _types(_buffer_of(buffer))]
    main.node(name, "_".join(["fused", *computed]), [values[read] for read in outside], types, attrs=attrs, calls=[name])
    values.update((buffer, (name, i)) for i, buffer in enumerate(written))


def _buffer(graph: GraphBuilder, node: Any, values: dict[str, ValueRef]) -> None:
    ir = getattr(node, "node", None)
    written = sorted(node.get_buffer_names())
    attrs: dict[str, Any] = {"origins": _origin_names(node), BUFFERS: written, "scheduler": type(node).__name__}
    kernel = _library_kernel(node)
    if kernel:
        attrs["kernel"] = kernel
    elif computed := _computed(node):
        attrs[COMPUTES] = computed
    types = [kind for buffer in written for kind in _types(_buffer_of(buffer))]
    graph.node(node.get_name(), _kind(node, ir), [values[read] for read in _reads(node) if read in values], types, attrs=attrs)
    values.update((buffer, (node.get_name(), i)) for i, buffer in enumerate(written))


def _library_kernel(node: Any) -> str:
    """The kernel that Inductor calls for a buffer, instead of generating a loop."""
    return str(getattr(getattr(node, "node", None), "python_kernel_name", None) or "")


def _kind(node: Any, ir: Any) -> str:
    """How a buffer is computed: by a loop (pointwise, reduction), or by a kernel that Inductor calls."""
    return _library_kernel(node) or type(getattr(ir, "data", ir) or node).__name__


def _reads(node: Any) -> list[str]:
    return sorted({read.name for read in node.read_writes.reads})


def _buffer_of(name: str) -> Any:
    from torch._inductor.virtualized import V

    return V.graph.try_get_buffer(name)


def _types(buffer: Any) -> tuple[TensorType, ...]:
    """The type of a buffer. One without a type (a mutation, a tuple of kernels) still counts as one output."""
    try:
        return (TensorType(str(buffer.get_dtype()).removeprefix("torch."), tuple([dimension(size) for size in buffer.get_size()])),)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return (TensorType("(buffer)"),)
