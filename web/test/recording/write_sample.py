"""Writes a recording's wire to standard output, and for each snapshot the wire of its program alone, for the tests beside it."""

from __future__ import annotations

import sys
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))

from browser.recordings import record_shared, record_toy

from opscope.recording.sources import read_recording
from opscope.render.recording_wire import encode_recording
from opscope.render.wire import encode_wire

with TemporaryDirectory() as folder:
    recording = read_recording(record_toy(Path(folder, "toy.opscope")))
    shared = read_recording(record_shared(Path(folder, "shared.opscope")))
    blocks = [encode_recording(recording), encode_recording(shared), *(encode_wire(snapshot.program) for snapshot in recording)]
for block in blocks:
    sys.stdout.buffer.write(pack("<I", len(block)) + block)
