"""A Program as plain lists, to be sent between processes and taken into a store without being built again."""

from __future__ import annotations

import marshal
from typing import Any, NamedTuple

from opscope.program import Program
from opscope.recording.store.codec import KINDS, Encoder
from opscope.recording.store.pages import runs, spans, unpack_json
from opscope.recording.store.values import from_json, to_json


class Packed(NamedTuple):
    """What a fresh Encoder made of one program: its records by kind, in the order of their numbers, and its body."""

    records: dict[str, list[Any]]
    body: bytes
    nodes: int


def pack(program: Program) -> bytes:
    encoder = Encoder()
    body = encoder.program(program)
    return marshal.dumps([encoder.take_records(), body, program.node_count])


def unpack(data: bytes) -> Packed:
    return Packed(*marshal.loads(data))


def absorb(encoder: Encoder, packed: Packed) -> bytes:
    """Give the records of a packed program their numbers in another encoder. Returns the body in those numbers."""
    number: dict[str, list[int]] = {}
    for kind in KINDS[:3]:
        number[kind] = [encoder.number(kind, record) for record in packed.records[kind]]
    names, texts, details = (number[kind] for kind in KINDS[:3])
    nodes = []
    for row in packed.records["node"]:
        operands = list(row[5:])
        operands[::2] = [names[name] for name in operands[::2]]
        head = (names[row[0]], texts[row[1]], texts[row[2]], texts[row[3]], details[row[4]])
        nodes.append(encoder.number("node", (*head, *operands)))
    graphs = []
    for record in packed.records["graph"]:
        *rest, found = from_json(record)
        members = [nodes[i] for first, end in spans(found) for i in range(first, end)]
        graphs.append(encoder.number("graph", to_json([*rest, runs(members)])))
    name, entry, attrs, found, *metrics = unpack_json(packed.body)
    members = [graphs[i] for first, end in spans(found) for i in range(first, end)]
    return encoder.body(name, entry, attrs, members, metrics[0] if metrics else [])
