"""Writes a memory with random buffers as wire bytes, and next to it what Python's own model says about it, for memory.test.ts."""

import json
import sys
from pathlib import Path
from random import Random

from opscope.memory.model import Buffer, Kind, Memory
from opscope.program import ProgramBuilder, TensorType
from opscope.render.wire.memory import KINDS, encode_memory

STEPS = 60
random = Random(7)
builder = ProgramBuilder("sample", "main")
main = builder.graph("main")
for i in range(STEPS):
    main.node(f"n.{i}", "add", outputs=[TensorType("f32", (i + 1,))])
program = builder.build()


def buffer(number: int) -> Buffer:
    born = random.randrange(STEPS)
    last = min(STEPS, born + random.randrange(STEPS // 2))
    kind: Kind = random.choice(KINDS[:10])
    slot = (random.randrange(40), 0) if random.random() < 0.7 else None
    size = None if number % 29 == 0 else random.choice((0, 64, 1000, 5_000_000_000, random.randrange(9000)))
    node = f"n.{born}" if number % 31 else "elsewhere"
    read = (born + last) // 2 if number % 3 == 0 else None
    scope, source = (f"layer_{number % 3}",), f"model.py:{number % 5}"
    return Buffer(node, size, kind, born, last, "main", "", slot, None, f"why {number}", scope, source, read)


buffers = sorted((buffer(number) for number in range(300)), key=lambda each: (each.born, each.last))
memory = Memory("sample", "computed", [f"n.{i}" for i in range(STEPS - 1)] + ["not a node"], buffers, reserved=60_000_000_000)
expected = {
    "peak": memory.peak,
    "peakBytes": memory.peak_bytes,
    "unknown": memory.unknown,
    "read": {each.why: each.last if each.read is None else each.read for each in buffers},
    "totals": [memory.bytes_at(position) for position in range(STEPS)],
    "byKind": [
        [sum(row.buffer.bytes or 0 for row in memory.live(position) if row.buffer.kind == kind) for kind in KINDS]
        for position in range(STEPS)
    ],
    "live": [[[row.buffer.why, row.buffer.bytes, [each.why for each in row.shares]] for row in memory.live(at)] for at in range(STEPS)],
}
target = Path(sys.argv[1])
(target / "memory.opsw").write_bytes(encode_memory(memory, program))
(target / "expected.json").write_text(json.dumps(expected))
