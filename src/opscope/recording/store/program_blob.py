"""A Program as plain lists, to send between processes and add to a store without building it again."""

from __future__ import annotations

import marshal
from typing import Any, NamedTuple

from opscope.program import Program
from opscope.recording.store.codec import HEAD, KINDS, Encoder
from opscope.recording.store.pages import runs, spans, unpack_json
from opscope.recording.store.values import from_json, to_json


class Packed(NamedTuple):
    """One program, encoded by a new Encoder: its records by kind, in the order of their numbers, and its body."""

    records: dict[str, list[Any]]
    body: bytes
    nodes: int


def pack(program: Program) -> bytes:
    encoder = Encoder()
    body = encoder.program(program)
    return marshal.dumps([encoder.new_records, body, program.node_count])


def unpack(data: bytes) -> Packed:
    return Packed(*marshal.loads(data))


def absorb(encoder: Encoder, packed: Packed) -> bytes:
    """Add the records of a packed program to another encoder, and return its body with the numbers that they have there."""
    number: dict[str, list[int]] = {}
    for kind in KINDS[:4]:
        number[kind] = [encoder.number(kind, record) for record in packed.records[kind]]
    names, texts, details, lines = (number[kind] for kind in KINDS[:4])
    nodes = []
    for row in packed.records["node"]:
        operands = list(row[HEAD:])
        operands[::2] = [names[name] for name in operands[::2]]
        head = (names[row[0]], texts[row[1]], texts[row[2]], texts[row[3]], details[row[4]], lines[row[5]])
        nodes.append(encoder.number("node", (*head, *operands)))
    graphs = []
    for record in packed.records["graph"]:
        *rest, node_runs = from_json(record)
        members = [nodes[i] for first, end in spans(node_runs) for i in range(first, end)]
        graphs.append(encoder.number("graph", to_json([*rest, runs(members)])))
    name, entry, attrs, graph_runs, *metrics = unpack_json(packed.body)
    members = [graphs[i] for first, end in spans(graph_runs) for i in range(first, end)]
    return encoder.body(name, entry, attrs, members, metrics[0] if metrics else [])
