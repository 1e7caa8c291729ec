"""Writes three recordings' wires to standard output, and for the first and the last the wire of each snapshot's program alone."""

from __future__ import annotations

import sys
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))

from browser.recordings import record_shared, record_toy
from complete import complete

import opscope
from opscope.analysis.enrich import enrich
from opscope.recording.sources import open_recording
from opscope.render.wire.program import encode_wire
from opscope.render.wire.recording import encode_recording

with TemporaryDirectory() as directory:
    full = Path(directory, "full.opscope")
    with opscope.record(full) as rec:
        rec.set(ids="names")
        rec.snapshot(complete(after=False), "start")
        rec.snapshot(complete(after=True), "clean up")
    toy, shared = record_toy(Path(directory, "toy.opscope")), record_shared(Path(directory, "shared.opscope"))
    recordings = [open_recording(path) for path in (toy, shared, full)]
    programs = [snapshot.program for recording in (recordings[0], recordings[2]) for snapshot in recording]
    blocks = [*map(encode_recording, recordings), *(encode_wire(enrich(program)) for program in programs)]
for block in blocks:
    sys.stdout.buffer.write(pack("<I", len(block)) + block)
