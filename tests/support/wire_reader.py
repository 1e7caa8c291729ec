"""Reads wire bytes back in Python, independently of the viewer, so that tests can check their contents."""

from __future__ import annotations

import json
import struct
from math import isnan
from typing import Any, NamedTuple

from opscope.program import ROLES

_CODES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "i32": "i", "f64": "d"}


class WireReader:
    def __init__(self, data: bytes) -> None:
        assert data[:4] == b"OPSW"
        self.version, length, _ = struct.unpack_from("<III", data, 4)
        self.fields: dict[str, Any] = json.loads(data[16 : 16 + length])
        self._data = data
        self._base = 16 + length
        assert self._base % 8 == 0

    def __contains__(self, name: str) -> bool:
        return name in self.fields["sections"]

    def column(self, name: str) -> list[Any]:
        kind, coding, offset, count = self.fields["sections"][name]
        assert offset % 8 == 0
        values: list[Any] = list(struct.unpack_from(f"<{count}{_CODES[kind]}", self._data, self._base + offset))
        if coding == "delta":
            for i in range(1, count):
                values[i] += values[i - 1]
        return values

    def block(self, name: str) -> bytes:
        _, _, offset, count = self.fields["sections"][name]
        return self._data[self._base + offset : self._base + offset + count]

    def rows(self, name: str) -> list[list[int]]:
        return self._cut(name, self.column(f"{name}.value"))

    def extras(self, name: str) -> list[list[int]]:
        return self._cut(name, self.column(f"{name}.extra")) if f"{name}.extra" in self else [[] for _ in self.column(f"{name}.rows")]

    def strings(self, name: str) -> list[str]:
        blob, at, texts = self.block(name), 0, []
        for length in self.column(f"{name}.rows"):
            texts.append(blob[at : at + length].decode())
            at += length
        return texts

    def _cut(self, name: str, values: list[int]) -> list[list[int]]:
        at, rows = 0, []
        for length in self.column(f"{name}.rows"):
            rows.append(values[at : at + length])
            at += length
        return rows


def read_details(data: bytes) -> list[dict[str, Any]]:
    """Attributes and source frames, node by node."""
    wire = WireReader(data)
    keys, texts = wire.strings("keys"), wire.strings("texts")
    sets, stacks, values = wire.rows("sets"), wire.rows("stacks"), iter(wire.column("values"))
    files, functions, lines = (wire.column(f"frames.{name}") for name in ("file", "function", "line"))
    details = []
    for keys_of, stack in zip(wire.column("setOf"), wire.column("stackOf"), strict=True):
        attrs = {keys[key]: json.loads(texts[next(values)]) for key in sets[keys_of]}
        source = [(keys[files[frame]], lines[frame], keys[functions[frame]]) for frame in stacks[stack]]
        details.append({"attrs": attrs, "source": source})
    return details


class WireProgram(NamedTuple):
    """One program of the wire, by names instead of numbers."""

    name: str
    entry: str
    graphs: dict[str, list[dict[str, Any]]]
    outputs: dict[str, list[tuple[str, int]]]
    groupings: dict[str, list[tuple[str, ...]]]
    """Paths of all nodes, in the order of the graphs."""
    metrics: dict[str, list[float | None]]
    """Numbers of all nodes; ratios have none."""
    facts: dict[str, Any]

    @property
    def nodes(self) -> list[dict[str, Any]]:
        return [node for nodes in self.graphs.values() for node in nodes]


def read_program(data: bytes, content: int = 0) -> WireProgram:
    """A program alone, or one of a recording."""
    wire = WireReader(data)
    strings = wire.strings("strings")
    row = wire.fields["programs"][str(content)]
    names = [strings[number] for number in wire.column("graphName")]
    members = [_members(runs) for runs in wire.rows("graphNodes")]
    nodes = _nodes(wire, strings)
    graphs = {names[graph]: [nodes[number] for number in members[graph]] for graph in row["graphs"]}
    results = wire.rows("graphOutputs")
    outputs = {
        names[graph]: [(graphs[names[graph]][at]["id"], index) for at, index in zip(results[graph][::2], results[graph][1::2], strict=True)]
        for graph in row["graphs"]
    }
    paths: dict[int, tuple[str, ...]] = {-1: ()}
    for path, (name, parent) in enumerate(zip(wire.column("paths.name"), wire.column("paths.parent"), strict=True)):
        assert parent < path, "a parent comes before its children"
        paths[path] = (*paths[parent], strings[name])
    seats = wire.column("nodeSeat")
    groupings = {
        wire.fields["groupings"][number]: [
            paths[column[seats[at]]] for column in [wire.column(f"path{number}")] for graph in row["graphs"] for at in members[graph]
        ]
        for number in row["groupings"]
    }
    rows = [wire.column("nodeMetrics")[at] for graph in row["graphs"] for at in members[graph]]
    metrics = {}
    for number, metric in enumerate(wire.fields["metrics"]):
        if f"metrics.{number}" in wire:
            numbers = wire.column(f"metrics.{number}")
            metrics[metric["name"]] = [None if isnan(numbers[at]) else numbers[at] for at in rows]
    facts = {name: wire.fields["facts"][number] for name, number in row["facts"].items()}
    return WireProgram(row["name"], names[row["graphs"][row["entry"]]], graphs, outputs, groupings, metrics, facts)


def _members(runs: list[int]) -> list[int]:
    rows: list[int] = []
    end = 0
    for gap, count in zip(runs[::2], runs[1::2], strict=True):
        rows += range(end + gap, end + gap + count)
        end += gap + count
    return rows


def _nodes(wire: WireReader, strings: list[str]) -> list[dict[str, Any]]:
    """Every row of the node columns."""
    ids = wire.column("nodeId")
    texts, layouts = wire.column("types.text"), wire.column("types.layout")
    details = read_details(wire.block("details")) if "details" in wire else []
    ops = wire.column("ops.name")
    scalars = zip(ids, wire.column("nodeOp"), wire.column("nodeRole"), wire.column("nodeText"), wire.column("nodePlace"), strict=True)
    tables = zip(*(wire.rows(name) for name in ("outputs", "inputs", "calls", "control", "links")), wire.extras("inputs"), strict=True)
    nodes = []
    for (id_, op, role, text, place), (outputs, inputs, calls, control, links, indexes) in zip(scalars, tables, strict=True):
        nodes.append(
            {
                "id": strings[id_],
                "op": strings[ops[op]],
                "role": ROLES[role],
                "text": strings[text] if text >= 0 else "",
                "place": place,
                "outputs": [(strings[texts[kind]], strings[layouts[kind]]) for kind in outputs],
                "inputs": [(strings[id_ - distance], index) for distance, index in zip(inputs, indexes, strict=True)],
                "calls": [strings[name] for name in calls],
                "control": [strings[id_ - distance] for distance in control],
                "links": [tuple(strings[part] for part in links[i : i + 3]) for i in range(0, len(links), 3)],
            }
        )
    if details:
        for node, detail in zip(nodes, wire.column("nodeDetail"), strict=True):
            node |= details[detail]
    return nodes
