"""The text of a FlowGraph as hidet prints it. Its netron JSON stores fused graphs in this form.

Graph(x: float32[8, 8][cpu]){
  x_1: float32[8, 8][cpu] = Relu(x)  # share_map={0: 0}
  return x_1
}
"""

from __future__ import annotations

import re

from opscope.errors import SourceError
from opscope.program import GraphBuilder, TensorType, ValueRef, dimension

_TYPED = re.compile(r"\b(\w++): (\w++)\[([^\[\]]*+)\]\[([^\[\]]*+)\]")
_CONSTANT = re.compile(r"(\w++) = Constant\((\w++)\[([^\]]*+)\]\[([^\]]*+)\]\)(?:\s*+#\s*+hash: (\w++))?")
_OPERATION = re.compile(r"(?P<results>[^=]++)(?<= )= (?P<op>\w++)\((?P<args>.*)\)(?:\s*+#\s*+(?P<note>.*))?")


def read_flow_text(graph: GraphBuilder, text: str) -> None:
    """Fill a graph from its text."""
    header, _, body = text.partition("{\n")
    value: dict[str, ValueRef] = {}
    for i, (name, dtype, shape, device) in enumerate(_TYPED.findall(header)):
        graph.node(name, "input", (), [_type(dtype, shape)], role="input", attrs={"parameter_number": i, "device": device})
        value[name] = (name, 0)
    for line in map(str.strip, body.splitlines()):
        constant = _CONSTANT.fullmatch(line)
        operation = _OPERATION.fullmatch(line)
        if line.startswith("return "):
            graph.outputs = [value[name] for name in line.removeprefix("return ").split(", ") if name in value]
        elif constant:
            name, dtype, shape, device, digest = constant.groups()
            attrs = {"device": device, "hash": digest} if digest else {"device": device}
            graph.node(name, "const", (), [_type(dtype, shape)], role="constant", attrs=attrs)
            value[name] = (name, 0)
        elif operation:
            _operation(graph, value, operation)
        elif line not in ("", "}"):
            raise SourceError(f"cannot parse this line of a hidet fused graph: {line[:80]}")


def _operation(graph: GraphBuilder, value: dict[str, ValueRef], match: re.Match[str]) -> None:
    results = _TYPED.findall(match["results"])
    if not results:
        raise SourceError(f"a result in a hidet fused graph has no type: {match['results'][:80]}")
    inputs: list[ValueRef] = []
    attrs: dict[str, str] = {}
    for part in _split(match["args"]):
        name, equals, text = part.partition("=")
        if equals:
            attrs[name] = text.strip('"')
        elif part in value:
            inputs.append(value[part])
        else:
            attrs[f"argument {len(attrs)}"] = part
    if match["note"]:
        attrs["note"] = match["note"]
    id_ = results[0][0]
    graph.node(id_, match["op"], inputs, [_type(dtype, shape) for _, dtype, shape, _ in results], attrs=attrs)
    value.update((name, (id_, i)) for i, (name, *_) in enumerate(results))


def _split(text: str) -> list[str]:
    """Parts between the commas that are outside brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _type(dtype: str, shape: str) -> TensorType:
    return TensorType(dtype, tuple(dimension(dim) for dim in map(str.strip, shape.split(",")) if dim))
