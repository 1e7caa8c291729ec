"""The writer: one node per line, and the same Program always becomes the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring as quote
from typing import Any

from opscope.errors import OpscopeError
from opscope.native.format import FORMAT, VERSION
from opscope.program import NO_DETAILS, Frame, Graph, Metric, Node, Program, TensorType, ValueRef


def dumps(programs: Program | Iterable[Program]) -> str:
    return "".join(chunks(programs))


def chunks(programs: Program | Iterable[Program]) -> Iterator[str]:
    """The document in chunks of at most one node, so that a large program is never in memory twice."""
    head = f'{{"format": "{FORMAT}", "version": {VERSION}, '
    if isinstance(programs, Program):
        yield head
        yield from _program_chunks(programs)
        yield "}\n"
        return
    yield head + '"programs": ['
    for i, program in enumerate(programs):
        yield ",\n{" if i else "\n{"
        yield from _program_chunks(program)
        yield "}"
    yield "\n]}\n"


def _program_chunks(program: Program) -> Iterator[str]:
    yield f'"name": {quote(program.name)}, "entry": {quote(program.entry)},\n'
    if program.attrs:
        yield f' "attrs": {_attrs(program.attrs)},\n'
    if program.metrics:
        yield f' "metrics": {{{", ".join(map(_metric, program.metrics.values()))}}},\n'
    yield ' "graphs": ['
    types = _TypeTexts()
    for i, graph in enumerate(program):
        yield ",\n" if i else "\n"
        yield from _graph_chunks(graph, types)
    yield "]"


def _graph_chunks(graph: Graph, types: _TypeTexts) -> Iterator[str]:
    yield f'  {{"name": {quote(graph.name)},\n'
    if graph.attrs:
        yield f'   "attrs": {_attrs(graph.attrs)},\n'
    yield '   "nodes": ['
    separator = "\n    "
    for node in graph.nodes:
        yield separator
        yield _node_line(node, types)
        separator = ",\n    "
    yield f'],\n   "outputs": {_refs(graph.outputs)}'
    if graph.groupings:
        yield ',\n   "groupings": {'
        for i, (grouping, paths) in enumerate(graph.groupings.items()):
            yield f"{',' if i else ''}\n    {quote(grouping)}: {{"
            for j, (node_id, path) in enumerate(paths.items()):
                yield f"{',' if j else ''}\n     {quote(node_id)}: {_texts(path)}"
            yield "}"
        yield "}"
    if graph.metrics:
        yield ',\n   "metrics": {'
        for i, (metric, column) in enumerate(graph.metrics.items()):
            numbers = ",".join([f"\n     {quote(node_id)}: {value!r}" for node_id, value in column.items()])
            yield f"{',' if i else ''}\n    {quote(metric)}: {{{numbers}}}"
        yield "}"
    yield "}"


class _TypeTexts(dict[tuple[TensorType, ...], str]):
    """The types of a node's outputs as text, cached: a program of 100,000 nodes has only a few hundred different ones."""

    def __missing__(self, types: tuple[TensorType, ...]) -> str:
        texts = []
        for dtype, shape, layout in types:
            dims = ", ".join(quote(d) if isinstance(d, str) else str(int(d)) for d in shape)
            texts.append(f'{{"dtype": {quote(dtype)}, "shape": [{dims}]' + (f', "layout": {quote(layout)}}}' if layout else "}"))
        text = self[types] = f"[{', '.join(texts)}]"
        return text


def _node_line(node: Node, types: _TypeTexts) -> str:
    id, op, inputs, outputs, role, calls, control, links, details = node
    line = f'{{"id": {quote(id)}, "op": {quote(op)}, "role": "{role}", "inputs": {_refs(inputs)}, "outputs": {types[outputs]}'
    if details is not NO_DETAILS:
        if attrs := details.attrs:
            line += ', "attrs": ' + _attrs(attrs)
        if scope := details.scope:
            line += ', "scope": ' + _texts(scope)
    if calls:
        line += ', "calls": ' + _texts(calls)
    if control:
        line += ', "control": ' + _texts(control)
    if links:
        line += f', "links": [{", ".join(_texts(link if link.graph else link[:2]) for link in links)}]'
    if details is not NO_DETAILS and (source := details.source):
        line += f', "source": [{", ".join(map(_frame, source))}]'
    return line + "}"


def _metric(metric: Metric) -> str:
    definition = f'"unit": {quote(metric.unit)}, "combine": {quote(metric.combine)}, "origin": "{metric.origin}"'
    return f"{quote(metric.name)}: {{{definition}}}"


def _texts(values: Iterable[str]) -> str:
    return f"[{', '.join(map(quote, values))}]"


def _refs(refs: Iterable[ValueRef]) -> str:
    return f"[{', '.join([f'[{quote(name)}, {index}]' for name, index in refs])}]"


def _frame(frame: Frame) -> str:
    function = f', "function": {quote(frame.function)}' if frame.function else ""
    return f'{{"file": {quote(frame.file)}, "line": {frame.line}{function}}}'


def _foreign(value: Any) -> Any:
    """JSON for a value that JSON lacks: containers as the closest container, everything else as text."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return str(value)


_encode_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_foreign).encode


def _attrs(attrs: Mapping[str, Any]) -> str:
    try:
        return _encode_json(attrs if type(attrs) is dict else dict(attrs))
    except (ValueError, TypeError, RecursionError):
        return f"{{{', '.join(f'{quote(str(key))}: {_attr(value)}' for key, value in attrs.items())}}}"


def _attr(value: Any) -> str:
    """One attribute. NaN, infinities, keys that are not text, and cycles become text, because they would not be valid JSON."""
    try:
        return _encode_json(value)
    except (ValueError, TypeError, RecursionError):
        try:
            return quote(str(value))
        except RecursionError:
            raise OpscopeError("cannot write an attribute that is nested this deeply; flatten it") from None
